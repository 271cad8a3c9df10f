//! Names of the backend for tests: each part of a path below its directory is stored with a suffix, and links say so, too.

use core::ffi::{CStr, c_char};

use libc::dirent64;
use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::{Name, directory};
use crate::backend::HIDDEN;
use crate::descriptors;
use crate::text::Text;

const SUFFIX: &[u8] = b".inverted";

/// Returns whether this is the path that something of the backend is stored under, or the directory of it all.
pub fn is_stored(path: &[u8]) -> bool {
    path == directory() || below(path).is_some_and(|_| path.ends_with(SUFFIX))
}

/// Returns what is behind the backend's directory in a path.
fn below(path: &[u8]) -> Option<&[u8]> {
    path.strip_prefix(directory())?.strip_prefix(b"/")
}

/// Returns the name that a file of the backend is stored under; `None` for names that are not the backend's: whatever has a
/// directory in it that exists under its own name.
pub fn stored(name: &Name) -> Option<Text<4096>> {
    let path = name.path()?.to_bytes();
    let mut whole = Text::<4096>::new();
    if path.is_empty() {
        return None;
    }
    if !path.starts_with(b"/") {
        match name.directory {
            libc::AT_FDCWD => whole.push_link(c"/proc/self/cwd"),
            directory => descriptors::push_link(directory, &mut whole),
        }
        whole.push(b"/");
    }
    whole.push(path);
    let mut stored = Text::<4096>::new();
    stored.push(directory());
    let mut depth = 0_usize;
    for part in below(whole.as_bytes())?.split(|byte| *byte == b'/') {
        if part.is_empty() || part == b"." {
            continue;
        }
        // A path that leaves the directory is the kernel's.
        depth = if part == b".." { depth.checked_sub(1)? } else { depth + 1 };
        stored.push(b"/");
        stored.push(part);
        if is_directory(stored.as_c_str()) && !part.ends_with(SUFFIX) && part != b".." {
            return None;
        }
        push_suffix(&mut stored, part);
    }
    (stored.as_bytes() != directory()).then_some(stored)
}

fn push_suffix(path: &mut Text<4096>, part: &[u8]) {
    if part != b".." && !part.ends_with(SUFFIX) {
        path.push(SUFFIX);
    }
}

fn is_directory(path: &CStr) -> bool {
    rustix::fs::statat(CWD, path, AtFlags::empty())
        .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
}

/// Makes a symbolic link to what the target is stored under.
pub fn make_link(path: &CStr, target: *const c_char) -> Result<usize, Errno> {
    let mut stored = Text::<4096>::new();
    // SAFETY: the program says that it is a string.
    stored.push(unsafe { CStr::from_ptr(target) }.to_bytes());
    stored.push(SUFFIX);
    rustix::fs::symlinkat(stored.as_c_str(), CWD, path).map(|()| 0)
}

/// Puts what a symbolic link says into the program's memory, as the program said it.
pub fn read_link(path: &CStr, to: *mut c_char, length: usize) -> Result<usize, Errno> {
    let mut target = Text::<4096>::new();
    rustix::fs::readlinkat_raw(CWD, path, &mut [core::mem::MaybeUninit::uninit(); 1])?;
    target.push_link(path);
    let target = target.as_bytes();
    let target = target.strip_suffix(SUFFIX).unwrap_or(target);
    let count = target.len().min(length);
    // SAFETY: the program's room for so many.
    unsafe { core::ptr::copy_nonoverlapping(target.as_ptr(), to.cast(), count) };
    Ok(count)
}

/// Takes the suffix off the name of an entry. What has none is hidden: it is not of the backend.
pub fn show(entry: *mut dirent64) -> usize {
    // SAFETY: the kernel has given it, with a zero behind its name.
    unsafe {
        let name = (&raw mut (*entry).d_name).cast::<c_char>();
        let bytes = CStr::from_ptr(name).to_bytes();
        if bytes == b"." || bytes == b".." {
            return !HIDDEN;
        }
        let Some(shown) = bytes.strip_suffix(SUFFIX) else { return HIDDEN };
        *name.add(shown.len()) = 0;
    }
    !HIDDEN
}
