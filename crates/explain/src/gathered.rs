//! What one thread of the analysis adds up. Adding is commutative and exact, so the result does
//! not depend on which thread read which process.

use plimsoll_trace::Op;

use crate::activity::{Series, TimelineSums};
use crate::common_sizes::SizeCounts;
use crate::coverage::Coverage;
use crate::coverages::Coverages;
use crate::file_table::{FileId, FileTable};
use crate::file_totals::{ByLayer, FileDetail, FileTotals, merge_sizes};
use crate::grid::Grid;
use crate::histogram::{JumpHistogram, SizeHistogram};
use crate::nesting::{MpiTime, SlowCalls};
use crate::options::Options;
use crate::process_totals::ProcessTotals;
use crate::runtime::Rule;
use crate::sample::HashSample;
use crate::totals::OpTable;

/// Bins of the whole recording: what perceived bandwidth, phases and calls in flight rest on.
pub(crate) const BINS: u64 = 1 << 17;
/// Bins of one file.
pub(crate) const FILE_BINS: u64 = 1 << 11;
/// Durations in the sample of each operation.
pub(crate) const DURATION_SAMPLES: usize = 2000;

/// What all threads of an analysis agree on.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    table: &'a FileTable,
    /// For each file; empty when files of the runtime are not set apart.
    rules: Vec<Option<&'static Rule>>,
    pub span_ns: u64,
    pub grid: Grid,
    pub file_grid: Grid,
    pub stripe_bytes: u64,
    pub slow_calls: usize,
    pub processes: usize,
    /// Index of each file's details; `None` for files without.
    pub details: Vec<Option<u32>>,
    pub detailed: Vec<FileId>,
}

impl<'a> Plan<'a> {
    pub fn new(
        span_ns: u64,
        processes: usize,
        table: &'a FileTable,
        rules: Vec<Option<&'static Rule>>,
        detailed: Vec<FileId>,
        options: &Options,
    ) -> Self {
        let mut details = vec![None; table.len()];
        for (index, file) in detailed.iter().enumerate() {
            details[file.0 as usize] = Some(index as u32);
        }
        Plan {
            table,
            rules,
            span_ns,
            grid: Grid::new(span_ns, BINS),
            file_grid: Grid::new(span_ns, FILE_BINS),
            stripe_bytes: options.stripe_bytes.max(1),
            slow_calls: options.slow_calls,
            processes,
            details,
            detailed,
        }
    }

    /// True when files of the runtime are set apart from those of the program.
    pub fn is_runtime_apart(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What makes a file the runtime's; `None` for the program's.
    pub fn runtime_rule(&self, id: FileId) -> Option<&'static Rule> {
        self.rules.get(id.0 as usize).copied().flatten()
    }

    /// The path of a file.
    pub fn path(&self, id: FileId) -> &str {
        self.table.path(id)
    }
}

/// Sums over processes.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub events: u64,
    /// Events that lie, in part, outside the recording's span.
    pub outside_span: u64,
    pub processes: Vec<ProcessTotals>,
    /// Files of the program.
    pub files: Vec<Option<Box<FileTotals>>>,
    /// Files of the runtime. A file may be the program's for one process and the runtime's for
    /// another.
    pub runtime: Vec<Option<Box<FileTotals>>>,
    pub details: Vec<Option<Box<FileDetail>>>,
    pub coverages: Coverages,
    /// Calls of the process that is being read; empty between processes.
    pub of_process: Coverage,
    pub sizes: ByLayer<SizeHistogram>,
    pub common_sizes: ByLayer<SizeCounts>,
    pub jumps: [JumpHistogram; 2],
    pub series: Series,
    pub timeline: TimelineSums,
    /// By number of the operation.
    pub mpi: Vec<MpiTime>,
    pub slow: SlowCalls,
    /// Nanoseconds, by number of the operation.
    pub durations: Vec<Option<HashSample<u64>>>,
    pub warnings: Vec<(usize, String)>,
}

const OPS: usize = 256;

impl Gathered {
    pub fn new(plan: &Plan<'_>) -> Self {
        Gathered {
            events: 0,
            outside_span: 0,
            processes: Vec::new(),
            files: plan.details.iter().map(|_| None).collect(),
            runtime: plan.details.iter().map(|_| None).collect(),
            details: plan.detailed.iter().map(|_| None).collect(),
            coverages: Coverages::new(plan.grid),
            of_process: Coverage::new(plan.file_grid),
            sizes: Default::default(),
            common_sizes: Default::default(),
            jumps: Default::default(),
            series: Series::new(plan.grid),
            timeline: TimelineSums::new(plan.span_ns, plan.processes),
            mpi: vec![MpiTime::default(); OPS],
            slow: SlowCalls::new(plan.slow_calls),
            durations: (0..OPS).map(|_| None).collect(),
            warnings: Vec::new(),
        }
    }

    /// The details of a file, made when first needed.
    #[inline]
    pub fn detail(&mut self, index: u32, plan: &Plan<'_>) -> &mut FileDetail {
        let index = index as usize;
        self.details[index]
            .get_or_insert_with(|| Box::new(FileDetail::new(plan.detailed[index], plan.file_grid)))
    }

    /// Adds a duration to the sample of its operation.
    #[inline]
    pub fn duration(&mut self, op: Op, hash: u64, nanos: u64) {
        let sample = &mut self.durations[usize::from(op as u8)];
        sample.get_or_insert_with(|| HashSample::new(DURATION_SAMPLES)).offer(hash, || nanos);
    }

    /// Adds what another thread gathered.
    pub fn merge(&mut self, other: Gathered) {
        self.events += other.events;
        self.outside_span += other.outside_span;
        self.processes.extend(other.processes);
        let files = self.files.iter_mut().zip(other.files);
        let runtime = self.runtime.iter_mut().zip(other.runtime);
        for (own, other) in files.chain(runtime) {
            match (own.as_mut(), other) {
                (Some(own), Some(other)) => own.merge(&other),
                (None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
        for (own, other) in self.details.iter_mut().zip(other.details) {
            match (own.as_mut(), other) {
                (Some(own), Some(other)) => own.merge(*other),
                (None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
        self.coverages.merge(other.coverages);
        merge_sizes(&mut self.sizes, &other.sizes);
        let common = self.common_sizes.iter_mut().flatten();
        common
            .zip(other.common_sizes.into_iter().flatten())
            .for_each(|(own, other)| own.merge(other));
        self.jumps.iter_mut().zip(&other.jumps).for_each(|(own, other)| own.merge(other));
        self.series.merge(&other.series);
        self.timeline.merge(&other.timeline);
        self.mpi.iter_mut().zip(&other.mpi).for_each(|(own, other)| own.merge(other));
        self.slow.merge(other.slow);
        for (own, other) in self.durations.iter_mut().zip(other.durations) {
            match (own.as_mut(), other) {
                (Some(own), Some(other)) => own.merge(other),
                (None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
        self.warnings.extend(other.warnings);
    }

    /// Totals over all processes.
    pub fn totals(&self) -> OpTable {
        let mut totals = OpTable::default();
        self.processes.iter().for_each(|process| totals.merge(&process.ops));
        totals.sort();
        totals
    }
}
