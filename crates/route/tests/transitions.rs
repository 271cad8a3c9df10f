//! Single transitions, as documentation of what each machine does.

mod model;

use model::Effects;
use plimsoll_route::coordinated::{ByQueue, Client, Coordinator, Layout, RoleSettings, Sub};
use plimsoll_route::{
    ActorId, AttemptId, Closed, Factor, Failure, Input, Machine, Message, Node, NodeSettings,
    Static, Striped, TargetId, TimerId, Window, WindowSettings, WriteId,
};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

fn step<M: Machine>(machine: &mut M, now_ns: u64, input: Input) -> Effects {
    let mut effects = Effects::default();
    machine.step(now_ns, input, &mut effects);
    effects
}

fn hear<M: Machine>(machine: &mut M, from: ActorId, message: Message) -> Effects {
    step(machine, 0, Input::Message { from, message })
}

fn done(attempt: AttemptId, pending_until_ns: u64) -> Input {
    Input::AttemptDone { attempt, pending_until_ns }
}

fn node_settings(writers: u32, targets: u16) -> NodeSettings {
    let targets = (0..targets).map(TargetId).collect();
    NodeSettings { first_writer: 0, writers, targets, factor: Factor::NONE }
}

fn window_node(writers: u32, targets: u16) -> Node<Window> {
    window_node_with(WindowSettings::default(), writers, targets)
}

fn window_node_with(settings: WindowSettings, writers: u32, targets: u16) -> Node<Window> {
    let policy = Window::new(settings, usize::from(targets), writers);
    Node::new(node_settings(writers, targets), policy)
}

#[test]
fn static_writes_whole_blocks_to_the_own_target_one_at_a_time() {
    let mut node = Node::new(node_settings(3, 2), Static::grouped(0..3, 3, 2));
    let first = step(&mut node, 0, Input::Submit { writer: 2, length_bytes: 9 * MIB });
    assert_eq!((first.started[0].target, first.started[0].length_bytes), (TargetId(1), 9 * MIB));
    let second = step(&mut node, 0, Input::Submit { writer: 2, length_bytes: 5 });
    assert!(second.started.is_empty(), "the block before is not committed");
    let next = step(&mut node, 1, done(first.started[0].attempt, 1));
    assert_eq!(next.committed[0].write, WriteId { writer: 2, sequence: 0, part: 0 });
    assert_eq!(next.started[0].write, WriteId { writer: 2, sequence: 1, part: 0 });
}

#[test]
fn striped_deals_a_block_over_its_targets_at_once() {
    let mut node = Node::new(node_settings(1, 4), Striped::new(0, 3));
    let started = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 10 }).started;
    let parts: Vec<(u16, u64, u64)> =
        started.iter().map(|part| (part.target.0, part.offset_bytes, part.length_bytes)).collect();
    assert_eq!(parts, [(0, 0, 4), (1, 4, 4), (2, 8, 2)]);
}

#[test]
fn a_quick_target_gets_a_larger_window_and_a_slow_one_a_smaller() {
    let settings = WindowSettings { share_bytes_per_writer: 0, ..WindowSettings::default() };
    let mut node = window_node_with(settings, 1, 2);
    let started = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 64 * MIB }).started;
    assert_eq!(started.len(), 2, "one least lease on each target");
    step(&mut node, 5 * MS, done(started[0].attempt, 5 * MS));
    let (quick, slow) = (node.policy().window_bytes(1), node.policy().window_bytes(0));
    assert_eq!((quick, slow), (512 << 10, 256 << 10), "at most twice");
    step(&mut node, 500 * MS, done(started[1].attempt, 500 * MS));
    assert_eq!(node.policy().window_bytes(0), 64 << 10, "to a quarter at most");
}

#[test]
fn a_late_look_does_not_shrink_a_window_and_an_idle_target_gets_more() {
    let mut node = window_node(1, 1);
    let started = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 64 * MIB }).started;
    let next = step(&mut node, 10 * MS, done(started[0].attempt, 10 * MS)).started;
    let before = node.policy().window_bytes(0);
    assert_eq!(before, 2 * MIB);
    assert_eq!(next.len(), 2);
    // Seen durable at 500 ms, seen pending at 20 ms: nobody knows whether it took longer than tau.
    step(&mut node, 500 * MS, done(next[0].attempt, 20 * MS));
    assert_eq!(node.policy().window_bytes(0), before);
    // But then all had ended, and the target was idle until somebody looked.
    step(&mut node, 500 * MS, done(next[1].attempt, 20 * MS));
    assert_eq!(node.policy().window_bytes(0), 4 * before);
}

#[test]
fn a_target_that_stops_is_tried_elsewhere_and_the_first_end_counts() {
    let mut node = window_node(1, 2);
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: 1000 }).started[0];
    step(&mut node, 0, Input::Close { writer: 0 });
    let (target, failure) = (first.target, Failure::Stopped);
    let again = step(&mut node, 1, Input::TargetFailed { target, failure }).started[0];
    assert_eq!(again.write, first.write);
    assert_ne!((again.target, again.attempt), (first.target, first.attempt));
    let end = step(&mut node, 2, done(first.attempt, 2));
    assert_eq!(end.committed.len(), 1, "it ended after all");
    let closed = Closed::Writer { writer: 0, committed_bytes: 1000, lost_bytes: 0 };
    assert_eq!(end.closed, [closed]);
    assert!(step(&mut node, 3, done(again.attempt, 3)).committed.is_empty());
}

#[test]
fn without_targets_the_writer_learns_what_is_lost() {
    let mut node = window_node(1, 1);
    let first = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: MIB }).started[0];
    let (attempt, failure) = (first.attempt, Failure::Full);
    step(&mut node, 1, Input::AttemptFailed { attempt, failure });
    let closed = step(&mut node, 2, Input::Close { writer: 0 }).closed;
    assert_eq!(closed, [Closed::Writer { writer: 0, committed_bytes: 0, lost_bytes: MIB }]);
}

#[test]
fn what_was_lost_without_targets_holds_up_no_second_attempt() {
    let mut node = window_node(1, 2);
    let targets = [TargetId(0), TargetId(1)];
    for target in targets {
        step(&mut node, 0, Input::TargetFailed { target, failure: Failure::Full });
    }
    assert!(step(&mut node, 0, Input::Submit { writer: 0, length_bytes: MIB }).started.is_empty());
    for target in targets {
        step(&mut node, 1, Input::TargetBack { target });
    }
    let begun = step(&mut node, 2, Input::Submit { writer: 0, length_bytes: 1000 });
    let (first, set) = (begun.started[0], begun.timers[0]);
    let look = Input::Timer { id: TimerId::Overdue, generation: set.generation };
    let second = step(&mut node, 900 * MS, look).started[0];
    assert_eq!(second.write, first.write);
    assert_ne!(second.target, first.target);
}

#[test]
fn an_old_timer_is_ignored() {
    let mut node = window_node(1, 1);
    let set = step(&mut node, 0, Input::Submit { writer: 0, length_bytes: MIB }).timers[0];
    let old = Input::Timer { id: TimerId::Overdue, generation: set.generation.wrapping_sub(1) };
    assert!(step(&mut node, 900 * MS, old).timers.is_empty());
    let now = Input::Timer { id: TimerId::Overdue, generation: set.generation };
    assert_eq!(step(&mut node, 900 * MS, now).timers.len(), 1, "set again: something is late");
}

fn coordinator() -> RoleSettings {
    RoleSettings::new(Layout { targets: 2, writers: 4 })
}

/// The message flow of the paper's figure 3, with two groups of two.
#[test]
fn a_write_moves_to_the_idle_group() {
    let settings = RoleSettings { status_inquiry: false, factor: Factor::NONE, ..coordinator() };
    let layout = settings.layout;
    let (idle, busy) = (TargetId(0), TargetId(1));
    let mut coordinator = Coordinator::new(settings, ByQueue);
    let mut source = Sub::new(settings, busy);
    let mut client = Client::new(settings, 3);
    for writer in [2, 3] {
        let write = WriteId { writer, sequence: 0, part: 0 };
        let submission = Message::WriteSubmission { write, length_bytes: 8 };
        let said = hear(&mut source, layout.client(writer), submission).messages;
        assert_eq!(said.len(), usize::from(writer == 2), "one write at a time");
    }
    let offer = Message::WriteIdle { target: idle, request: 1, allowance_bytes: 8 };
    let asked = hear(&mut coordinator, layout.sub(idle), offer).messages;
    assert_eq!(asked, [(layout.sub(busy), Message::RerouteReq { taker: idle, request: 1 })]);
    let given = hear(&mut source, layout.coordinator(), asked[0].1).messages;
    let write = WriteId { writer: 3, sequence: 0, part: 0 };
    let ack = Message::RerouteAck { taker: idle, request: 1, write, length_bytes: 8 };
    assert_eq!(given, [(layout.coordinator(), ack)]);
    let more = hear(&mut coordinator, layout.sub(busy), ack).messages;
    let expected = Message::WriteMore { source: busy, request: 1, write, length_bytes: 8 };
    assert_eq!(more, [(layout.sub(idle), expected)]);
    assert!(hear(&mut coordinator, layout.sub(busy), ack).messages.is_empty(), "answered once");
    step(&mut client, 0, Input::Submit { writer: 3, length_bytes: 8 });
    let grant = Message::DoWrite { write, target: idle, request: 1, length_bytes: 8 };
    let attempt = hear(&mut client, layout.sub(idle), grant).started[0];
    assert_eq!(attempt.target, idle);
    assert!(hear(&mut client, layout.sub(idle), grant).started.is_empty(), "started once");
    let told: Vec<ActorId> =
        step(&mut client, 0, done(attempt.attempt, 0)).messages.iter().map(|(to, _)| *to).collect();
    assert_eq!(told, [layout.sub(idle), layout.sub(busy)], "who granted, and who counts");
}

#[test]
fn an_old_rejection_answers_no_newer_request() {
    let settings = RoleSettings { status_inquiry: false, factor: Factor::NONE, ..coordinator() };
    let layout = settings.layout;
    let mut coordinator = Coordinator::new(settings, ByQueue);
    let (taker, source) = (TargetId(0), layout.sub(TargetId(1)));
    let offer = Message::WriteIdle { target: taker, request: 1, allowance_bytes: 8 };
    hear(&mut coordinator, layout.sub(taker), offer);
    let old = Message::RerouteReject { taker, request: 0 };
    assert!(hear(&mut coordinator, source, old).messages.is_empty());
    let write = WriteId { writer: 2, sequence: 0, part: 0 };
    let ack = Message::RerouteAck { taker, request: 1, write, length_bytes: 8 };
    assert_eq!(hear(&mut coordinator, source, ack).messages.len(), 1, "still waited for");
}

#[test]
fn a_throttled_group_offers_no_room() {
    let settings = RoleSettings { factor: Factor::ZERO, ..coordinator() };
    let layout = settings.layout;
    let mut sub = Sub::new(settings, TargetId(0));
    let write = WriteId { writer: 0, sequence: 0, part: 0 };
    let submission = Message::WriteSubmission { write, length_bytes: 8 };
    hear(&mut sub, layout.client(0), submission);
    let (target, request, length_bytes) = (TargetId(0), 1, 8);
    let complete = Message::WriteComplete { write, target, request, length_bytes };
    let said = hear(&mut sub, layout.client(0), complete).messages;
    let idle = Message::WriteIdle { target, request: 1, allowance_bytes: 0 };
    assert_eq!(said, [(layout.coordinator(), idle)]);
}
