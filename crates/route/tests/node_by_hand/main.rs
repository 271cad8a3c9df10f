//! A node whose policy follows a script and remembers what it is told: what a node counts, and what it does
//! whatever a policy says.

mod attempts;
mod counts;

use std::collections::VecDeque;

use plimsoll_route::placement::{Advice, Lanes, Placement, Timing, Waiting};
use plimsoll_route::{
    Attempt, AttemptId, Closed, Commit, Factor, Failure, Input, Machine, Message, Node,
    NodeSettings, Outputs, Refusal, TargetId, Timer,
};

/// Answers in their order, then that there is no room.
#[derive(Default)]
struct Script {
    places: VecDeque<(usize, u64)>,
    rescues: VecDeque<usize>,
    look_every_ns: Option<u64>,
    /// What it was told, newest last.
    waiting: Vec<Waiting>,
    /// Bytes in flight, idle lanes and the most that a lane may hold.
    lanes: Vec<(u64, usize, u64)>,
    ended: Vec<Timing>,
    overdue: Vec<(usize, u8)>,
    asked_to_rescue: Vec<(usize, bool)>,
}

impl Placement for Script {
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        self.waiting.push(waiting);
        self.lanes.push((lanes.in_flight_bytes, lanes.idle, lanes.most_placed_bytes));
        self.places.pop_front().map(|(lane, length_bytes)| Advice { lane, length_bytes })
    }

    fn ended(&mut self, timing: Timing, _lanes: Lanes<'_>) {
        self.ended.push(timing);
    }

    fn look_every_ns(&self) -> Option<u64> {
        self.look_every_ns
    }

    fn overdue(&mut self, timing: Timing, before: u8, _lanes: Lanes<'_>) -> u8 {
        self.overdue.push((timing.lane, before));
        before + 1
    }

    fn rescue(&mut self, timing: Timing, is_much: bool, _lanes: Lanes<'_>) -> Option<usize> {
        self.asked_to_rescue.push((timing.lane, is_much));
        self.rescues.pop_front()
    }
}

#[derive(Default)]
struct Effects {
    started: Vec<Attempt>,
    committed: Vec<Commit>,
    closed: Vec<Closed>,
    timers: Vec<Timer>,
    superseded: Vec<AttemptId>,
    refused: Vec<Refusal>,
}

impl Outputs for Effects {
    fn send(&mut self, _to: plimsoll_route::ActorId, _message: Message) {}
    fn timer(&mut self, timer: Timer) {
        self.timers.push(timer);
    }
    fn start(&mut self, attempt: Attempt) {
        self.started.push(attempt);
    }
    fn committed(&mut self, commit: Commit) {
        self.committed.push(commit);
    }
    fn refused(&mut self, refusal: Refusal) {
        self.refused.push(refusal);
    }
    fn superseded(&mut self, attempt: AttemptId) {
        self.superseded.push(attempt);
    }
    fn closed(&mut self, closed: Closed) {
        self.closed.push(closed);
    }
}

/// Writers 10, 11, …, and targets 0, 1, ….
fn node(writers: u32, targets: u16, factor: Factor) -> Node<Script> {
    let targets = (0..targets).map(TargetId).collect();
    Node::new(NodeSettings { first_writer: 10, writers, targets, factor }, Script::default())
}

trait ByHand {
    fn at(&mut self, now_ns: u64, input: Input) -> Effects;
    fn submit(&mut self, writer: u32, length_bytes: u64, places: &[(usize, u64)]) -> Vec<Attempt>;
    fn end(&mut self, attempt: Attempt) -> Effects;
    fn fail(&mut self, attempt: Attempt) -> Effects;
    /// What it was asked last: what is left of a submission, where it begins, and what waits on the node.
    fn asked(&self) -> (u64, u64, u64);
    fn placed(&self) -> Vec<u64>;
}

impl ByHand for Node<Script> {
    fn at(&mut self, now_ns: u64, input: Input) -> Effects {
        let mut effects = Effects::default();
        self.step(now_ns, input, &mut effects);
        effects
    }

    fn submit(&mut self, writer: u32, length_bytes: u64, places: &[(usize, u64)]) -> Vec<Attempt> {
        self.policy_mut().places.extend(places);
        self.at(0, Input::Submit { writer, length_bytes }).started
    }

    fn end(&mut self, attempt: Attempt) -> Effects {
        self.at(0, Input::AttemptDone { attempt: attempt.attempt, pending_until_ns: 0 })
    }

    fn fail(&mut self, attempt: Attempt) -> Effects {
        self.at(0, Input::AttemptFailed { attempt: attempt.attempt, failure: Failure::Full })
    }

    fn asked(&self) -> (u64, u64, u64) {
        let last = self.policy().waiting.last().unwrap();
        (last.length_bytes, last.offset_bytes, last.node_bytes)
    }

    fn placed(&self) -> Vec<u64> {
        self.lanes().iter().map(|lane| lane.placed_bytes).collect()
    }
}

fn stops(target: u16) -> Input {
    Input::TargetFailed { target: TargetId(target), failure: Failure::Stopped }
}

fn is_back(target: u16) -> Input {
    Input::TargetBack { target: TargetId(target) }
}
