//! Reading a store, some rows of one series at a time.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_guarded::{Directory, Readers};
use rustix::fs::OFlags;

use crate::cover::Cover;
use crate::latest_cover::LatestCover;
use crate::open_day::{OpenDay, Recent};
use crate::part_file::PartFile;
use crate::sealing::{by_day, read_log};
use crate::spread::GAP_MILLIS;
use crate::{Component, Day, HistoryError, Measure, Series, listing, names, opening};

/// A day may be replaced while it is opened; then it is opened again.
const ATTEMPTS: usize = 10;

/// A store that is read, also while another process appends to it.
#[derive(Debug)]
pub struct Store {
    directory: Directory,
    /// What write-ahead files had when days were last asked for. They name any days that they like, and are read once for all of them.
    recent: Mutex<Option<Arc<Recent>>>,
}

/// Which samples are wanted.
#[derive(Default)]
pub struct Selection<'a> {
    /// Those that end after this moment, in milliseconds since 1970,
    pub since: Option<u64>,
    /// and not after this one.
    pub until: Option<u64>,
    /// Of these measures; all if none is named.
    pub measures: &'a [Measure],
    /// Of components of which this is true; all if there is none.
    pub is_wanted: Option<&'a (dyn Fn(&Component) -> bool + Sync)>,
}

/// Samples of one series that follow each other in time.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Of what.
    pub series: &'a Series,
    /// Milliseconds since 1970: ends of the times that the samples are of.
    pub ends: &'a [u64],
    /// How many milliseconds before the end each covers; 0 for levels.
    pub lengths: &'a [u64],
    /// By how much counters grew, or levels.
    pub values: &'a [u64],
}

impl Store {
    /// Opens a store to read it.
    ///
    /// # Errors
    /// If there is none, a later program made it, or the system refuses.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Ok(Store { directory: opening::open_to_read(path)?, recent: Mutex::new(None) })
    }

    /// Opens a store that somebody has open already.
    pub(crate) fn in_directory(directory: &Directory) -> Result<Self, HistoryError> {
        let path = directory.path().to_owned();
        let opened = Directory::open_held(directory, path.clone());
        let directory = opened.map_err(|cause| HistoryError::io("open", &path, cause))?;
        Ok(Store { directory, recent: Mutex::new(None) })
    }

    /// Returns who may read all that it has.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn readers(&self) -> Result<Readers, HistoryError> {
        let (mut readers, mut readers_of_days) = (Readers::of(&self.directory), Readers::Everyone);
        let mut narrow =
            |directory: &Directory, name: &str| match directory.open_file(name, OFlags::RDONLY) {
                Ok(file) => {
                    readers = readers.and(Readers::of(&file));
                    Ok(())
                }
                // It became another file just now.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(cause) => Err(HistoryError::io("open", &directory.path().join(name), cause)),
            };
        for sequence in listing::logs(&self.directory)? {
            narrow(&self.directory, &names::log(sequence))?;
        }
        for day in listing::days(&self.directory)? {
            let folder = self.directory.child(day.directory());
            let path = || self.directory.path().join(day.directory());
            let folder = folder.map_err(|cause| HistoryError::io("open", &path(), cause))?;
            for part in listing::parts(&folder)? {
                narrow(&folder, &part.file())?;
            }
            readers_of_days = readers_of_days.and(Readers::of(&folder));
        }
        Ok(readers.and(readers_of_days))
    }

    /// Returns the days that have samples of the selection's time, in their order. What is appended later may be found only after this is called again.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn days(&self, selection: &Selection<'_>) -> Result<Vec<Day>, HistoryError> {
        let recent = self.look_at_logs()?;
        // Listed later: what becomes a file in between is in both.
        let mut days = listing::days(&self.directory)?;
        days.extend(recent.days.keys());
        days.sort_unstable();
        days.dedup();
        // A sample that was begun the day before may have a window of that day.
        let (least, most) = selection.ends();
        let is_inside =
            |day: &Day| day.end() >= least && day.start() <= most.saturating_add(GAP_MILLIS);
        days.retain(is_inside);
        Ok(days)
    }

    /// Returns a number that tells these days of this store from those of another one, or of the same one after they were changed: a checksum of
    /// the names and sizes of their files. What write-ahead files have is not in it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn fingerprint(&self, days: &[Day]) -> Result<u32, HistoryError> {
        let mut sum = 0;
        for day in days {
            let path = || self.directory.path().join(day.directory());
            let folder = match self.directory.child(day.directory()) {
                Ok(folder) => folder,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                Err(cause) => return Err(HistoryError::io("open", &path(), cause)),
            };
            for part in listing::parts(&folder)? {
                let name = part.file();
                let facts = folder.facts_of(&name);
                let size = facts
                    .map_err(|cause| HistoryError::io("look at", &path().join(&name), cause))?
                    .st_size;
                sum = crc32c::crc32c_append(sum, format!("{day}/{name} {size}\n").as_bytes());
            }
        }
        Ok(sum)
    }

    /// Calls for all selected samples: day by day, within a day file by file in the order in which they were appended,
    /// within a file by measure, component and time. Samples of one component and measure never overlap: of a time that a clock showed twice there is what
    /// was appended last. They come in the order of time, unless a clock was put back that day; imports come before what was appended.
    ///
    /// Memory does not grow with the store.
    ///
    /// # Errors
    /// If a file is damaged, or the system refuses; or whatever `each` returned.
    pub fn read<E: From<HistoryError>>(
        &self,
        selection: &Selection<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for day in self.days(selection)? {
            self.read_day(day, selection, &mut each)?;
        }
        Ok(())
    }

    /// Does the same for one day. Days can be read at the same time.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_day<E: From<HistoryError>>(
        &self,
        day: Day,
        selection: &Selection<'_>,
        each: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.day(day)?.read(selection, each)
    }

    /// Returns all selected series of a day, without reading samples.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn series(&self, day: Day, selection: &Selection<'_>) -> Result<Vec<Series>, HistoryError> {
        Ok(self.day(day)?.series(selection))
    }

    /// Opens all files of a day, to read it as often as need be.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn day(&self, day: Day) -> Result<OpenDay, HistoryError> {
        // Write-ahead files are read before files are listed: what becomes a file in between is found by its name.
        let known = self.recent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let recent = known.map_or_else(|| self.look_at_logs(), Ok)?;
        let mut attempt = 1;
        loop {
            match self.try_open_day(day, &recent) {
                Err(error) if error.is_not_there() && attempt < ATTEMPTS => attempt += 1,
                opened => return opened,
            }
        }
    }

    fn try_open_day(&self, day: Day, recent: &Arc<Recent>) -> Result<OpenDay, HistoryError> {
        let mut files = Vec::new();
        match self.directory.child(day.directory()) {
            Ok(folder) => {
                for part in listing::parts(&folder)? {
                    let file = PartFile::open(&folder, &part.file())?;
                    files.push((part, file));
                }
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(HistoryError::io("open", self.directory.path(), cause)),
        }
        let is_new = |sequence: u64| !files.iter().any(|(part, _)| part.has_log(sequence));
        let of_day = recent.days.get(&day).into_iter().flatten();
        let logs = of_day.filter(|(sequence, _)| is_new(*sequence)).cloned().collect();
        Ok(OpenDay::new(recent.clone(), files, logs))
    }

    /// Reads the write-ahead files. One that is gone became a file of a day just now.
    fn look_at_logs(&self) -> Result<Arc<Recent>, HistoryError> {
        let (mut recent, mut covers) = (Recent::default(), Vec::new());
        for sequence in listing::logs(&self.directory)? {
            let log = match read_log(&self.directory, sequence) {
                Ok(Some(log)) => log,
                Ok(None) => continue,
                Err(error) if error.is_not_there() => continue,
                Err(error) => return Err(error),
            };
            covers.push((sequence, Cover::of(&log.series, &log.rows)));
            for (day, series, rows) in by_day(log) {
                recent.days.entry(day).or_default().push((sequence, (series, rows)));
            }
        }
        recent.latest = LatestCover::of(covers);
        let recent = Arc::new(recent);
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Some(recent.clone());
        Ok(recent)
    }
}

impl Selection<'_> {
    /// Returns the least and the greatest end of a selected sample.
    pub(crate) fn ends(&self) -> (u64, u64) {
        (self.since.map_or(0, |since| since.saturating_add(1)), self.until.unwrap_or(u64::MAX))
    }

    pub(crate) fn wants(&self, series: &Series) -> bool {
        let is_measure = self.measures.is_empty() || self.measures.contains(&series.measure);
        is_measure && self.is_wanted.is_none_or(|is_wanted| is_wanted(&series.component))
    }
}
