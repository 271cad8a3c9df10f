//! A log, as a reader has it.

use plimsoll_guarded::Readers;

use crate::manifest::ListedLog;
use crate::scan::LogScan;
use crate::word::PAGE_BYTES;

/// What a reader knows of a log.
pub struct LogUse<'a> {
    /// The log.
    pub listed: &'a ListedLog,
    /// Why not all of it can be read, if so.
    pub missing: Option<&'a str>,
    /// Segments found in it.
    pub segments: u64,
    /// Bytes of their slot pages, which say what they hold.
    pub index: u64,
    /// Bytes of its file; `None` if it cannot be asked.
    pub bytes: Option<u64>,
    /// Bytes that its target keeps of them.
    pub stored: Option<u64>,
    /// Bytes of the file that are read from it.
    pub live: u64,
    /// Who may read it.
    pub readers: Readers,
}

/// A log that the manifest lists.
pub struct ReadLog {
    /// As it is listed.
    pub listed: ListedLog,
    /// How far it was read, or why it cannot be.
    pub scan: Result<LogScan, String>,
    /// Whether something is missing that was in it.
    pub is_short: bool,
}

impl ReadLog {
    /// Returns why not all that was in it can be read.
    pub fn problem(&self) -> Option<&str> {
        match &self.scan {
            Err(why) => Some(why),
            Ok(_) => self.is_short.then_some("its end is missing"),
        }
    }

    /// Returns who may read it: its owner alone, where it could not be looked at.
    pub fn readers(&self) -> Readers {
        self.scan.as_ref().map_or(Readers::OwnerAlone, |scan| scan.log().readers())
    }

    /// Returns what is told of it; `live` bytes of the file are read from it.
    pub fn used(&self, live: u64) -> LogUse<'_> {
        let scan = self.scan.as_ref().ok();
        LogUse {
            listed: &self.listed,
            missing: self.problem(),
            segments: scan
                .map_or(0, |it| it.segments().iter().filter(|it| !it.is_free).count() as u64),
            index: scan.map_or(0, LogScan::slot_pages) * PAGE_BYTES,
            bytes: scan.and_then(|scan| scan.log().size().ok()),
            stored: scan.and_then(|scan| scan.log().stored().ok()),
            live,
            readers: self.readers(),
        }
    }
}
