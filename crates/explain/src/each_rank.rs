//! One collective call on each rank (Wright, figures 4.9 and 4.10).

use plimsoll_trace::{Event, Layer};

use crate::clock::{Clock, align};
use crate::nesting::{MpiCall, MpiTime, NestedCall, Nesting};
use crate::process::Process;
use crate::reader::{Visitor, in_parallel, visit_events};
use crate::recording::Recording;

/// Returns the calls of all processes that belong to a collective call: those with its operation,
/// file and number. Of an independent call, its counterparts. By rank; reads each process only as
/// far as its call. Processes without such a call are left out.
pub fn call_on_each_rank(recording: &Recording, call: &MpiCall, threads: usize) -> Vec<MpiCall> {
    let processes = recording.processes();
    let clocks = align(processes).clocks;
    let states = in_parallel(
        threads,
        processes.len(),
        || (Vec::new(), Vec::new()),
        |(found, buffer), index| {
            let mut search = Search {
                wanted: call,
                process: &processes[index],
                index,
                clock: clocks[index],
                thread: 0,
                number: 0,
                nesting: Nesting::default(),
                found: None,
            };
            // What cannot be read is a warning of the analysis.
            let _ = visit_events(&processes[index], buffer, &mut search);
            found.extend(search.found);
        },
    );
    let mut calls: Vec<MpiCall> = states.into_iter().flat_map(|(found, _)| found).collect();
    calls.sort_by_key(|call| call.process);
    calls
}

struct Search<'a> {
    wanted: &'a MpiCall,
    process: &'a Process,
    index: usize,
    clock: Clock,
    thread: u32,
    /// Calls of the operation on the file so far.
    number: u64,
    nesting: Nesting,
    found: Option<MpiCall>,
}

impl Search<'_> {
    fn is_counted(&self, event: &Event) -> bool {
        event.op == self.wanted.op && self.process.file(event.file) == self.wanted.file
    }
}

impl Visitor for Search<'_> {
    fn thread(&mut self, thread: u32) {
        self.thread = thread;
        self.nesting.clear();
    }

    fn is_done(&self) -> bool {
        self.found.is_some()
    }

    fn event(&mut self, event: &Event) {
        // What containers do to their logs is no call of the program's, and in none.
        if self.is_done() || event.op.layer() == Layer::Logs {
            return;
        }
        let (start_ns, end_ns) = (self.clock.at(event.start).0, self.clock.at(event.end).0);
        let nanos = end_ns.saturating_sub(start_ns);
        let is_counted = self.is_counted(event);
        self.number += u64::from(is_counted);
        let (op, offset, length) = (event.op, event.offset, event.length);
        if event.depth > 0 {
            let nested = NestedCall { op, offset, length, start_ns, nanos };
            self.nesting.inner(event.depth, nested, event.bytes());
            return;
        }
        let inside = self.nesting.outer();
        if is_counted && self.number == self.wanted.number {
            let (nested, nested_omitted) = self.nesting.calls();
            self.found = Some(MpiCall {
                process: self.index,
                rank: self.process.rank,
                thread: self.thread,
                op,
                file: self.wanted.file,
                number: self.number,
                offset,
                length,
                start_ns,
                nanos,
                time: MpiTime { calls: 1, nanos, ..inside.time },
                nested: nested.to_vec(),
                nested_omitted,
            });
        }
        self.nesting.forget_calls();
    }
}
