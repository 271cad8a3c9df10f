//! What other nodes have written to a file that is open here.
//!
//! Network file systems answer from memory: GlusterFS keeps pages when a file is opened again, and its size for a second. So the size is
//! asked of the server, and pages are forgotten before they are read.

use std::os::fd::AsFd;

pub use plimsoll_guarded::{is_kind_of_one_node, is_of_one_node};
use rustix::fs::{Advice, AtFlags, StatxFlags, fadvise, fstat, statx};
use rustix::io::Errno;

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

/// What changes when somebody writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Its bytes.
    pub size: u64,
    /// When its bytes and its facts were changed, in seconds and nanoseconds.
    pub changed: [(i64, u32); 2],
}

impl FileState {
    /// Returns that of a file, whichever node has changed it.
    ///
    /// # Errors
    /// If the server does not answer, or the kernel does not know the call.
    pub fn of(file: impl AsFd) -> Result<Self, Errno> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let wanted = StatxFlags::SIZE | StatxFlags::MTIME | StatxFlags::CTIME;
        let facts = statx(file, "", flags, wanted)?;
        let changed = [facts.stx_mtime, facts.stx_ctime].map(|it| (it.tv_sec, it.tv_nsec));
        Ok(FileState { size: facts.stx_size, changed })
    }
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
