//! What a program did with its files and why it was slow, from the analysis of a recording; and what changed between two.

pub mod compared;
mod hues;
mod numbers;
mod over_time;
mod overview;
mod page;
mod sections;
mod unseen;

use plimsoll_explain::{Analysis, Finding, Gathered, Recording, conclusion, findings};
use plimsoll_report::Record;

use numbers::{EVENTS, GATHERED_PROCESSES};

pub use numbers::NUMBERS;

/// A recording with everything that is said about it.
pub struct Explained<'a> {
    recording: &'a Recording,
    analysis: &'a Analysis,
    found: Vec<Finding>,
    /// What was run, where and when.
    about: Record,
}

impl<'a> Explained<'a> {
    /// Creates it from a recording and its analysis.
    pub fn new(recording: &'a Recording, analysis: &'a Analysis) -> Self {
        let about = overview::about(recording, analysis);
        let about = unseen::add(about, recording, analysis.events);
        Explained { recording, analysis, found: findings(analysis), about }
    }

    /// Returns what could be faster, worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.found
    }

    /// Returns the report for a terminal and for programs, with at most this many rows of each long table, and as
    /// many notes, but a hundred in any case.
    pub fn record(&self, rows: usize) -> Record {
        let analysis = self.analysis;
        let mut record =
            self.about.clone().sentence("conclusion", conclusion(analysis, &self.found));
        record = record.section("io", "I/O in the run time", overview::io(analysis));
        record = overview::bandwidth(record, analysis);
        record = overview::findings(record, &self.found);
        let totals = sections::totals(&analysis.totals);
        record = record.rows("totals", "calls by layer and operation", totals);
        record = sections::mpi_time(record, analysis);
        record = sections::files(record, analysis, rows);
        record = sections::logs(record, analysis, rows);
        record = sections::runtime(record, analysis);
        record = sections::ranks(record, analysis, rows);
        record = sections::nodes(record, analysis);
        record = sections::sizes(record, analysis);
        record = sections::access(record, analysis);
        record = sections::time(record, analysis, rows);
        for warning in &analysis.warnings {
            record = record.note(warning);
        }
        let notes = self.recording.first_notes(rows.max(NOTES_READ));
        notes.fold(record.note(BLIND_SPOTS), Record::note)
    }

    /// Returns the report as a page that stands alone.
    pub fn page(&self, title: &str) -> String {
        let about = self.about.clone();
        page::page(title, about, self.recording, self.analysis, &self.found, PAGE_ROWS)
    }
}

/// Rows of each table of a page; a browser sorts and searches them.
const PAGE_ROWS: usize = 500;

/// Notes that people are shown at least, if there are as many.
const NOTES_READ: usize = 100;

/// What a preloaded library cannot see. Named, so that nobody takes silence for absence.
const BLIND_SPOTS: &str = "Not visible to a preloaded library: the kernel calls that stdio \
    makes for its own buffers, transfers by io_uring, accesses through mapped memory, and programs \
    that are statically linked, change their user or make system calls themselves. Those that are \
    known of are named.";

/// Returns what a part of a recording adds to the report of the whole.
pub fn part(gathered: &Gathered) -> Record {
    Record::new()
        .number(&GATHERED_PROCESSES, gathered.process_count() as u64)
        .number(&EVENTS, gathered.events())
}
