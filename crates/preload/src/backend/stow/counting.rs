//! What the processes of a run write is counted for whoever started it, who says so afterwards.

use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use plimsoll_pilot::RunTally;
use plimsoll_stow::{Container, Tally};
use plimsoll_trace::variables;

use super::settings;
use crate::sys;

/// Mapped once: a forked child has it, too, and counts in the same place. No lock is around it, which the child could find closed.
static COUNTS: AtomicPtr<Option<RunTally>> = AtomicPtr::new(ptr::null_mut());

fn counts() -> Option<&'static RunTally> {
    loop {
        // SAFETY: null, or one that is never given back.
        if let Some(counts) = unsafe { COUNTS.load(Ordering::Acquire).as_ref() } {
            return counts.as_ref();
        }
        let new = Box::into_raw(Box::new(open()));
        let none = ptr::null_mut();
        if COUNTS.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else knows of it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

fn open() -> Option<RunTally> {
    let path = sys::variable(variables::STOW_TALLY).filter(|it| !it.is_empty())?;
    let targets = settings::get()?.targets.len();
    RunTally::open(Path::new(OsStr::from_bytes(path)), targets).ok()
}

/// Counts what one writer writes.
struct Counting {
    counts: &'static RunTally,
    /// Which of the run's targets each of the container's is.
    of_run: Vec<Option<usize>>,
}

impl Tally for Counting {
    fn wrote(&mut self, lane: usize, bytes: usize) {
        self.counts.add(self.of_run.get(lane).copied().flatten(), bytes as u64);
    }
}

/// Returns who counts what a new writer writes, if anybody wants to know.
pub fn of_writer(container: &Container) -> Option<Box<dyn Tally>> {
    let counts = counts()?;
    counts.begin();
    let run = &settings::get()?.targets;
    let place = |path: &Path| run.iter().position(|it| it.path == path);
    let of_run = container.targets().ok()?.iter().map(|it| place(&it.path)).collect();
    Some(Box::new(Counting { counts, of_run }))
}

/// Counts what was written to a small file.
pub fn add_small(bytes: u64) {
    if let Some(counts) = counts() {
        counts.begin();
        counts.add_small(bytes);
    }
}

/// Takes that back: it is on targets by now.
pub fn take_small(bytes: u64) {
    counts().into_iter().for_each(|it| it.take_small(bytes));
}

/// Notes that what was written became durable just now.
pub fn note_time() {
    counts().into_iter().for_each(RunTally::note_time);
}
