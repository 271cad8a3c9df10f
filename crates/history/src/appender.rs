//! Appending to a store.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_guarded::Directory;
use rustix::fs::OFlags;

use crate::keeper::Closed;
use crate::log::{Frame, HEADER_BYTES, header};
use crate::sealing::LOG_BYTES_MAX;
use crate::{
    Component, Differences, Form, GAP_MILLIS, HistoryError, Measure, Reading, Series, Settings,
    Since, names,
};

/// A write-ahead file is closed at this size even if nothing is done about it: half of what is read again.
const LOG_BYTES: u64 = LOG_BYTES_MAX / 2;

/// Appends to a store, and never waits for what a [`Keeper`](crate::Keeper) does to it.
///
/// What [`Appender::append`] took is in the kernel when it returns: a kill at any moment loses none of it, a machine that
/// fails loses what [`Settings::durable_after`] says.
#[derive(Debug)]
pub struct Appender {
    directory: Arc<Directory>,
    /// Locked as long as it is open.
    _lock: Arc<File>,
    settings: Settings,
    differences: Differences,
    log: Option<OpenLog>,
    next_log: u64,
    closed: Arc<Closed>,
    frame: Frame,
    values: Vec<(u32, u64)>,
}

/// What became of readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Samples that the store has now.
    pub samples: u64,
    /// Counters of which nothing is known for this time: new ones, and those that began anew.
    pub unknown: u64,
    /// Readings that were left out, because they are of the same moment as those before.
    pub not_later: u64,
}

/// The write-ahead file that is appended to.
#[derive(Debug)]
struct OpenLog {
    sequence: u64,
    file: File,
    /// Of whole frames. What is behind found no room.
    bytes: u64,
    rows: u64,
    begun: Instant,
    synced: Instant,
    series: u32,
    numbers: HashMap<Component, Numbers>,
}

/// Numbers of a component's series in the write-ahead file.
#[derive(Debug, Default)]
struct Numbers {
    server: String,
    of: HashMap<(Measure, u64), u32>,
    /// Those of the last reading, by the places of its values: most readings have the same ones.
    latest: Vec<((Measure, u64), u32)>,
}

impl Appender {
    /// Begins with a write-ahead file of this number.
    pub(crate) fn new(
        directory: Arc<Directory>,
        lock: Arc<File>,
        settings: Settings,
        next_log: u64,
        closed: Arc<Closed>,
    ) -> Self {
        Appender {
            directory,
            _lock: lock,
            settings,
            differences: Differences::default(),
            log: None,
            next_log,
            closed,
            frame: Frame::default(),
            values: Vec::new(),
        }
    }

    /// Appends what was read at once: all of it, or nothing if that fails.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example. Then these samples are missing, the store is as it was, and
    /// the next ones may find room.
    pub fn append(&mut self, readings: &[Reading]) -> Result<Appended, HistoryError> {
        let mut appended = Appended::default();
        // Times of a write-ahead file only grow: its number says what was appended later.
        if readings.iter().any(|reading| self.differences.goes_back(reading)) {
            self.close_log();
        }
        self.open_log()?;
        let Some(mut log) = self.log.take() else { return Ok(appended) };
        self.frame.clear();
        let told = log.series;
        for reading in readings {
            let since = self.differences.take(reading);
            if since.is_not_later {
                appended.not_later += 1;
                continue;
            }
            appended.unknown += since.unknown as u64;
            appended.samples += self.add(&mut log, reading, &since);
        }
        let written = match self.frame.finish() {
            Some(bytes) => log.write(bytes),
            None => Ok(()),
        };
        match written {
            Ok(()) => log.rows += appended.samples,
            Err(_) => {
                // What it told of series is not in the file.
                log.series = told;
                log.numbers.clear();
            }
        }
        let durable = written.and_then(|()| log.sync(&self.settings));
        let path = self.directory.path().join(names::log(log.sequence));
        self.log = Some(log);
        durable.map_err(|cause| HistoryError::io("append to", &path, cause))?;
        Ok(appended)
    }

    /// Says that the clock was set: what comes next is compared to nothing before it, so that no sample covers the step. Where it shows a time
    /// that samples are there of already, those that come now count.
    pub fn begin_anew(&mut self) {
        self.differences.begin_anew();
        self.close_log();
    }

    /// Hands the write-ahead file to the keeper if that is due, and forgets jobs that are gone. It is to be called now and then, and takes no
    /// time. `now_millis` is the present, in milliseconds since 1970.
    pub fn tidy(&mut self, now_millis: u64) {
        let settings = self.settings;
        let is_due = |log: &OpenLog| {
            log.rows >= settings.seal_rows || log.begun.elapsed() >= settings.seal_after
        };
        if self.log.as_ref().is_some_and(is_due) {
            self.close_log();
        }
        self.differences.forget_jobs(now_millis.saturating_sub(GAP_MILLIS));
    }

    /// Hands everything that was appended to the keeper.
    pub fn close_log(&mut self) {
        self.log.take().into_iter().for_each(|log| self.closed.add(log.sequence));
    }

    /// Adds the samples of a reading to the frame. Returns how many.
    fn add(&mut self, log: &mut OpenLog, reading: &Reading, since: &Since) -> u64 {
        let length = u32::try_from(since.length_millis).unwrap_or(0);
        let (mut added, (numbers, told)) = (0, log.numbers_of(reading));
        for (form, length) in [(Form::Increment, length), (Form::Level, 0)] {
            self.values.clear();
            if form == Form::Increment && length == 0 {
                continue;
            }
            for (place, known) in since.known.iter().enumerate() {
                if known.measure.form() == form {
                    let of = (known.measure, known.bin);
                    let number = numbers.number(place, of, told, &mut self.frame, reading);
                    self.values.push((number, known.value));
                }
            }
            if !self.values.is_empty() {
                self.frame.rows(since.end_millis, length, &self.values);
                added += self.values.len() as u64;
            }
        }
        added
    }

    fn open_log(&mut self) -> Result<(), HistoryError> {
        if self.log.as_ref().is_some_and(|log| log.bytes >= LOG_BYTES) {
            self.close_log();
        }
        if self.log.is_none() {
            let sequence = self.next_log;
            let begun = OpenLog::begin(&self.directory, sequence);
            let path = self.directory.path().join(names::log(sequence));
            self.log = Some(begun.map_err(|cause| HistoryError::io("create", &path, cause))?);
            self.next_log += 1;
        }
        Ok(())
    }
}

impl OpenLog {
    fn begin(directory: &Directory, sequence: u64) -> io::Result<Self> {
        let name = names::log(sequence);
        let file = directory.create(&name, OFlags::WRONLY, 0o600)?;
        if let Err(cause) = file.write_all_at(&header(sequence), 0) {
            let _ = directory.remove_file(&name);
            return Err(cause);
        }
        directory.sync()?;
        let now = Instant::now();
        Ok(OpenLog {
            sequence,
            file,
            bytes: HEADER_BYTES as u64,
            rows: 0,
            begun: now,
            synced: now,
            series: 0,
            numbers: HashMap::new(),
        })
    }

    /// Writes a frame behind the last whole one. What finds no room is cut off again, as far as the system allows.
    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        if let Err(cause) = self.file.write_all_at(frame, self.bytes) {
            let _ = self.file.set_len(self.bytes);
            return Err(cause);
        }
        self.bytes += frame.len() as u64;
        Ok(())
    }

    fn sync(&mut self, settings: &Settings) -> io::Result<()> {
        if self.synced.elapsed() >= settings.durable_after {
            self.file.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Returns the numbers of a component's series, and how many series were told of.
    fn numbers_of(&mut self, reading: &Reading) -> (&mut Numbers, &mut u32) {
        if !self.numbers.contains_key(&reading.component) {
            self.numbers.insert(reading.component.clone(), Numbers::default());
        }
        let numbers = self.numbers.get_mut(&reading.component).expect("it was inserted");
        if numbers.server != reading.server {
            numbers.server.clone_from(&reading.server);
            numbers.of.clear();
            numbers.latest.clear();
        }
        (numbers, &mut self.series)
    }
}

impl Numbers {
    /// Returns the number of the series of a reading's value, which the frame tells of if it is new.
    fn number(
        &mut self,
        place: usize,
        of: (Measure, u64),
        told: &mut u32,
        frame: &mut Frame,
        reading: &Reading,
    ) -> u32 {
        match self.latest.get(place) {
            Some((latest, number)) if *latest == of => return *number,
            _ => {}
        }
        let number = *self.of.entry(of).or_insert_with(|| {
            let (component, server) = (reading.component.clone(), reading.server.clone());
            frame.series(&Series { measure: of.0, bin: of.1, component, server });
            *told += 1;
            *told - 1
        });
        if self.latest.len() <= place {
            self.latest.resize(place + 1, (of, number));
        }
        self.latest[place] = (of, number);
        number
    }
}
