//! From the names that programs use to absolute ones.

use core::ffi::{CStr, c_char, c_int};

use plimsoll_trace::encode::{NO_FILE, Outcome};

use crate::path_room::{PathText, with_path};
use crate::text::Text;
use crate::thread::Busy;
use crate::{descriptors, files, process};

/// The cached working directory; empty when it must be asked for. Zeros are empty.
#[repr(C)]
pub struct WorkingDirectory {
    path: Text<2048>,
}

/// Returns the number of the file with this name, which may count from a directory's descriptor or,
/// when that is `AT_FDCWD`, from the working directory.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn number_at(busy: &Busy, directory: c_int, path: *const c_char) -> u32 {
    if path.is_null() {
        return NO_FILE;
    }
    // SAFETY: not null, so a C string, says the caller.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.is_empty() {
        // With AT_EMPTY_PATH, the descriptor itself.
        return if directory >= 0 { descriptors::file(busy, directory) } else { NO_FILE };
    }
    if path.starts_with(b"/") && is_clean(path) {
        return files::number(busy, path);
    }
    with_path(|absolute| {
        if !path.starts_with(b"/") {
            match directory {
                libc::AT_FDCWD => push_working_directory(busy, absolute),
                _ => descriptors::push_link(directory, absolute),
            }
        }
        absolute.push_parts(path);
        files::number(busy, absolute.as_bytes())
    })
}

/// Returns the number of the file with this name, after a call that got the name and ended like this.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn number_after(
    busy: &Busy,
    outcome: Outcome,
    directory: c_int,
    path: *const c_char,
) -> u32 {
    // The name itself may be what is wrong.
    if outcome == Outcome::Error(libc::EFAULT as u32) {
        return NO_FILE;
    }
    // SAFETY: null, or the kernel has read the same string.
    unsafe { number_at(busy, directory, path) }
}

/// Returns true when nothing is to be taken out. `..` stays: with symbolic links its meaning is not in
/// the name.
fn is_clean(path: &[u8]) -> bool {
    let mut previous = 0u8;
    for (index, byte) in path.iter().enumerate() {
        let next = path.get(index + 1).copied().unwrap_or(b'/');
        if *byte == b'/' && previous == b'/' || *byte == b'.' && previous == b'/' && next == b'/' {
            return false;
        }
        previous = *byte;
    }
    previous != b'/' || path.len() == 1
}

fn push_working_directory(busy: &Busy, to: &mut PathText) {
    let Some(process) = process::current() else { return };
    let _held = process.lock.hold(busy);
    // SAFETY: the lock is held.
    let directory = unsafe { &mut *process.directory.get() };
    if directory.path.as_bytes().is_empty() {
        directory.path.push_link(c"/proc/self/cwd");
    }
    match directory.path.as_bytes() {
        b"/" => {}
        path => to.push(path),
    }
}

/// Forgets the working directory, which changed.
pub fn forget_working_directory(busy: &Busy) {
    if let Some(process) = process::current() {
        let _held = process.lock.hold(busy);
        // SAFETY: the lock is held.
        unsafe { (*process.directory.get()).path.truncate(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_clean_that_have_nothing_to_take_out() {
        for clean in ["/", "/a", "/a/b.c", "/a/..", "/.a/b", "/a/b."] {
            assert!(is_clean(clean.as_bytes()), "{clean}");
        }
        for other in ["/a/", "//a", "/a//b", "/./a", "/a/.", "/a/./b"] {
            assert!(!is_clean(other.as_bytes()), "{other}");
        }
    }
}
