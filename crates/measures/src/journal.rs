//! Writing results while an experiment runs.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Readers, is_there};
use rustix::fs::OFlags;
use serde_json::Value;

use crate::files;
use crate::line::{self, Header};
use crate::reading::JournalReader;
use crate::rows::RowWriter;
use crate::summary::Summary;
use crate::totals::Totals;
use crate::{
    ENVIRONMENT, INSTANCES, Instance, JOURNAL, MeasuresError, PAIRS, PLAN, Results, SUMMARY,
};

/// Writes while an experiment runs. Every instance whose [`Journal::append`] has returned is
/// found again, also when the process is killed at any moment after it.
#[derive(Debug)]
pub struct Journal {
    directory: Directory,
    path: PathBuf,
    file: File,
    /// Locked as long as it is open. Not the journal itself: whoever can read a file can lock it.
    _lock: File,
    /// Bytes of whole lines. What is behind is left of a line that found no room.
    length: u64,
    is_torn: bool,
    /// The number that the next instance has at least.
    next_instance: u64,
}

/// What a runner must know to continue an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// The experiment's name.
    pub experiment: String,
    /// The plan that it was started with.
    pub plan_text: String,
    /// Instances that were executed: the number of the next one.
    pub instances: u64,
    /// Whether the last line was cut off by a kill, and was dropped.
    pub torn: bool,
    /// What is missing or doubtful, one sentence each.
    pub warnings: Vec<String>,
}

impl Journal {
    /// Begins an experiment in a directory that everyone may read.
    ///
    /// # Errors
    /// As [`Journal::create_for`].
    pub fn create(
        directory: &Path,
        experiment: &str,
        plan_text: &str,
        environment: &Value,
    ) -> Result<Journal, MeasuresError> {
        Self::create_for(Readers::Everyone, directory, experiment, plan_text, environment)
    }

    /// Begins an experiment in a directory, which is made if need be, for those who may read what the plan came from.
    ///
    /// # Errors
    /// When the directory already has results or a file of one of their names, or when others can write
    /// to it.
    pub fn create_for(
        readers: Readers,
        directory: &Path,
        experiment: &str,
        plan_text: &str,
        environment: &Value,
    ) -> Result<Journal, MeasuresError> {
        let directory = files::make_own_directory(directory, readers)?;
        // Looked at once it is open: by its path, somebody who may write above it could put other results there since.
        refuse_results_in(&directory)?;
        let header = Header::new(experiment).line();
        let header =
            header.map_err(|it| MeasuresError::format(&directory.path().join(JOURNAL), it))?;
        let mode = files::mode_for(readers);
        files::create(&directory, PLAN, mode, plan_text.as_bytes())?;
        files::create(&directory, ENVIRONMENT, mode, format!("{environment:#}\n").as_bytes())?;
        files::create(&directory, JOURNAL, mode, header.as_bytes())?;
        files::sync_directory(&directory);
        Journal::open(directory, header.len() as u64, 0)
    }

    /// Fails where [`create`](Journal::create) would because of what is there, before anything is done.
    ///
    /// # Errors
    /// When the directory already has results or a file of one of their names, or when others can write
    /// to it.
    pub fn refuse_existing(directory: &Path) -> Result<(), MeasuresError> {
        let there = is_there(directory);
        if !there.map_err(|cause| MeasuresError::io("open", directory, cause))? {
            return Ok(());
        }
        refuse_results_in(&files::open_own_directory(directory)?)
    }

    /// Opens an unfinished experiment to continue it. A line that a kill cut off is dropped, and
    /// so are damaged lines at the end: their instances are measured again. Damaged lines before
    /// a readable one stay, as later instances have their numbers.
    ///
    /// # Errors
    /// When there is none, when it is complete, when another process is writing it, or when other
    /// users can.
    pub fn resume(directory: &Path) -> Result<(Journal, Resumed), MeasuresError> {
        let path = directory.join(JOURNAL);
        if !is_there(&path).unwrap_or(true) {
            return Err(MeasuresError::NoResults { directory: directory.to_owned() });
        }
        // The lock comes first: what another process is appending is not torn.
        let mut journal = Journal::open(files::open_own_directory(directory)?, 0, 0)?;
        let mut reader = JournalReader::open_in(&journal.directory)?;
        let mut scan = reader.scan()?;
        let mut warnings = Vec::new();
        let summary = Summary::read_in_or_warn(&journal.directory, &mut warnings)?;
        if summary.is_some_and(|it| it.complete && it.describes(&scan)) {
            return Err(MeasuresError::Complete { directory: directory.to_owned() });
        }
        let plan = directory.join(PLAN);
        let plan_text = files::read_text_in(&journal.directory, PLAN)?
            .ok_or_else(|| MeasuresError::io("open", &plan, std::io::ErrorKind::NotFound.into()))?;
        let cut_off = scan.cut_at_end(&path);
        if scan.is_torn || cut_off.is_some() {
            journal.cut(scan.whole_bytes)?;
        }
        journal.length = scan.whole_bytes;
        journal.next_instance = scan.next_instance;
        warnings.extend(scan.warnings(&path).into_iter().chain(cut_off));
        let resumed = Resumed {
            warnings,
            experiment: reader.experiment,
            plan_text,
            instances: scan.next_instance,
            torn: scan.is_torn,
        };
        Ok((journal, resumed))
    }

    /// Returns what it has so far: of the very directory that it is in, whatever has its name meanwhile.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn results(&self) -> Result<Results, MeasuresError> {
        Results::open(&self.directory.path_by_descriptor())
    }

    fn open(
        directory: Directory,
        length: u64,
        next_instance: u64,
    ) -> Result<Journal, MeasuresError> {
        let path = directory.path().join(JOURNAL);
        let file = directory.open_own_file(JOURNAL, OFlags::WRONLY | OFlags::APPEND);
        let file = file.map_err(|error| MeasuresError::io("open", &path, error))?;
        let lock = files::open_lock(&directory)?;
        // Where the file system has no locks, nothing is held apart, and nothing else is lost.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(MeasuresError::Busy { path });
        }
        Ok(Journal { directory, path, file, _lock: lock, length, is_torn: false, next_instance })
    }

    /// Keeps an instance: one write of one line.
    ///
    /// # Errors
    /// When the disk is full, for example. The journal then ends with the instance before.
    pub fn append(&mut self, instance: &Instance) -> Result<(), MeasuresError> {
        let number = instance.instance;
        let refused = |reason: String| MeasuresError::Refused { instance: number, reason };
        if number < self.next_instance {
            let reason = format!("instance {} is to follow", self.next_instance);
            return Err(refused(reason));
        }
        // Parquet's times are signed: up to the year 2262.
        let is_late = |time: u64| i64::try_from(time).is_err();
        if instance.pairs.iter().any(|pair| is_late(pair.start) || is_late(pair.end)) {
            return Err(refused("a time lies behind the year 2262".into()));
        }
        let line = line::encode(instance).map_err(refused)?;
        if self.is_torn {
            self.cut(self.length)?;
        }
        if let Err(error) = self.file.write_all(&line) {
            self.is_torn = true;
            // When even this fails, the rest is a torn last line, which readers drop.
            let _ = self.cut(self.length);
            return Err(MeasuresError::io("append to", &self.path, error));
        }
        self.length += line.len() as u64;
        self.next_instance = number.saturating_add(1);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> Result<(), MeasuresError> {
        self.file.set_len(length).map_err(|it| MeasuresError::io("cut off", &self.path, it))?;
        self.is_torn = false;
        Ok(())
    }

    /// Writes the Parquet files, and `summary.json` with `complete` and what the caller found.
    /// The journal stays. Returns the directory that has the results, whatever has its name meanwhile.
    ///
    /// # Errors
    /// When there is no room, for example. All results are still in the journal then.
    pub fn finish(self, complete: bool, summary: Value) -> Result<Directory, MeasuresError> {
        let synced = self.file.sync_all();
        synced.map_err(|error| MeasuresError::io("write", &self.path, error))?;
        let totals = write_parquet(&self.directory)?;
        files::sync_directory(&self.directory);
        Summary::write(&self.directory, complete, totals, summary)?;
        files::remove_lock(&self.directory);
        files::sync_directory(&self.directory);
        Ok(self.directory)
    }
}

/// Writes both Parquet files. Neither gets its name before both are whole.
fn write_parquet(directory: &Directory) -> Result<Totals, MeasuresError> {
    let mut reader = JournalReader::open_in(directory)?;
    let mut totals = Totals { experiment: reader.experiment.clone(), ..Totals::default() };
    let mut rows = RowWriter::create(directory, &reader.experiment)?;
    while let Some(instance) = reader.next()? {
        rows.push(&instance)?;
        totals.instances += 1;
        totals.pairs += instance.pairs.len() as u64;
    }
    totals.damaged = reader.damaged;
    for whole in rows.finish()? {
        files::publish(whole)?;
    }
    Ok(totals)
}

/// Fails if a directory has results, or a file of one of their names.
fn refuse_results_in(directory: &Directory) -> Result<(), MeasuresError> {
    let names = [JOURNAL, PAIRS, INSTANCES, SUMMARY, PLAN, ENVIRONMENT];
    match names.into_iter().find(|name| directory.facts_of(name).is_ok()) {
        Some(file) => Err(MeasuresError::Exists { directory: directory.path().to_owned(), file }),
        None => Ok(()),
    }
}
