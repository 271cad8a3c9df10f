//! The file of a process that becomes another user.

use rustix::fs::{Mode, OFlags};

use crate::process::Process;
use crate::thread::Busy;

/// Gives the file to a user, if this process may: all ones is nobody.
pub fn give_to(process: &Process, busy: &Busy, user: u32) {
    let _held = process.lock.hold(busy);
    if user == u32::MAX || !rustix::process::geteuid().is_root() {
        return;
    }
    // SAFETY: the lock is held.
    let spool = unsafe { &*process.spool.get() };
    // Only the file that is ours, and the directory that it is in: others may have put something else there.
    let Ok(directory) = spool.folder.open() else { return };
    let Ok(file) = spool.open_in(&directory, OFlags::RDONLY) else { return };
    let _ = rustix::fs::fchown(&file, Some(rustix::fs::Uid::from_raw(user)), None);
    // That user must come to the file, and no further than to what has a name that they know.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = rustix::fs::openat(&directory, c".", flags, Mode::empty())
        && let Ok(facts) = rustix::fs::fstat(&directory)
        && facts.st_uid == rustix::process::geteuid().as_raw()
    {
        let passable = Mode::from_raw_mode(facts.st_mode) | Mode::XUSR | Mode::XGRP | Mode::XOTH;
        let _ = rustix::fs::fchmod(&directory, passable);
    }
}
