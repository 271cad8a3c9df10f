//! The mechanism of a node under a policy that may say anything, also nonsense: every
//! interleaving of submissions, ends, failures, deaths, looks and second attempts.
//!
//! `cargo test --release -p plimsoll-route -- --ignored` checks larger systems.

mod model;

use model::run::check;
use model::{Bounds, Effects, Party};
use plimsoll_route::placement::{Advice, Lanes, Placement, Timing, Waiting};
use plimsoll_route::{ActorId, Factor, Failure, Input, Machine, Node, NodeSettings, TargetId};

/// A policy that does as it is told. Advice is a number whose digits, one for each
/// question, name a lane; the digit after the last lane is "nowhere", the next one is a
/// lane that does not exist.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Anything {
    digits: u16,
    advice: u16,
    is_serial: bool,
    gather_bytes: u64,
    hold_bytes: u64,
    /// Attempts that it still looks at: without an end there would be no end of states.
    looks: u8,
}

impl Anything {
    fn next(&mut self) -> usize {
        let digit = self.advice % self.digits;
        self.advice /= self.digits;
        usize::from(digit)
    }
}

impl Placement for Anything {
    fn is_serial(&self) -> bool {
        self.is_serial
    }

    fn gather_bytes(&self) -> u64 {
        self.gather_bytes
    }

    fn hold_bytes(&self) -> u64 {
        self.hold_bytes
    }

    fn place(&mut self, _waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        let lane = self.next();
        (lane != lanes.lanes.len()).then_some(Advice { lane, length_bytes: 2 })
    }

    fn look_every_ns(&self) -> Option<u64> {
        (self.looks > 0).then_some(1)
    }

    fn overdue(&mut self, _timing: Timing, before: u8, _lanes: Lanes<'_>) -> u8 {
        self.looks = self.looks.saturating_sub(1);
        before + 1
    }

    fn rescue(&mut self, _timing: Timing, _is_much: bool, _lanes: Lanes<'_>) -> Option<usize> {
        Some(self.next())
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct OneNode(Node<Anything>);

impl OneNode {
    fn new(writers: u32, targets: u16, factor: Factor, is_serial: bool) -> Self {
        let targets: Vec<TargetId> = (0..targets).map(TargetId).collect();
        let digits = targets.len() as u16 + 1;
        let policy =
            Anything { digits, advice: 0, is_serial, gather_bytes: 0, hold_bytes: 0, looks: 0 };
        OneNode(Node::new(NodeSettings { first_writer: 0, writers, targets, factor }, policy))
    }

    fn gathering(mut self, gather_bytes: u64, hold_bytes: u64) -> Self {
        (self.0.policy_mut().gather_bytes, self.0.policy_mut().hold_bytes) =
            (gather_bytes, hold_bytes);
        self
    }

    fn looking(mut self, attempts: u8) -> Self {
        self.0.policy_mut().looks = attempts;
        self
    }
}

impl Party for OneNode {
    fn step(&mut self, _actor: ActorId, input: Input, out: &mut Effects) {
        self.0.step(0, input, out);
    }

    fn actors(&self) -> u32 {
        1
    }

    fn home(&self, _writer: u32) -> ActorId {
        ActorId(0)
    }

    fn advise(&mut self, advice: u16) {
        self.0.policy_mut().advice = advice;
    }

    fn targets(&self) -> usize {
        self.0.lanes().len()
    }

    fn roles(&self) -> u32 {
        0
    }

    fn is_throttle_kept(&self) -> bool {
        self.0.is_throttle_kept(4)
    }
}

#[test]
fn any_placement_and_any_second_attempt() {
    let node = OneNode::new(1, 2, Factor::NONE, false);
    check("1 writer, 2 targets", node, Bounds::new(1, &[4], 9));
    let node = OneNode::new(2, 2, Factor::NONE, false);
    check("2 writers, 2 targets", node, Bounds::new(2, &[2], 9));
}

#[test]
fn looks_at_any_moment() {
    let node = OneNode::new(1, 2, Factor::NONE, false).looking(3);
    check("3 looks", node, Bounds::new(1, &[4], 9));
    let bounds = Bounds {
        target_failures: vec![(TargetId(0), Failure::Stopped)],
        target_returns: 1,
        stopped_is_for_ever: true,
        ..Bounds::new(1, &[2, 2], 9)
    };
    let node = OneNode::new(1, 2, Factor::ZERO, true).looking(2);
    check("2 looks, a target stops", node, bounds);
}

#[test]
fn small_submissions_are_gathered_and_none_waits_for_ever() {
    let node = OneNode::new(1, 2, Factor::NONE, false).gathering(4, 0);
    check("gathered", node, Bounds::new(1, &[1, 2], 9));
    let node = OneNode::new(1, 2, Factor::NONE, false).gathering(4, 2);
    check("gathered and held back", node, Bounds::new(1, &[1, 1, 1], 9));
    let bounds = Bounds {
        target_failures: vec![(TargetId(0), Failure::Stopped)],
        ..Bounds::new(1, &[1, 1], 9)
    };
    let node = OneNode::new(1, 2, Factor::NONE, false).gathering(4, 2);
    check("gathered and held back, a target stops", node, bounds);
}

#[test]
#[ignore = "minutes; run in release"]
fn small_submissions_are_gathered_beside_another_writer_and_deaths() {
    let node = OneNode::new(2, 2, Factor::NONE, false).gathering(2, 2);
    check("gathered and held back, 2 writers", node, Bounds::new(2, &[1, 1], 9));
    let bounds = Bounds { writer_deaths: 1, ..Bounds::new(1, &[1, 1, 2], 9) };
    let node = OneNode::new(1, 2, Factor::NONE, false).gathering(4, 2);
    check("gathered and held back, a writer dies", node, bounds);
}

#[test]
fn one_submission_at_a_time() {
    let node = OneNode::new(2, 2, Factor::NONE, true);
    check("serial", node, Bounds::new(2, &[2], 9));
    let node = OneNode::new(1, 2, Factor::NONE, true);
    check("serial, 2 submissions", node, Bounds::new(1, &[2, 2], 9));
}

#[test]
fn the_fair_share_is_kept_and_never_blocks() {
    let node = OneNode::new(1, 3, Factor::ZERO, false);
    check("TF 0, 3 targets", node, Bounds::new(1, &[4], 16));
    let node = OneNode::new(2, 2, Factor::from_millionths(250_000), false);
    check("TF 0.25", node, Bounds::new(2, &[2], 9));
}

#[test]
fn targets_stop_fill_up_and_come_back() {
    for failure in [Failure::Stopped, Failure::Full] {
        let bounds = Bounds {
            target_failures: vec![(TargetId(0), failure)],
            target_returns: 1,
            attempt_failures: 1,
            stopped_is_for_ever: true,
            ..Bounds::new(1, &[4], 9)
        };
        let name = format!("a target fails: {failure:?}");
        check(&name, OneNode::new(1, 2, Factor::NONE, false), bounds.clone());
        check(&name, OneNode::new(1, 2, Factor::ZERO, false), bounds);
    }
}

#[test]
fn a_writer_dies() {
    let bounds = Bounds {
        writer_deaths: 1,
        target_failures: vec![(TargetId(1), Failure::Stopped)],
        stopped_is_for_ever: true,
        ..Bounds::new(2, &[2], 9)
    };
    check("a writer dies", OneNode::new(2, 2, Factor::NONE, false), bounds);
}

#[test]
#[ignore = "minutes; run in release"]
fn larger() {
    let node = OneNode::new(2, 2, Factor::NONE, false);
    check("2 writers, 2 parts each", node, Bounds::new(2, &[3], 9));
    let node = OneNode::new(1, 3, Factor::ZERO, false);
    check("TF 0, 4 parts", node, Bounds::new(1, &[4, 3], 16));
}

#[test]
#[ignore = "minutes; run in release"]
fn two_of_three_targets_fail() {
    let bounds = Bounds {
        target_failures: vec![(TargetId(0), Failure::Stopped), (TargetId(1), Failure::Full)],
        target_returns: 1,
        stopped_is_for_ever: true,
        ..Bounds::new(1, &[3], 16)
    };
    check("2 of 3 targets fail", OneNode::new(1, 3, Factor::NONE, false), bounds);
}
