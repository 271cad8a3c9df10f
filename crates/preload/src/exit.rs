//! The end of a process: its chunks are sealed and its file goes where it belongs.

use core::sync::atomic::Ordering;

use plimsoll_trace::layout::{Loss, State};

use crate::chunk::SLOTS;
use crate::process::{self, Process};
use crate::thread::Busy;
use crate::{config, hot, spool, stage, sys};

/// Ends the recording with the process. What is still recorded afterwards goes into new chunks.
pub fn finish(state: State) {
    if !hot::is_on() {
        return;
    }
    let Some(busy) = Busy::begin() else { return };
    let process = match state {
        // A process that made no call has a file too: nobody must wonder where it is.
        State::Finished if !config::is_sandboxed() => process::recording(&busy),
        _ => process::current().filter(|process| process.is_recording()),
    };
    let Some(process) = process else { return };
    for _ in 0..process.transfers.take_all() {
        process.lose(Loss::Untracked);
    }
    seal(process, &busy);
    spool::set_state(process, state);
    stage::out(process, &busy, state);
}

/// Goes on after the process did not become another program.
pub fn resume() {
    if let Some(busy) = Busy::begin()
        && let Some(process) = process::current().filter(|process| process.is_recording())
    {
        stage::undo(process, &busy);
        spool::set_state(process, State::Running);
    }
}

/// Seals the chunks that nobody writes to any more, and gives back what the file does not need.
/// Other threads may still run: theirs stay open, and are as valid without a checksum.
fn seal(process: &'static Process, busy: &Busy) {
    let held = process.lock.hold(busy);
    spool::move_clock(process, 0);
    // SAFETY: the lock is held.
    let pid = unsafe { (*process.spool.get()).pid };
    let own = sys::thread_id();
    let mut writers = [process.definitions.get(); SLOTS + 1];
    let mut count = 1;
    for slot in &process.slots {
        let owner = slot.owner.load(Ordering::Acquire);
        let is_free_to_seal = owner == own || owner != 0 && sys::is_gone(pid, owner);
        if let Some(writer) = writers.get_mut(count).filter(|_| is_free_to_seal) {
            *writer = slot.writer.get();
            count += 1;
        }
    }
    let writers = writers.get(..count).unwrap_or(&[]);
    // SAFETY: guarded by the lock, ours, or of threads that are gone.
    unsafe {
        spool::trim(process, &held, writers);
        writers.iter().for_each(|writer| (**writer).seal(None));
    }
}
