//! What all parts of an analysis agree on before any of them reads an event.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_trace::Event;

use crate::add_all::add_all;
use crate::agreed::{Agreed, Facts, rules};
use crate::clock::{Clock, Clocks, align};
use crate::file_table::FileId;
use crate::gathered::Gathered;
use crate::options::Options;
use crate::process::Process;
use crate::reader::{Visitor, in_parallel, visit_events};
use crate::recording::Recording;
use crate::room::{OP_TOTALS_MAX, TotalsRoom};
use crate::runtime::Rule;

/// Who took part, one time line, one number for each file, and which files are looked at closely.
/// Parts of a recording that are gathered within one frame can be merged exactly: times that
/// several processes share add up only on one time line, and samples only by one numbering.
///
/// It is made of what the files of the processes say about themselves. Only if there are more
/// files than [`Options::detailed_files`], all events are read once to find those with most time.
#[derive(Debug)]
pub struct Frame {
    agreed: Arc<Agreed>,
    clocks: Vec<Clock>,
    threads: usize,
}

impl Frame {
    /// Makes the frame of a recording.
    pub fn new(recording: Recording, options: &Options) -> Self {
        let clocks = align(recording.processes());
        let rules = rules(&recording, options);
        let detailed = select(&recording, &clocks, &rules, options);
        let Clocks { clocks, lives, span_ns, start_realtime_ns, error_seconds } = clocks;
        let facts = Facts {
            made_by: env!("CARGO_PKG_VERSION").to_string(),
            recording: Arc::new(recording),
            options: options.clone(),
            span_ns,
            start_realtime_ns,
            error_seconds,
            lives,
            detailed,
        };
        Frame { agreed: Arc::new(Agreed::new(facts, rules)), clocks, threads: options.threads }
    }

    /// Returns the recording that it is the frame of.
    pub fn recording(&self) -> &Arc<Recording> {
        &self.agreed.recording
    }

    /// Returns the processes of one of `parts` parts of about equal size: `part` counts from 0.
    /// Every process is in exactly one part.
    pub fn part(&self, part: usize, parts: usize) -> Vec<usize> {
        let order = largest_first(self.recording().processes(), 0..self.agreed.processes());
        order.into_iter().skip(part).step_by(parts.max(1)).collect()
    }

    /// Reads all events of some processes, each on one thread, and adds them up. What cannot be
    /// read becomes a warning of the report. Processes are indices in [`Recording::processes`];
    /// those that do not exist are left out, and each counts once.
    pub fn gather(&self, processes: impl IntoIterator<Item = usize>) -> Gathered {
        self.gather_within(processes, OP_TOTALS_MAX)
    }

    /// [`Frame::gather`] with another limit for what processes did by operation: for how many totals of operations of
    /// processes there is room. Beyond it, what is gathered cannot be finished ([`Gathered::require_room`]).
    pub fn gather_within(
        &self,
        processes: impl IntoIterator<Item = usize>,
        op_totals_max: usize,
    ) -> Gathered {
        let processes: BTreeSet<usize> =
            processes.into_iter().filter(|index| *index < self.clocks.len()).collect();
        let order = largest_first(self.recording().processes(), processes.into_iter());
        let room = TotalsRoom::new(op_totals_max);
        Gathered::read(&self.agreed, &self.clocks, &order, self.threads, &room)
    }

    /// Reads all events of all processes.
    pub fn gather_all(&self) -> Gathered {
        self.gather(0..self.clocks.len())
    }
}

/// Indices of processes, those with most to read first, so that threads end together.
fn largest_first(processes: &[Process], indices: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut order: Vec<usize> = indices.collect();
    order.sort_by_key(|index| std::cmp::Reverse(processes[*index].chunks.len()));
    order
}

/// Returns the files that get details: all, or those with most time, which takes a pass of its own.
fn select(
    recording: &Recording,
    clocks: &Clocks,
    rules: &[Option<&'static Rule>],
    options: &Options,
) -> Vec<FileId> {
    let files = recording.files().len();
    if files <= options.detailed_files.saturating_add(2) {
        return (0..files as u32).map(FileId).collect();
    }
    let processes = recording.processes();
    let order = largest_first(processes, 0..processes.len());
    let states = in_parallel(
        options.threads,
        order.len(),
        || (vec![0u64; files], Vec::new()),
        |(nanos, buffer), turn| {
            let index = order[turn];
            let (process, clock) = (&processes[index], clocks.clocks[index]);
            // What cannot be read is reported by the main pass.
            let _ = visit_events(process, buffer, &mut TimeByFile { process, clock, rules, nanos });
        },
    );
    let mut sums = vec![0u64; files];
    for (nanos, _) in &states {
        add_all(&mut sums, nanos);
    }
    let mut ids: Vec<FileId> = (0..files as u32).map(FileId).collect();
    ids.sort_by_key(|id| (std::cmp::Reverse(sums[id.0 as usize]), *id));
    ids.truncate(options.detailed_files);
    ids
}

struct TimeByFile<'a> {
    process: &'a Process,
    clock: Clock,
    rules: &'a [Option<&'static Rule>],
    nanos: &'a mut [u64],
}

impl Visitor for TimeByFile<'_> {
    fn thread(&mut self, _: u32) {}

    #[inline]
    fn event(&mut self, event: &Event) {
        if event.depth > 0 {
            return;
        }
        let id = self.process.file(event.file);
        let rule = self.rules.get(id.0 as usize).copied().flatten();
        if rule.is_some_and(|rule| rule.covers(event)) {
            return;
        }
        let (start, end) = (self.clock.at(event.start).0, self.clock.at(event.end).0);
        let sum = &mut self.nanos[id.0 as usize];
        *sum = sum.saturating_add(end.saturating_sub(start));
    }
}
