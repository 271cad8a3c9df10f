use std::rc::Rc;

use plimsoll_route::{TargetId, WriteId};
use plimsoll_stats::Random;

use super::*;
use crate::curve::ServiceCurve;
use crate::noise::Interference;
use crate::scenario::{Discipline, embedded};
use crate::target::TargetKind;

/// A world of two machines and no targets.
fn host() -> Host {
    let scenario = embedded("quiet").unwrap();
    let settings = MessageSettings {
        latency_ns: 10,
        cost_ns: 0,
        loss: 0.0,
        repeat: 0.0,
        random: Random::new(1),
    };
    let program = Program::new(&scenario.application, 1);
    Host::new(Vec::new(), Stages::new(&scenario.storage), program, settings, 2)
}

fn set(host: &mut Host, actor: u32, id: TimerId, generation: u32, at_ns: u64) {
    host.actor = actor;
    host.timer(Timer { id, generation, at_ns });
}

/// Every timer that rings, and when.
fn rings(host: &mut Host) -> Vec<(u64, u32, TimerId, u32)> {
    let mut all = Vec::new();
    while let Some(Next::Event { at_ns }) = host.next() {
        host.now_ns = at_ns;
        let Some(Event::Timer(index)) = host.queue.pop().map(|next| next.event) else { break };
        if let Some((actor, Input::Timer { id, generation })) = host.take_timer(index) {
            all.push((at_ns, actor, id, generation));
        }
    }
    all
}

#[test]
fn a_timer_rings_once_at_its_newest_setting() {
    let mut host = host();
    set(&mut host, 0, TimerId::Retry, 1, 100);
    set(&mut host, 0, TimerId::Overdue, 7, 100);
    set(&mut host, 1, TimerId::Retry, 3, 300);
    set(&mut host, 1, TimerId::Overdue, 5, 60);
    set(&mut host, 0, TimerId::Retry, 2, 200);
    set(&mut host, 1, TimerId::Retry, 4, 50);
    set(&mut host, 1, TimerId::Overdue, 6, 60);
    let expected = [
        (50, 1, TimerId::Retry, 4),
        (60, 1, TimerId::Overdue, 6),
        (100, 0, TimerId::Overdue, 7),
        (200, 0, TimerId::Retry, 2),
    ];
    assert_eq!(rings(&mut host), expected);
    set(&mut host, 1, TimerId::Retry, 9, 7);
    let now_ns = host.now_ns;
    assert_eq!(rings(&mut host), [(now_ns + 1, 1, TimerId::Retry, 9)], "never in the past");
    set(&mut host, 1, TimerId::Retry, 10, now_ns + 5);
    assert_eq!(rings(&mut host), [(now_ns + 5, 1, TimerId::Retry, 10)], "and again");
}

#[test]
fn messages_and_events_come_in_the_order_of_their_making() {
    let mut host = host();
    assert_eq!(host.next(), None);
    let say = |host: &mut Host| host.send(ActorId(1), Message::GroupCloseAck);
    set(&mut host, 0, TimerId::Retry, 1, 10);
    say(&mut host);
    assert!(!host.are_messages_delivered());
    assert_eq!(host.next(), Some(Next::Event { at_ns: 10 }), "it was there before");
    host.now_ns = 10;
    host.queue.pop();
    assert_eq!(host.next(), Some(Next::Message { at_ns: 10 }));
    set(&mut host, 0, TimerId::Overdue, 1, 11);
    assert_eq!(host.next(), Some(Next::Message { at_ns: 10 }), "that is later");
    let message = Message::GroupCloseAck;
    let expected = (1, Input::Message { from: ActorId(0), message });
    assert_eq!(host.take_message(), Some(expected));
    assert_eq!((host.take_message(), host.are_messages_delivered()), (None, true));
    assert_eq!(host.next(), Some(Next::Event { at_ns: 11 }));
    assert_eq!((host.tally.by_actor.clone(), host.tally.lost), (vec![1, 1], 0));
}

/// A world of two machines and so many targets of 1 byte a nanosecond, of which `limit` is let through.
fn host_with_targets(targets: u32, limit: Option<&str>, loss: f64) -> Host {
    let mut storage = embedded("quiet").unwrap().storage;
    (storage.targets, storage.network_limit) = (targets, limit.map(|it| it.parse().unwrap()));
    let kind = TargetKind {
        discipline: Discipline::ProcessorSharing,
        bytes_per_ns: 1.0,
        curve: Rc::new(ServiceCurve::flat()),
        stream_cap: f64::INFINITY,
        request_bytes: 0.0,
        is_by_node: false,
    };
    let target = |_| Target::new(kind.clone(), Interference::none());
    let random = Random::new(1);
    let settings = MessageSettings { latency_ns: 10, cost_ns: 0, loss, repeat: 0.0, random };
    let program = Program::new(&embedded("quiet").unwrap().application, 1);
    let stages = Stages::new(&storage);
    Host::new((0..targets).map(target).collect(), stages, program, settings, 2)
}

fn start(host: &mut Host, slot: u32, target: u16, length_bytes: u64) {
    let attempt = AttemptId { slot, generation: 0 };
    let write = WriteId { writer: 0, sequence: slot, part: 0 };
    host.actor = 1;
    host.start(Attempt { attempt, write, target: TargetId(target), offset_bytes: 0, length_bytes });
}

/// When each attempt ends by itself.
fn ends(host: &mut Host) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    while let Some(Next::Event { at_ns }) = host.next() {
        host.now_ns = at_ns;
        let next = host.queue.pop().unwrap();
        let Event::Service(target) = next.event else { panic!("{next:?}") };
        host.serve(target as usize, next.sequence);
        for (actor, input) in host.next_inputs.drain(..) {
            let Input::AttemptDone { attempt, pending_until_ns } = input else { panic!() };
            assert_eq!((actor, pending_until_ns), (1, at_ns));
            all.push((at_ns, attempt.slot));
        }
    }
    all
}

/// The attempts that have just failed.
fn failed(host: &mut Host) -> Vec<(u32, Failure)> {
    let inputs = host.next_inputs.drain(..);
    let all = inputs.map(|(actor, input)| match input {
        Input::AttemptFailed { attempt, failure } if actor == 1 => (attempt.slot, failure),
        other => panic!("{other:?}"),
    });
    all.collect()
}

#[test]
fn what_is_on_a_target_that_is_full_fails_at_once() {
    for failure in [Failure::Full, Failure::ReadOnly] {
        let mut host = host_with_targets(2, None, 0.0);
        start(&mut host, 1, 0, 100);
        start(&mut host, 2, 1, 100);
        host.now_ns = 50;
        host.set_failure(0, Some(failure));
        assert_eq!(failed(&mut host), [(1, failure)]);
        start(&mut host, 3, 0, 100);
        assert_eq!(failed(&mut host), [(3, failure)]);
        host.give_up(0);
        host.set_failure(0, None);
        start(&mut host, 4, 0, 100);
        assert_eq!(ends(&mut host), [(100, 2), (150, 4)]);
        assert_eq!((host.tally.ends, host.tally.done_bytes), (2, 200));
    }
}

#[test]
fn what_is_on_a_target_that_stopped_waits_until_it_is_back_or_given_up() {
    let mut host = host_with_targets(1, None, 0.0);
    start(&mut host, 1, 0, 100);
    host.now_ns = 50;
    host.set_failure(0, Some(Failure::Stopped));
    start(&mut host, 2, 0, 100);
    assert_eq!((ends(&mut host), failed(&mut host)), (vec![], vec![]));
    host.now_ns = 1000;
    host.set_failure(0, None);
    host.give_up(0);
    assert_eq!(failed(&mut host), [], "it is back");
    assert_eq!(ends(&mut host), [(1100, 1), (1150, 2)], "50 are left of one, 100 of the other");
    start(&mut host, 3, 0, 100);
    host.set_failure(0, Some(Failure::Stopped));
    host.give_up(0);
    assert_eq!(failed(&mut host), [(3, Failure::Stopped)]);
}

#[test]
fn busy_targets_share_what_is_let_through() {
    let mut host = host_with_targets(3, Some("1GB/s"), 0.0);
    start(&mut host, 1, 0, 100);
    start(&mut host, 2, 0, 100);
    host.next();
    host.now_ns = 100;
    // Half is left for each of two targets, however many writes are on one.
    start(&mut host, 3, 1, 100);
    let mut all = ends(&mut host);
    all.sort_unstable();
    assert_eq!(all, [(300, 1), (300, 2), (300, 3)]);
    // What fails makes room for others.
    host.now_ns = 1000;
    start(&mut host, 4, 0, 100);
    start(&mut host, 5, 1, 100);
    host.next();
    host.now_ns = 1100;
    host.set_failure(0, Some(Failure::Full));
    assert_eq!(failed(&mut host), [(4, Failure::Full)]);
    assert_eq!(ends(&mut host), [(1150, 5)]);
}

#[test]
fn messages_that_get_lost_are_counted() {
    let mut host = host_with_targets(1, None, 1.0);
    host.send(ActorId(1), Message::GroupCloseAck);
    host.send(ActorId(1), Message::GroupCloseAck);
    assert_eq!((host.tally.lost, host.next()), (2, None));
    assert_eq!(host.tally.by_actor, [2, 2], "they were sent");
}
