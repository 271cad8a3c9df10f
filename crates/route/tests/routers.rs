//! Routers of every policy, what policies are asked, and what a node counts.

mod model;

use model::Effects;
use plimsoll_route::coordinated::{ByInquiry, SourceChoice};
use plimsoll_route::placement::{Advice, Lane, Lanes, Waiting};
use plimsoll_route::{
    ActorId, AnyRouter, Factor, Failure, Homes, Input, Machine, Node, NodeSettings, Placement,
    Policy, Router, RouterSettings, Static, Striped, TargetId, Window, WindowSettings,
};

const MS: u64 = 1_000_000;

fn step<M: Machine>(machine: &mut M, now_ns: u64, input: Input) -> Effects {
    let mut effects = Effects::default();
    machine.step(now_ns, input, &mut effects);
    effects
}

fn node<P: Placement>(writers: u32, targets: Vec<TargetId>, policy: P) -> Node<P> {
    Node::new(NodeSettings { first_writer: 0, writers, targets, factor: Factor::NONE }, policy)
}

fn targets(count: u16) -> Vec<TargetId> {
    (0..count).map(TargetId).collect()
}

const SETTINGS: RouterSettings<'_> = RouterSettings {
    targets: 4,
    writers: 8,
    writers_per_node: 2,
    factor: Factor::NONE,
    homes: Homes::Grouped,
    part_bytes_min: 1,
    request_bytes: 0,
    retry_ns: 0,
};

/// Delivers messages and ends attempts until nothing more happens; gives the bytes that were committed.
fn written(policy: &str) -> u64 {
    let policy: Policy = policy.parse().unwrap();
    let mut router = AnyRouter::new(&policy, &SETTINGS);
    let mut inputs: std::collections::VecDeque<(ActorId, Input)> =
        (0..router.actors()).map(|actor| (ActorId(actor), Input::Begin)).collect();
    for writer in 0..8 {
        let actor = router.actor_of(writer);
        inputs.push_back((actor, Input::Submit { writer, length_bytes: 1000 + u64::from(writer) }));
        inputs.push_back((actor, Input::Close { writer }));
    }
    let (mut committed, mut now_ns) = (0, 0);
    while let Some((actor, input)) = inputs.pop_front() {
        now_ns += 1000;
        let mut effects = Effects::default();
        router.step(actor, now_ns, input, &mut effects);
        let heard = |(to, message)| (to, Input::Message { from: actor, message });
        inputs.extend(effects.messages.into_iter().map(heard));
        let ended = |attempt: plimsoll_route::Attempt| {
            (actor, Input::AttemptDone { attempt: attempt.attempt, pending_until_ns: now_ns })
        };
        inputs.extend(effects.started.into_iter().map(ended));
        committed += effects.committed.iter().map(|commit| commit.length_bytes).sum::<u64>();
    }
    committed
}

#[test]
fn every_policy_writes_everything() {
    let all = (0..8).map(|writer| 1000 + writer).sum::<u64>();
    for policy in ["static", "striped", "window", "coordinator:tf=0.5", "coordinator:inquiry=off"] {
        assert_eq!(written(policy), all, "{policy}");
    }
}

#[test]
fn only_roles_of_a_coordinator_die_with_a_writer() {
    let router = |policy: &str| AnyRouter::new(&policy.parse().unwrap(), &SETTINGS);
    for policy in ["static", "striped", "window"] {
        let router = router(policy);
        assert_eq!(router.actors(), 4, "{policy}");
        assert!((0..4).all(|actor| router.writer_of(ActorId(actor)).is_none()), "{policy}");
        assert_eq!((router.coordinator(), router.actor_of(5)), (None, ActorId(2)), "{policy}");
    }
    let coordinated = router("coordinator");
    assert!(coordinated.coordinator().is_some());
    for writer in 0..8 {
        assert_eq!(coordinated.writer_of(coordinated.actor_of(writer)), Some(writer));
    }
}

#[test]
fn pinned_writers_write_to_their_own_targets() {
    let homes = [TargetId(5), TargetId(2), TargetId(9), TargetId(5)];
    let (targets, policy) = Static::pinned(&homes, 1);
    assert_eq!(targets, [TargetId(2), TargetId(5), TargetId(9)]);
    let mut node = node(4, targets, policy);
    for (writer, home) in homes.into_iter().enumerate() {
        let submit = Input::Submit { writer: writer as u32, length_bytes: 10 };
        assert_eq!(step(&mut node, 0, submit).started[0].target, home);
    }
}

#[test]
fn stripes_of_later_writers_begin_further_on_and_around() {
    let mut node = node(1, targets(4), Striped::new(7, 3));
    let started = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 9 }).started;
    let places: Vec<u16> = started.iter().map(|part| part.target.0).collect();
    assert_eq!(places, [3, 0, 1]);
}

#[test]
fn stripes_of_pinned_writers_are_theirs_in_order() {
    let homes = [3, 1, 1, 0].map(TargetId);
    let (targets, mut policy) = Static::pinned(&homes, 2);
    assert_eq!(targets, [0, 1, 3].map(TargetId));
    let mut node = node(2, targets.clone(), Striped::new(0, 1));
    step(&mut node, 0, Input::Begin);
    let lanes = Lanes {
        lanes: node.lanes(),
        in_flight_bytes: 0,
        idle: 3,
        most_placed_bytes: u64::MAX,
        now_ns: 0,
    };
    let mut place = |writer, offset_bytes| {
        let (submission_bytes, node_bytes) = (11, 11);
        let length_bytes = submission_bytes - offset_bytes;
        let waiting = Waiting {
            writer,
            length_bytes,
            offset_bytes,
            submission_bytes,
            is_retry: false,
            node_bytes,
            is_last: false,
            only_lane: None,
        };
        let Advice { lane, length_bytes } = policy.place(waiting, lanes).unwrap();
        (targets[lane].0, length_bytes)
    };
    assert_eq!(
        [place(0, 0), place(0, 5), place(0, 6), place(0, 10)],
        [(3, 6), (3, 6), (1, 6), (1, 6)]
    );
    assert_eq!([place(1, 0), place(1, 6)], [(1, 6), (0, 6)]);
}

#[test]
fn parts_of_stripes_are_not_smaller_than_a_device_writes() {
    let policy = Striped::new(3, 4).in_parts_of_at_least(4);
    let mut node = node(3, targets(4), policy);
    let started = step(&mut node, 0, Input::Submit { writer: 2, length_bytes: 10 }).started;
    let parts: Vec<(u16, u64)> = started.iter().map(|it| (it.target.0, it.length_bytes)).collect();
    assert_eq!(parts, [(1, 4), (2, 4), (3, 2)], "the sixth writer begins at the second of four");
    let next = step(&mut node, 0, Input::Submit { writer: 2, length_bytes: 10 });
    assert!(next.started.is_empty(), "one submission at a time");
    let around = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 10 }).started;
    let around: Vec<u16> = around.iter().map(|it| it.target.0).collect();
    assert_eq!(around, [3, 0, 1]);
}

#[test]
fn who_is_pinned_has_no_timers_and_no_second_attempts_and_windows_do_not_wait() {
    for writer in 0..2 {
        let mut fixed = node(2, targets(2), Static::grouped(0..2, 2, 2));
        let first = step(&mut fixed, 0, Input::Submit { writer, length_bytes: 5 });
        assert_eq!((first.started.len(), first.timers.len()), (1, 0));
        let closes = step(&mut fixed, 3_600_000 * MS, Input::Close { writer });
        assert!(closes.started.is_empty() && closes.timers.is_empty());
    }
    let mut window = node(1, targets(2), Window::new(WindowSettings::default(), 2, 1));
    for _ in 0..2 {
        let next = step(&mut window, 0, Input::Submit { writer: 0, length_bytes: 5 });
        assert_eq!(next.started.len(), 1, "the next is not held back by the one before");
    }
}

#[test]
fn homes_that_are_given_are_dealt_to_nodes() {
    let homes: Vec<TargetId> = [0, 1, 1, 2, 2, 3, 3, 0].map(TargetId).into();
    let settings =
        RouterSettings { writers: 4, homes: Homes::Given { targets: &homes, each: 2 }, ..SETTINGS };
    let mut router = AnyRouter::new(&"static".parse().unwrap(), &settings);
    assert_eq!(router.windows(4), None);
    let AnyRouter::Static(nodes) = &mut router else { panic!() };
    for writer in 0..4 {
        let mut effects = Effects::default();
        let input = Input::Submit { writer, length_bytes: 2 };
        nodes.step(nodes.actor_of(writer), 0, input, &mut effects);
        let on: Vec<TargetId> = effects.started.iter().map(|it| it.target).collect();
        assert_eq!(on, homes[2 * writer as usize..][..2], "{writer}");
    }
    let window = AnyRouter::new(&"window:lanes=2".parse().unwrap(), &settings);
    let windows = window.windows(4).unwrap();
    let least = WindowSettings::default().lease_bytes_usual;
    assert_eq!(windows.iter().filter(|bytes| **bytes == least).count(), 2, "{windows:?}");
    assert_eq!(windows.iter().filter(|bytes| **bytes == 0).count(), 2, "{windows:?}");
}

#[test]
fn rejections_are_remembered_by_who_inquired_unless_told_otherwise() {
    for (policy, remembers) in [
        ("coordinator", true),
        ("coordinator:inquiry=on", true),
        ("coordinator:inquiry=off", false),
        ("coordinator:inquiry=off:rejects=remember", true),
        ("coordinator:inquiry=on:rejects=forget", false),
    ] {
        assert_eq!(policy.parse::<Policy>().unwrap().remembers_rejects(), remembers, "{policy}");
    }
    assert!("coordinator:inquiry=maybe".parse::<Policy>().is_err());
    let mut sources = vec![0, 1, 2];
    ByInquiry::new(true).inquired(&mut sources, &[5, 9, 7]);
    assert_eq!(sources, [1, 2, 0], "the longest queue first");
}

#[test]
fn sources_are_asked_in_turn_without_an_inquiry() {
    let mut choice = ByInquiry::new(false);
    let chosen: Vec<usize> = (0..6).map(|_| choice.choose(TargetId(0), &[4, 5, 6])).collect();
    assert_eq!(chosen[..3], chosen[3..]);
    let mut once = chosen[..3].to_vec();
    once.sort_unstable();
    assert_eq!(once, [0, 1, 2]);
    assert_eq!(ByInquiry::new(true).choose(TargetId(0), &[4, 5, 6]), 0, "the longest queue");
}

#[test]
fn a_full_or_failed_lane_admits_nothing() {
    let lane = |placed_bytes, failure| {
        let mut lane = Lane::new(TargetId(0));
        (lane.placed_bytes, lane.failure) = (placed_bytes, failure);
        lane
    };
    let admits = |lane: Lane| {
        let lanes =
            Lanes { lanes: &[lane], in_flight_bytes: 0, idle: 1, most_placed_bytes: 10, now_ns: 0 };
        (lanes.admits(0), lanes.least_loaded())
    };
    assert_eq!(admits(lane(9, None)), (true, Some(0)));
    assert_eq!(admits(lane(10, None)), (false, None), "as much as it may hold");
    assert_eq!(admits(lane(0, Some(Failure::Full))), (false, None));
}

#[test]
fn a_second_writer_starts_where_there_is_room() {
    let mut node = node(2, targets(2), Window::new(WindowSettings::default(), 2, 2));
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 1000 }).started;
    let second = step(&mut node, 1, Input::Submit { writer: 1, length_bytes: 1000 }).started;
    assert_eq!((first.len(), second.len()), (1, 1));
}

#[test]
fn a_windows_delay_is_known_once_something_ended() {
    let mut node = node(1, targets(1), Window::new(WindowSettings::default(), 1, 1));
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 1000 }).started[0];
    assert_eq!(node.policy().delay_ns(0), None);
    let attempt = first.attempt;
    step(&mut node, 5 * MS, Input::AttemptDone { attempt, pending_until_ns: 5 * MS });
    assert_eq!(node.policy().delay_ns(0), Some(5 * MS));
    // A later one moves it, and not all the way.
    let mut before = 5 * MS;
    for nth in 1..4 {
        let now_ns = nth * 1000 * MS;
        let next = step(&mut node, now_ns, Input::Submit { writer: 0, length_bytes: 1000 }).started;
        let (attempt, end_ns) = (next[0].attempt, now_ns + 21 * MS);
        step(&mut node, end_ns, Input::AttemptDone { attempt, pending_until_ns: end_ns });
        let smoothed = node.policy().delay_ns(0).unwrap();
        assert!(before < smoothed && smoothed < 21 * MS, "{before} {smoothed}");
        before = smoothed;
    }
}

/// Places on the first lane, if nothing is there; remembers how much the node said was waiting.
#[derive(Default)]
struct OneAtATime(Vec<u64>);

impl Placement for OneAtATime {
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        self.0.push(waiting.node_bytes);
        let is_free = lanes.in_flight_bytes == 0;
        is_free.then_some(Advice { lane: 0, length_bytes: waiting.length_bytes })
    }
}

#[test]
fn what_died_with_its_writer_waits_no_more() {
    let mut node = node(3, targets(1), OneAtATime::default());
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 7 }).started[0];
    for (writer, length_bytes) in [(1, 100), (2, 30)] {
        assert!(step(&mut node, 1, Input::Submit { writer, length_bytes }).started.is_empty());
    }
    step(&mut node, 2, Input::WriterDied { writer: 1 });
    let attempt = first.attempt;
    let next = step(&mut node, 3, Input::AttemptDone { attempt, pending_until_ns: 3 }).started;
    assert_eq!((next.len(), next[0].length_bytes), (1, 30));
    assert_eq!(node.policy().0.last(), Some(&30), "{:?}", node.policy().0);
}

#[test]
fn what_failed_and_then_died_with_its_writer_waits_no_more() {
    let mut node = node(2, targets(1), OneAtATime::default());
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 7 }).started[0];
    // Stopped: it is to be tried again elsewhere, and there is no elsewhere yet.
    let (target, failure) = (TargetId(0), Failure::Stopped);
    step(&mut node, 1, Input::TargetFailed { target, failure });
    step(&mut node, 2, Input::WriterDied { writer: first.write.writer });
    step(&mut node, 3, Input::TargetBack { target });
    step(&mut node, 4, Input::Submit { writer: 1, length_bytes: 30 });
    assert_eq!(node.policy().0.last(), Some(&30), "{:?}", node.policy().0);
}

#[test]
fn an_attempt_that_is_given_up_is_placed_no_more() {
    let mut node = node(1, targets(3), Window::new(WindowSettings::default(), 3, 1));
    let mut attempt =
        step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 1000 }).started[0];
    let mut tried = vec![attempt.target.index()];
    for now_ns in 1..3 {
        let (target, failure) = (attempt.target, Failure::Stopped);
        attempt = step(&mut node, now_ns, Input::TargetFailed { target, failure }).started[0];
        tried.push(attempt.target.index());
    }
    let placed: Vec<u64> = tried.iter().map(|lane| node.lanes()[*lane].placed_bytes).collect();
    assert_eq!(placed, [0, 1000, 1000], "the oldest is waited for no more");
}
