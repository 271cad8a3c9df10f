//! What a sub-coordinator says again where messages get lost.

use plimsoll_route::coordinated::RoleSettings;
use plimsoll_route::{Failure, Input, Message, Timer, TimerId};

use super::*;
use crate::model::Effects;
use crate::{RETRY_NS, ring};

fn timer(effects: Effects) -> Timer {
    assert_eq!(effects.timers.len(), 1);
    effects.timers[0]
}

#[test]
fn what_was_not_answered_is_said_again() {
    let mut sub = sub(RoleSettings { part_bytes: 0, ..lossy() });
    let first = Message::WriteSubmission { write: id(0, 0, 0), length_bytes: 8 };
    let from = LAYOUT.client(0);
    let set = timer(at(&mut sub, 30, Input::Message { from, message: first }));
    assert_eq!((set.id, set.at_ns), (TimerId::Retry, 30 + RETRY_NS));
    let (said, set) = ring(&mut sub, set);
    assert_eq!(said, [grant(id(0, 0, 0), 1, 8)]);
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, u64::MAX)]);
    let (said, set) = ring(&mut sub, set.unwrap());
    assert_eq!(said, [idle(1, u64::MAX)]);
    assert_eq!(more(&mut sub, 1, id(2, 0, 0), 8), [grant(id(2, 0, 0), 2, 8)]);
    assert_eq!(complete(&mut sub, id(2, 0, 0), 2), [idle(2, u64::MAX - 8)]);
    submit(&mut sub, id(0, 1, 0), 8);
    let (said, set) = ring(&mut sub, set.unwrap());
    assert_eq!(said, [grant(id(0, 1, 0), 3, 8)], "an offer is not said while it is busy");

    assert_eq!(submit(&mut sub, id(0, 2, 0), 8), [acknowledged(0, 3), busy(2)]);
    assert_eq!(target_fails(&mut sub, FIRST), [lost(1)]);
    let (said, set) = ring(&mut sub, set.unwrap());
    assert_eq!(said, [grant(id(0, 1, 0), 3, 8), lost(1), busy(2)]);
    assert_eq!(ask(&mut sub, 7), [given(7, id(0, 2, 0), 8)]);
    assert_eq!(ask(&mut sub, 7), [given(7, id(0, 2, 0), 8)], "the answer was lost");
    assert_eq!(ask(&mut sub, 6), [], "an older request");
    assert_eq!(ask(&mut sub, 8), [rejected(8)]);
    assert_eq!(ask(&mut sub, 8), [rejected(8)]);
    let other = Message::RerouteReq { taker: FIRST, request: 1 };
    let rejects = to_coordinator(Message::RerouteReject { taker: FIRST, request: 1 });
    assert_eq!(say(&mut sub, other), [rejects], "every taker has answers of its own");
    let (said, set) = ring(&mut sub, set.unwrap());
    assert_eq!(said, [grant(id(0, 1, 0), 3, 8), lost(1)], "there is nothing to give");

    assert_eq!(target_is_back(&mut sub, FIRST), [back(2)]);
    assert_eq!(complete(&mut sub, id(0, 1, 0), 3), [idle(2, u64::MAX - 8)]);
    let committed =
        Message::WriteCommitted { write: id(0, 2, 0), target: SECOND, request: 1, length_bytes: 8 };
    let counted = (LAYOUT.client(0), Message::CommitAck { write: id(0, 2, 0) });
    assert_eq!(say(&mut sub, committed), [counted]);
    assert_eq!(say(&mut sub, committed), [counted], "the answer was lost");
    close(&mut sub, 0, 3);
    assert_eq!(close(&mut sub, 1, 0), [acknowledged(1, 1), group_close()]);
    let (said, set) = ring(&mut sub, set.unwrap());
    assert_eq!(said, [idle(2, u64::MAX - 8), back(2), group_close()]);
    say(&mut sub, Message::GroupCloseAck);
    assert_eq!(ring(&mut sub, set.unwrap()).1, None, "all is over");
}

#[test]
fn who_waits_for_nothing_sets_no_timer() {
    let mut sub = sub(lossy());
    assert!(
        hear(&mut sub, LAYOUT.client(0), Message::WriterClose { writer: 0, count: 0 })
            .timers
            .is_empty()
    );
    let mut reliable = super::sub(settings());
    let submission = Message::WriteSubmission { write: id(0, 0, 0), length_bytes: 8 };
    assert!(hear(&mut reliable, LAYOUT.client(0), submission).timers.is_empty());
    for (name, message) in [
        ("an offer", Message::WriterClose { writer: 1, count: 0 }),
        ("a grant", Message::WriteSubmission { write: id(1, 0, 0), length_bytes: 8 }),
    ] {
        let mut sub = super::sub(lossy());
        hear(&mut sub, LAYOUT.client(0), Message::WriterClose { writer: 0, count: 0 });
        assert_eq!(hear(&mut sub, LAYOUT.client(1), message).timers.len(), 1, "{name}");
    }
    let mut failed = super::sub(lossy());
    let failure = Input::TargetFailed { target: FIRST, failure: Failure::Full };
    assert_eq!(at(&mut failed, 0, failure).timers.len(), 1, "the end may come any time");
}

/// A write that went, came back and went again is still one write.
#[test]
fn what_is_given_away_twice_is_counted_once() {
    let mut sub = super::sub(RoleSettings { part_bytes: 0, ..lossy() });
    for sequence in 0..3 {
        submit(&mut sub, id(0, sequence, 0), 8);
    }
    assert_eq!(ask(&mut sub, 1), [given(1, id(0, 2, 0), 8)]);
    assert_eq!(ask(&mut sub, 2), [given(2, id(0, 1, 0), 8)]);
    assert_eq!(complete(&mut sub, id(0, 0, 0), 1), [idle(1, u64::MAX)]);
    assert_eq!(target_fails(&mut sub, FIRST), [lost(1)]);
    assert_eq!(more(&mut sub, 1, id(0, 2, 0), 8), [], "that it gives all away is known");
    assert_eq!(ask(&mut sub, 3), [given(3, id(0, 2, 0), 8)]);
    close(&mut sub, 0, 3);
    close(&mut sub, 1, 0);
    let write = id(0, 2, 0);
    let counted = (LAYOUT.client(0), Message::CommitAck { write });
    for _ in 0..2 {
        let message =
            Message::WriteCommitted { write, target: SECOND, request: 1, length_bytes: 8 };
        assert_eq!(say(&mut sub, message), [counted], "one of three is not committed");
    }
    let write = id(0, 1, 0);
    let message = Message::WriteCommitted { write, target: SECOND, request: 1, length_bytes: 8 };
    let counted = (LAYOUT.client(0), Message::CommitAck { write });
    assert_eq!(say(&mut sub, message), [counted, group_close()]);
}

#[test]
fn an_answer_stays_what_it_was() {
    let mut sub = super::sub(RoleSettings { part_bytes: 0, ..lossy() });
    submit(&mut sub, id(0, 0, 0), 8);
    assert_eq!(ask(&mut sub, 8), [rejected(8)]);
    assert_eq!(submit(&mut sub, id(1, 0, 0), 8), [acknowledged(1, 1), busy(0)]);
    assert_eq!(ask(&mut sub, 8), [rejected(8)], "the answer was lost");
    assert_eq!(ask(&mut sub, 9), [given(9, id(1, 0, 0), 8)]);
}
