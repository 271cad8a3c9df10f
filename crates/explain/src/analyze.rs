//! The driver: who reads which process, and what is looked at closely.

use plimsoll_trace::Event;

use crate::ExplainError;
use crate::analysis::Analysis;
use crate::clock::{Clock, Clocks, align};
use crate::file_table::FileId;
use crate::file_totals::add_all;
use crate::gathered::{Gathered, Plan};
use crate::options::Options;
use crate::process_pass::ProcessPass;
use crate::reader::{Visitor, in_parallel, visit_events};
use crate::recording::{Process, Recording};
use crate::runtime::{Rule, rule_of};
use crate::summary::Summary;

/// Streams all events of a recording and adds them up.
///
/// # Errors
/// None at present: what cannot be read is in [`Analysis::warnings`].
pub fn analyze(recording: &Recording, options: &Options) -> Result<Analysis, ExplainError> {
    let processes = recording.processes();
    let clocks = align(processes);
    let files = recording.files();
    let rules = match options.include_runtime {
        true => Vec::new(),
        false => (0..files.len() as u32).map(|id| rule_of(files.path(FileId(id)))).collect(),
    };
    let detailed = select(recording, &clocks, &rules, options);
    let plan = Plan::new(clocks.span_ns, processes.len(), files, rules, detailed, options);
    let order = largest_first(processes);
    let states = in_parallel(
        options.threads,
        order.len(),
        || (Gathered::new(&plan), Vec::new()),
        |(gathered, buffer), turn| {
            let index = order[turn];
            let process = &processes[index];
            let mut pass = ProcessPass::new(&plan, gathered, process, index, clocks.clocks[index]);
            match visit_events(process, buffer, &mut pass) {
                Ok(undecodable) => pass.finish(undecodable),
                Err(error) => {
                    pass.finish(0);
                    gathered.warnings.push((index, error.to_string()));
                }
            }
        },
    );
    let mut states = states.into_iter().map(|(gathered, _)| gathered);
    let mut gathered = states.next().unwrap_or_else(|| Gathered::new(&plan));
    states.for_each(|other| gathered.merge(other));
    Ok(Summary { recording, clocks, plan, options }.finish(gathered))
}

/// Indices of processes, those with most to read first, so that threads end together.
fn largest_first(processes: &[Process]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..processes.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(processes[*index].chunks.len()));
    order
}

/// The files that get details: all, or those with most time, which takes a pass of its own.
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
    let order = largest_first(processes);
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
