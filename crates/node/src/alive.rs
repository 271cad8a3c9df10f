//! Members prove that they are alive by a lock on a byte of the file.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The byte of the first place: beyond everything that the file holds.
const FIRST: i64 = 1 << 40;

fn byte(place: usize, kind: i32) -> libc::flock {
    // SAFETY: the structure is plain numbers, for which zeros are good.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = FIRST + place as i64;
    lock.l_len = 1;
    lock
}

/// The system call itself: the C library's function may be somebody's hook.
fn fcntl(file: BorrowedFd<'_>, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    let lock: *mut libc::flock = lock;
    // SAFETY: the kernel reads and writes one such structure, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_fcntl, file.as_raw_fd(), command, lock) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes a place for as long as the file's description is open, unless somebody has it.
pub(crate) fn take(file: BorrowedFd<'_>, place: usize) -> io::Result<bool> {
    match fcntl(file, libc::F_OFD_SETLK, &mut byte(place, libc::F_WRLCK)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Gives a place up.
pub(crate) fn give_up(file: BorrowedFd<'_>, place: usize) {
    let _ = fcntl(file, libc::F_OFD_SETLK, &mut byte(place, libc::F_UNLCK));
}

/// Whether nobody has a place, as seen through the description of another. If the kernel does not say, somebody has.
pub(crate) fn is_vacant(file: BorrowedFd<'_>, place: usize) -> bool {
    let mut lock = byte(place, libc::F_WRLCK);
    fcntl(file, libc::F_OFD_GETLK, &mut lock).is_ok() && i32::from(lock.l_type) == libc::F_UNLCK
}

/// Has a file count as used ([`is_unused`]) for as long as this description of it is open.
///
/// # Errors
/// Fails if the system does.
pub fn hold(file: BorrowedFd<'_>) -> io::Result<()> {
    take(file, 0).map(|_| ())
}

/// Returns whether no process takes part in the node whose memory this file is. If the kernel does not say, somebody does.
pub fn is_unused(file: BorrowedFd<'_>) -> bool {
    let mut all = libc::flock { l_len: 0, ..byte(0, libc::F_WRLCK) };
    fcntl(file, libc::F_OFD_GETLK, &mut all).is_ok() && i32::from(all.l_type) == libc::F_UNLCK
}
