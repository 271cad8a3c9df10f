//! The end of a process: its chunks are sealed and its file goes where it belongs.

use core::sync::atomic::Ordering;

use plimsoll_trace::layout::State;

use crate::process::{self, Process};
use crate::thread::Busy;
use crate::{config, spool, stage, sys};

/// The process ends. What it still records afterwards goes into new chunks.
pub fn finish(state: State) {
    if !config::is_on() {
        return;
    }
    let Some(busy) = Busy::begin() else { return };
    let Some(process) = process::current().filter(|process| process.is_recording()) else { return };
    seal(process, &busy);
    spool::set_state(process, state);
    stage::out(process, &busy, state);
}

/// The process did not become another program.
pub fn resume() {
    if let Some(busy) = Busy::begin()
        && let Some(process) = process::current().filter(|process| process.is_recording())
    {
        stage::undo(process, &busy);
        spool::set_state(process, State::Running);
    }
}

/// Seals the chunks that nobody writes to any more. Other threads may still run: theirs stay
/// open, and are as valid without a checksum.
fn seal(process: &'static Process, busy: &Busy) {
    let held = process.lock.hold(busy);
    spool::move_clock(process, 0);
    // SAFETY: the lock is held.
    let pid = unsafe { (*process.spool.get()).pid };
    let own = spool::thread_id();
    for slot in &process.slots {
        let owner = slot.owner.load(Ordering::Acquire);
        if owner == own || owner != 0 && sys::is_gone(pid, owner) {
            // SAFETY: ours, or of a thread that is gone.
            unsafe { (*slot.writer.get()).seal(None) };
        }
    }
    // SAFETY: the lock is held.
    unsafe { (*process.definitions.get()).seal(None) };
    spool::trim(process, &held);
}
