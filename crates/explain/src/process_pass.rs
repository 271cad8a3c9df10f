//! One pass over the events of one process. This is the inner loop: it allocates nothing per event.

use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Class, Event, Layer, Op};

use crate::access::Request;
use crate::activity::is_direct;
use crate::agreed::Agreed;
use crate::call_kind::CallKind;
use crate::clock::Clock;
use crate::common_sizes::{SIZES_OF_PROCESS, SizeCounts};
use crate::coverage::Coverage;
use crate::coverages::{Covers, layer_index};
use crate::file_stream::Layers;
use crate::file_table::FileId;
use crate::file_totals::{ByLayer, OffsetSample};
use crate::moment::Moment;
use crate::nesting::{completes, is_collective};
use crate::process::Process;
use crate::process_totals::{OwnCalls, ProcessTotals};
use crate::reader::Visitor;
use crate::streams::Streams;
use crate::sums::Sums;
use crate::thread_state::ThreadState;
use crate::totals::Direction;

mod nest;

/// Adds the events of a process to the sums.
pub(crate) struct ProcessPass<'a> {
    agreed: &'a Agreed,
    sums: &'a mut Sums,
    process: &'a Process,
    index: usize,
    clock: Clock,
    streams: Streams<'a>,
    thread: ThreadState,
    /// Calls of all its threads.
    of_process: Coverage,
    /// With several threads, the time in which at least one is inside a call is not the sum.
    is_threaded: bool,
    /// Layers by which the process itself has written any file.
    written: Layers,
    common_sizes: ByLayer<SizeCounts>,
    /// Time of calls that both their files have.
    counted_twice: OwnCalls,
    events: u64,
    lock_nanos: u64,
    sieve_lock_nanos: u64,
}

impl<'a> ProcessPass<'a> {
    pub fn new(
        agreed: &'a Agreed,
        sums: &'a mut Sums,
        process: &'a Process,
        index: usize,
        clock: Clock,
    ) -> Self {
        let mut threads = process.chunks.iter().map(|chunk| chunk.thread);
        let first = threads.next();
        ProcessPass {
            agreed,
            sums,
            process,
            index,
            clock,
            streams: Streams::new(agreed, process),
            thread: ThreadState::default(),
            of_process: Coverage::new(agreed.file_grid),
            is_threaded: threads.any(|thread| Some(thread) != first),
            written: Layers::default(),
            common_sizes: Default::default(),
            counted_twice: OwnCalls::default(),
            events: 0,
            lock_nanos: 0,
            sieve_lock_nanos: 0,
        }
    }

    /// Adds a data call to its file and to the whole.
    #[inline]
    fn data(&mut self, event: &Event, direction: Direction, moment: &Moment, stream: usize) {
        let (layer, span) = (moment.layer, moment.span);
        let (nanos, way, at) = (moment.nanos(), direction as usize, layer_index(moment.layer));
        let sums = &mut *self.sums;
        let moves_own = moment.moves_own();
        self.thread.cursors.data(&mut sums.coverages, layer, direction, moves_own, span);
        sums.sizes[at][way].add(event.length, moment.bytes, nanos);
        self.common_sizes[at][way].add(event.length);

        let stream = &mut self.streams[stream];
        let data = stream.totals.data.get_or_insert_default();
        if moves_own {
            let bin = self.agreed.grid.bin(span.1);
            let sum = &mut sums.series.bytes[way][bin];
            *sum = sum.saturating_add(moment.bytes);
            sums.timeline.add_bytes(self.index, direction, moment.bytes, span);
            data.own.volumes[at][way].add(moment.bytes, nanos);
            data.own.extents[at][way].add(span);
            if direction == Direction::Write && moment.bytes > 0 {
                stream.written = stream.written.and(Layers::one(layer));
                self.written = self.written.and(Layers::one(layer));
            }
        }
        if layer == Layer::Mpi {
            match (is_collective(event.op), direction) {
                (true, _) => data.collective[way].add(moment.bytes, nanos),
                (false, Direction::Write) => data.independent_writes.add(moment.bytes, nanos),
                (false, Direction::Read) => {}
            }
        }
        if let Some(index) = stream.detail {
            let close_up = stream.close_up.get_or_insert_default();
            let detail = sums.detail(index, self.agreed);
            close_up.cursors.data(&mut detail.coverages, layer, direction, moves_own, span);
            close_up.common_sizes[at][way].add(event.length);
            detail.sizes[at][way].add(event.length, moment.bytes, nanos);
            if layer == Layer::Posix && direction == Direction::Write {
                let grid = self.agreed.file_grid;
                let before_end = span.1.saturating_sub(grid.width_ns()).max(span.0);
                let written = &mut detail.written[grid.bin(before_end)];
                *written = written.saturating_add(moment.bytes);
            }
        }
    }

    /// Where a POSIX or stdio call reads or writes.
    #[inline]
    fn access(&mut self, event: &Event, direction: Direction, moment: &Moment, stream: usize) {
        let Some(offset) = event.offset.filter(|_| is_direct(moment.layer)) else { return };
        let (nanos, way) = (moment.nanos(), direction as usize);
        let stream = &mut self.streams[stream];
        let counts = &mut stream.totals.data.get_or_insert_default().access[way];
        let request = Request {
            offset,
            length: event.length,
            bytes: moment.bytes,
            nanos,
            is_own_posix: moment.moves_own() && moment.layer == Layer::Posix,
        };
        let trail = &mut stream.trails[way];
        let previous_end = trail.previous_end();
        trail.follow(request, counts);
        if moment.layer == Layer::Posix {
            counts.align(&request, self.agreed.stripe_bytes);
        }
        if let Some(previous_end) = previous_end {
            self.sums.jumps[way].add(previous_end, offset);
        }
        let (Some(index), Some(close_up)) = (stream.detail, &mut stream.close_up) else { return };
        close_up.extents[way].add(offset, moment.bytes);
        let detail = self.sums.detail(index, self.agreed);
        if let Some(previous_end) = previous_end {
            detail.jumps[way].add(previous_end, offset);
        }
        let process = self.index as u32;
        detail.samples.offer(moment.hash, || OffsetSample {
            start_ns: moment.span.0,
            offset,
            bytes: moment.bytes,
            nanos,
            process,
            direction,
        });
    }

    /// Adds the time of a call to the whole and to its file.
    fn cover(&mut self, covers: Covers, span: (u64, u64), stream: usize) {
        self.thread.cursors.add(&mut self.sums.coverages, covers, span);
        let stream = &mut self.streams[stream];
        if let Some(index) = stream.detail {
            let close_up = stream.close_up.get_or_insert_default();
            let coverages = &mut self.sums.detail(index, self.agreed).coverages;
            close_up.cursors.add(coverages, covers, span);
        }
    }

    /// Calls that move no data, as far as they are more than their totals.
    #[inline]
    fn no_data(&mut self, event: &Event, moment: &Moment, stream: usize) {
        let (layer, span) = (moment.layer, moment.span);
        if let Some(kind) = CallKind::of(moment.class) {
            let coverages = &mut self.sums.coverages;
            self.thread.cursors.add(coverages, Covers::calls(layer, kind), span);
            if is_direct(layer) && event.op != Op::Fflush {
                self.sums.series.count(kind, self.agreed.grid.bin(span.1));
            }
        }
        if event.op == Op::MpiClose {
            // All that was begun is there.
            self.streams[stream].requests = Default::default();
        }
        match moment.class {
            Class::Sync | Class::Close if moment.is_own => {
                self.make_durable(event, moment, stream);
            }
            Class::Open => self.streams[stream].openings.add(event),
            Class::Lock => {
                self.lock_nanos = self.lock_nanos.saturating_add(moment.nanos());
                self.cover(Covers::LOCKS, span, stream);
            }
            _ => {
                if let Some(direction) = completes(event.op) {
                    self.complete(moment.layer, direction, moment.span, stream);
                }
            }
        }
    }

    /// The program closes a file that it has written, or makes what it wrote durable: that is
    /// time of writing.
    fn make_durable(&mut self, event: &Event, moment: &Moment, stream: usize) {
        let own = self.streams[stream].written;
        let written = match event.op {
            // Of all files.
            Op::Sync => self.written,
            // It may be another process that wrote the file.
            _ if moment.class == Class::Sync && own.is_empty() => Layers::one(moment.layer),
            _ => own,
        };
        for layer in written.iter() {
            self.cover(Covers::durable(layer), moment.span, stream);
            self.extend(layer, Direction::Write, moment.span, stream);
        }
        // A later close, after reading, is not a part of this writing.
        match event.op {
            Op::Sync => self.written = Layers::default(),
            _ if moment.class == Class::Close => self.streams[stream].written = Layers::default(),
            _ => {}
        }
    }

    /// The second half of a split collective call, in which data is moved, or what moves the data of another call.
    fn complete(&mut self, layer: Layer, direction: Direction, span: (u64, u64), stream: usize) {
        self.cover(Covers::own(layer, direction), span, stream);
        self.cover(Covers::whole(layer, direction), span, stream);
        self.extend(layer, direction, span, stream);
    }

    /// Reading or writing a file goes on at least until then.
    fn extend(&mut self, layer: Layer, direction: Direction, span: (u64, u64), stream: usize) {
        let data = self.streams[stream].totals.data.get_or_insert_default();
        data.own.extents[layer_index(layer)][direction as usize].add(span);
    }

    /// Hands over everything.
    pub fn finish(mut self, undecodable_bytes: u64) {
        self.thread.finish(self.sums, &mut self.of_process);
        let mut totals = ProcessTotals { process: self.index, ..ProcessTotals::default() };
        for mut stream in self.streams.take() {
            stream.finish(self.sums, self.agreed);
            let id = stream.id.0 as usize;
            if stream.is_only_log(self.sums) {
                continue;
            }
            if stream.is_runtime() {
                totals.runtime.merge(&stream.totals.own);
                self.sums.runtime[id].get_or_insert_default().merge(&stream.totals);
                continue;
            }
            totals.ops.merge(&stream.totals.ops);
            totals.own.merge(&stream.totals.own);
            if let Some(data) = &stream.totals.data {
                totals.sieving.merge(&data.sieving);
            }
            totals.files += u64::from(stream.id > FileId::FOLDED);
            if let Some(writes) = stream.forced_writes() {
                self.sums.forced_writes.entry(stream.id).or_default().merge(&writes);
            }
            self.sums.files[id].get_or_insert_default().merge(&stream.totals);
        }
        totals.own.take_back_time(&self.counted_twice);
        totals.sieving.processes = totals.sieving.processes.min(1);
        totals.ops.sort();
        totals.busy_nanos = match self.is_threaded {
            true => (self.of_process.busy().seconds * 1e9) as u64,
            false => totals.own.total_nanos(),
        };
        let common = self.sums.common_sizes.iter_mut().flatten();
        let own = self.common_sizes.into_iter().flatten();
        common.zip(own).for_each(|(all, own)| all.take(own, SIZES_OF_PROCESS));
        self.sums.events += self.events;
        totals.events = self.events;
        totals.undecodable_bytes = undecodable_bytes;
        totals.lock_nanos = self.lock_nanos.saturating_sub(self.sieve_lock_nanos);
        self.sums.processes.push(totals);
    }
}

impl Visitor for ProcessPass<'_> {
    fn thread(&mut self, thread: u32) {
        self.thread.finish(self.sums, &mut self.of_process);
        self.thread.begin(self.index, thread);
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        let (start, starts_outside) = self.clock.at(event.start);
        let (end, ends_outside) = self.clock.at(event.end);
        self.sums.outside_span += u64::from(starts_outside | ends_outside);
        let mut moment = Moment::new(event, (start, end), self.thread.next_hash());
        let nanos = moment.nanos();
        let is_error = matches!(event.outcome, Outcome::Error(_));
        let index = self.streams.find(event.file);
        if moment.layer == Layer::Logs {
            self.streams[index].logs.add(event.op, moment.bytes, nanos, is_error);
            return self.sums.duration(event.op, moment.hash, nanos);
        }
        self.events += u64::from(!event.is_second_of_call());
        let direction = Direction::of(moment.class);
        let stream = &mut self.streams[index];
        moment.is_for_request = direction.is_some_and(|it| stream.is_for_request(event, it));
        let number = stream.totals.ops.add(event.op, moment.bytes, nanos, is_error).calls;
        if moment.is_own {
            // What goes on beside the program takes none of its time.
            let spent = if event.op.is_asynchronous() { 0 } else { nanos };
            let bytes = if moment.is_for_request { 0 } else { moment.bytes };
            stream.totals.own.add(moment.class, bytes, spent);
        }
        if stream.is_runtime_after(event) {
            return;
        }
        if stream.epoch != self.thread.epoch {
            stream.change_thread(self.thread.epoch, self.sums, self.agreed);
        }
        if event.is_second_of_call() && moment.is_own {
            self.counted_twice.add(moment.class, 0, nanos);
        }
        if moment.is_own && self.is_threaded && event.is_spent() {
            self.thread.own.add(&mut self.of_process, moment.span.0, moment.span.1);
        }
        match direction {
            Some(direction) => {
                self.data(event, direction, &moment, index);
                self.access(event, direction, &moment, index);
                if moment.is_for_request {
                    self.complete(Layer::Mpi, direction, moment.span, index);
                }
            }
            None => self.no_data(event, &moment, index),
        }
        if is_direct(moment.layer) && event.is_spent() {
            let (all, class) = (&mut self.sums.timeline, moment.class);
            self.thread.timeline.add(all, self.index, class, moment.span);
        }
        self.nest(event, &moment, index, number);
        self.sums.duration(event.op, moment.hash, nanos);
    }
}
