//! The one process that writes to a store.

use std::path::Path;
use std::sync::Arc;

use crate::keeper::Closed;
use crate::{Appended, Appender, HistoryError, Keeper, Reading, Settings, listing, opening};

/// The one process that writes to a store: an [`Appender`] and its [`Keeper`], one after the other.
///
/// [`Writer::maintain`] is to be called now and then; it is where write-ahead files become files of days, and where old days become coarser
/// and go. Who cannot wait for that has the two apart ([`Writer::open_apart`]).
#[derive(Debug)]
pub struct Writer {
    appender: Appender,
    keeper: Keeper,
}

impl Writer {
    /// Opens a store to append to it, and makes it if there is none. What a killed process left is taken in.
    ///
    /// # Errors
    /// If something else is there, others can write to it, another process does, a later program made it, or the system refuses.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, HistoryError> {
        let (appender, mut keeper) = Self::open_apart(path, settings)?;
        match keeper.seal() {
            // Readings can still be taken; what is there is kept as it is.
            Err(error) if error.is_full() || matches!(error, HistoryError::Held { .. }) => {}
            sealed => sealed?,
        }
        Ok(Writer { appender, keeper })
    }

    /// Opens a store as one that appends and one that keeps, for two threads. What a killed process left is taken in by the keeper.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_apart(path: &Path, settings: Settings) -> Result<(Appender, Keeper), HistoryError> {
        let (directory, lock) = opening::open_to_write(path)?;
        let left = listing::logs(&directory)?;
        let next_log = opening::next_log(&directory, &left)?;
        let (directory, lock) = (Arc::new(directory), Arc::new(lock));
        let closed = Arc::new(Closed::new(left));
        let appender =
            Appender::new(directory.clone(), lock.clone(), settings, next_log, closed.clone());
        Ok((appender, Keeper::new(directory, lock, settings, closed)))
    }

    /// Appends what was read at once: all of it, or nothing if that fails.
    ///
    /// # Errors
    /// As [`Appender::append`].
    pub fn append(&mut self, readings: &[Reading]) -> Result<Appended, HistoryError> {
        self.appender.append(readings)
    }

    /// Says that the clock was set, as [`Appender::begin_anew`].
    pub fn begin_anew(&mut self) {
        self.appender.begin_anew();
    }

    /// Does what is due ([`Appender::tidy`], [`Keeper::maintain`]). `now_millis` is the present, in milliseconds since 1970.
    ///
    /// # Errors
    /// If the system refuses. Nothing is lost then, and the next call tries again.
    pub fn maintain(&mut self, now_millis: u64) -> Result<(), HistoryError> {
        self.appender.tidy(now_millis);
        self.keeper.maintain(now_millis, &|| false)
    }

    /// Makes files of days of everything that was appended.
    ///
    /// # Errors
    /// If the system refuses. Nothing is lost then.
    pub fn seal(&mut self) -> Result<(), HistoryError> {
        self.appender.close_log();
        self.keeper.seal()
    }
}
