//! Reading a directory of results.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::columns::PAIRS_TABLE;
use crate::files::read_text;
use crate::from_rows::{FromRows, what_is_left_out};
use crate::line::FORMAT;
use crate::reading::JournalReader;
use crate::summary::Summary;
use crate::table_reader::TableReader;
use crate::{ENVIRONMENT, INSTANCES, Instance, JOURNAL, MeasuresError, PAIRS, PLAN};

/// What an experiment measured.
#[derive(Debug, Clone)]
pub struct Results {
    /// Where it is.
    pub directory: PathBuf,
    /// The experiment's name.
    pub experiment: String,
    /// The machine and the program; null when the directory does not tell.
    pub environment: Value,
    /// What was asked for; empty when the directory does not tell.
    pub plan_text: String,
    /// Whether everything that was asked for was executed.
    pub complete: bool,
    /// What is missing or doubtful, one sentence each.
    pub warnings: Vec<String>,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Parquet,
    /// So many bytes of the journal: it may be growing.
    Journal(u64),
}

impl Results {
    /// Whether a directory looks like results, judged by the names of its files and the first
    /// bytes of a journal.
    pub fn is_results(directory: &Path) -> bool {
        use std::io::Read;
        let mut begin = Vec::new();
        let file = std::fs::File::open(directory.join(JOURNAL));
        let read = file.and_then(|file| file.take(256).read_to_end(&mut begin));
        let is_journal = read.is_ok() && String::from_utf8_lossy(&begin).contains(FORMAT);
        is_journal || directory.join(PAIRS).is_file()
    }

    /// Opens results: the Parquet files of an experiment that was brought to an end or that were
    /// made by another program, or else the journal.
    ///
    /// # Errors
    /// When there are none, or when they cannot be understood.
    pub fn open(directory: &Path) -> Result<Results, MeasuresError> {
        if !Results::is_results(directory) {
            return Err(MeasuresError::NoResults { directory: directory.to_owned() });
        }
        let mut results = Results {
            directory: directory.to_owned(),
            experiment: String::new(),
            environment: Value::Null,
            plan_text: String::new(),
            complete: false,
            warnings: Vec::new(),
            source: Source::Parquet,
        };
        results.read_beginning()?;
        match results.open_journal()? {
            Some(bytes) => results.source = Source::Journal(bytes),
            None => results.check_parquet()?,
        }
        Ok(results)
    }

    fn read_beginning(&mut self) -> Result<(), MeasuresError> {
        let environment = self.directory.join(ENVIRONMENT);
        match read_text(&environment)? {
            Some(text) => {
                let value = serde_json::from_str(&text);
                self.environment =
                    value.map_err(|error| MeasuresError::format(&environment, error))?;
            }
            None => self.warn_missing(ENVIRONMENT, "where this was measured is not known"),
        }
        match read_text(&self.directory.join(PLAN))? {
            Some(text) => self.plan_text = text,
            None => self.warn_missing(PLAN, "what was asked for is not known"),
        }
        Ok(())
    }

    fn warn_missing(&mut self, file: &str, consequence: &str) {
        let directory = self.directory.display();
        self.warnings.push(format!("{directory} has no {file}: {consequence}"));
    }

    /// Bytes of the journal that are to be read; nothing when the Parquet files are.
    fn open_journal(&mut self) -> Result<Option<u64>, MeasuresError> {
        let path = self.directory.join(JOURNAL);
        let summary = Summary::read(&self.directory)?;
        if !path.is_file() {
            let summary = summary.as_ref();
            self.complete = summary.is_some_and(|summary| summary.complete);
            self.experiment = summary.map_or_else(String::new, |it| it.experiment.clone());
            return Ok(None);
        }
        let mut reader = JournalReader::open(&path)?;
        self.experiment.clone_from(&reader.experiment);
        let scan = reader.scan()?;
        let has_parquet = self.directory.join(PAIRS).is_file();
        let is_current = summary.as_ref().is_some_and(|summary| summary.describes(&scan));
        if let Some(summary) = summary.filter(|_| is_current && has_parquet) {
            self.complete = summary.complete;
            self.warnings.extend(summary.changed(&self.directory)?);
            if summary.damaged_lines > 0 {
                self.warnings.extend(scan.warnings(&path));
            }
            if !summary.complete {
                self.warnings.push(format!(
                    "the experiment was ended early after {} instances",
                    scan.next_instance
                ));
            }
            return Ok(None);
        }
        self.warnings.push(format!(
            "the experiment was not brought to an end (killed, or still running): {} instances come \
             from {JOURNAL}; hint: continue it with --resume",
            scan.good
        ));
        self.warnings.extend(scan.warnings(&path));
        Ok(Some(scan.whole_bytes))
    }

    fn check_parquet(&mut self) -> Result<(), MeasuresError> {
        if self.experiment.is_empty() {
            let pairs = self.directory.join(PAIRS);
            let mut table = TableReader::open(&pairs, &PAIRS_TABLE, &["experiment"])?;
            if table.advance()? > 0 {
                self.experiment = table.text(0, 0)?.to_owned();
            }
        }
        if !self.directory.join(INSTANCES).is_file() {
            self.warn_missing(INSTANCES, "which instances failed is not known");
        }
        self.warnings.extend(what_is_left_out(&self.directory)?);
        Ok(())
    }

    /// Streams all instances in the order of their execution.
    ///
    /// # Errors
    /// When a file cannot be opened or lacks a column.
    pub fn instances(&self) -> Result<Instances, MeasuresError> {
        let source = match self.source {
            Source::Parquet => Stream::Parquet(Box::new(FromRows::open(&self.directory)?)),
            Source::Journal(bytes) => {
                let path = self.directory.join(JOURNAL);
                Stream::Journal(JournalReader::open_part(&path, bytes)?)
            }
        };
        Ok(Instances { source, is_over: false })
    }
}

/// Instances of results, in the order of their execution. Ends after an error.
pub struct Instances {
    source: Stream,
    is_over: bool,
}

enum Stream {
    Parquet(Box<FromRows>),
    Journal(JournalReader),
}

impl Iterator for Instances {
    type Item = Result<Instance, MeasuresError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = match &mut self.source {
            Stream::Parquet(rows) => rows.next(),
            Stream::Journal(journal) => journal.next(),
        };
        self.is_over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
