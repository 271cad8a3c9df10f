//! What one process does with one file, while its events are read.

use plimsoll_trace::{Class, Op};

use crate::access::Trail;
use crate::activity::is_direct;
use crate::extents::Extents;
use crate::file_table::FileId;
use crate::file_totals::{Cursors, FileTotals};
use crate::gathered::{Gathered, Plan};
use crate::totals::Direction;

/// One file of the process.
pub(crate) struct FileStream {
    pub id: FileId,
    pub detail: Option<u32>,
    pub totals: FileTotals,
    /// Of the thread that used the file last.
    pub epoch: u32,
    pub trails: [Trail; 2],
    /// Files with details only.
    pub close_up: Option<Box<CloseUp>>,
}

#[derive(Default)]
pub(crate) struct CloseUp {
    pub cursors: Cursors,
    pub extents: [Extents; 2],
}

impl FileStream {
    pub fn new(id: FileId, plan: &Plan) -> Self {
        let detail = plan.details.get(id.0 as usize).copied().flatten();
        FileStream {
            id,
            detail,
            totals: FileTotals::default(),
            epoch: 0,
            trails: [Trail::default(); 2],
            close_up: detail.map(|_| Box::default()),
        }
    }

    #[inline(never)]
    pub fn change_thread(&mut self, epoch: u32, gathered: &mut Gathered, plan: &Plan) {
        self.epoch = epoch;
        self.trails = [Trail::default(); 2];
        self.hand_over_coverage(gathered, plan);
    }

    fn hand_over_coverage(&mut self, gathered: &mut Gathered, plan: &Plan) {
        if let (Some(index), Some(close_up)) = (self.detail, &mut self.close_up) {
            close_up.cursors.finish(&mut gathered.detail(index, plan).coverages);
        }
    }

    pub fn finish(&mut self, gathered: &mut Gathered, plan: &Plan) {
        self.hand_over_coverage(gathered, plan);
        let totals = &mut self.totals;
        let moves =
            |direction| totals.ops.iter().any(|e| Direction::of(e.op.class()) == Some(direction));
        let writes_directly = |op: Op| op.class() == Class::Write && is_direct(op.layer());
        totals.processes = 1;
        totals.readers = u32::from(moves(Direction::Read));
        totals.writers = u32::from(moves(Direction::Write));
        totals.direct_writers = u32::from(totals.ops.iter().any(|e| writes_directly(e.op)));
        if let (Some(close_up), Some(data)) = (&self.close_up, &mut totals.data) {
            let [read, written] = &close_up.extents;
            data.repeated = [read.repeated(), written.repeated()];
            data.read_and_written_bytes = read.common(written);
        }
        if let Some(data) = &mut totals.data {
            data.sieving.processes = u64::from(data.sieving.cycles > 0);
        }
    }
}
