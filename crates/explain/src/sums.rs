//! What is added up while events are read. Adding is exact, and its order does not matter.

use std::collections::BTreeMap;

use plimsoll_trace::Op;

use crate::activity::{Series, TimelineSums};
use crate::agreed::Agreed;
use crate::common_sizes::SizeCounts;
use crate::coverages::Coverages;
use crate::file_table::FileId;
use crate::file_totals::{ByLayer, FileDetail, FileTotals, merge_common, merge_sizes};
use crate::histogram::{JumpHistogram, SizeHistogram, Volume};
use crate::nesting::{MpiTime, SlowCalls};
use crate::process_totals::ProcessTotals;
use crate::room::TotalsRoom;
use crate::sample::HashSample;
use crate::totals::OpTable;
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most, get_sparse, put_sparse};

/// Durations in the sample of each operation.
pub(crate) const DURATION_SAMPLES: usize = 2000;

/// Sums over processes.
#[derive(Debug)]
pub(crate) struct Sums {
    pub events: u64,
    /// Events that lie, in part, outside the recording's span.
    pub outside_span: u64,
    pub processes: Vec<ProcessTotals>,
    /// Processes of which there was no room for what they did.
    pub left_out: u64,
    /// Files of the program.
    pub files: Vec<Option<Box<FileTotals>>>,
    /// Files of the runtime. A file may be the program's for one process and the runtime's for
    /// another.
    pub runtime: Vec<Option<Box<FileTotals>>>,
    /// Own POSIX writes that each waited until they were on storage.
    pub forced_writes: BTreeMap<FileId, Volume>,
    /// What containers did to their logs.
    pub logs: BTreeMap<FileId, OpTable>,
    pub details: Vec<Option<Box<FileDetail>>>,
    pub coverages: Coverages,
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

impl Sums {
    pub fn new(agreed: &Agreed) -> Self {
        Sums {
            events: 0,
            outside_span: 0,
            processes: Vec::new(),
            left_out: 0,
            files: agreed.details.iter().map(|_| None).collect(),
            runtime: agreed.details.iter().map(|_| None).collect(),
            forced_writes: BTreeMap::new(),
            logs: BTreeMap::new(),
            details: agreed.detailed.iter().map(|_| None).collect(),
            coverages: Coverages::new(agreed.grid),
            sizes: Default::default(),
            common_sizes: Default::default(),
            jumps: Default::default(),
            series: Series::new(agreed.grid),
            timeline: TimelineSums::new(agreed.span_ns, agreed.processes()),
            mpi: vec![MpiTime::default(); OPS],
            slow: SlowCalls::new(agreed.options.slow_calls),
            durations: (0..OPS).map(|_| None).collect(),
            warnings: Vec::new(),
        }
    }

    /// Returns the details of a file, made when first needed.
    #[inline]
    pub fn detail(&mut self, index: u32, agreed: &Agreed) -> &mut FileDetail {
        let index = index as usize;
        self.details[index].get_or_insert_with(|| {
            Box::new(FileDetail::new(agreed.detailed[index], agreed.file_grid))
        })
    }

    /// Adds a duration to the sample of its operation.
    #[inline]
    pub fn duration(&mut self, op: Op, hash: u64, nanos: u64) {
        let sample = &mut self.durations[usize::from(op as u8)];
        sample.get_or_insert_with(|| HashSample::new(DURATION_SAMPLES)).offer(hash, || nanos);
    }

    /// Adds what was added up elsewhere.
    pub fn merge(&mut self, other: Sums) {
        self.events = self.events.saturating_add(other.events);
        self.outside_span = self.outside_span.saturating_add(other.outside_span);
        self.processes.extend(other.processes);
        self.left_out = self.left_out.saturating_add(other.left_out);
        merge_each(&mut self.files, other.files, |own, other| own.merge(&other));
        merge_each(&mut self.runtime, other.runtime, |own, other| own.merge(&other));
        for (file, writes) in &other.forced_writes {
            self.forced_writes.entry(*file).or_default().merge(writes);
        }
        for (file, ops) in &other.logs {
            self.logs.entry(*file).or_default().merge(ops);
        }
        merge_each(&mut self.details, other.details, |own, other| own.merge(*other));
        self.coverages.merge(other.coverages);
        merge_sizes(&mut self.sizes, &other.sizes);
        merge_common(&mut self.common_sizes, other.common_sizes);
        self.jumps.iter_mut().zip(&other.jumps).for_each(|(own, other)| own.merge(other));
        self.series.merge(&other.series);
        self.timeline.merge(&other.timeline);
        self.mpi.iter_mut().zip(&other.mpi).for_each(|(own, other)| own.merge(other));
        self.slow.merge(other.slow);
        merge_each(&mut self.durations, other.durations, HashSample::merge);
        self.warnings.extend(other.warnings);
    }

    /// Keeps what the last process did by operation, if there is room for it.
    pub fn settle_last(&mut self, room: &TotalsRoom) {
        if let Some(last) = self.processes.last_mut()
            && !room.take(last.ops.settle())
        {
            self.processes.pop();
            self.left_out += 1;
        }
    }

    /// Totals over all processes.
    pub fn totals(&self) -> OpTable {
        let mut totals = OpTable::default();
        self.processes.iter().for_each(|process| totals.merge(&process.ops));
        totals.sort();
        totals
    }

    /// Appends them, the same bytes for the same sums in whatever order they were added up.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut processes: Vec<&ProcessTotals> = self.processes.iter().collect();
        processes.sort_by_key(|totals| totals.process);
        processes.len().put(out);
        processes.iter().for_each(|totals| totals.put(out));
        let mut warnings = self.warnings.clone();
        warnings.sort();
        warnings.put(out);
        self.events.put(out);
        self.outside_span.put(out);
        self.files.put(out);
        self.runtime.put(out);
        for detail in &self.details {
            detail.is_some().put(out);
            detail.iter().for_each(|detail| detail.put(out));
        }
        self.coverages.put(out);
        self.sizes.put(out);
        self.common_sizes.put(out);
        self.jumps.put(out);
        self.series.put(out);
        self.timeline.put(out);
        put_sparse(&self.mpi, out);
        self.slow.put(out);
        for sample in &self.durations {
            sample.is_some().put(out);
            sample.iter().for_each(|sample| sample.put(out));
        }
        let forced: Vec<(usize, Volume)> =
            self.forced_writes.iter().map(|(file, writes)| (file.0 as usize, *writes)).collect();
        forced.put(out);
        let logs: Vec<(usize, OpTable)> =
            self.logs.iter().map(|(file, ops)| (file.0 as usize, ops.clone())).collect();
        logs.put(out);
    }

    /// Reads what was written of sums of this frame. Those of version 1 have no forced writes, and those of version 2 no logs.
    pub fn get(from: &mut Reader<'_>, agreed: &Agreed, version: u32) -> Result<Self, Malformed> {
        let grid = agreed.grid;
        let mut sums = Sums {
            processes: get_at_most(from, agreed.processes())?,
            left_out: 0,
            warnings: get_at_most(from, agreed.processes())?,
            events: Stored::get(from)?,
            outside_span: Stored::get(from)?,
            files: get_at_most(from, agreed.details.len())?,
            runtime: get_at_most(from, agreed.details.len())?,
            forced_writes: BTreeMap::new(),
            logs: BTreeMap::new(),
            details: get_each(from, agreed.detailed.iter(), |from, file| {
                FileDetail::get(from, *file, agreed.file_grid).map(Box::new)
            })?,
            coverages: Coverages::get(from, grid)?,
            sizes: Stored::get(from)?,
            common_sizes: Stored::get(from)?,
            jumps: Stored::get(from)?,
            series: Series::get(from, grid)?,
            timeline: TimelineSums::get(from, agreed.span_ns, agreed.processes())?,
            mpi: get_sparse(from, OPS)?,
            slow: SlowCalls::get(from, agreed.options.slow_calls)?,
            durations: get_each(from, 0..OPS, |from, _| HashSample::get(from, DURATION_SAMPLES))?,
        };
        if version > 1 {
            let files = agreed.details.len();
            let forced: Vec<(usize, Volume)> = get_at_most(from, files)?;
            if forced.iter().any(|(file, _)| *file >= files) {
                return Err(Malformed);
            }
            let named = |(file, writes)| (FileId(file as u32), writes);
            sums.forced_writes = forced.into_iter().map(named).collect();
        }
        if version > 2 {
            let files = agreed.details.len();
            let logs: Vec<(usize, OpTable)> = get_at_most(from, files)?;
            if logs.iter().any(|(file, _)| *file >= files) {
                return Err(Malformed);
            }
            sums.logs = logs.into_iter().map(|(file, ops)| (FileId(file as u32), ops)).collect();
        }
        if sums.is_within(agreed) { Ok(sums) } else { Err(Malformed) }
    }

    /// True when everything that is named by a number is there, each process once.
    fn is_within(&self, agreed: &Agreed) -> bool {
        let processes = agreed.processes();
        let is_next = |pair: &[ProcessTotals]| pair[0].process < pair[1].process;
        self.processes.windows(2).all(is_next)
            && self.processes.last().is_none_or(|last| last.process < processes)
            && self.warnings.iter().all(|(process, _)| *process < processes)
            && self.slow.iter().all(|call| call.process < processes)
            && self.files.len() == agreed.details.len()
            && self.runtime.len() == agreed.details.len()
    }
}

fn merge_each<T>(own: &mut [Option<T>], other: Vec<Option<T>>, merge: impl Fn(&mut T, T)) {
    for (own, other) in own.iter_mut().zip(other) {
        match (own.as_mut(), other) {
            (Some(own), Some(other)) => merge(own, other),
            (None, other) => *own = other,
            (Some(_), None) => {}
        }
    }
}

/// Reads a value, or none, for each of some keys.
fn get_each<K, T>(
    from: &mut Reader<'_>,
    keys: impl Iterator<Item = K>,
    get: impl Fn(&mut Reader<'_>, K) -> Result<T, Malformed>,
) -> Result<Vec<Option<T>>, Malformed> {
    keys.map(|key| if bool::get(from)? { get(from, key).map(Some) } else { Ok(None) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_table::FileId;
    use crate::nesting::MpiCall;
    use crate::testing::facts;

    /// True when a summary of two processes with these sums is read.
    fn is_read(change: impl Fn(&mut Sums)) -> bool {
        let agreed = Agreed::new(facts(2), Vec::new());
        let mut sums = Sums::new(&agreed);
        for process in 0..2 {
            sums.processes.push(ProcessTotals { process, ..ProcessTotals::default() });
        }
        change(&mut sums);
        let mut out = Vec::new();
        sums.put(&mut out);
        Sums::get(
            &mut Reader::new(&out, crate::gathered::SUMMARY_MEMORY_MAX),
            &agreed,
            crate::gathered::VERSION,
        )
        .is_ok()
    }

    fn slow_call(process: usize) -> MpiCall {
        MpiCall {
            process,
            rank: None,
            thread: 1,
            op: Op::MpiWriteAt,
            file: FileId(0),
            number: 1,
            offset: None,
            length: 0,
            start_ns: 0,
            nanos: 1,
            time: MpiTime::default(),
            nested: Vec::new(),
            nested_omitted: 0,
        }
    }

    #[test]
    fn sums_of_processes_and_files_that_are_not_there_are_refused() {
        assert!(is_read(|_| ()));
        assert!(is_read(|sums| sums.processes.clear()), "of another part");
        assert!(!is_read(|sums| sums.processes[1].process = 2));
        assert!(!is_read(|sums| sums.processes[1].process = 0), "each process once");
        assert!(is_read(|sums| sums.warnings.push((1, "a".into()))));
        assert!(!is_read(|sums| sums.warnings.push((2, "a".into()))));
        assert!(is_read(|sums| sums.slow.insert(0, slow_call(1))));
        assert!(!is_read(|sums| sums.slow.insert(0, slow_call(2))));
        let forced = |file: u32| {
            is_read(|sums| {
                sums.forced_writes.insert(FileId(file), Volume::default());
            })
        };
        assert!(forced(0) && !forced(1_000_000));
        assert!(!is_read(|sums| sums.files.truncate(1)));
        assert!(!is_read(|sums| sums.runtime.truncate(1)));
    }
}
