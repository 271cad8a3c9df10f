//! Keeping a store: files of days instead of write-ahead files, few of them, old ones coarser.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_guarded::Directory;

use crate::sealing::seal;
use crate::{HistoryError, Settings, opening, upkeep};

/// How long nothing is looked for after nothing was due.
const REST_MILLIS: u64 = 60_000;

/// Makes files of days of what an [`Appender`](crate::Appender) closed, merges them, makes old ones coarser, and removes the oldest days.
/// None of this makes the appender wait, so that it can be done by another thread.
#[derive(Debug)]
pub struct Keeper {
    directory: Arc<Directory>,
    /// Locked as long as it is open.
    _lock: Arc<File>,
    settings: Settings,
    closed: Arc<Closed>,
    /// When nothing is due, as far as is known, in milliseconds since 1970.
    rest: Option<Range<u64>>,
}

/// Write-ahead files that are closed, and not yet files of days, in their order.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    sequences: Mutex<VecDeque<u64>>,
}

impl Closed {
    pub fn new(sequences: Vec<u64>) -> Self {
        Closed { sequences: Mutex::new(sequences.into()) }
    }

    pub fn add(&self, sequence: u64) {
        self.all().push_back(sequence);
    }

    fn first(&self) -> Option<u64> {
        self.all().front().copied()
    }

    fn remove_first(&self) {
        self.all().pop_front();
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.sequences.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    pub(crate) fn new(
        directory: Arc<Directory>,
        lock: Arc<File>,
        settings: Settings,
        closed: Arc<Closed>,
    ) -> Self {
        Keeper { directory, _lock: lock, settings, closed, rest: None }
    }

    /// Does what is due: seals write-ahead files, merges and ages files of days, and removes old days. A call merges the files of one day at
    /// most, and that until `is_over` is true: then everything is left as it was. `now_millis` is the present, in milliseconds since 1970.
    ///
    /// # Errors
    /// If the system refuses. Nothing is lost then, and the next call tries again.
    pub fn maintain(
        &mut self,
        now_millis: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), HistoryError> {
        self.seal()?;
        // Whether anything is due is asked of every day of the store.
        let is_known = |rest: &Range<u64>| rest.contains(&now_millis);
        if self.rest.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        let _days = opening::hold_days(&self.directory)?;
        let is_done = upkeep::step(&self.directory, &self.settings, now_millis, is_over)?;
        self.rest = (!is_done).then_some(now_millis..now_millis.saturating_add(REST_MILLIS));
        Ok(())
    }

    /// Makes files of days of all write-ahead files that were closed: in their order, so that what a file of a day says it has of them is true.
    ///
    /// # Errors
    /// If the system refuses. Nothing is lost then.
    pub fn seal(&mut self) -> Result<(), HistoryError> {
        while let Some(sequence) = self.closed.first() {
            let _days = opening::hold_days(&self.directory)?;
            seal(&self.directory, sequence)?;
            self.closed.remove_first();
            self.rest = None;
        }
        Ok(())
    }
}
