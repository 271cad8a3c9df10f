//! A file that the library has opened for itself. It is closed by the system call: the standard library's descriptors are closed by the C library's
//! function, which is one that we stand in for, and at which a thread can be cancelled.

use core::ffi::{CStr, c_int};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// An open file of the library's own.
#[derive(Debug)]
pub struct OwnFile {
    number: RawFd,
}

impl OwnFile {
    /// Takes a descriptor over.
    ///
    /// # Safety
    /// It is open, and nobody else closes it.
    pub unsafe fn from_number(number: c_int) -> Self {
        OwnFile { number }
    }

    /// Gives the descriptor up, which stays open.
    pub fn into_number(self) -> c_int {
        core::mem::ManuallyDrop::new(self).number
    }
}

impl From<OwnedFd> for OwnFile {
    fn from(descriptor: OwnedFd) -> Self {
        OwnFile { number: descriptor.into_raw_fd() }
    }
}

impl AsFd for OwnFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open as long as this value lives.
        unsafe { BorrowedFd::borrow_raw(self.number) }
    }
}

impl AsRawFd for OwnFile {
    fn as_raw_fd(&self) -> RawFd {
        self.number
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // SAFETY: ours, and not used any more.
        unsafe { rustix::io::close(self.number) };
    }
}

/// Opens a file by its name in a directory.
///
/// # Errors
/// As the system call.
pub fn openat(
    directory: impl AsFd,
    path: &CStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnFile, Errno> {
    rustix::fs::openat(directory, path, flags, mode).map(OwnFile::from)
}
