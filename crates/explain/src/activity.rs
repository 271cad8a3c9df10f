//! What processes do over time.

use plimsoll_trace::{Class, Layer};

use crate::add_all::add_all;
use crate::call_kind::CallKind;
use crate::grid::Grid;
use crate::totals::Direction;
use plimsoll_stored::{Malformed, Reader, get_sparse, put_sparse};

/// What a thread does in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Inside a POSIX or stdio read.
    Read,
    /// Inside a POSIX or stdio write.
    Write,
    /// Opening, closing, names, attributes and directories.
    Metadata,
    /// Making data durable.
    Sync,
    /// Taking or giving back a lock.
    Lock,
    /// Inside an MPI-IO call, and in none of the above: exchanging data or waiting.
    MpiWaiting,
    /// Any other recorded call.
    Other,
}

/// Number of activities.
pub const ACTIVITIES: usize = 7;

impl Activity {
    /// All, in the order of [`TimelineRow::shares`].
    pub const ALL: [Activity; ACTIVITIES] = [
        Activity::Read,
        Activity::Write,
        Activity::Metadata,
        Activity::Sync,
        Activity::Lock,
        Activity::MpiWaiting,
        Activity::Other,
    ];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Activity::Read => "read",
            Activity::Write => "write",
            Activity::Metadata => "metadata",
            Activity::Sync => "sync",
            Activity::Lock => "lock",
            Activity::MpiWaiting => "mpi_waiting",
            Activity::Other => "other",
        }
    }

    pub(crate) fn of(class: Class) -> Activity {
        match class {
            Class::Read => Activity::Read,
            Class::Write => Activity::Write,
            Class::Sync => Activity::Sync,
            Class::Lock | Class::Unlock => Activity::Lock,
            Class::Open | Class::Close | Class::Metadata => Activity::Metadata,
            Class::Seek | Class::Other => Activity::Other,
        }
    }
}

/// Most bins of the time line, and most rows.
pub(crate) const TIMELINE_BINS: u64 = 256;
pub(crate) const TIMELINE_ROWS: usize = 256;

/// Nanoseconds by row, bin and activity, and bytes by row, bin and direction.
#[derive(Debug, Clone)]
pub(crate) struct TimelineSums {
    grid: Grid,
    processes: usize,
    rows: Vec<[u64; ACTIVITIES]>,
    bytes: Vec<[u64; 2]>,
}

impl TimelineSums {
    pub fn new(span_ns: u64, processes: usize) -> Self {
        let grid = Grid::new(span_ns, TIMELINE_BINS);
        let cells = grid.bins() * processes.min(TIMELINE_ROWS);
        let (rows, bytes) = (vec![[0; ACTIVITIES]; cells], vec![[0; 2]; cells]);
        TimelineSums { grid, processes, rows, bytes }
    }

    /// Returns the row of a process: its own, or one that it shares with its neighbours.
    fn row(&self, process: usize) -> usize {
        if self.processes <= TIMELINE_ROWS {
            process
        } else {
            process * TIMELINE_ROWS / self.processes
        }
    }

    #[inline]
    fn add(&mut self, process: usize, bin: usize, activity: Activity, nanos: u64) {
        let at = self.row(process) * self.grid.bins() + bin;
        if let Some(cell) = self.rows.get_mut(at) {
            let cell = &mut cell[activity as usize];
            *cell = cell.saturating_add(nanos);
        }
    }

    /// Bytes of a data call of the program itself, spread evenly over it.
    #[inline]
    pub fn add_bytes(&mut self, process: usize, way: Direction, bytes: u64, call: (u64, u64)) {
        if bytes == 0 {
            return;
        }
        let (first, last) = (self.grid.bin(call.0), self.grid.bin(call.1));
        let row = self.row(process) * self.grid.bins();
        if first == last {
            return self.add_to_cell(row + first, way, bytes);
        }
        // Each bin gets what was moved until its end less what was moved before: all parts
        // together are exactly the bytes.
        let (grid, nanos) = (self.grid, u128::from(call.1 - call.0));
        let (mut before, mut passed) = (0, 0u128);
        grid.spread(call.0, call.1, |bin, ns| {
            passed += u128::from(ns);
            let until = (u128::from(bytes) * passed / nanos) as u64;
            self.add_to_cell(row + bin, way, until - before);
            before = until;
        });
    }

    #[inline]
    fn add_to_cell(&mut self, at: usize, way: Direction, bytes: u64) {
        if let Some(cell) = self.bytes.get_mut(at) {
            cell[way as usize] = cell[way as usize].saturating_add(bytes);
        }
    }

    /// Appends them, without their grid.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_sparse(&self.rows, out);
        put_sparse(&self.bytes, out);
    }

    /// Reads what was written of a time line of this span, of this many processes.
    pub fn get(from: &mut Reader<'_>, span_ns: u64, processes: usize) -> Result<Self, Malformed> {
        let empty = TimelineSums::new(span_ns, processes);
        let rows = get_sparse(from, empty.rows.len())?;
        let bytes = get_sparse(from, empty.bytes.len())?;
        Ok(TimelineSums { rows, bytes, ..empty })
    }

    pub fn merge(&mut self, other: &TimelineSums) {
        for (own, other) in self.rows.iter_mut().flatten().zip(other.rows.iter().flatten()) {
            *own = own.saturating_add(*other);
        }
        for (own, other) in self.bytes.iter_mut().flatten().zip(other.bytes.iter().flatten()) {
            *own = own.saturating_add(*other);
        }
    }

    pub fn finish(&self) -> Timeline {
        let rows = (0..self.processes.min(TIMELINE_ROWS)).map(|row| self.finish_row(row));
        let bin_seconds = self.grid.width_ns() as f64 * 1e-9;
        Timeline { bin_seconds, bins: self.grid.bins(), rows: rows.collect() }
    }

    fn finish_row(&self, row: usize) -> TimelineRow {
        let members = (0..self.processes).filter(|process| self.row(*process) == row);
        let (first, count) = members.fold((usize::MAX, 0), |(f, n), p| (f.min(p), n + 1));
        let bins = self.grid.bins();
        let shares = (0..bins).map(|bin| {
            let time = (self.grid.inside_ns(bin).max(1) * count.max(1) as u64) as f64;
            self.rows[row * bins + bin].map(|nanos| nanos as f64 / time)
        });
        let shares = shares.collect();
        let bytes = self.bytes[row * bins..][..bins].to_vec();
        TimelineRow { first_process: first, processes: count, shares, bytes }
    }
}

/// What each process does over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Width of a bin.
    pub bin_seconds: f64,
    /// Number of bins.
    pub bins: usize,
    /// By process; neighbours share a row when there are more than 256.
    pub rows: Vec<TimelineRow>,
}

/// One row of a [`Timeline`].
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRow {
    /// Index of the first process of the row in the recording.
    pub first_process: usize,
    /// Processes that share it.
    pub processes: usize,
    /// By bin, the time in each [`Activity`] over the time of the row's processes. More than 1
    /// in total where several threads of a process were active.
    pub shares: Vec<[f64; ACTIVITIES]>,
    /// By bin, the bytes that calls of the programs themselves read and wrote, each call's
    /// spread evenly over its time.
    pub bytes: Vec<[u64; 2]>,
}

/// Where one thread is in the time line. What lies before the end of an earlier call is not
/// counted again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimelineCursor {
    frontier: u64,
    mpi_frontier: u64,
}

impl TimelineCursor {
    /// A call that is not of MPI.
    #[inline]
    pub fn add(&mut self, sums: &mut TimelineSums, process: usize, class: Class, call: (u64, u64)) {
        let start = call.0.max(self.frontier);
        let activity = Activity::of(class);
        if start < call.1 {
            let grid = sums.grid;
            grid.spread(start, call.1, |bin, ns| sums.add(process, bin, activity, ns));
            self.frontier = call.1;
        }
    }

    /// An MPI call with this many nanoseconds outside other calls, spread evenly over it.
    #[inline]
    pub fn add_mpi(
        &mut self,
        sums: &mut TimelineSums,
        process: usize,
        waiting: u64,
        call: (u64, u64),
    ) {
        let (start, end) = (call.0.max(self.mpi_frontier), call.1);
        if start >= end {
            return;
        }
        self.mpi_frontier = end;
        let (grid, nanos) = (sums.grid, u128::from(call.1 - call.0));
        if start == call.0 && grid.bin(start) == grid.bin(end - 1) {
            return sums.add(process, grid.bin(start), Activity::MpiWaiting, waiting);
        }
        grid.spread(start, end, |bin, ns| {
            let part = u128::from(waiting) * u128::from(ns) / nanos;
            sums.add(process, bin, Activity::MpiWaiting, part as u64);
        });
    }
}

/// True for calls that show in the time line as themselves.
#[inline]
pub(crate) fn is_direct(layer: Layer) -> bool {
    matches!(layer, Layer::Stdio | Layer::Posix)
}

/// Bytes and calls by the bin in which they ended.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Bytes moved by data calls of the program itself, by direction.
    pub bytes: [Vec<u64>; 2],
    /// Opening, closing, names, attributes and directories.
    pub metadata_calls: Vec<u64>,
    /// Calls that make data durable.
    pub syncs: Vec<u64>,
}

impl Series {
    pub fn new(grid: Grid) -> Self {
        let zeros = || vec![0; grid.bins()];
        Series { bytes: [zeros(), zeros()], metadata_calls: zeros(), syncs: zeros() }
    }

    /// Counts a call that moves no data, in the bin where it ended.
    #[inline]
    pub fn count(&mut self, kind: CallKind, bin: usize) {
        match kind {
            CallKind::Sync => self.syncs[bin] += 1,
            CallKind::Metadata => self.metadata_calls[bin] += 1,
            CallKind::Read | CallKind::Write => {}
        }
    }

    /// Appends them, without their grid.
    pub fn put(&self, out: &mut Vec<u8>) {
        let [read, written] = &self.bytes;
        for values in [read, written, &self.metadata_calls, &self.syncs] {
            put_sparse(values, out);
        }
    }

    /// Reads what was written of a series on this grid.
    pub fn get(from: &mut Reader<'_>, grid: Grid) -> Result<Self, Malformed> {
        let mut values = || get_sparse(from, grid.bins());
        let bytes = [values()?, values()?];
        Ok(Series { bytes, metadata_calls: values()?, syncs: values()? })
    }

    pub fn merge(&mut self, other: &Series) {
        add_all(&mut self.bytes[0], &other.bytes[0]);
        add_all(&mut self.bytes[1], &other.bytes[1]);
        add_all(&mut self.metadata_calls, &other.metadata_calls);
        add_all(&mut self.syncs, &other.syncs);
    }
}
