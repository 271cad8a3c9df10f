//! Reading a log by one system call, and telling whoever wants to know what is done to it.

use std::io::IoSliceMut;

use rustix::io::{Errno, pread, preadv};

use super::Log;
use crate::watch::{Begun, Deed, Done};

impl Log {
    /// Reads by one system call, which may get less; returns how many bytes there are.
    ///
    /// # Errors
    /// If the target does not answer.
    #[inline]
    pub fn read_once(&self, bytes: &mut [u8], position: u64) -> Result<usize, Errno> {
        self.told(Deed::Read, position, bytes.len(), || pread(&self.file, bytes, position))
    }

    /// Does the same with several slices, one behind the other.
    ///
    /// # Errors
    /// As [`Log::read_once`].
    pub fn read_slices(
        &self,
        slices: &mut [IoSliceMut<'_>],
        position: u64,
    ) -> Result<usize, Errno> {
        let all = slices.iter().map(|it| it.len()).sum();
        self.told(Deed::Read, position, all, || preadv(&self.file, slices, position))
    }

    /// Does something to the log, and tells whoever wants to know.
    #[inline]
    pub(super) fn told(
        &self,
        deed: Deed,
        position: u64,
        length: usize,
        work: impl FnOnce() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let Some(begun) = Begun::now() else { return work() };
        let moved = work();
        let (path, length) = (self.path(), length as u64);
        begun.end(&Done { deed, path, position, length, moved: moved.map(|it| it as u64) });
        moved
    }
}
