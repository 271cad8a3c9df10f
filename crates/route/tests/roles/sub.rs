//! The sub-coordinator.

mod again;

use plimsoll_route::coordinated::{RoleSettings, Sub};
use plimsoll_route::{ActorId, Closed, Factor, Failure, Input, Message, TargetId, WriteId};

use super::{FIRST, LAYOUT, SECOND, at, hear, id, lossy, settings};

type Said = Vec<(ActorId, Message)>;

/// The group of the first target: writers 0 and 1.
fn sub(settings: RoleSettings) -> Sub {
    Sub::new(settings, FIRST)
}

fn whole_blocks() -> RoleSettings {
    RoleSettings { part_bytes: 0, ..settings() }
}

fn say(sub: &mut Sub, message: Message) -> Said {
    hear(sub, LAYOUT.coordinator(), message).messages
}

fn submit(sub: &mut Sub, write: WriteId, length_bytes: u64) -> Said {
    say(sub, Message::WriteSubmission { write, length_bytes })
}

fn complete(sub: &mut Sub, write: WriteId, request: u32) -> Said {
    say(sub, Message::WriteComplete { write, target: FIRST, request, length_bytes: 4 })
}

fn fail(sub: &mut Sub, write: WriteId, request: u32) -> Said {
    say(sub, Message::WriteFailed { write, target: FIRST, request, length_bytes: 4 })
}

fn close(sub: &mut Sub, writer: u32, count: u32) -> Said {
    say(sub, Message::WriterClose { writer, count })
}

fn more(sub: &mut Sub, request: u32, write: WriteId, length_bytes: u64) -> Said {
    say(sub, Message::WriteMore { source: SECOND, request, write, length_bytes })
}

fn die(sub: &mut Sub, writer: u32) -> Said {
    at(sub, 0, Input::WriterDied { writer }).messages
}

fn target_fails(sub: &mut Sub, target: TargetId) -> Said {
    at(sub, 0, Input::TargetFailed { target, failure: Failure::Stopped }).messages
}

fn target_is_back(sub: &mut Sub, target: TargetId) -> Said {
    at(sub, 0, Input::TargetBack { target }).messages
}

fn grant(write: WriteId, request: u32, length_bytes: u64) -> (ActorId, Message) {
    let message = Message::DoWrite { write, target: FIRST, request, length_bytes };
    (LAYOUT.client(write.writer), message)
}

fn to_coordinator(message: Message) -> (ActorId, Message) {
    (LAYOUT.coordinator(), message)
}

fn idle(request: u32, allowance_bytes: u64) -> (ActorId, Message) {
    to_coordinator(Message::WriteIdle { target: FIRST, request, allowance_bytes })
}

fn busy(request: u32) -> (ActorId, Message) {
    to_coordinator(Message::WriteBusy { target: FIRST, request })
}

fn group_close() -> (ActorId, Message) {
    to_coordinator(Message::GroupClose { target: FIRST })
}

fn lost(turns: u32) -> (ActorId, Message) {
    to_coordinator(Message::TargetLost { target: FIRST, request: turns })
}

fn back(turns: u32) -> (ActorId, Message) {
    to_coordinator(Message::TargetBack { target: FIRST, request: turns })
}

fn acknowledged(writer: u32, next: u32) -> (ActorId, Message) {
    (LAYOUT.client(writer), Message::SubmissionAck { writer, next })
}

fn given(request: u32, write: WriteId, length_bytes: u64) -> (ActorId, Message) {
    to_coordinator(Message::RerouteAck { taker: SECOND, request, write, length_bytes })
}

fn rejected(request: u32) -> (ActorId, Message) {
    to_coordinator(Message::RerouteReject { taker: SECOND, request })
}

fn ask(sub: &mut Sub, request: u32) -> Said {
    say(sub, Message::RerouteReq { taker: SECOND, request })
}

#[test]
fn one_part_after_the_other_is_let_onto_the_target() {
    let mut sub = sub(settings());
    assert_eq!(submit(&mut sub, id(0, 0, 0), 6), [grant(id(0, 0, 0), 1, 4)]);
    assert_eq!(submit(&mut sub, id(1, 0, 0), 3), [], "the target is in use");
    assert_eq!(complete(&mut sub, id(0, 0, 0), 2), [], "no such grant");
    assert_eq!(complete(&mut sub, id(0, 0, 1), 1), [], "another write");
    let inquiry = Message::StatusInq { request: 5 };
    let queued = |queued_bytes| Message::StatusReply { target: FIRST, request: 5, queued_bytes };
    assert_eq!(say(&mut sub, inquiry), [to_coordinator(queued(2 + 3))]);
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [grant(id(0, 0, 1), 2, 2)]);
    assert_eq!(complete(&mut sub, id(0, 0, 1), 2), [grant(id(1, 0, 0), 3, 3)]);
    assert_eq!(complete(&mut sub, id(1, 0, 0), 3), [idle(1, u64::MAX)]);
    assert_eq!(complete(&mut sub, id(1, 0, 0), 3), [], "once");
    assert_eq!(say(&mut sub, inquiry), [to_coordinator(queued(0))]);
}

#[test]
fn submissions_count_in_their_order_and_once() {
    for settings in [whole_blocks(), RoleSettings { part_bytes: 0, ..lossy() }] {
        let mut sub = sub(settings);
        let answer = |writer: u32, next: u32| match settings.retry_ns {
            0 => vec![],
            _ => vec![acknowledged(writer, next)],
        };
        assert_eq!(submit(&mut sub, id(0, 1, 0), 4), answer(0, 0), "the first is missing");
        assert_eq!(close(&mut sub, 0, 1), answer(0, 0));
        let first = [answer(0, 1), vec![grant(id(0, 0, 0), 1, 4)]].concat();
        assert_eq!(submit(&mut sub, id(0, 0, 0), 4), first);
        assert_eq!(submit(&mut sub, id(0, 0, 0), 4), answer(0, 1), "a repetition");
        assert_eq!(submit(&mut sub, id(2, 0, 0), 4), [], "of another group");
        assert_eq!(close(&mut sub, 2, 0), [], "of another group");
        assert_eq!(close(&mut sub, 0, 1), answer(0, 2));
        assert_eq!(close(&mut sub, 0, 1), answer(0, 2), "a repetition");
        assert_eq!(submit(&mut sub, id(0, 2, 0), 4), answer(0, 2), "it is closed");
        assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, u64::MAX)]);
        assert_eq!(close(&mut sub, 1, 0), [answer(1, 1), vec![group_close()]].concat());
        assert_eq!(close(&mut sub, 1, 0), answer(1, 1), "the group closes once");
    }
}

#[test]
fn an_empty_group_offers_itself_once_it_has_begun_or_will_never() {
    let mut sub = sub(settings());
    assert_eq!(close(&mut sub, 0, 0), [], "the other may submit at once");
    assert_eq!(close(&mut sub, 1, 0), [group_close(), idle(1, u64::MAX)]);

    let mut sub = self::sub(settings());
    assert_eq!(target_fails(&mut sub, SECOND), [], "another one");
    assert_eq!(target_fails(&mut sub, FIRST), [lost(1)]);
    assert_eq!(target_fails(&mut sub, FIRST), [], "it has failed");
    assert_eq!(target_is_back(&mut sub, SECOND), [], "another one");
    assert_eq!(target_is_back(&mut sub, FIRST), [back(2), idle(1, u64::MAX)]);
    assert_eq!(target_is_back(&mut sub, FIRST), [], "it is back");
}

#[test]
fn an_offer_stands_until_it_is_taken_up() {
    let mut sub = sub(whole_blocks());
    submit(&mut sub, id(0, 0, 0), 8);
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, u64::MAX)]);
    // A write of its own comes, and another that could be given away: the offer is not withdrawn.
    assert_eq!(submit(&mut sub, id(0, 1, 0), 8), [grant(id(0, 1, 0), 2, 8)]);
    assert_eq!(submit(&mut sub, id(0, 2, 0), 8), [busy(1)]);
    assert_eq!(submit(&mut sub, id(0, 3, 0), 8), [], "that is known");
    assert_eq!(more(&mut sub, 2, id(2, 0, 0), 8), [], "nothing was offered by that number");
    assert_eq!(more(&mut sub, 1, id(2, 0, 0), 8), []);
    assert_eq!(more(&mut sub, 1, id(2, 1, 0), 8), [], "taken up once");
    assert_eq!(complete(&mut sub, id(0, 1, 0), 2), [grant(id(2, 0, 0), 3, 8)], "it comes next");
    assert_eq!(complete(&mut sub, id(2, 0, 0), 3), [grant(id(0, 2, 0), 4, 8)]);
    assert_eq!(complete(&mut sub, id(0, 2, 0), 4), [grant(id(0, 3, 0), 5, 8)]);
    assert_eq!(complete(&mut sub, id(0, 3, 0), 5), [idle(2, u64::MAX - 8)]);

    // Busy and idle again before anybody took the offer up: the same offer, said again.
    assert_eq!(submit(&mut sub, id(0, 4, 0), 8), [grant(id(0, 4, 0), 6, 8)]);
    assert_eq!(submit(&mut sub, id(0, 5, 0), 8), [busy(2)]);
    assert_eq!(complete(&mut sub, id(0, 4, 0), 6), [grant(id(0, 5, 0), 7, 8)]);
    assert_eq!(complete(&mut sub, id(0, 5, 0), 7), [idle(2, u64::MAX - 8)]);
}

#[test]
fn what_moves_in_is_charged_and_what_is_adopted_is_not() {
    let throttled = RoleSettings { factor: Factor::from_millionths(500_000), ..whole_blocks() };
    let mut sub = sub(throttled);
    submit(&mut sub, id(0, 0, 0), 20);
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, 10)]);
    assert_eq!(more(&mut sub, 1, id(2, 0, 0), 7), [grant(id(2, 0, 0), 2, 7)]);
    assert_eq!(sub.throttle().moved_in_bytes(), 7);
    assert_eq!(complete(&mut sub, id(2, 0, 0), 2), [idle(2, 3)]);
    assert_eq!(more(&mut sub, 2, id(2, 1, 0), 7), [grant(id(2, 1, 0), 3, 7)]);
    assert_eq!(complete(&mut sub, id(2, 1, 0), 3), [idle(3, 0)], "14 of 10 moved in");
    let (source, request, write) = (SECOND, 3, id(2, 2, 0));
    let adopt = Message::WriteAdopt { source, request, write, length_bytes: 12 };
    assert_eq!(say(&mut sub, adopt), [grant(write, 4, 12)]);
    assert_eq!(sub.throttle().moved_in_bytes(), 14);
    assert_eq!(complete(&mut sub, write, 4), [idle(4, 2)], "12 more are its own: 16 - 14");
    // A write without room counts as its own, whatever the coordinator thinks.
    assert_eq!(more(&mut sub, 4, id(3, 0, 0), 2), [grant(id(3, 0, 0), 5, 2)]);
    assert_eq!(complete(&mut sub, id(3, 0, 0), 5), [idle(5, 0)]);
    assert_eq!(more(&mut sub, 5, id(3, 1, 0), 4), [grant(id(3, 1, 0), 6, 4)]);
    assert_eq!(sub.throttle().moved_in_bytes(), 16);
    assert_eq!(complete(&mut sub, id(3, 1, 0), 6), [idle(6, 2)], "18 - 16");
}

#[test]
fn the_last_that_waits_is_given_away_and_what_moved_in_is_not() {
    let mut sub = sub(whole_blocks());
    for (writer, sequence) in [(0, 0), (0, 1), (1, 0)] {
        submit(&mut sub, id(writer, sequence, 0), 5);
    }
    assert_eq!(ask(&mut sub, 1), [given(1, id(1, 0, 0), 5)]);
    assert_eq!(ask(&mut sub, 2), [given(2, id(0, 1, 0), 5)]);
    assert_eq!(ask(&mut sub, 3), [rejected(3)], "what is being written stays");
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, u64::MAX)]);
    // One of them comes back: the group's own again, and not a second time.
    assert_eq!(more(&mut sub, 1, id(1, 0, 0), 5), [grant(id(1, 0, 0), 2, 5)]);
    assert_eq!(sub.throttle().moved_in_bytes(), 0);
    close(&mut sub, 0, 2);
    assert_eq!(close(&mut sub, 1, 1), []);
    assert_eq!(complete(&mut sub, id(1, 0, 0), 2), [idle(2, u64::MAX)]);
    let elsewhere =
        |write| Message::WriteCommitted { write, target: SECOND, request: 1, length_bytes: 5 };
    assert_eq!(say(&mut sub, elsewhere(id(1, 0, 0))), [], "it was written here");
    assert_eq!(say(&mut sub, elsewhere(id(0, 1, 0))), [group_close()]);

    let mut full = self::sub(whole_blocks());
    submit(&mut full, id(0, 0, 0), 5);
    complete(&mut full, id(0, 0, 0), 1);
    submit(&mut full, id(0, 1, 0), 5);
    assert_eq!(more(&mut full, 1, id(2, 0, 0), 6), []);
    assert_eq!(ask(&mut full, 1), [rejected(1)], "what moved in does not move on");
    assert_eq!(target_fails(&mut full, FIRST), [lost(1)]);
    assert_eq!(full.throttle().moved_in_bytes(), 6);
    assert_eq!(ask(&mut full, 2), [given(2, id(2, 0, 0), 6)], "but from a target that failed");
    assert_eq!(full.throttle().moved_in_bytes(), 0);
}

#[test]
fn a_group_that_rejected_says_when_it_has_something_again() {
    let mut sub = sub(whole_blocks());
    submit(&mut sub, id(0, 0, 0), 5);
    assert_eq!(submit(&mut sub, id(0, 1, 0), 5), [], "so it is thought of at first");
    ask(&mut sub, 1);
    assert_eq!(ask(&mut sub, 2), [rejected(2)]);
    assert_eq!(submit(&mut sub, id(0, 2, 0), 5), [busy(0)]);

    let mut sub = self::sub(whole_blocks());
    submit(&mut sub, id(0, 0, 0), 5);
    say(&mut sub, Message::StatusInq { request: 1 });
    assert_eq!(submit(&mut sub, id(0, 1, 0), 5), [busy(0)], "its queue was empty when asked");
    say(&mut sub, Message::StatusInq { request: 2 });
    assert_eq!(submit(&mut sub, id(0, 2, 0), 5), [], "not this time");
}

#[test]
fn a_write_that_failed_goes_to_others_and_so_does_all_that_waits() {
    let mut sub = sub(whole_blocks());
    submit(&mut sub, id(0, 0, 0), 5);
    submit(&mut sub, id(0, 1, 0), 6);
    assert_eq!(fail(&mut sub, id(0, 0, 0), 9), [], "no such grant");
    assert_eq!(fail(&mut sub, id(0, 0, 0), 1), [lost(1)]);
    assert_eq!(ask(&mut sub, 1), [given(1, id(0, 1, 0), 6)]);
    assert_eq!(ask(&mut sub, 2), [given(2, id(0, 0, 0), 5)], "as it was granted");
    assert_eq!(ask(&mut sub, 3), [rejected(3)]);
    // Back: what it hears of grants from before tells nothing about the target now.
    assert_eq!(target_is_back(&mut sub, FIRST), [back(2), idle(1, u64::MAX)]);
    assert_eq!(submit(&mut sub, id(0, 2, 0), 7), [grant(id(0, 2, 0), 2, 7)]);
    assert_eq!(target_fails(&mut sub, FIRST), [lost(3)]);
    assert_eq!(target_is_back(&mut sub, FIRST), [back(4)]);
    assert_eq!(fail(&mut sub, id(0, 2, 0), 2), [grant(id(0, 2, 0), 3, 7)], "tried again");
    assert_eq!(fail(&mut sub, id(0, 2, 0), 3), [lost(5)], "that one was new");
}

#[test]
fn a_writer_that_died_leaves_nothing_behind() {
    let throttled = RoleSettings { factor: Factor::from_millionths(2_000_000), ..whole_blocks() };
    let mut sub = sub(throttled);
    submit(&mut sub, id(0, 0, 0), 20);
    complete(&mut sub, id(0, 0, 0), 1);
    assert_eq!(more(&mut sub, 1, id(2, 0, 0), 7), [grant(id(2, 0, 0), 2, 7)]);
    submit(&mut sub, id(0, 1, 0), 5);
    submit(&mut sub, id(1, 0, 0), 6);
    assert_eq!(sub.throttle().moved_in_bytes(), 7);
    assert_eq!(die(&mut sub, 2), [grant(id(0, 1, 0), 3, 5)], "the target is free");
    assert_eq!(sub.throttle().moved_in_bytes(), 0);
    assert_eq!(die(&mut sub, 0), [grant(id(1, 0, 0), 4, 6)]);
    assert_eq!(die(&mut sub, 0), [], "once");
    assert_eq!(close(&mut sub, 1, 1), []);
    assert_eq!(complete(&mut sub, id(1, 0, 0), 4), [group_close(), idle(2, 40 + 10 + 12)]);
    assert_eq!(more(&mut sub, 2, id(2, 1, 0), 7), [idle(3, 62)], "its data is gone");

    // What waits of it is gone, too, and what others took of it.
    let mut sub = self::sub(throttled);
    submit(&mut sub, id(1, 0, 0), 20);
    complete(&mut sub, id(1, 0, 0), 1);
    submit(&mut sub, id(1, 1, 0), 20);
    more(&mut sub, 1, id(3, 0, 0), 9);
    submit(&mut sub, id(0, 0, 0), 5);
    submit(&mut sub, id(0, 1, 0), 5);
    submit(&mut sub, id(1, 2, 0), 5);
    assert_eq!(ask(&mut sub, 1), [given(1, id(1, 2, 0), 5)]);
    assert_eq!(ask(&mut sub, 2), [given(2, id(0, 1, 0), 5)]);
    assert_eq!(die(&mut sub, 0), []);
    assert_eq!(sub.throttle().moved_in_bytes(), 9, "of another");
    assert_eq!(die(&mut sub, 3), []);
    assert_eq!(sub.throttle().moved_in_bytes(), 0, "it waited");
    assert_eq!(ask(&mut sub, 3), [rejected(3)]);
    assert_eq!(close(&mut sub, 1, 3), []);
    assert_eq!(complete(&mut sub, id(1, 1, 0), 2), [idle(2, 110)]);
    let write = id(1, 2, 0);
    let elsewhere = Message::WriteCommitted { write, target: SECOND, request: 1, length_bytes: 5 };
    assert_eq!(say(&mut sub, elsewhere), [group_close()], "the other's is not forgotten");

    let mut sub = self::sub(whole_blocks());
    close(&mut sub, 0, 0);
    assert_eq!(die(&mut sub, 0), [], "it had closed");
    assert_eq!(die(&mut sub, 1), [group_close(), idle(1, u64::MAX)]);
}

#[test]
fn at_the_end_only_who_has_lost_something_hears_of_it() {
    for settings in [whole_blocks(), RoleSettings { part_bytes: 0, ..lossy() }] {
        let is_lossy = settings.retry_ns > 0;
        let mut sub = sub(settings);
        submit(&mut sub, id(1, 0, 0), 5);
        submit(&mut sub, id(1, 1, 0), 5);
        let over = hear(&mut sub, LAYOUT.coordinator(), Message::GroupCloseAck);
        let give_up = |writer| (LAYOUT.client(writer), Message::GiveUp { writer });
        assert_eq!(over.messages, [give_up(1)]);
        assert_eq!(over.closed, [Closed::Role]);
        assert!(over.timers.is_empty());

        let only_lossy = |said: &[(ActorId, Message)]| match is_lossy {
            true => said.to_vec(),
            false => vec![],
        };
        assert_eq!(submit(&mut sub, id(0, 0, 0), 5), [give_up(0)]);
        assert_eq!(close(&mut sub, 0, 1), only_lossy(&[give_up(0), acknowledged(0, 2)]));
        let write = id(0, 0, 0);
        let message =
            Message::WriteCommitted { write, target: SECOND, request: 1, length_bytes: 5 };
        let counted = (LAYOUT.client(0), Message::CommitAck { write });
        assert_eq!(say(&mut sub, message), only_lossy(&[counted]));
        assert_eq!(ask(&mut sub, 1), []);
        assert_eq!(target_fails(&mut sub, FIRST), []);
        assert_eq!(target_is_back(&mut sub, FIRST), []);
    }
}
