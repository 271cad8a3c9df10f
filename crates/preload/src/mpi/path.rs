//! The names of files as MPI-IO takes them.

use core::ffi::c_char;

use plimsoll_trace::encode::NO_FILE;

use super::library::{self, Family, c_text};
use crate::paths;
use crate::thread::Busy;

/// File systems that ROMIO takes as a prefix of a file's name (ad_fstype.c).
const PREFIXES: [&[u8]; 17] = [
    b"ufs:",
    b"nfs:",
    b"xfs:",
    b"pfs:",
    b"piofs:",
    b"hfs:",
    b"sfs:",
    b"testfs:",
    b"pvfs:",
    b"pvfs2:",
    b"panfs:",
    b"lustre:",
    b"gpfs:",
    b"bgl:",
    b"zoidfs:",
    b"daos:",
    b"quobyte:",
];

/// Returns the number of the file that a C text names: the same as for the POSIX calls on it.
pub fn file_number(name: usize) -> u32 {
    let text = c_text(name);
    // To Open MPI's own MPI-IO it is part of the name. Its ROMIO, which it does not use unless
    // it is told to, is the exception that we cannot see.
    let is_romio = library::family() != Family::OpenMpi;
    let prefix = PREFIXES.iter().find(|prefix| is_romio && text.starts_with(prefix));
    let path = (name + prefix.map_or(0, |prefix| prefix.len())) as *const c_char;
    let Some(busy) = Busy::begin() else { return NO_FILE };
    // SAFETY: null, or a text of the program, of which only what was looked at is left out.
    unsafe { paths::number_at(&busy, libc::AT_FDCWD, path) }
}
