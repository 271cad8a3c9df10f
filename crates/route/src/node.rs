//! The mechanism of routing without a coordinator: one node, its writers, its targets.
//!
//! It owns what must never go wrong, whatever the policy says: identities, attempts, the
//! one commit of each, the throttle, termination, and what to do when a writer or a
//! target fails.

mod late;

use std::collections::VecDeque;

use crate::attempts::{Attempts, PartState};
use crate::placement::{Advice, Lane, Lanes, Placement, Timing, Waiting};
use crate::prefetch::prefetch;
use crate::writer::Writer;
use crate::{Attempt, AttemptId, Factor, Failure, Input, Machine, Outputs, TargetId};
use crate::{Refusal, RefusalReason, TimerId};

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
    policy: P,
    factor: Factor,
    first_writer: u32,
    writers: Box<[Writer]>,
    open_writers: u32,
    /// Writers with something to place now.
    ready: VecDeque<u32>,
    /// Parts whose attempts all failed.
    again: VecDeque<u32>,
    lanes: Box<[Lane]>,
    failed_lanes: u32,
    idle_lanes: u32,
    most_placed_bytes: u64,
    attempts: Attempts,
    waiting_bytes: u64,
    in_flight_bytes: u64,
    submitted_bytes: u64,
    /// What was tried a second time, while nothing waited.
    rescued_bytes: u64,
    now_ns: u64,
    look_generation: u32,
    is_look_set: bool,
    /// The policy found no place for what waits: nowhere before something ends.
    is_refused: bool,
}

impl<P: Placement> Node<P> {
    /// A node with nothing to do. Panics without targets: there is nothing to route to.
    pub fn new(settings: NodeSettings, policy: P) -> Self {
        assert!(!settings.targets.is_empty(), "a node needs at least one target");
        Node {
            policy,
            factor: settings.factor,
            first_writer: settings.first_writer,
            writers: vec![Writer::default(); settings.writers as usize].into(),
            open_writers: settings.writers,
            ready: VecDeque::new(),
            again: VecDeque::new(),
            lanes: settings.targets.iter().map(|target| Lane::new(*target)).collect(),
            failed_lanes: 0,
            idle_lanes: settings.targets.len() as u32,
            most_placed_bytes: u64::MAX,
            attempts: Attempts::default(),
            waiting_bytes: 0,
            in_flight_bytes: 0,
            submitted_bytes: 0,
            rescued_bytes: 0,
            now_ns: 0,
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

    /// Asks for what the end of `attempt` will need, one depth of it: the node itself, then
    /// the attempt's part, then its lane and writer, then the writer that comes next. Some
    /// events should lie between the depths. Says whose data it is, when that is known.
    #[inline]
    pub fn prefetch(&self, attempt: AttemptId, depth: usize) -> Option<u32> {
        match depth {
            0 => prefetch(self),
            1 => {
                self.attempts.prefetch(attempt.slot);
                self.ready.front().map(prefetch);
            }
            2 => {
                let running = self.attempts.under_way(attempt.slot)?;
                let writer = self.attempts.part(running.part).write.writer;
                let lane = usize::from(running.lane);
                self.lanes.get(lane).map(prefetch);
                self.policy.prefetch(lane);
                self.writers.get(self.index_of(writer) as usize).map(prefetch);
                return Some(writer);
            }
            _ => {
                let next = self.ready.front()?;
                self.writers.get(*next as usize).map(prefetch);
            }
        }
        None
    }
}

impl<P: Placement> Machine for Node<P> {
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O) {
        self.now_ns = now_ns;
        match input {
            Input::AttemptDone { attempt, pending_until_ns } => {
                let lane = self.done(now_ns, attempt, pending_until_ns, out);
                return self.after_end(now_ns, lane, out);
            }
            Input::Submit { writer, length_bytes } => self.submit(writer, length_bytes, out),
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
        self.place_waiting(now_ns, None, out);
        // More to write makes nothing late, and it comes often.
        if !matches!(input, Input::Submit { .. }) {
            self.rescue(now_ns, out);
        }
    }
}

// What writers submit.
impl<P: Placement> Node<P> {
    fn submit<O: Outputs>(&mut self, writer: u32, length_bytes: u64, out: &mut O) {
        let index = writer.wrapping_sub(self.first_writer);
        let owner = match self.writers.get_mut(index as usize) {
            Some(owner) if !owner.is_closed => owner,
            known => {
                let reason = match known {
                    Some(_) => RefusalReason::Closed,
                    None => RefusalReason::UnknownWriter,
                };
                return out.refused(Refusal { writer, length_bytes, reason });
            }
        };
        if length_bytes == 0 {
            return;
        }
        owner.submit(length_bytes);
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
        let Some(owner) = self.writers.get_mut(index as usize) else { return };
        self.open_writers -= u32::from(owner.close());
        self.make_ready(index);
        self.report(index, out);
    }

    fn report<O: Outputs>(&mut self, index: u32, out: &mut O) {
        let writer = self.first_writer + index;
        if let Some(closed) = self.writers[index as usize].report(writer) {
            out.closed(closed);
        }
    }

    fn index_of(&self, writer: u32) -> u32 {
        writer.wrapping_sub(self.first_writer)
    }

    /// A lane failed or came back.
    fn count_failed(&mut self) {
        let has_failed = |lane: &&Lane| lane.failure.is_some();
        self.failed_lanes = self.lanes.iter().filter(has_failed).count() as u32;
        self.update_most_placed();
    }

    fn live_lanes(&self) -> usize {
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

    fn make_ready(&mut self, index: u32) {
        let owner = &mut self.writers[index as usize];
        // Who has begun with a submission is ready until it ends.
        let may_go = owner.may_go(self.policy.is_serial(), self.policy.hold_bytes());
        if !owner.is_ready && may_go && owner.head().is_some() {
            owner.is_ready = true;
            self.ready.push_back(index);
        }
    }
}

// What waits finds a place.
impl<P: Placement> Node<P> {
    /// Places what waits, as long as the policy finds room: on any lane, or only on one that
    /// has got room since the policy last found none.
    fn place_waiting<O: Outputs>(&mut self, now_ns: u64, freed: Option<usize>, out: &mut O) {
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
                    .inspect(|part| self.attempts.set_state(*part, PartState::Open))
            } else {
                self.cut_next(place.length_bytes.min(waiting.length_bytes))
            };
            let Some(part) = part else { break };
            self.waiting_bytes -= self.attempts.part(part).length_bytes;
            self.begin_attempt(now_ns, part, place.lane, out);
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
            let part = self.attempts.part(*part);
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
            let owner = &self.writers[writer as usize];
            if let Some(head) = owner.head() {
                return Some(Waiting {
                    writer,
                    length_bytes: owner.piece_bytes(&head, self.policy.gather_bytes()),
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
    fn ask<R>(&mut self, question: impl FnOnce(&mut P, Lanes<'_>) -> R) -> R {
        let lanes = Lanes {
            lanes: &self.lanes,
            in_flight_bytes: self.in_flight_bytes,
            idle: self.idle_lanes as usize,
            most_placed_bytes: self.most_placed_bytes,
            now_ns: self.now_ns,
        };
        question(&mut self.policy, lanes)
    }

    /// The policy's advice if it can be followed; something sound if nothing would move.
    fn sound_place(&mut self, waiting: Waiting) -> Option<Advice> {
        let advice = self.ask(|policy, lanes| {
            let is_sound = |place: &Advice| lanes.admits(place.lane) && place.length_bytes > 0;
            policy.place(waiting, lanes).filter(is_sound)
        });
        if advice.is_some() || self.moving() > 0 {
            return advice;
        }
        let lane = self.ask(|_, lanes| lanes.least_loaded())?;
        Some(Advice { lane, length_bytes: waiting.length_bytes })
    }

    /// Attempts that will end: all but those on targets that stopped.
    fn moving(&self) -> usize {
        if self.failed_lanes == 0 {
            return self.attempts.count();
        }
        let moves = |lane: &&Lane| lane.failure != Some(Failure::Stopped);
        self.lanes.iter().filter(moves).map(|lane| lane.attempts as usize).sum()
    }

    fn cut_next(&mut self, length_bytes: u64) -> Option<u32> {
        let index = *self.ready.front()?;
        let owner = &mut self.writers[index as usize];
        let piece = owner.cut(self.first_writer + index, length_bytes);
        if piece.ends_submission {
            owner.is_ready = false;
            self.ready.pop_front();
            self.make_ready(index);
        }
        Some(self.attempts.open_part(piece.write, piece.offset_bytes, piece.length_bytes))
    }
}

// Attempts begin and end: one commit for each identity.
impl<P: Placement> Node<P> {
    fn begin_attempt<O: Outputs>(&mut self, now_ns: u64, part: u32, lane: usize, out: &mut O) {
        let attempt = self.attempts.begin(part, lane, now_ns);
        let part = self.attempts.part(part);
        let at = &mut self.lanes[lane];
        self.in_flight_bytes += part.length_bytes;
        self.idle_lanes -= u32::from(at.attempts == 0);
        at.begin(now_ns, part.length_bytes);
        let (write, target) = (part.write, at.target);
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
        let running = self.attempts.end(attempt)?;
        let lane = usize::from(running.lane);
        let length_bytes = self.leave_lane(lane, running.part);
        let at_most_ns = now_ns.saturating_sub(running.started_ns);
        let at_least_ns = pending_until_ns.saturating_sub(running.started_ns).min(at_most_ns);
        let older_bytes = self.lanes[lane].older_bytes(now_ns);
        let timing = Timing { lane, length_bytes, at_least_ns, at_most_ns, older_bytes };
        self.ask(|policy, lanes| policy.ended(timing, lanes));
        self.commit(running.part, attempt, lane, out);
        Some(lane)
    }

    /// Looking at all attempts after each that ends would cost their number squared: only
    /// when a lane has nothing more under way.
    fn after_end<O: Outputs>(&mut self, now_ns: u64, lane: Option<usize>, out: &mut O) {
        let is_idle = lane.is_some_and(|lane| self.lanes[lane].attempts == 0);
        self.place_waiting(now_ns, lane, out);
        if is_idle {
            self.rescue(now_ns, out);
        }
    }

    /// An attempt of `part` left `lane`. Says its length.
    fn leave_lane(&mut self, lane: usize, part: u32) -> u64 {
        let length_bytes = self.attempts.part(part).length_bytes;
        self.in_flight_bytes -= length_bytes;
        let at = &mut self.lanes[lane];
        at.in_flight_bytes -= length_bytes;
        at.attempts -= 1;
        self.idle_lanes += u32::from(at.attempts == 0);
        length_bytes
    }

    /// The first attempt that ends well is the one that counts.
    fn commit<O: Outputs>(&mut self, index: u32, attempt: AttemptId, lane: usize, out: &mut O) {
        let part = self.attempts.part(index).clone();
        match part.state {
            PartState::Committed | PartState::Lost => {}
            PartState::Open | PartState::Again => {
                if part.state == PartState::Again {
                    self.again.retain(|waiting| *waiting != index);
                    self.waiting_bytes -= part.length_bytes;
                }
                let target = self.lanes[lane].target;
                let (offset_bytes, length_bytes) = (part.offset_bytes, part.length_bytes);
                let write = part.write;
                out.committed(Attempt { attempt, write, target, offset_bytes, length_bytes });
                self.settle(index, PartState::Committed, out);
            }
        }
        self.attempts.forget_if_settled(index);
    }

    /// Attempts of a settled part that still run no longer count as placed.
    fn give_up_others<O: Outputs>(&mut self, index: u32, out: &mut O) {
        let part = self.attempts.part(index);
        for lane in part.lanes() {
            self.lanes[lane].placed_bytes -= part.length_bytes;
        }
        self.attempts.attempts_of(index).for_each(|attempt| out.superseded(attempt));
    }

    /// A part is committed or lost: count it, and let its writer go on or end.
    fn settle<O: Outputs>(&mut self, index: u32, state: PartState, out: &mut O) {
        self.give_up_others(index, out);
        self.attempts.set_state(index, state);
        let part = self.attempts.part(index);
        let (writer, length_bytes) = (self.index_of(part.write.writer), part.length_bytes);
        let owner = &mut self.writers[writer as usize];
        owner.open_parts -= 1;
        if state == PartState::Committed {
            owner.committed_bytes += length_bytes;
        } else {
            owner.lost_bytes += length_bytes;
        }
        self.make_ready(writer);
        self.report(writer, out);
    }
}

// Targets and writers fail.
impl<P: Placement> Node<P> {
    fn failed<O: Outputs>(&mut self, attempt: AttemptId, failure: Failure, out: &mut O) {
        let Some(running) = self.attempts.end(attempt) else { return };
        let lane = usize::from(running.lane);
        let length_bytes = self.leave_lane(lane, running.part);
        let part = self.attempts.part(running.part);
        if matches!(part.state, PartState::Open | PartState::Again) {
            self.lanes[lane].placed_bytes -= length_bytes;
        }
        if part.state == PartState::Open && self.is_stranded(running.part) {
            self.try_again(running.part);
        }
        self.attempts.forget_if_settled(running.part);
        self.target_failed(self.lanes[lane].target, failure, out);
    }

    /// None of its attempts is on a target from which an end can be expected.
    fn is_stranded(&self, index: u32) -> bool {
        self.attempts
            .part(index)
            .lanes()
            .all(|lane| self.lanes[lane].failure == Some(Failure::Stopped))
    }

    fn try_again(&mut self, index: u32) {
        if self.attempts.is_full(index) {
            // All on targets that stopped: the oldest is not waited for any more.
            let oldest = self.attempts.attempts_of(index).next();
            if let Some(running) = oldest.and_then(|oldest| self.attempts.end(oldest)) {
                let length_bytes = self.leave_lane(usize::from(running.lane), index);
                self.lanes[usize::from(running.lane)].placed_bytes -= length_bytes;
            }
        }
        self.attempts.set_state(index, PartState::Again);
        self.waiting_bytes += self.attempts.part(index).length_bytes;
        self.again.push_back(index);
    }

    fn target_failed<O: Outputs>(&mut self, target: TargetId, failure: Failure, out: &mut O) {
        let Some(lane) = self.lanes.iter().position(|lane| lane.target == target) else { return };
        // A target that stopped may never end what it has; that is not unlearned.
        if self.lanes[lane].failure != Some(Failure::Stopped) {
            self.lanes[lane].failure = Some(failure);
        }
        self.count_failed();
        if failure == Failure::Stopped {
            self.abandon(lane);
        }
        if self.live_lanes() == 0 {
            self.give_up_waiting(out);
        }
    }

    /// What is under way on a target that stopped is tried elsewhere; if it ends after all
    /// before the other attempt does, it counts.
    fn abandon(&mut self, lane: usize) {
        for slot in 0..self.attempts.slots() {
            let Some(running) = self.attempts.under_way(slot) else { continue };
            let is_open = self.attempts.part(running.part).state == PartState::Open;
            if usize::from(running.lane) == lane && is_open && self.is_stranded(running.part) {
                self.try_again(running.part);
            }
        }
    }

    /// No target takes data: what waits is lost, and its writers are told when they close.
    fn give_up_waiting<O: Outputs>(&mut self, out: &mut O) {
        while let Some(part) = self.again.pop_front() {
            self.waiting_bytes -= self.attempts.part(part).length_bytes;
            self.settle(part, PartState::Lost, out);
            self.attempts.forget_if_settled(part);
        }
        for index in 0..self.writers.len() as u32 {
            self.waiting_bytes -= self.writers[index as usize].lose_waiting();
            self.report(index, out);
        }
    }

    fn target_back(&mut self, target: TargetId) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.target == target) {
            lane.failure = None;
        }
        self.count_failed();
    }

    /// The data is gone with its process; what it had under way will not be reported.
    fn writer_died<O: Outputs>(&mut self, writer: u32, out: &mut O) {
        let index = self.index_of(writer);
        if !self.close_dead(index) {
            return;
        }
        let attempts = &self.attempts;
        let (gone, left): (Vec<u32>, Vec<u32>) =
            self.again.iter().partition(|part| attempts.part(**part).write.writer == writer);
        self.again = left.into();
        for part in gone {
            self.waiting_bytes -= self.attempts.part(part).length_bytes;
            self.settle(part, PartState::Lost, out);
            self.attempts.forget_if_settled(part);
        }
        for slot in 0..self.attempts.slots() {
            let Some(running) = self.attempts.under_way(slot) else { continue };
            if self.attempts.part(running.part).write.writer == writer {
                self.end_attempt_of_dead(slot, out);
            }
        }
        self.report(index, out);
    }

    fn close_dead(&mut self, index: u32) -> bool {
        let Some(owner) = self.writers.get_mut(index as usize) else { return false };
        self.open_writers -= u32::from(owner.close());
        self.waiting_bytes -= self.writers[index as usize].lose_waiting();
        true
    }

    fn end_attempt_of_dead<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(running) = self.attempts.end(self.attempts.attempt_at(slot)) else { return };
        let lane = usize::from(running.lane);
        let length_bytes = self.leave_lane(lane, running.part);
        let state = self.attempts.part(running.part).state;
        if matches!(state, PartState::Open | PartState::Again) {
            self.lanes[lane].placed_bytes -= length_bytes;
            self.settle(running.part, PartState::Lost, out);
        }
        self.attempts.forget_if_settled(running.part);
    }
}
