//! Days in partials.

use plimsoll_history::Day;
use plimsoll_stored::{Malformed, Reader, Stored};

/// A day as partials have it: by its number since 1970.
pub(crate) struct StoredDay(Day);

impl From<Day> for StoredDay {
    fn from(day: Day) -> Self {
        StoredDay(day)
    }
}

impl From<StoredDay> for Day {
    fn from(stored: StoredDay) -> Self {
        stored.0
    }
}

impl Stored for StoredDay {
    fn put(&self, out: &mut Vec<u8>) {
        (self.0.start() / Day::MILLIS).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let number = u32::get(from)?;
        Ok(StoredDay(Day::ending_at(u64::from(number) * Day::MILLIS + 1)))
    }
}
