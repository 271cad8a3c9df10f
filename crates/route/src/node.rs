//! The mechanism of routing without a coordinator: one node, its writers, its targets.
//!
//! It owns what must never go wrong, whatever the policy says: identities, attempts, the
//! one commit of each, the throttle, termination, and what to do when a writer or a
//! target fails.

use std::collections::VecDeque;

use crate::TimerId;
use crate::flights::{Flights, PartState};
use crate::placement::{Flight, Lane, Lanes, Place, Placement, Waiting};
use crate::writer::Writer;
use crate::{Attempt, AttemptId, Factor, Failure, Input, Machine, Outputs, TargetId};

/// What a node is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeSettings {
    /// The node's writers are numbered from here.
    pub first_writer: u32,
    /// How many there are.
    pub writers: u32,
    /// Targets that this node uses; at least one.
    pub targets: Vec<TargetId>,
    /// Bound on what a target may hold beyond its fair share, which is what was submitted
    /// on this node over its targets.
    pub factor: Factor,
}

/// A node's router. See the [crate documentation](crate) for its inputs and outputs.
///
/// Whole cache lines: a host with thousands of them waits for each line that it touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(align(64))]
pub struct Node<P> {
    pub(crate) policy: P,
    factor: Factor,
    first_writer: u32,
    pub(crate) writers: Box<[Writer]>,
    pub(crate) open_writers: u32,
    /// Writers with something to place now.
    pub(crate) ready: VecDeque<u32>,
    /// Parts whose attempts all failed.
    pub(crate) again: VecDeque<u32>,
    pub(crate) lanes: Box<[Lane]>,
    failed_lanes: u32,
    pub(crate) idle_lanes: u32,
    most_placed_bytes: u64,
    pub(crate) flights: Flights,
    pub(crate) waiting_bytes: u64,
    pub(crate) in_flight_bytes: u64,
    submitted_bytes: u64,
    pub(crate) look_generation: u32,
    pub(crate) is_look_set: bool,
    /// The policy found no place for what waits: nowhere before something ends.
    is_refused: bool,
}

impl<P: Placement> Node<P> {
    /// A node with nothing to do. Panics without targets: there is nothing to route to.
    pub fn new(settings: NodeSettings, policy: P) -> Self {
        assert!(!settings.targets.is_empty(), "a node needs at least one target");
        let lane = |target: &TargetId| Lane {
            target: *target,
            in_flight_bytes: 0,
            attempts: 0,
            placed_bytes: 0,
            failure: None,
        };
        Node {
            policy,
            factor: settings.factor,
            first_writer: settings.first_writer,
            writers: vec![Writer::default(); settings.writers as usize].into(),
            open_writers: settings.writers,
            ready: VecDeque::new(),
            again: VecDeque::new(),
            lanes: settings.targets.iter().map(lane).collect(),
            failed_lanes: 0,
            idle_lanes: settings.targets.len() as u32,
            most_placed_bytes: u64::MAX,
            flights: Flights::default(),
            waiting_bytes: 0,
            in_flight_bytes: 0,
            submitted_bytes: 0,
            look_generation: 0,
            is_look_set: false,
            is_refused: false,
        }
    }

    /// The policy, to look at.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The policy, for a checker that lets it choose anything.
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// The targets as the policy sees them.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// True if no lane was ever filled beyond its fair share and allowance by more than
    /// one piece of `largest_bytes`.
    pub fn is_throttle_kept(&self, largest_bytes: u64) -> bool {
        let most = self.most_placed_bytes.saturating_add(largest_bytes);
        self.lanes.iter().all(|lane| lane.failure.is_some() || lane.placed_bytes < most)
    }

    fn submit(&mut self, writer: u32, length_bytes: u64) {
        let index = writer.wrapping_sub(self.first_writer);
        let Some(books) = self.writers.get_mut(index as usize) else { return };
        if books.is_closed || length_bytes == 0 {
            return;
        }
        books.submit(length_bytes);
        self.waiting_bytes += length_bytes;
        self.submitted_bytes += length_bytes;
        self.update_most_placed();
        if self.live_lanes() == 0 {
            self.waiting_bytes -= self.writers[index as usize].lose_waiting();
        }
        self.make_ready(index);
    }

    fn close<O: Outputs>(&mut self, writer: u32, out: &mut O) {
        let index = writer.wrapping_sub(self.first_writer);
        let Some(books) = self.writers.get_mut(index as usize) else { return };
        if !books.is_closed {
            books.is_closed = true;
            self.open_writers -= 1;
        }
        self.report(index, out);
    }

    pub(crate) fn report<O: Outputs>(&mut self, index: u32, out: &mut O) {
        let writer = self.first_writer + index;
        if let Some(closed) = self.writers[index as usize].report(writer) {
            out.closed(closed);
        }
    }

    pub(crate) fn index_of(&self, writer: u32) -> u32 {
        writer.wrapping_sub(self.first_writer)
    }

    /// A lane failed or came back.
    pub(crate) fn count_failed(&mut self) {
        let has_failed = |lane: &&Lane| lane.failure.is_some();
        self.failed_lanes = self.lanes.iter().filter(has_failed).count() as u32;
        self.update_most_placed();
    }

    pub(crate) fn live_lanes(&self) -> usize {
        self.lanes.len() - self.failed_lanes as usize
    }

    /// Fair share, rounded up so that the shares of all lanes hold everything, and allowance.
    fn update_most_placed(&mut self) {
        let live = self.live_lanes() as u64;
        if self.factor.bounds() && live > 0 {
            let share = self.submitted_bytes.div_ceil(live);
            self.most_placed_bytes = share.saturating_add(self.factor.of(share));
        }
    }

    pub(crate) fn make_ready(&mut self, index: u32) {
        let is_serial = self.policy.is_serial();
        let books = &mut self.writers[index as usize];
        let may_go = books.head().is_some_and(|head| head.begun_bytes > 0)
            || !is_serial
            || books.open_parts == 0;
        if !books.is_ready && may_go && books.head().is_some() {
            books.is_ready = true;
            self.ready.push_back(index);
        }
    }

    /// Places what waits, as long as the policy finds room: on any lane, or only on one that
    /// has got room since the policy last found none.
    pub(crate) fn pump<O: Outputs>(&mut self, now_ns: u64, freed: Option<usize>, out: &mut O) {
        let only_lane = freed.filter(|_| self.is_refused);
        self.is_refused = false;
        while let Some(waiting) = self.next_waiting() {
            let Some(place) = self.sound_place(Waiting { only_lane, ..waiting }) else {
                self.is_refused = true;
                break;
            };
            let part = if waiting.is_retry {
                self.again
                    .pop_front()
                    .inspect(|part| self.flights.set_state(*part, PartState::Open))
            } else {
                self.cut_next(place.length_bytes)
            };
            let Some(part) = part else { break };
            self.waiting_bytes -= self.flights.part(part).length_bytes;
            self.launch(now_ns, part, place.lane, out);
        }
        self.set_look(now_ns, out);
    }

    /// True if more that waits changes nothing: there was no room for what came before.
    fn must_wait(&self) -> bool {
        self.is_refused && self.open_writers > 0 && !self.factor.bounds() && self.moving() > 0
    }

    fn next_waiting(&mut self) -> Option<Waiting> {
        let (node_bytes, is_last) = (self.waiting_bytes, self.open_writers == 0);
        if let Some(part) = self.again.front() {
            let part = self.flights.part(*part);
            let (writer, is_retry) = (self.index_of(part.write.writer), true);
            let (length_bytes, offset_bytes) = (part.length_bytes, part.offset_bytes);
            let submission_bytes = offset_bytes + length_bytes;
            return Some(Waiting {
                writer,
                length_bytes,
                offset_bytes,
                submission_bytes,
                is_retry,
                node_bytes,
                is_last,
                only_lane: None,
            });
        }
        loop {
            let writer = *self.ready.front()?;
            if let Some(head) = self.writers[writer as usize].head() {
                return Some(Waiting {
                    writer,
                    length_bytes: head.left_bytes,
                    offset_bytes: head.begun_bytes,
                    submission_bytes: head.submission_bytes,
                    is_retry: false,
                    node_bytes,
                    is_last,
                    only_lane: None,
                });
            }
            self.ready.pop_front();
            self.writers[writer as usize].is_ready = false;
        }
    }

    /// Asks the policy, which sees the lanes.
    #[inline]
    pub(crate) fn ask<R>(&mut self, question: impl FnOnce(&mut P, Lanes<'_>) -> R) -> R {
        let lanes = Lanes {
            lanes: &self.lanes,
            in_flight_bytes: self.in_flight_bytes,
            idle: self.idle_lanes as usize,
            most_placed_bytes: self.most_placed_bytes,
        };
        question(&mut self.policy, lanes)
    }

    /// The policy's advice if it can be followed; something sound if nothing would move.
    fn sound_place(&mut self, waiting: Waiting) -> Option<Place> {
        let advice = self.ask(|policy, lanes| {
            let is_sound = |place: &Place| lanes.admits(place.lane) && place.length_bytes > 0;
            policy.place(waiting, lanes).filter(is_sound)
        });
        if advice.is_some() || self.moving() > 0 {
            return advice;
        }
        let lane = self.ask(|_, lanes| lanes.least_loaded())?;
        Some(Place { lane, length_bytes: waiting.length_bytes })
    }

    /// Attempts that will end: all but those on targets that stopped.
    fn moving(&self) -> usize {
        if self.failed_lanes == 0 {
            return self.flights.under_way();
        }
        let moves = |lane: &&Lane| lane.failure != Some(Failure::Stopped);
        self.lanes.iter().filter(moves).map(|lane| lane.attempts as usize).sum()
    }

    fn cut_next(&mut self, length_bytes: u64) -> Option<u32> {
        let index = *self.ready.front()?;
        let books = &mut self.writers[index as usize];
        let piece = books.cut(self.first_writer + index, length_bytes);
        if piece.ends_submission {
            books.is_ready = false;
            self.ready.pop_front();
            self.make_ready(index);
        }
        Some(self.flights.open_part(piece.write, piece.offset_bytes, piece.length_bytes))
    }

    pub(crate) fn launch<O: Outputs>(&mut self, now_ns: u64, part: u32, lane: usize, out: &mut O) {
        let attempt = self.flights.take_off(part, lane, now_ns);
        let part = self.flights.part(part);
        let books = &mut self.lanes[lane];
        self.in_flight_bytes += part.length_bytes;
        self.idle_lanes -= u32::from(books.attempts == 0);
        books.in_flight_bytes += part.length_bytes;
        books.placed_bytes += part.length_bytes;
        books.attempts += 1;
        let (write, target) = (part.write, books.target);
        let (offset_bytes, length_bytes) = (part.offset_bytes, part.length_bytes);
        out.start(Attempt { attempt, write, target, offset_bytes, length_bytes });
    }

    /// Says the lane on which the attempt was.
    fn done<O: Outputs>(
        &mut self,
        now_ns: u64,
        attempt: AttemptId,
        pending_until_ns: u64,
        out: &mut O,
    ) -> Option<usize> {
        let aloft = self.flights.land(attempt)?;
        let lane = usize::from(aloft.lane);
        let length_bytes = self.land_on(lane, aloft.part);
        let at_most_ns = now_ns.saturating_sub(aloft.started_ns);
        let at_least_ns = pending_until_ns.saturating_sub(aloft.started_ns).min(at_most_ns);
        let flight = Flight { lane, length_bytes, at_least_ns, at_most_ns };
        self.ask(|policy, lanes| policy.ended(flight, lanes));
        self.commit(aloft.part, attempt, lane, out);
        Some(lane)
    }

    /// Looking at all attempts after each that ends would cost their number squared: only
    /// when a lane has nothing more under way.
    fn after_end<O: Outputs>(&mut self, now_ns: u64, lane: Option<usize>, out: &mut O) {
        let is_idle = lane.is_some_and(|lane| self.lanes[lane].attempts == 0);
        self.pump(now_ns, lane, out);
        if is_idle {
            self.rescue(now_ns, out);
        }
    }
}

impl<P: Placement> Machine for Node<P> {
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O) {
        match input {
            Input::AttemptDone { attempt, pending_until_ns } => {
                let lane = self.done(now_ns, attempt, pending_until_ns, out);
                return self.after_end(now_ns, lane, out);
            }
            Input::Submit { writer, length_bytes } => self.submit(writer, length_bytes),
            Input::Close { writer } => self.close(writer, out),
            Input::AttemptFailed { attempt, failure } => self.failed(attempt, failure, out),
            Input::Timer { id: TimerId::Overdue, generation } => self.look(now_ns, generation),
            Input::WriterDied { writer } => self.writer_died(writer, out),
            Input::TargetFailed { target, failure } => self.target_failed(target, failure, out),
            Input::TargetBack { target } => self.target_back(target),
            Input::Begin | Input::Message { .. } | Input::Timer { .. } => {}
        }
        if matches!(input, Input::Submit { .. } | Input::Close { .. }) && self.must_wait() {
            return;
        }
        self.pump(now_ns, None, out);
        // More to write makes nothing late, and it comes often.
        if !matches!(input, Input::Submit { .. }) {
            self.rescue(now_ns, out);
        }
    }
}
