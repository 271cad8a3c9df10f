//! Reading a journal.

use std::fs::File;
use std::io::{BufReader, Read, Take};
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, open_by_own_links};

use crate::files;
use crate::line::{FORMAT, Header, Line, Lines, VERSION};
use crate::{Instance, JOURNAL, MeasuresError};

/// Damaged lines that a warning names.
const NAMED_MAX: usize = 5;

/// Streams the instances of a journal.
#[derive(Debug)]
pub(crate) struct JournalReader {
    path: PathBuf,
    lines: Lines<BufReader<Take<File>>>,
    /// The experiment's name.
    pub experiment: String,
    /// Lines that were passed over because they are not what was written.
    pub damaged: u64,
}

impl JournalReader {
    pub fn open(path: &Path) -> Result<Self, MeasuresError> {
        Self::open_part(path, u64::MAX)
    }

    /// Reads that of a directory that is written to.
    pub fn open_in(directory: &Directory) -> Result<Self, MeasuresError> {
        Self::new(files::open_in(directory, JOURNAL)?, &directory.path().join(JOURNAL), u64::MAX)
    }

    /// Reads no more than the first bytes: an experiment may be going on.
    pub fn open_part(path: &Path, bytes: u64) -> Result<Self, MeasuresError> {
        let file =
            open_by_own_links(path).map_err(|error| MeasuresError::io("read", path, error))?;
        Self::new(file, path, bytes)
    }

    fn new(file: File, path: &Path, bytes: u64) -> Result<Self, MeasuresError> {
        let failed = |error| MeasuresError::io("read", path, error);
        let mut lines = Lines::new(BufReader::with_capacity(1 << 16, file.take(bytes)));
        let header = lines.header().map_err(failed)?;
        if header.is_none_or(<[u8]>::is_empty) {
            let reason = "it is empty or its first line was cut off: nothing was measured";
            return Err(MeasuresError::format(path, reason));
        }
        let header = header.and_then(|text| serde_json::from_slice::<Header>(text).ok());
        let Some(header) = header.filter(|header| header.format == FORMAT) else {
            return Err(MeasuresError::format(path, "its first line is not that of a journal"));
        };
        if header.version > VERSION {
            let (path, version) = (path.to_owned(), header.version);
            return Err(MeasuresError::Newer { path, version, known: VERSION });
        }
        Ok(JournalReader {
            path: path.to_owned(),
            lines,
            experiment: header.experiment,
            damaged: 0,
        })
    }

    /// Returns the next instance; nothing at the end. Damaged lines are passed over, which
    /// [`JournalReader::scan`] tells.
    pub fn next(&mut self) -> Result<Option<Instance>, MeasuresError> {
        loop {
            let line = self.lines.next();
            match line.map_err(|error| MeasuresError::io("read", &self.path, error))? {
                None | Some(Line::Torn) => return Ok(None),
                Some(Line::Damaged) => self.damaged += 1,
                Some(Line::Good(text)) => match serde_json::from_slice(text) {
                    Ok(instance) => return Ok(Some(instance)),
                    Err(error) => {
                        let reason = format!("line {}: {error}", self.lines.number);
                        return Err(MeasuresError::format(&self.path, reason));
                    }
                },
            }
        }
    }

    /// Reads to the end and tells what is there, for a journal of any length.
    pub fn scan(&mut self) -> Result<Scan, MeasuresError> {
        let (mut scan, mut last_good) = (Scan::default(), Vec::new());
        // The end of the last readable line, once damaged ones follow it.
        let mut readable_bytes = None;
        loop {
            let before = self.lines.whole_bytes;
            let line = self.lines.next();
            match line.map_err(|error| MeasuresError::io("read", &self.path, error))? {
                None => break,
                Some(Line::Torn) => scan.is_torn = true,
                Some(Line::Damaged) => {
                    scan.damaged += 1;
                    readable_bytes.get_or_insert(before);
                    let number = self.lines.number;
                    if scan.damaged_lines.len() < NAMED_MAX {
                        scan.damaged_lines.push(number);
                    }
                }
                Some(Line::Good(text)) => {
                    scan.good += 1;
                    scan.damaged_before_good = scan.damaged;
                    readable_bytes = None;
                    last_good.clear();
                    last_good.extend_from_slice(text);
                }
            }
        }
        scan.whole_bytes = self.lines.whole_bytes;
        scan.readable_bytes = readable_bytes.unwrap_or(scan.whole_bytes);
        if scan.good > 0 {
            let last: Instance = serde_json::from_slice(&last_good)
                .map_err(|error| MeasuresError::format(&self.path, error))?;
            scan.next_instance = last.instance.saturating_add(1);
        }
        Ok(scan)
    }
}

/// What a journal has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    pub good: u64,
    pub damaged: u64,
    damaged_lines: Vec<u64>,
    /// Damaged lines before the last good one.
    damaged_before_good: u64,
    pub is_torn: bool,
    /// Up to the end of the last whole line.
    pub whole_bytes: u64,
    /// Up to the end of the last readable line.
    pub readable_bytes: u64,
    /// The number after that of the last readable instance.
    pub next_instance: u64,
}

impl Scan {
    /// Returns damaged lines that no readable one follows.
    pub fn damaged_at_end(&self) -> u64 {
        self.damaged - self.damaged_before_good
    }

    /// Changes it to what is there once the damaged lines at the end are cut off; gives a sentence
    /// about them, if there are any. No later instance has their numbers, so they can be measured
    /// again.
    pub fn cut_at_end(&mut self, path: &Path) -> Option<String> {
        let cut = self.damaged_at_end();
        let first = self.good + self.damaged_before_good + 2;
        self.damaged = self.damaged_before_good;
        self.damaged_lines.retain(|number| *number < first);
        self.whole_bytes = self.readable_bytes;
        let lines = if cut == 1 { "line" } else { "lines" };
        let path = path.display();
        (cut > 0).then(|| {
            format!("{cut} damaged {lines} at the end of {path} cut off, to be measured again")
        })
    }

    /// Returns what is missing, one sentence each.
    pub fn warnings(&self, path: &Path) -> Vec<String> {
        let path = path.display();
        let torn = self.is_torn.then(|| {
            format!(
                "the last line of {path} was cut off and is dropped; the instance in it is lost"
            )
        });
        let damaged = (self.damaged > 0).then(|| {
            let named: Vec<String> = self.damaged_lines.iter().map(u64::to_string).collect();
            let more = self.damaged - named.len() as u64;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "{path} is damaged: line {}{more}; of {} instances {} are lost",
                named.join(", "),
                self.good + self.damaged,
                self.damaged
            )
        });
        torn.into_iter().chain(damaged).collect()
    }
}
