//! What one process does with one file, while its events are read.

use plimsoll_trace::{Class, Event, Layer, Op};

use crate::access::Trail;
use crate::activity::is_direct;
use crate::agreed::Agreed;
use crate::common_sizes::{SIZES_OF_FILE, SizeCounts};
use crate::coverages::{Cursors, layer_index};
use crate::extents::Extents;
use crate::file_table::FileId;
use crate::file_totals::{ByLayer, FileTotals};
use crate::forced::Openings;
use crate::histogram::Volume;
use crate::requests::Requests;
use crate::runtime::Rule;
use crate::sums::Sums;
use crate::totals::{Direction, OpTable};

/// One file of the process.
pub(crate) struct FileStream {
    pub id: FileId,
    pub detail: Option<u32>,
    pub totals: FileTotals,
    /// Of the thread that used the file last.
    pub epoch: u32,
    pub trails: [Trail; 2],
    /// Files with details only, and made when data is first moved.
    pub close_up: Option<Box<CloseUp>>,
    /// Layers by which the process itself has written the file.
    pub written: Layers,
    pub openings: Openings,
    /// What containers did to it as their log.
    pub logs: OpTable,
    /// While the file is not the program's but the runtime's.
    runtime: Option<&'static Rule>,
    pub requests: [Requests; 2],
}

#[derive(Default)]
pub(crate) struct CloseUp {
    pub cursors: Cursors,
    pub extents: [Extents; 2],
    pub common_sizes: ByLayer<SizeCounts>,
}

/// A set of layers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layers(u8);

impl Layers {
    pub const fn one(layer: Layer) -> Layers {
        Layers(1 << layer_index(layer))
    }

    pub const fn and(self, other: Layers) -> Layers {
        Layers(self.0 | other.0)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::OF_PROGRAMS.into_iter().filter(move |layer| self.0 & Layers::one(*layer).0 != 0)
    }
}

impl FileStream {
    pub fn new(id: FileId, runtime: Option<&'static Rule>, agreed: &Agreed) -> Self {
        FileStream {
            id,
            detail: agreed.details.get(id.0 as usize).copied().flatten(),
            totals: FileTotals::default(),
            epoch: 0,
            trails: [Trail::default(); 2],
            close_up: None,
            written: Layers::default(),
            openings: Openings::default(),
            logs: OpTable::default(),
            runtime,
            requests: Default::default(),
        }
    }

    /// Returns whether a data call moves what calls of MPI-IO have begun that do not wait, and notes those calls.
    #[inline]
    pub fn is_for_request(&mut self, event: &Event, direction: Direction) -> bool {
        self.requests[direction as usize].take(event)
    }

    /// True when a call leaves the file the runtime's. A file that becomes the program's stays
    /// so, with all calls on it; only the times of those before are not covered.
    #[inline]
    pub fn is_runtime_after(&mut self, event: &Event) -> bool {
        match self.runtime {
            None => false,
            Some(rule) => {
                if !rule.covers(event) {
                    self.runtime = None;
                }
                self.runtime.is_some()
            }
        }
    }

    /// True for a file that is the runtime's in the end.
    pub fn is_runtime(&self) -> bool {
        self.runtime.is_some()
    }

    /// Adds up what containers did to it as their log; returns whether the program itself made no call on it.
    pub fn is_only_log(&self, sums: &mut Sums) -> bool {
        if self.logs.iter().next().is_none() {
            return false;
        }
        sums.logs.entry(self.id).or_default().merge(&self.logs);
        self.totals.ops.iter().next().is_none()
    }

    #[inline(never)]
    pub fn change_thread(&mut self, epoch: u32, sums: &mut Sums, agreed: &Agreed) {
        self.epoch = epoch;
        self.trails = [Trail::default(); 2];
        self.hand_over_coverage(sums, agreed);
    }

    fn hand_over_coverage(&mut self, sums: &mut Sums, agreed: &Agreed) {
        if let (Some(index), Some(close_up)) = (self.detail, &mut self.close_up) {
            close_up.cursors.finish(&mut sums.detail(index, agreed).coverages);
        }
    }

    /// Returns the process's own POSIX writes, if each of them waited until it was on storage.
    pub fn forced_writes(&self) -> Option<Volume> {
        let data = self.totals.data.as_ref().filter(|_| self.openings.are_forced())?;
        let writes = data.own.volumes[layer_index(Layer::Posix)][Direction::Write as usize];
        (writes.calls > 0).then_some(writes)
    }

    pub fn finish(&mut self, sums: &mut Sums, agreed: &Agreed) {
        self.hand_over_coverage(sums, agreed);
        let totals = &mut self.totals;
        let moves =
            |direction| totals.ops.iter().any(|e| Direction::of(e.op.class()) == Some(direction));
        let (reads, writes) = (moves(Direction::Read), moves(Direction::Write));
        let writes_directly = |op: Op| op.class() == Class::Write && is_direct(op.layer());
        totals.processes = 1;
        totals.readers = u32::from(reads);
        totals.writers = u32::from(writes);
        totals.users = u32::from(reads || writes);
        totals.direct_writers = u32::from(totals.ops.iter().any(|e| writes_directly(e.op)));
        if let (Some(close_up), Some(data)) = (&self.close_up, &mut totals.data) {
            let [read, written] = &close_up.extents;
            data.repeated = [read.repeated(), written.repeated()];
            data.read_and_written_bytes = read.common(written);
        }
        if let (Some(index), Some(close_up)) = (self.detail, self.close_up.take()) {
            let all = sums.detail(index, agreed).common_sizes.iter_mut().flatten();
            let own = close_up.common_sizes.into_iter().flatten();
            all.zip(own).for_each(|(all, own)| all.take(own, SIZES_OF_FILE));
        }
        if let Some(data) = &mut totals.data {
            data.sieving.processes = u64::from(data.sieving.cycles > 0);
        }
    }
}
