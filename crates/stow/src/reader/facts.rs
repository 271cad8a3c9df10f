//! What a reader can tell of a file beside its bytes.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_guarded::Readers;

use super::Reader;
use crate::index_file::IndexFile;
use crate::scan::LogScan;

impl Reader {
    /// Returns the bytes of memory that it takes, about.
    pub fn memory(&self) -> u64 {
        let index = self.index.as_ref().map_or(0, IndexFile::memory);
        let scanned = self.scanned.get().map_or(0, |it| it.memory());
        index + self.allowance.taken() + scanned
    }

    /// Notes for the container's writers how much was read, and up to which stamp.
    pub(super) fn note_what_was_read(&self) {
        self.container.note_seen(self.latest.sequence);
        let scans = self.logs.iter().filter_map(|it| it.scan.as_ref().ok());
        let pages = scans.map(LogScan::slot_pages).sum();
        self.container.pages_read.store(pages, Ordering::Relaxed);
    }

    /// Returns how many logs there are: of a container that somebody forged, looking at each part of it may take hours.
    pub fn log_count(&self) -> usize {
        self.logs.len()
    }

    /// Returns who may read all that the container is made of.
    pub fn readers(&self) -> Readers {
        self.logs.iter().fold(self.container.readers(), |it, log| it.and(log.readers()))
    }

    /// Returns what a log is called in messages.
    pub fn name_of(&self, log: u32) -> String {
        if self.is_small() {
            return "its marker".into();
        }
        let target = self.logs.get(log as usize).map_or("?", |it| it.listed.target.as_str());
        format!("log {log} on target {target}")
    }

    /// Returns whether nothing is missing, so that the file ends where it seems to.
    pub fn is_whole(&self) -> bool {
        self.doubt.is_none()
    }

    /// Returns a number that is the same as long as [`Reader::refresh`] finds nothing new: bytes are then what they were.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns when a log was written to last, as far as the targets tell; of a small file in whole seconds, as its marker's nanoseconds have its size.
    pub fn last_written(&self) -> Option<SystemTime> {
        let scans = self.logs.iter().filter_map(|it| it.scan.as_ref().ok());
        let last = scans.filter_map(|it| it.log().modified()).max();
        if self.is_small() { last.map(whole_second) } else { last }
    }
}

fn whole_second(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs())
}
