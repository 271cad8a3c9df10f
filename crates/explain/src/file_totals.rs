//! What is added up for each file.

use crate::access::AccessCounts;
use crate::add_all::add_all;
use crate::common_sizes::SizeCounts;
use crate::coverages::Coverages;
use crate::extents::RepeatedBytes;
use crate::file_table::FileId;
use crate::grid::Grid;
use crate::histogram::{JumpHistogram, SizeHistogram, Volume};
use crate::process_totals::OwnCalls;
use crate::sample::HashSample;
use crate::sieving::Sieving;
use crate::totals::{Direction, OpTable};
use plimsoll_stored::{Malformed, Reader, Stored, get_sparse, put_sparse, stored};

/// First start and last end of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u64,
    pub end: u64,
}

impl Default for Extent {
    fn default() -> Self {
        Extent { start: u64::MAX, end: 0 }
    }
}

impl Extent {
    #[inline]
    pub fn add(&mut self, (start, end): (u64, u64)) {
        self.start = self.start.min(start);
        self.end = self.end.max(end);
    }

    pub fn merge(&mut self, other: &Extent) {
        self.add((other.start, other.end));
    }

    pub fn nanos(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Data calls that programs make themselves, by layer and direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnData {
    pub volumes: [[Volume; 2]; 3],
    /// From the first data call to the last; for writes to the last call that makes them durable.
    pub extents: [[Extent; 2]; 3],
}

impl OwnData {
    pub fn merge(&mut self, other: &OwnData) {
        let volumes = self.volumes.iter_mut().flatten().zip(other.volumes.iter().flatten());
        volumes.for_each(|(own, other)| own.merge(other));
        let extents = self.extents.iter_mut().flatten().zip(other.extents.iter().flatten());
        extents.for_each(|(own, other)| own.merge(other));
    }
}

/// What data calls on a file add up to.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataTotals {
    pub own: OwnData,
    pub access: [AccessCounts; 2],
    pub independent_writes: Volume,
    /// Collective MPI calls, reads and writes.
    pub collective: [Volume; 2],
    pub repeated: [RepeatedBytes; 2],
    pub read_and_written_bytes: u64,
    pub sieving: Sieving,
}

impl DataTotals {
    pub fn merge(&mut self, other: &DataTotals) {
        self.own.merge(&other.own);
        for direction in 0..2 {
            self.access[direction].merge(&other.access[direction]);
            self.repeated[direction].merge(&other.repeated[direction]);
            self.collective[direction].merge(&other.collective[direction]);
        }
        self.independent_writes.merge(&other.independent_writes);
        self.read_and_written_bytes =
            self.read_and_written_bytes.saturating_add(other.read_and_written_bytes);
        self.sieving.merge(&other.sieving);
    }
}

/// What is kept of every file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileTotals {
    pub ops: OpTable,
    /// Calls of the program itself.
    pub own: OwnCalls,
    /// Processes that made any call on it, that read it, that wrote it, on any layer.
    pub processes: u32,
    pub readers: u32,
    pub writers: u32,
    /// Processes that read or wrote it.
    pub users: u32,
    /// Processes that wrote to it by POSIX or stdio calls.
    pub direct_writers: u32,
    pub data: Option<Box<DataTotals>>,
}

impl FileTotals {
    pub fn merge(&mut self, other: &FileTotals) {
        self.ops.merge(&other.ops);
        self.own.merge(&other.own);
        self.processes = self.processes.saturating_add(other.processes);
        self.readers = self.readers.saturating_add(other.readers);
        self.writers = self.writers.saturating_add(other.writers);
        self.users = self.users.saturating_add(other.users);
        self.direct_writers = self.direct_writers.saturating_add(other.direct_writers);
        if let Some(data) = &other.data {
            self.data.get_or_insert_default().merge(data);
        }
    }
}

stored! {
    Extent { start, end }
    OwnData { volumes, extents }
    DataTotals {
        own, access, independent_writes, collective, repeated, read_and_written_bytes, sieving,
    }
    FileTotals { ops, own, processes, readers, writers, users, direct_writers, data }
    OffsetSample { start_ns, offset, bytes, nanos, process, direction }
}

/// One data call of a sample: where and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetSample {
    /// When it began, since the beginning of the recording.
    pub start_ns: u64,
    /// Where.
    pub offset: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// How long it took.
    pub nanos: u64,
    /// Index of the process in the recording.
    pub process: u32,
    /// Reading or writing.
    pub direction: Direction,
}

/// Calls in the sample of offsets over time, of each file with details.
pub(crate) const OFFSET_SAMPLES: usize = 1024;

/// Something for each layer and direction.
pub(crate) type ByLayer<T> = [[T; 2]; 3];

/// What is kept of the files that matter most.
#[derive(Debug, Clone)]
pub(crate) struct FileDetail {
    pub file: FileId,
    pub coverages: Coverages,
    pub sizes: ByLayer<SizeHistogram>,
    pub common_sizes: ByLayer<SizeCounts>,
    pub jumps: [JumpHistogram; 2],
    /// Bytes whose POSIX write ended within a bin's width: counted where the write is still in
    /// flight.
    pub written: Vec<u64>,
    pub samples: HashSample<OffsetSample>,
}

impl FileDetail {
    pub fn new(file: FileId, grid: Grid) -> Self {
        FileDetail {
            file,
            coverages: Coverages::new(grid),
            sizes: Default::default(),
            common_sizes: Default::default(),
            jumps: Default::default(),
            written: vec![0; grid.bins()],
            samples: HashSample::new(OFFSET_SAMPLES),
        }
    }

    /// Appends it, without its file and its grid.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.coverages.put(out);
        self.sizes.put(out);
        self.common_sizes.put(out);
        self.jumps.put(out);
        put_sparse(&self.written, out);
        self.samples.put(out);
    }

    /// Reads what was written of the details of this file.
    pub fn get(from: &mut Reader<'_>, file: FileId, grid: Grid) -> Result<Self, Malformed> {
        Ok(FileDetail {
            file,
            coverages: Coverages::get(from, grid)?,
            sizes: Stored::get(from)?,
            common_sizes: Stored::get(from)?,
            jumps: Stored::get(from)?,
            written: get_sparse(from, grid.bins())?,
            samples: HashSample::get(from, OFFSET_SAMPLES)?,
        })
    }

    pub fn merge(&mut self, other: FileDetail) {
        self.coverages.merge(other.coverages);
        merge_sizes(&mut self.sizes, &other.sizes);
        merge_common(&mut self.common_sizes, other.common_sizes);
        self.jumps.iter_mut().zip(&other.jumps).for_each(|(own, other)| own.merge(other));
        add_all(&mut self.written, &other.written);
        self.samples.merge(other.samples);
    }
}

pub(crate) fn merge_common(own: &mut ByLayer<SizeCounts>, other: ByLayer<SizeCounts>) {
    for (own, other) in own.iter_mut().flatten().zip(other.into_iter().flatten()) {
        own.merge(other);
    }
}

pub(crate) fn merge_sizes(own: &mut ByLayer<SizeHistogram>, other: &ByLayer<SizeHistogram>) {
    for (own, other) in own.iter_mut().flatten().zip(other.iter().flatten()) {
        own.merge(other);
    }
}
