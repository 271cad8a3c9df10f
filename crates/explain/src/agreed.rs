//! What all parts of a recording agree on before their events are read, and what follows from it.

use std::sync::Arc;

use crate::clock::SPAN_MAX_NS;
use crate::file_table::FileId;
use crate::grid::Grid;
use crate::options::Options;
use crate::recording::Recording;
use crate::room::PROCESSES_MAX;
use crate::runtime::{Rule, rule_of};
use plimsoll_stored::{Malformed, Reader, Stored};

/// Bins of the whole recording: what perceived bandwidth, phases and calls in flight rest on.
const BINS: u64 = 1 << 17;
/// Bins of one file.
const FILE_BINS: u64 = 1 << 11;
/// Files with details that are read from a summary: each may take 1 MiB.
const DETAILED_MAX: usize = 1024;

/// The part of it that is written to a summary.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Version of the program, whose rules decide which files are the runtime's.
    pub made_by: String,
    pub recording: Arc<Recording>,
    pub options: Options,
    pub span_ns: u64,
    pub start_realtime_ns: i64,
    pub error_seconds: Option<f64>,
    /// When each process began, and the last moment at which it is known to have run.
    pub lives: Vec<(u64, u64)>,
    /// The files that are looked at closely.
    pub detailed: Vec<FileId>,
}

plimsoll_stored::stored! { Facts {
    made_by, recording, options, span_ns, start_realtime_ns, error_seconds, lives: PROCESSES_MAX,
    detailed: DETAILED_MAX,
} }

/// The facts, and what follows from them.
#[derive(Debug)]
pub(crate) struct Agreed {
    facts: Facts,
    /// For each file; empty when files of the runtime are not set apart.
    rules: Vec<Option<&'static Rule>>,
    pub grid: Grid,
    pub file_grid: Grid,
    pub stripe_bytes: u64,
    /// Index of each file's details; `None` for files without.
    pub details: Vec<Option<u32>>,
}

impl std::ops::Deref for Agreed {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl Agreed {
    pub(crate) fn new(facts: Facts, rules: Vec<Option<&'static Rule>>) -> Self {
        let mut details = vec![None; facts.recording.files().len()];
        for (index, file) in facts.detailed.iter().enumerate() {
            details[file.0 as usize] = Some(index as u32);
        }
        Agreed {
            rules,
            grid: Grid::new(facts.span_ns, BINS),
            file_grid: Grid::new(facts.span_ns, FILE_BINS),
            stripe_bytes: facts.options.stripe_bytes.max(1),
            details,
            facts,
        }
    }

    /// Returns the number of processes of the recording.
    pub fn processes(&self) -> usize {
        self.recording.processes().len()
    }

    /// True when files of the runtime are set apart from those of the program.
    pub fn is_runtime_apart(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns what makes a file the runtime's; `None` for the program's.
    pub fn runtime_rule(&self, id: FileId) -> Option<&'static Rule> {
        self.rules.get(id.0 as usize).copied().flatten()
    }

    /// Returns the path of a file.
    pub fn path(&self, id: FileId) -> &str {
        self.recording.files().path(id)
    }
}

impl Stored for Agreed {
    fn put(&self, out: &mut Vec<u8>) {
        self.facts.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let facts = Facts::get(from)?;
        let (files, processes) = (facts.recording.files().len(), facts.recording.processes().len());
        let is_sound = facts.span_ns <= SPAN_MAX_NS
            && facts.recording.has_room_for_texts()
            && facts.lives.len() == processes
            && facts.lives.iter().all(|(began, ended)| began <= ended)
            && facts.detailed.iter().all(|file| (file.0 as usize) < files);
        if !is_sound {
            return Err(Malformed);
        }
        let rules = rules(&facts.recording, &facts.options);
        Ok(Agreed::new(facts, rules))
    }
}

pub(crate) fn rules(recording: &Recording, options: &Options) -> Vec<Option<&'static Rule>> {
    if options.include_runtime {
        return Vec::new();
    }
    let files = recording.files();
    (0..files.len() as u32).map(|id| rule_of(files.path(FileId(id)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::facts;

    /// True when a summary with these facts is read.
    fn is_read(change: impl Fn(&mut Facts)) -> bool {
        let mut facts = facts(1);
        change(&mut facts);
        let mut out = Vec::new();
        facts.put(&mut out);
        Agreed::get(&mut Reader::new(&out, crate::gathered::SUMMARY_MEMORY_MAX)).is_ok()
    }

    #[test]
    fn facts_that_contradict_each_other_are_refused() {
        assert!(is_read(|_| ()));
        assert!(is_read(|facts| facts.span_ns = SPAN_MAX_NS));
        assert!(!is_read(|facts| facts.span_ns = SPAN_MAX_NS + 1));
        assert!(is_read(|facts| facts.lives = vec![(7, 7)]));
        assert!(!is_read(|facts| facts.lives = vec![(8, 7)]));
        assert!(!is_read(|facts| facts.lives.push((0, 100))), "there is one process");
        assert!(!is_read(|facts| facts.lives.clear()));
        assert!(!is_read(|facts| facts.detailed.push(FileId(2))), "no file has that number");
    }
}
