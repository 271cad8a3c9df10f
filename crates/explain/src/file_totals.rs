//! What is added up for each file.

use plimsoll_trace::Layer;

use crate::access::AccessCounts;
use crate::coverage::{Coverage, Cursor};
use crate::extents::RepeatedBytes;
use crate::file_table::FileId;
use crate::grid::Grid;
use crate::histogram::{JumpHistogram, SizeHistogram, Volume};
use crate::nesting::Sieving;
use crate::sample::HashSample;
use crate::totals::{Direction, OpTable};

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
    pub fn add(&mut self, start: u64, end: u64) {
        self.start = self.start.min(start);
        self.end = self.end.max(end);
    }

    pub fn merge(&mut self, other: &Extent) {
        self.add(other.start, other.end);
    }

    pub fn nanos(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    pub fn and(mut self, other: &Extent) -> Extent {
        self.merge(other);
        self
    }
}

/// Index of a layer in tables.
#[inline]
pub(crate) const fn layer_index(layer: Layer) -> usize {
    match layer {
        Layer::Mpi => 0,
        Layer::Stdio => 1,
        Layer::Posix => 2,
    }
}

/// What data calls on a file add up to.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataTotals {
    /// By layer and direction.
    pub extents: [[Extent; 2]; 3],
    pub access: [AccessCounts; 2],
    /// Data calls of the program itself, on whatever layer.
    pub own: [Volume; 2],
    pub independent_writes: Volume,
    pub repeated: [RepeatedBytes; 2],
    pub read_and_written_bytes: u64,
    pub sieving: Sieving,
}

impl DataTotals {
    pub fn merge(&mut self, other: &DataTotals) {
        for layer in 0..3 {
            for direction in 0..2 {
                self.extents[layer][direction].merge(&other.extents[layer][direction]);
            }
        }
        for direction in 0..2 {
            self.access[direction].merge(&other.access[direction]);
            self.own[direction].merge(&other.own[direction]);
            self.repeated[direction].merge(&other.repeated[direction]);
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
    /// Time in calls of the program itself.
    pub own_nanos: u64,
    /// Processes that made any call on it, that read it, that wrote it, on any layer.
    pub processes: u32,
    pub readers: u32,
    pub writers: u32,
    /// Processes that wrote to it by POSIX or stdio calls.
    pub direct_writers: u32,
    pub data: Option<Box<DataTotals>>,
}

impl FileTotals {
    pub fn merge(&mut self, other: &FileTotals) {
        self.ops.merge(&other.ops);
        self.own_nanos = self.own_nanos.saturating_add(other.own_nanos);
        self.processes = self.processes.saturating_add(other.processes);
        self.readers = self.readers.saturating_add(other.readers);
        self.writers = self.writers.saturating_add(other.writers);
        self.direct_writers = self.direct_writers.saturating_add(other.direct_writers);
        if let Some(data) = &other.data {
            self.data.get_or_insert_default().merge(data);
        }
    }
}

/// Kinds of calls whose covered time is kept: each layer's reads, writes and both, and locks.
pub(crate) const COVERAGES: usize = 10;
/// Index of the coverage of locks.
pub(crate) const LOCKS: usize = 9;

/// Index of the coverage of a layer's data calls; both directions with `None`.
#[inline]
pub(crate) const fn coverage_index(layer: Layer, direction: Option<Direction>) -> usize {
    let direction = match direction {
        Some(Direction::Read) => 0,
        Some(Direction::Write) => 1,
        None => 2,
    };
    layer_index(layer) * 3 + direction
}

/// Covered time by kind of call.
#[derive(Debug, Clone)]
pub(crate) struct Coverages(pub [Coverage; COVERAGES]);

impl Coverages {
    pub fn new(grid: Grid) -> Self {
        Coverages(std::array::from_fn(|_| Coverage::new(grid)))
    }

    pub fn of(&self, layer: Layer, direction: Option<Direction>) -> &Coverage {
        &self.0[coverage_index(layer, direction)]
    }

    pub fn merge(&mut self, other: Coverages) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| own.merge(other));
    }
}

/// Where one thread is in [`Coverages`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursors([Cursor; COVERAGES]);

impl Cursors {
    #[inline]
    pub fn data(
        &mut self,
        coverages: &mut Coverages,
        layer: Layer,
        direction: Direction,
        (start, end): (u64, u64),
    ) {
        let one = coverage_index(layer, Some(direction));
        let both = coverage_index(layer, None);
        self.0[one].add(&mut coverages.0[one], start, end);
        self.0[both].add(&mut coverages.0[both], start, end);
    }

    #[inline]
    pub fn lock(&mut self, coverages: &mut Coverages, (start, end): (u64, u64)) {
        self.0[LOCKS].add(&mut coverages.0[LOCKS], start, end);
    }

    /// The thread is at its end.
    pub fn finish(&mut self, coverages: &mut Coverages) {
        for (cursor, coverage) in self.0.iter_mut().zip(&mut coverages.0) {
            cursor.finish(coverage);
            *cursor = Cursor::default();
        }
    }
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

/// What is kept of the files that matter most.
#[derive(Debug, Clone)]
pub(crate) struct FileDetail {
    pub file: FileId,
    pub coverages: Coverages,
    /// By layer and direction.
    pub sizes: [[SizeHistogram; 2]; 3],
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
            jumps: Default::default(),
            written: vec![0; grid.bins()],
            samples: HashSample::new(OFFSET_SAMPLES),
        }
    }

    pub fn merge(&mut self, other: FileDetail) {
        self.coverages.merge(other.coverages);
        merge_sizes(&mut self.sizes, &other.sizes);
        self.jumps.iter_mut().zip(&other.jumps).for_each(|(own, other)| own.merge(other));
        add_all(&mut self.written, &other.written);
        self.samples.merge(other.samples);
    }
}

pub(crate) fn merge_sizes(own: &mut [[SizeHistogram; 2]; 3], other: &[[SizeHistogram; 2]; 3]) {
    for (own, other) in own.iter_mut().flatten().zip(other.iter().flatten()) {
        own.merge(other);
    }
}

pub(crate) fn add_all(own: &mut [u64], other: &[u64]) {
    own.iter_mut().zip(other).for_each(|(own, other)| *own = own.saturating_add(*other));
}
