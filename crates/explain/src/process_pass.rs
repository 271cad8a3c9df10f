//! One pass over the events of one process. This is the inner loop: it allocates nothing per
//! event.

use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Class, Event, Layer, Op};

use crate::access::Request;
use crate::activity::{TimelineCursor, is_direct};
use crate::clock::Clock;
use crate::file_stream::FileStream;
use crate::file_table::FileId;
use crate::file_totals::{Cursors, OffsetSample, layer_index};
use crate::gathered::{Gathered, Plan};
use crate::nesting::{Inside, MpiCall, MpiTime, NestedCall, Nesting, Sieving, is_collective};
use crate::number_map::NumberMap;
use crate::process_totals::{OwnCalls, ProcessTotals};
use crate::reader::Visitor;
use crate::recording::Process;
use crate::sample::mix;
use crate::totals::{Direction, OpTable};

/// Adds the events of a process to what was gathered.
pub(crate) struct ProcessPass<'a> {
    plan: &'a Plan,
    gathered: &'a mut Gathered,
    process: &'a Process,
    index: usize,
    clock: Clock,
    streams: Vec<FileStream>,
    /// From the process's file numbers to streams, and from the recording's.
    numbers: NumberMap,
    ids: NumberMap,
    /// The last number that was looked up, and its stream.
    recent: (u32, u32),
    thread: ThreadState,
    own: OwnCalls,
    events: u64,
    lock_nanos: u64,
    sieve_lock_nanos: u64,
}

/// What is known of the thread whose events are coming.
#[derive(Default)]
struct ThreadState {
    id: u32,
    /// Counts the threads of the process, from 1.
    epoch: u32,
    hash: u64,
    cursors: Cursors,
    timeline: TimelineCursor,
    nesting: Nesting,
}

/// An event on the recording's time line.
struct Moment {
    class: Class,
    layer: Layer,
    start: u64,
    end: u64,
    bytes: u64,
    hash: u64,
}

impl Moment {
    #[inline]
    fn nanos(&self) -> u64 {
        self.end - self.start
    }
}

const NO_STREAM: u32 = u32::MAX;

impl<'a> ProcessPass<'a> {
    pub fn new(
        plan: &'a Plan,
        gathered: &'a mut Gathered,
        process: &'a Process,
        index: usize,
        clock: Clock,
    ) -> Self {
        ProcessPass {
            plan,
            gathered,
            process,
            index,
            clock,
            streams: Vec::new(),
            numbers: NumberMap::default(),
            ids: NumberMap::default(),
            recent: (0, NO_STREAM),
            thread: ThreadState::default(),
            own: OwnCalls::default(),
            events: 0,
            lock_nanos: 0,
            sieve_lock_nanos: 0,
        }
    }

    /// The stream of a file number.
    #[inline]
    fn stream(&mut self, number: u32) -> usize {
        if self.recent.0 != number || self.recent.1 == NO_STREAM {
            self.recent = (number, self.find_stream(number));
        }
        self.recent.1 as usize
    }

    #[inline(never)]
    fn find_stream(&mut self, number: u32) -> u32 {
        if let Some(stream) = self.numbers.get(&number) {
            return *stream;
        }
        let id = self.process.file(number);
        let stream = self.stream_of(id);
        // Damaged events may name any number of files: only those with a name are remembered.
        if id != FileId::UNKNOWN {
            self.numbers.insert(number, stream);
        }
        stream
    }

    /// The stream of a file; a file may have several numbers.
    fn stream_of(&mut self, id: FileId) -> u32 {
        if let Some(stream) = self.ids.get(&id.0) {
            return *stream;
        }
        let stream = self.streams.len() as u32;
        self.streams.push(FileStream::new(id, self.plan));
        self.ids.insert(id.0, stream);
        stream
    }

    /// Adds a data call to its file and to the whole.
    #[inline]
    fn data(&mut self, event: &Event, direction: Direction, moment: &Moment, stream: usize) {
        let layer = moment.layer;
        let span = (moment.start, moment.end);
        let (nanos, way) = (moment.nanos(), direction as usize);
        let gathered = &mut *self.gathered;
        self.thread.cursors.data(&mut gathered.coverages, layer, direction, span);
        gathered.extents[layer_index(layer)][way].add(span.0, span.1);
        gathered.sizes[layer_index(layer)][way].add(event.length, moment.bytes, nanos);
        if event.depth == 0 {
            let bin = self.plan.grid.bin(moment.end);
            let sum = &mut gathered.series.bytes[way][bin];
            *sum = sum.saturating_add(moment.bytes);
        }

        let stream = &mut self.streams[stream];
        let data = stream.totals.data.get_or_insert_default();
        data.extents[layer_index(layer)][way].add(span.0, span.1);
        if event.depth == 0 {
            data.own[way].add(moment.bytes, nanos);
        }
        if layer == Layer::Mpi && direction == Direction::Write && !is_collective(event.op) {
            data.independent_writes.add(moment.bytes, nanos);
        }
        if let (Some(index), Some(close_up)) = (stream.detail, &mut stream.close_up) {
            let detail = gathered.detail(index, self.plan);
            close_up.cursors.data(&mut detail.coverages, layer, direction, span);
            detail.sizes[layer_index(layer)][way].add(event.length, moment.bytes, nanos);
            if layer == Layer::Posix && direction == Direction::Write {
                let grid = self.plan.file_grid;
                let before_end = moment.end.saturating_sub(grid.width_ns()).max(moment.start);
                let written = &mut detail.written[grid.bin(before_end)];
                *written = written.saturating_add(moment.bytes);
            }
        }
        if let Some(offset) = event.offset.filter(|_| is_direct(layer)) {
            self.access(event, direction, moment, offset);
        }
    }

    /// Where a POSIX or stdio call reads or writes.
    #[inline]
    fn access(&mut self, event: &Event, direction: Direction, moment: &Moment, offset: u64) {
        let (nanos, way) = (moment.nanos(), direction as usize);
        let stream = &mut self.streams[self.recent.1 as usize];
        let counts = &mut stream.totals.data.get_or_insert_default().access[way];
        let request = Request {
            offset,
            length: event.length,
            bytes: moment.bytes,
            nanos,
            is_own_posix: event.depth == 0 && moment.layer == Layer::Posix,
        };
        let trail = &mut stream.trails[way];
        let previous_end = trail.previous_end();
        trail.follow(request, counts);
        if moment.layer == Layer::Posix {
            counts.align(&request, self.plan.stripe_bytes);
        }
        if let Some(previous_end) = previous_end {
            self.gathered.jumps[way].add(previous_end, offset);
        }
        let (Some(index), Some(close_up)) = (stream.detail, &mut stream.close_up) else { return };
        close_up.extents[way].add(offset, moment.bytes);
        let detail = self.gathered.detail(index, self.plan);
        if let Some(previous_end) = previous_end {
            detail.jumps[way].add(previous_end, offset);
        }
        let process = self.index as u32;
        detail.samples.offer(moment.hash, || OffsetSample {
            start_ns: moment.start,
            offset,
            bytes: moment.bytes,
            nanos,
            process,
            direction,
        });
    }

    /// Calls that move no data, as far as they are more than their totals.
    #[inline]
    fn no_data(&mut self, event: &Event, moment: &Moment, stream: usize) {
        let bin = self.plan.grid.bin(moment.end);
        if !is_direct(moment.layer) {
            return;
        }
        match moment.class {
            Class::Sync if event.op != Op::Fflush => self.gathered.series.syncs[bin] += 1,
            Class::Open | Class::Close | Class::Metadata => {
                self.gathered.series.metadata_calls[bin] += 1;
            }
            Class::Lock => {
                let span = (moment.start, moment.end);
                self.lock_nanos = self.lock_nanos.saturating_add(moment.nanos());
                self.thread.cursors.lock(&mut self.gathered.coverages, span);
                let stream = &mut self.streams[stream];
                if let (Some(index), Some(close_up)) = (stream.detail, &mut stream.close_up) {
                    let detail = self.gathered.detail(index, self.plan);
                    close_up.cursors.lock(&mut detail.coverages, span);
                }
            }
            _ => {}
        }
    }

    /// Relates the call to the calls around and inside it.
    #[inline]
    fn nest(&mut self, event: &Event, moment: &Moment, stream: usize, number: u64) {
        let nanos = moment.nanos();
        if event.depth > 0 {
            let (start_ns, length) = (moment.start, event.length);
            let call = NestedCall { op: event.op, offset: event.offset, length, start_ns, nanos };
            self.thread.nesting.inner(event.depth, call, moment.bytes);
            return;
        }
        let inside = self.thread.nesting.outer();
        if moment.layer == Layer::Mpi {
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
        self.gathered.mpi[usize::from(event.op as u8)].merge(&time);
        let span = (moment.start, moment.end);
        let timeline = &mut self.gathered.timeline;
        self.thread.timeline.add_mpi(timeline, self.index, time.waiting_nanos(), span);
        if moment.class == Class::Write && inside.cycles > 0 {
            let sieving = sieving(event.op, moment.bytes, inside);
            self.sieve_lock_nanos = self.sieve_lock_nanos.saturating_add(inside.time.lock_nanos);
            let data = self.streams[stream].totals.data.get_or_insert_default();
            data.sieving.merge(&sieving);
        }
        if nanos > 0 && moment.class.is_data() && self.gathered.slow.wants(nanos, self.index) {
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
                start_ns: moment.start,
                nanos,
                time,
                nested: nested.to_vec(),
                nested_omitted,
            };
            self.gathered.slow.insert(self.events, call);
        }
    }

    /// Hands over what belongs to the thread that ended.
    fn finish_thread(&mut self) {
        self.thread.cursors.finish(&mut self.gathered.coverages);
        self.thread.timeline = TimelineCursor::default();
        self.thread.nesting.clear();
    }

    /// Hands over everything.
    pub fn finish(mut self, undecodable_bytes: u64) {
        self.finish_thread();
        let mut ops = OpTable::default();
        let mut all_sieving = Sieving::default();
        let mut files = 0;
        for mut stream in std::mem::take(&mut self.streams) {
            stream.finish(self.gathered, self.plan);
            ops.merge(&stream.totals.ops);
            if let Some(data) = &stream.totals.data {
                all_sieving.merge(&data.sieving);
            }
            files += u64::from(stream.id > FileId::FOLDED);
            let slot = &mut self.gathered.files[stream.id.0 as usize];
            slot.get_or_insert_default().merge(&stream.totals);
        }
        all_sieving.processes = all_sieving.processes.min(1);
        ops.sort();
        self.gathered.events += self.events;
        self.gathered.processes.push(ProcessTotals {
            process: self.index,
            ops,
            own: self.own,
            files,
            events: self.events,
            undecodable_bytes,
            sieving: all_sieving,
            lock_nanos: self.lock_nanos.saturating_sub(self.sieve_lock_nanos),
        });
    }
}

impl Visitor for ProcessPass<'_> {
    fn thread(&mut self, thread: u32) {
        self.finish_thread();
        self.thread.id = thread;
        self.thread.epoch += 1;
        self.thread.hash = mix(((self.index as u64) << 32) ^ mix(u64::from(thread)));
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        let (start, starts_outside) = self.clock.at(event.start);
        let (end, ends_outside) = self.clock.at(event.end);
        self.gathered.outside_span += u64::from(starts_outside | ends_outside);
        self.thread.hash = self.thread.hash.wrapping_add(1);
        let (bytes, hash) = (event.bytes(), mix(self.thread.hash));
        let (class, layer) = (event.op.class(), event.op.layer());
        let moment = Moment { class, layer, start, end: end.max(start), bytes, hash };
        let nanos = moment.nanos();
        let is_error = matches!(event.outcome, Outcome::Error(_));
        self.events += u64::from(!event.is_second_of_call());

        let index = self.stream(event.file);
        let stream = &mut self.streams[index];
        if stream.epoch != self.thread.epoch {
            stream.change_thread(self.thread.epoch, self.gathered, self.plan);
        }
        let number = stream.totals.ops.add(event.op, bytes, nanos, is_error).calls;
        if event.depth == 0 {
            self.own.add(class, bytes, if event.is_spent() { nanos } else { 0 });
            stream.totals.own_nanos = stream.totals.own_nanos.saturating_add(nanos);
        }
        match Direction::of(class) {
            Some(direction) => self.data(event, direction, &moment, index),
            None => self.no_data(event, &moment, index),
        }
        if is_direct(layer) && event.is_spent() {
            let (timeline, span) = (&mut self.gathered.timeline, (moment.start, moment.end));
            self.thread.timeline.add(timeline, self.index, class, span);
        }
        self.nest(event, &moment, index, number);
        self.gathered.duration(event.op, hash, nanos);
    }
}

fn sieving(op: Op, asked_bytes: u64, inside: &Inside) -> Sieving {
    let time = &inside.time;
    let lock_nanos = time.lock_nanos.saturating_add(time.unlock_nanos);
    Sieving {
        cycles: inside.cycles,
        calls: 1,
        independent_calls: u64::from(!is_collective(op)),
        overhead_nanos: lock_nanos.saturating_add(time.read_nanos),
        lock_nanos,
        read_bytes: inside.read_bytes,
        written_bytes: inside.written_bytes,
        asked_bytes,
        processes: 0,
    }
}
