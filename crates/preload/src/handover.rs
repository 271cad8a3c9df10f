//! The file of a process that becomes another user.

use rustix::fs::OFlags;

use crate::process::Process;
use crate::thread::Busy;

/// Keeps the file open: the new user need not be able to come to it by its name, so that neither the file nor its
/// directory is opened for anybody. Where a program closes what it does not know, the file grows no more, and
/// what is lost is counted.
pub fn keep_open(process: &Process, busy: &Busy) {
    let _held = process.lock.hold(busy);
    // SAFETY: the lock is held.
    let spool = unsafe { &*process.spool.get() };
    // After vfork(2), the memory is the parent's and the descriptors are not.
    let is_of_parent = spool.pid != rustix::process::getpid().as_raw_nonzero().get() as u32;
    if is_of_parent || spool.kept.get().is_some() {
        return;
    }
    if let Ok(file) = spool.open(OFlags::RDWR) {
        // Without it, the file may not grow.
        let _ = spool.kept.keep(file);
    }
}
