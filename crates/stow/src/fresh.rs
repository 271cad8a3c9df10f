//! What other nodes have written to a file that is open here.
//!
//! Network file systems answer from memory: GlusterFS keeps pages when a file is opened again, and its size for a second. So the size is
//! asked of the server, and pages are forgotten before they are read.

use std::os::fd::AsFd;

use rustix::fs::{Advice, AtFlags, StatxFlags, fadvise, fstat, fstatfs, statx};
use rustix::io::Errno;

/// File systems (statfs(2)) that have one node: ext4, xfs, tmpfs, btrfs, overlayfs, f2fs, ZFS. What is not listed may have several.
const OF_ONE_NODE: [i64; 7] =
    [0xEF53, 0x5846_5342, 0x0102_1994, 0x9123_683E, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1];

/// Returns whether only this node writes to the file system of a file.
pub fn is_of_one_node(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|it| is_kind_of_one_node(it.f_type))
}

/// Returns whether only one node writes to file systems of this kind (statfs(2)).
pub fn is_kind_of_one_node(kind: i64) -> bool {
    OF_ONE_NODE.contains(&kind)
}

/// Has what is read next come from where other nodes wrote it.
///
/// # Errors
/// If the server does not answer.
pub fn renew(file: impl AsFd) -> Result<(), Errno> {
    if is_of_one_node(&file) {
        return Ok(());
    }
    size(&file)?;
    fadvise(&file, 0, None, Advice::DontNeed)
}

/// Returns the size of a file, whichever node has changed it.
///
/// # Errors
/// If the server does not answer.
pub fn size(file: impl AsFd) -> Result<u64, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match statx(&file, "", flags, StatxFlags::SIZE) {
        Ok(facts) => Ok(facts.stx_size),
        Err(Errno::NOSYS) => Ok(u64::try_from(fstat(&file)?.st_size).unwrap_or(0)),
        Err(errno) => Err(errno),
    }
}
