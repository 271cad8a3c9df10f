//! Reading a directory of results.

use std::path::{Path, PathBuf};

use plimsoll_guarded::open_by_own_links;
use plimsoll_table::TableReader;
use serde_json::Value;

use crate::columns::{EXPERIMENT, pairs_table};
use crate::files::read_text;
use crate::from_rows::{FromRows, what_is_left_out};
use crate::line::FORMAT;
use crate::reading::JournalReader;
use crate::summary::Summary;
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
    /// What the program that measured said of it last; null when it did not come to that.
    pub summary: Value,
    /// What is missing or doubtful, one sentence each.
    pub warnings: Vec<String>,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Parquet,
    /// So many bytes of the journal: it may be growing.
    ReadableJournal(u64),
}

impl Results {
    /// Returns whether a directory looks like results, judged by the names of its files and the first
    /// bytes of a journal.
    pub fn is_results(directory: &Path) -> bool {
        use std::io::Read;
        let mut begin = Vec::new();
        let file = open_by_own_links(&directory.join(JOURNAL));
        let read = file.and_then(|file| file.take(256).read_to_end(&mut begin));
        let is_journal = read.is_ok() && String::from_utf8_lossy(&begin).contains(FORMAT);
        is_journal || directory.join(PAIRS).is_file()
    }

    /// Opens results: the Parquet files of an experiment that was brought to an end or that were
    /// made by another program, or else the journal. The journal is the truth: where there is
    /// one, damage of the files that were made from it is only warned of.
    ///
    /// # Errors
    /// When there are none, or when they cannot be understood.
    pub fn open(directory: &Path) -> Result<Results, MeasuresError> {
        if !Results::is_results(directory) {
            let journal = directory.join(JOURNAL);
            if journal.is_file() {
                // Says what is wrong with it.
                JournalReader::open(&journal)?;
            }
            return Err(MeasuresError::NoResults { directory: directory.to_owned() });
        }
        let mut results = Results {
            directory: directory.to_owned(),
            experiment: String::new(),
            environment: Value::Null,
            plan_text: String::new(),
            complete: false,
            summary: Value::Null,
            warnings: Vec::new(),
            source: Source::Parquet,
        };
        results.read_beginning()?;
        let journal = results.open_journal()?;
        results.source = match journal {
            Some(ReadableJournal { bytes, parquet: Derived::Outdated }) => {
                Source::ReadableJournal(bytes)
            }
            Some(ReadableJournal { bytes, parquet }) => {
                results.parquet_or_journal(bytes, parquet)?
            }
            None => {
                results.check_parquet()?;
                Source::Parquet
            }
        };
        Ok(results)
    }

    fn read_beginning(&mut self) -> Result<(), MeasuresError> {
        const UNKNOWN: &str = "where this was measured is not known";
        match read_environment(&self.directory.join(ENVIRONMENT)) {
            Ok(Some(environment)) => self.environment = environment,
            Ok(None) => self.warn_missing(ENVIRONMENT, UNKNOWN),
            Err(error) => self.warnings.push(format!("{error}; {UNKNOWN}")),
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

    /// Returns what the journal has, and whether the Parquet files have it too; nothing without one.
    fn open_journal(&mut self) -> Result<Option<ReadableJournal>, MeasuresError> {
        let path = self.directory.join(JOURNAL);
        let told = self.warnings.len();
        let summary = Summary::read_or_warn(&self.directory, &mut self.warnings)?;
        let is_summary_damaged = self.warnings.len() > told;
        if let Some(summary) = &summary {
            self.summary = summary.summary.clone();
            self.warnings.extend(summary.notes());
        }
        if !path.is_file() {
            let summary = summary.as_ref();
            self.complete = summary.is_some_and(|summary| summary.complete);
            self.experiment = summary.map_or_else(String::new, |it| it.experiment.clone());
            return Ok(None);
        }
        let mut reader = JournalReader::open(&path)?;
        self.experiment.clone_from(&reader.experiment);
        let scan = reader.scan()?;
        let bytes = scan.whole_bytes;
        let has_parquet = self.directory.join(PAIRS).is_file();
        let Some(summary) = summary.filter(|it| has_parquet && it.describes(&scan)) else {
            let why = if is_summary_damaged {
                "whether the experiment was brought to an end is not known"
            } else {
                "the experiment was not brought to an end (killed, or still running)"
            };
            self.warnings.push(format!(
                "{why}: {} instances come from {JOURNAL}; hint: continue it with --resume",
                scan.good
            ));
            self.warnings.extend(scan.warnings(&path));
            return Ok(Some(ReadableJournal { bytes, parquet: Derived::Outdated }));
        };
        self.complete = summary.complete;
        let changed = summary.changed(&self.directory)?;
        let parquet = if changed.is_empty() { Derived::AsWritten } else { Derived::Changed };
        self.warnings.extend(changed);
        if summary.damaged_lines > 0 {
            self.warnings.extend(scan.warnings(&path));
        }
        if !summary.complete {
            let count = scan.next_instance;
            self.warnings.push(format!("the experiment was ended early after {count} instances"));
        }
        Ok(Some(ReadableJournal { bytes, parquet }))
    }

    /// Returns the Parquet files, unless they are damaged. What somebody changed is read to its end first:
    /// damage may lie anywhere.
    fn parquet_or_journal(
        &mut self,
        bytes: u64,
        parquet: Derived,
    ) -> Result<Source, MeasuresError> {
        let checked = self.check_parquet().and_then(|()| match parquet {
            Derived::Changed => self.instances()?.try_for_each(|it| it.map(drop)),
            Derived::AsWritten | Derived::Outdated => Ok(()),
        });
        match checked {
            Ok(()) => Ok(Source::Parquet),
            Err(newer @ MeasuresError::Newer { .. }) => Err(newer),
            Err(error) => {
                self.warnings.push(format!("{error}; the instances come from {JOURNAL}"));
                Ok(Source::ReadableJournal(bytes))
            }
        }
    }

    fn check_parquet(&mut self) -> Result<(), MeasuresError> {
        if self.experiment.is_empty() {
            let pairs = self.directory.join(PAIRS);
            let mut table = TableReader::open(&pairs, &pairs_table(), &[EXPERIMENT.name])?;
            if table.advance()? > 0 {
                self.experiment = table.cell(0, 0).text()?.to_owned();
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
            Source::ReadableJournal(bytes) => {
                let path = self.directory.join(JOURNAL);
                Stream::ReadableJournal(JournalReader::open_part(&path, bytes)?)
            }
        };
        Ok(Instances { source, is_over: false })
    }
}

/// A journal that can be read.
struct ReadableJournal {
    /// Up to the end of its last whole line.
    bytes: u64,
    parquet: Derived,
}

/// What the Parquet files are beside their journal.
enum Derived {
    /// There are none, or the journal has grown since.
    Outdated,
    AsWritten,
    /// Some file is not what was written.
    Changed,
}

fn read_environment(path: &Path) -> Result<Option<Value>, MeasuresError> {
    let text = read_text(path)?;
    let value = text.map(|text| serde_json::from_str(&text)).transpose();
    value.map_err(|error| MeasuresError::format(path, error))
}

/// Instances of results, in the order of their execution. Ends after an error.
pub struct Instances {
    source: Stream,
    is_over: bool,
}

enum Stream {
    Parquet(Box<FromRows>),
    ReadableJournal(JournalReader),
}

impl Iterator for Instances {
    type Item = Result<Instance, MeasuresError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = match &mut self.source {
            Stream::Parquet(rows) => rows.next(),
            Stream::ReadableJournal(journal) => journal.next(),
        };
        self.is_over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
