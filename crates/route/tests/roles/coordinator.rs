//! The coordinator.

use plimsoll_route::coordinated::{ByQueue, Coordinator, Layout, RoleSettings};
use plimsoll_route::{ActorId, Closed, Input, Message, TargetId, TimerId};

use super::{RETRY_NS, at, hear, id, lossy, ring, settings};

type Said = Vec<(ActorId, Message)>;

/// Three groups of two writers.
const LAYOUT: Layout = Layout { targets: 3, writers: 6 };
const ROOM: u64 = 100;

fn coordinator(settings: RoleSettings) -> Coordinator<ByQueue> {
    Coordinator::new(RoleSettings { layout: LAYOUT, ..settings }, ByQueue)
}

fn sub(target: u16) -> ActorId {
    LAYOUT.sub(TargetId(target))
}

fn say(coordinator: &mut Coordinator<ByQueue>, from: u16, message: Message) -> Said {
    hear(coordinator, sub(from), message).messages
}

fn idle(coordinator: &mut Coordinator<ByQueue>, target: u16, request: u32, room: u64) -> Said {
    let (from, target) = (target, TargetId(target));
    say(coordinator, from, Message::WriteIdle { target, request, allowance_bytes: room })
}

fn reply(coordinator: &mut Coordinator<ByQueue>, target: u16, request: u32, bytes: u64) -> Said {
    let (from, target) = (target, TargetId(target));
    say(coordinator, from, Message::StatusReply { target, request, queued_bytes: bytes })
}

fn busy(coordinator: &mut Coordinator<ByQueue>, target: u16) -> Said {
    say(coordinator, target, Message::WriteBusy { target: TargetId(target), request: 0 })
}

fn lost(coordinator: &mut Coordinator<ByQueue>, target: u16, turns: u32) -> Said {
    say(coordinator, target, Message::TargetLost { target: TargetId(target), request: turns })
}

fn back(coordinator: &mut Coordinator<ByQueue>, target: u16, turns: u32) -> Said {
    say(coordinator, target, Message::TargetBack { target: TargetId(target), request: turns })
}

fn reject(coordinator: &mut Coordinator<ByQueue>, from: u16, taker: u16, request: u32) -> Said {
    say(coordinator, from, Message::RerouteReject { taker: TargetId(taker), request })
}

/// `from` gives the first block of its first writer away.
fn give(coordinator: &mut Coordinator<ByQueue>, from: u16, taker: u16, request: u32) -> Said {
    let write = id(2 * u32::from(from), 0, 0);
    let taker = TargetId(taker);
    say(coordinator, from, Message::RerouteAck { taker, request, write, length_bytes: 8 })
}

fn asked(source: u16, taker: u16, request: u32) -> (ActorId, Message) {
    (sub(source), Message::RerouteReq { taker: TargetId(taker), request })
}

fn more(taker: u16, source: u16, request: u32) -> (ActorId, Message) {
    let write = id(2 * u32::from(source), 0, 0);
    let source = TargetId(source);
    (sub(taker), Message::WriteMore { source, request, write, length_bytes: 8 })
}

fn adopt(taker: u16, source: u16, request: u32) -> (ActorId, Message) {
    let write = id(2 * u32::from(source), 0, 0);
    let source = TargetId(source);
    (sub(taker), Message::WriteAdopt { source, request, write, length_bytes: 8 })
}

#[test]
fn the_longest_queue_of_the_one_inquiry_is_asked_first() {
    let inquiring = RoleSettings { status_inquiry: true, ..settings() };
    let mut coordinator = coordinator(inquiring);
    let inquiry = [0, 1, 2].map(|target| (sub(target), Message::StatusInq { request: 1 }));
    assert_eq!(idle(&mut coordinator, 0, 1, ROOM), inquiry);
    assert_eq!(idle(&mut coordinator, 0, 1, ROOM), [], "once");
    assert_eq!(reply(&mut coordinator, 1, 2, 50), [], "an answer to nothing");
    assert_eq!(reply(&mut coordinator, 1, 1, 50), []);
    assert_eq!(reply(&mut coordinator, 1, 1, 500), [], "the first answer counts");
    assert_eq!(reply(&mut coordinator, 0, 1, 0), []);
    assert_eq!(reply(&mut coordinator, 2, 1, 60), [asked(2, 0, 2)]);
    assert_eq!(reply(&mut coordinator, 2, 1, 60), [], "all have answered");
    assert_eq!(reject(&mut coordinator, 2, 0, 2), [asked(1, 0, 3)]);
    assert_eq!(reject(&mut coordinator, 1, 0, 3), [], "nobody has anything");

    let mut empty = self::coordinator(inquiring);
    idle(&mut empty, 1, 1, ROOM);
    reply(&mut empty, 0, 1, 0);
    reply(&mut empty, 1, 1, 0);
    assert_eq!(reply(&mut empty, 2, 1, 0), [], "a group without a queue is not asked");
}

#[test]
fn a_write_goes_to_whose_offer_it_answers() {
    let mut coordinator = coordinator(settings());
    assert_eq!(idle(&mut coordinator, 1, 4, ROOM), [asked(0, 1, 1)], "itself is no source");
    assert_eq!(idle(&mut coordinator, 2, 1, ROOM), [asked(0, 2, 2)]);
    assert_eq!(give(&mut coordinator, 0, 1, 2), [], "the other's request");
    assert_eq!(give(&mut coordinator, 2, 1, 1), [], "not who was asked");
    let client = hear(
        &mut coordinator,
        LAYOUT.client(0),
        Message::RerouteReject { taker: TargetId(1), request: 1 },
    );
    assert!(client.messages.is_empty(), "a client is not asked");
    assert_eq!(give(&mut coordinator, 0, 1, 1), [more(1, 0, 4)]);
    assert_eq!(give(&mut coordinator, 0, 1, 1), [], "once");
    assert_eq!(idle(&mut coordinator, 1, 4, ROOM), [], "that offer is taken up");
    assert_eq!(idle(&mut coordinator, 1, 3, ROOM), [], "an older one");
    assert_eq!(idle(&mut coordinator, 1, 5, ROOM), [asked(0, 1, 3)]);
    let nobody = Message::WriteIdle { target: TargetId(9), request: 1, allowance_bytes: 1 };
    assert!(say(&mut coordinator, 0, nobody).is_empty(), "there is no such group");
}

#[test]
fn a_rejection_is_remembered_until_the_group_is_busy_again() {
    let mut coordinator = coordinator(settings());
    idle(&mut coordinator, 1, 1, ROOM);
    assert_eq!(reject(&mut coordinator, 0, 1, 1), [asked(2, 1, 2)]);
    assert_eq!(reject(&mut coordinator, 2, 1, 2), []);
    assert_eq!(idle(&mut coordinator, 0, 1, ROOM), [], "nobody has anything");
    assert_eq!(busy(&mut coordinator, 2), [asked(2, 0, 3), asked(2, 1, 4)]);

    let unaware = RoleSettings { remembers_rejects: false, ..settings() };
    let mut coordinator = self::coordinator(unaware);
    idle(&mut coordinator, 1, 1, ROOM);
    assert_eq!(reject(&mut coordinator, 0, 1, 1), [asked(2, 1, 2)]);
    assert_eq!(reject(&mut coordinator, 2, 1, 2), [], "both have rejected this offer");
    assert_eq!(idle(&mut coordinator, 1, 1, ROOM), [], "which is the same one");
    assert_eq!(busy(&mut coordinator, 2), [asked(2, 1, 3)]);
    assert_eq!(reject(&mut coordinator, 2, 1, 3), []);
    assert_eq!(idle(&mut coordinator, 1, 2, ROOM), [asked(0, 1, 4)], "a new offer may ask all");
}

#[test]
fn a_group_that_is_busy_again_takes_nothing() {
    let mut coordinator = coordinator(settings());
    idle(&mut coordinator, 1, 1, ROOM);
    reject(&mut coordinator, 0, 1, 1);
    reject(&mut coordinator, 2, 1, 2);
    assert_eq!(busy(&mut coordinator, 1), [], "it gives and does not take");
    assert_eq!(busy(&mut coordinator, 0), []);
    assert_eq!(idle(&mut coordinator, 2, 1, ROOM), [asked(1, 2, 3)]);
    assert_eq!(idle(&mut coordinator, 1, 1, ROOM), [asked(0, 1, 4)], "the offer stands again");
}

#[test]
fn what_is_on_a_failed_target_goes_to_anybody() {
    let mut coordinator = coordinator(settings());
    assert_eq!(idle(&mut coordinator, 1, 1, 0), [], "nothing may move in");
    assert_eq!(lost(&mut coordinator, 2, 1), [asked(2, 1, 1)]);
    assert_eq!(give(&mut coordinator, 2, 1, 1), [adopt(1, 2, 1)]);
    assert_eq!(lost(&mut coordinator, 2, 1), [], "that is known");
    assert_eq!(back(&mut coordinator, 2, 1), [], "an older notice");
    assert_eq!(idle(&mut coordinator, 1, 2, 0), [asked(2, 1, 2)]);
    assert_eq!(back(&mut coordinator, 2, 2), []);
    assert_eq!(reject(&mut coordinator, 2, 1, 2), [], "nobody has failed now");
    assert_eq!(lost(&mut coordinator, 2, 1), [], "an older notice");

    // Before anybody is idle, without waiting for the inquiry.
    let mut coordinator = self::coordinator(RoleSettings { status_inquiry: true, ..settings() });
    assert_eq!(lost(&mut coordinator, 2, 1), []);
    assert_eq!(idle(&mut coordinator, 2, 1, ROOM), [], "a failed one takes nothing");
    assert_eq!(back(&mut coordinator, 2, 2), [asked(0, 2, 1)], "and then it does");
    assert_eq!(idle(&mut coordinator, 0, 1, 0), []);
    assert_eq!(lost(&mut coordinator, 2, 3), [asked(2, 0, 2)]);
    assert_eq!(lost(&mut coordinator, 1, 1), []);
    let ends =
        hear(&mut coordinator, sub(0), Message::TargetLost { target: TargetId(0), request: 1 });
    let over = [0, 1, 2].map(|target| (sub(target), Message::GroupCloseAck));
    assert_eq!((&ends.messages[..], &ends.closed[..]), (&over[..], &[Closed::Role][..]));
}

#[test]
fn it_ends_when_all_groups_have_closed() {
    for settings in [settings(), lossy()] {
        let mut coordinator = coordinator(settings);
        let close = |target| Message::GroupClose { target: TargetId(target) };
        assert_eq!(say(&mut coordinator, 0, close(0)), []);
        assert_eq!(say(&mut coordinator, 0, close(0)), [], "a repetition");
        assert_eq!(say(&mut coordinator, 1, close(1)), []);
        let ends = hear(&mut coordinator, sub(2), close(2));
        let over = [0, 1, 2].map(|target| (sub(target), Message::GroupCloseAck));
        assert_eq!((&ends.messages[..], &ends.closed[..]), (&over[..], &[Closed::Role][..]));
        let again = say(&mut coordinator, 2, close(2));
        let lost_answer = vec![(sub(2), Message::GroupCloseAck)];
        assert_eq!(again, if settings.retry_ns > 0 { lost_answer } else { vec![] });
        let client = hear(&mut coordinator, LAYOUT.client(0), close(2));
        assert!(client.messages.is_empty() && client.closed.is_empty());
    }
}

#[test]
fn what_was_not_answered_is_said_again() {
    let mut coordinator = coordinator(RoleSettings { status_inquiry: true, ..lossy() });
    let offer = |target: u16| Message::WriteIdle {
        target: TargetId(target),
        request: 1,
        allowance_bytes: ROOM,
    };
    let first = Input::Message { from: sub(1), message: offer(1) };
    let set = at(&mut coordinator, 30, first).timers[0];
    assert_eq!((set.id, set.at_ns), (TimerId::Retry, 30 + RETRY_NS));
    reply(&mut coordinator, 1, 1, 0);
    let inquiry = |target| (sub(target), Message::StatusInq { request: 1 });
    let (said, set) = ring(&mut coordinator, set);
    assert_eq!(said, [inquiry(0), inquiry(2)], "who has answered is not asked again");
    reply(&mut coordinator, 0, 1, 10);
    assert_eq!(reply(&mut coordinator, 2, 1, 20), [asked(2, 1, 2)]);
    let (said, set) = ring(&mut coordinator, set.unwrap());
    assert_eq!(said, [asked(2, 1, 2)]);
    assert_eq!(give(&mut coordinator, 2, 1, 2), [more(1, 2, 1)]);
    assert_eq!(idle(&mut coordinator, 1, 1, ROOM), [more(1, 2, 1)], "it was lost");
    assert_eq!(idle(&mut coordinator, 1, 0, ROOM), [], "an older offer");
    assert_eq!(ring(&mut coordinator, set.unwrap()), (vec![], None), "nothing is waited for");

    // A target that failed does not offer again, and may not have what it was given.
    assert_eq!(lost(&mut coordinator, 1, 1), [more(1, 2, 1)]);
    assert_eq!(lost(&mut coordinator, 1, 1), [more(1, 2, 1)]);
    assert_eq!(back(&mut coordinator, 1, 2), []);
    let ask = hear(
        &mut coordinator,
        sub(1),
        Message::WriteIdle { target: TargetId(1), request: 2, allowance_bytes: ROOM },
    );
    assert_eq!(ask.messages.len(), 1);
    assert_eq!(ask.timers.len(), 1, "an answer is waited for");
    assert_eq!(lost(&mut coordinator, 1, 3), [], "it has taken nothing up since");
}

#[test]
fn on_a_transport_that_loses_nothing_no_timer_is_set() {
    let mut coordinator = coordinator(RoleSettings { status_inquiry: true, ..settings() });
    let message = Message::WriteIdle { target: TargetId(1), request: 1, allowance_bytes: ROOM };
    assert!(hear(&mut coordinator, sub(1), message).timers.is_empty());
}
