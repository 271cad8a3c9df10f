//! What calls have inside them.

use plimsoll_trace::{Class, Event, Layer};

use super::ProcessPass;
use crate::activity::is_direct;
use crate::coverages::Covers;
use crate::moment::Moment;
use crate::nesting::{Inside, MpiCall, MpiTime, NestedCall};
use crate::sieving::Sieving;

impl ProcessPass<'_> {
    /// Relates the call to the calls around and inside it.
    #[inline]
    pub(super) fn nest(&mut self, event: &Event, moment: &Moment, stream: usize, number: u64) {
        let (nanos, span) = (moment.nanos(), moment.span);
        if !moment.is_own {
            let length = event.length;
            let call =
                NestedCall { op: event.op, offset: event.offset, length, start_ns: span.0, nanos };
            self.thread.nesting.inner(event.depth, call, moment.bytes);
            if is_direct(moment.layer) {
                self.thread.cursors.add(&mut self.sums.coverages, Covers::BELOW_MPI, span);
            }
            return;
        }
        let inside = self.thread.nesting.outer();
        if moment.layer == Layer::Mpi {
            self.thread.cursors.add(&mut self.sums.coverages, Covers::IN_MPI, span);
            self.mpi_call(event, moment, stream, number, &inside);
        }
        self.thread.nesting.forget_calls();
    }

    fn mpi_call(
        &mut self,
        event: &Event,
        moment: &Moment,
        stream: usize,
        number: u64,
        inside: &Inside,
    ) {
        let nanos = moment.nanos();
        let time = MpiTime { calls: 1, nanos, ..inside.time };
        self.sums.mpi[usize::from(event.op as u8)].merge(&time);
        let timeline = &mut self.sums.timeline;
        self.thread.timeline.add_mpi(timeline, self.index, time.waiting_nanos(), moment.span);
        if moment.class == Class::Write && inside.cycles > 0 {
            let sieving = Sieving::in_call(event.op, moment.bytes, inside);
            self.sieve_lock_nanos = self.sieve_lock_nanos.saturating_add(inside.time.lock_nanos);
            let data = self.streams[stream].totals.data.get_or_insert_default();
            data.sieving.merge(&sieving);
        }
        if nanos > 0 && moment.class.is_data() && self.sums.slow.wants(nanos, self.index) {
            let (nested, nested_omitted) = self.thread.nesting.calls();
            let call = MpiCall {
                process: self.index,
                rank: self.process.rank,
                thread: self.thread.id,
                op: event.op,
                file: self.streams[stream].id,
                number,
                offset: event.offset,
                length: event.length,
                start_ns: moment.span.0,
                nanos,
                time,
                nested: nested.to_vec(),
                nested_omitted,
            };
            self.sums.slow.insert(self.events, call);
        }
    }
}
