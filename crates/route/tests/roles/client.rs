//! The client.

use plimsoll_route::coordinated::{Client, RoleSettings};
use plimsoll_route::{
    ActorId, Attempt, Closed, Failure, Input, Message, Refusal, RefusalReason, TargetId, Timer,
    TimerId, WriteId,
};

use super::model::Effects;
use super::{FIRST, LAYOUT, RETRY_NS, SECOND, at, hear, id, lossy, ring, settings};

/// Writer 2, whose own target is the second.
const WRITER: u32 = 2;

fn client(settings: RoleSettings) -> Client {
    Client::new(settings, WRITER)
}

fn submit(client: &mut Client, length_bytes: u64) -> Vec<(ActorId, Message)> {
    at(client, 0, Input::Submit { writer: WRITER, length_bytes }).messages
}

fn close(client: &mut Client) -> Effects {
    at(client, 0, Input::Close { writer: WRITER })
}

fn grant(client: &mut Client, write: WriteId, target: TargetId, request: u32) -> Effects {
    let message = Message::DoWrite { write, target, request, length_bytes: 4 };
    hear(client, LAYOUT.sub(target), message)
}

fn start(client: &mut Client, write: WriteId, target: TargetId, request: u32) -> Attempt {
    let started = grant(client, write, target, request).started;
    assert_eq!(started.len(), 1, "{write:?}");
    started[0]
}

fn done(client: &mut Client, attempt: Attempt) -> Effects {
    at(client, 0, Input::AttemptDone { attempt: attempt.attempt, pending_until_ns: 0 })
}

fn failed(client: &mut Client, attempt: Attempt) -> Effects {
    let failure = Failure::Full;
    at(client, 0, Input::AttemptFailed { attempt: attempt.attempt, failure })
}

fn submission(sequence: u32, length_bytes: u64) -> (ActorId, Message) {
    let write = id(WRITER, sequence, 0);
    (LAYOUT.sub(SECOND), Message::WriteSubmission { write, length_bytes })
}

fn closing(count: u32) -> (ActorId, Message) {
    (LAYOUT.sub(SECOND), Message::WriterClose { writer: WRITER, count })
}

fn complete(write: WriteId, target: TargetId, request: u32, bytes: u64) -> (ActorId, Message) {
    let message = Message::WriteComplete { write, target, request, length_bytes: bytes };
    (LAYOUT.sub(target), message)
}

fn committed(write: WriteId, target: TargetId, request: u32, bytes: u64) -> (ActorId, Message) {
    let message = Message::WriteCommitted { write, target, request, length_bytes: bytes };
    (LAYOUT.sub(SECOND), message)
}

fn refused(write: WriteId, target: TargetId, request: u32, bytes: u64) -> (ActorId, Message) {
    let message = Message::WriteFailed { write, target, request, length_bytes: bytes };
    (LAYOUT.sub(target), message)
}

fn closed(committed_bytes: u64, lost_bytes: u64) -> [Closed; 1] {
    [Closed::Writer { writer: WRITER, committed_bytes, lost_bytes }]
}

#[test]
fn blocks_are_written_in_parts_where_and_when_it_is_told() {
    let mut client = client(settings());
    assert_eq!(submit(&mut client, 10), [submission(0, 10)]);
    assert_eq!(submit(&mut client, 0), [], "nothing is no submission");
    assert_eq!(submit(&mut client, 5), [submission(1, 5)]);
    let other = at(&mut client, 0, Input::Submit { writer: 3, length_bytes: 5 });
    assert!(other.messages.is_empty(), "of another");

    let mut attempts = Vec::new();
    for (write, offset_bytes, length_bytes) in [
        (id(WRITER, 1, 1), 4, 1),
        (id(WRITER, 0, 2), 8, 2),
        (id(WRITER, 0, 0), 0, 4),
        (id(WRITER, 1, 0), 0, 4),
    ] {
        let attempt = start(&mut client, write, SECOND, 7);
        assert_eq!((attempt.write, attempt.target), (write, SECOND));
        assert_eq!((attempt.offset_bytes, attempt.length_bytes), (offset_bytes, length_bytes));
        let again = grant(&mut client, write, SECOND, 7);
        assert!(again.started.is_empty() && again.messages.is_empty(), "it is being written");
        attempts.push(attempt);
    }
    for strange in [id(WRITER, 0, 3), id(WRITER, 1, 2), id(WRITER, 2, 0), id(3, 0, 0)] {
        let effects = grant(&mut client, strange, SECOND, 7);
        assert!(effects.started.is_empty() && effects.messages.is_empty(), "{strange:?}");
    }
    for attempt in attempts {
        let effects = done(&mut client, attempt);
        assert_eq!(effects.committed, [attempt]);
        let told = complete(attempt.write, SECOND, 7, attempt.length_bytes);
        assert_eq!(effects.messages, [told], "who granted is who counts");
        let again = done(&mut client, attempt);
        assert!(again.committed.is_empty() && again.messages.is_empty(), "it ends once");
    }
    // The second block is all written but the first is not: both are still known.
    let told = grant(&mut client, id(WRITER, 1, 0), FIRST, 9).messages;
    assert_eq!(told, [complete(id(WRITER, 1, 0), FIRST, 9, 4)], "it is written already");
    let last = start(&mut client, id(WRITER, 0, 1), SECOND, 8);
    assert_eq!((last.offset_bytes, last.length_bytes), (4, 4));
    let effects = close(&mut client);
    assert_eq!(effects.messages, [closing(2)]);
    assert!(effects.closed.is_empty(), "one is being written");
    assert_eq!(done(&mut client, last).closed, closed(15, 0));

    // Both are forgotten, and still known to be written.
    for forgotten in [id(WRITER, 0, 1), id(WRITER, 1, 0)] {
        let told = grant(&mut client, forgotten, FIRST, 9).messages;
        assert_eq!(told, [complete(forgotten, FIRST, 9, 4)]);
    }
    let strange = grant(&mut client, id(WRITER, 2, 0), FIRST, 9);
    assert!(strange.messages.is_empty(), "it never was");
    assert!(grant(&mut client, id(3, 0, 0), FIRST, 9).messages.is_empty(), "of another");
    let again = close(&mut client);
    assert!(again.messages.is_empty() && again.closed.is_empty(), "it closes once");
    assert_eq!(submit(&mut client, 5), [], "and submits no more");
}

#[test]
fn later_blocks_have_attempts_of_their_own_after_earlier_ones_are_forgotten() {
    let mut client = client(settings());
    let mut seen = Vec::new();
    for sequence in 0..3 {
        assert_eq!(submit(&mut client, 8), [submission(sequence, 8)]);
        for part in 0..2 {
            let attempt = start(&mut client, id(WRITER, sequence, part), SECOND, sequence);
            assert_eq!(attempt.write, id(WRITER, sequence, part));
            assert!(!seen.contains(&attempt.attempt));
            seen.push(attempt.attempt);
            assert_eq!(done(&mut client, attempt).committed, [attempt]);
        }
    }
}

#[test]
fn what_moved_is_told_to_who_granted_and_to_who_counts() {
    let mut client = client(settings());
    submit(&mut client, 4);
    let attempt = start(&mut client, id(WRITER, 0, 0), FIRST, 3);
    let said = done(&mut client, attempt).messages;
    let write = id(WRITER, 0, 0);
    assert_eq!(said, [complete(write, FIRST, 3, 4), committed(write, FIRST, 3, 4)]);
}

#[test]
fn a_failed_write_waits_for_another_grant() {
    let write = id(WRITER, 0, 1);
    for settings in [settings(), lossy()] {
        let mut client = client(settings);
        submit(&mut client, 6);
        let first = start(&mut client, write, FIRST, 3);
        assert_eq!(failed(&mut client, first).messages, [refused(write, FIRST, 3, 2)]);
        assert!(failed(&mut client, first).messages.is_empty(), "once");
        assert!(done(&mut client, first).committed.is_empty(), "it has failed");
        let again = grant(&mut client, write, FIRST, 3);
        if settings.retry_ns > 0 {
            let told = [refused(write, FIRST, 3, 4)];
            assert_eq!((again.started.len(), &again.messages[..]), (0, &told[..]), "a late copy");
        } else {
            assert_eq!(again.started.len(), 1, "it is the only one");
            failed(&mut client, again.started[0]);
        }
        let second = start(&mut client, write, SECOND, 3);
        assert_ne!(second.attempt, first.attempt);
        assert!(done(&mut client, first).committed.is_empty(), "the old attempt");
        assert_eq!(done(&mut client, second).committed, [second]);
        let told = grant(&mut client, write, FIRST, 3).messages;
        assert_eq!(told, [complete(write, FIRST, 3, 4)], "it is written, though not there");
    }
}

#[test]
fn a_late_copy_of_a_refused_grant_is_known_until_its_own_write_is_done() {
    let mut client = client(lossy());
    submit(&mut client, 8);
    let (first, second) = (id(WRITER, 0, 0), id(WRITER, 0, 1));
    for write in [first, second] {
        let attempt = start(&mut client, write, FIRST, 3);
        failed(&mut client, attempt);
    }
    let attempt = start(&mut client, first, SECOND, 4);
    done(&mut client, attempt);
    let late = grant(&mut client, second, FIRST, 3);
    assert_eq!((late.started.len(), late.messages), (0, vec![refused(second, FIRST, 3, 4)]));
}

#[test]
fn without_targets_what_is_not_committed_is_lost() {
    let mut client = client(settings());
    submit(&mut client, 10);
    submit(&mut client, 3);
    let first = start(&mut client, id(WRITER, 0, 0), SECOND, 1);
    done(&mut client, first);
    let under_way = start(&mut client, id(WRITER, 0, 1), SECOND, 2);
    close(&mut client);
    let other = hear(&mut client, LAYOUT.sub(SECOND), Message::GiveUp { writer: 3 });
    assert!(other.closed.is_empty(), "of another");
    let over = hear(&mut client, LAYOUT.sub(SECOND), Message::GiveUp { writer: WRITER });
    assert_eq!(over.closed, closed(4, 9));
    assert!(done(&mut client, under_way).committed.is_empty(), "it is not waited for");
}

/// Returns the timer that these effects set.
fn timer(effects: &Effects) -> Timer {
    assert_eq!(effects.timers.len(), 1);
    effects.timers[0]
}

#[test]
fn what_was_not_answered_is_said_again() {
    let mut client = client(lossy());
    let sub = LAYOUT.sub(SECOND);
    let set = timer(&at(&mut client, 50, Input::Submit { writer: WRITER, length_bytes: 4 }));
    assert_eq!((set.id, set.at_ns), (TimerId::Retry, 50 + RETRY_NS));
    for _ in 1..20 {
        let more = at(&mut client, 60, Input::Submit { writer: WRITER, length_bytes: 4 });
        assert!(more.timers.is_empty(), "it is set already");
    }
    close(&mut client);
    let old = Timer { generation: set.generation.wrapping_sub(1), ..set };
    assert_eq!(ring(&mut client, old), (vec![], None), "that one was not asked for");

    let sixteen = |from: u32| (from..from + 16).map(|it| submission(it, 4)).collect::<Vec<_>>();
    let (said, next) = ring(&mut client, set);
    assert_eq!(said, sixteen(0), "not all at a time, and the close when all are known");
    let next = next.unwrap();
    assert_eq!(next.at_ns, set.at_ns + RETRY_NS);
    assert_ne!(next.generation, set.generation);
    hear(&mut client, sub, Message::SubmissionAck { writer: 3, next: 9 });
    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: 2 });
    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: 1 });
    let (said, next) = ring(&mut client, next);
    assert_eq!(said, sixteen(2), "an older answer tells nothing new");
    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: 20 });
    let (said, next) = ring(&mut client, next.unwrap());
    assert_eq!(said, [closing(20)]);

    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: 21 });
    let (said, next) = ring(&mut client, next.unwrap());
    assert_eq!(said, [closing(20)], "it waits for grants, and a GIVE_UP may be lost");
    for sequence in 0..20 {
        let attempt = start(&mut client, id(WRITER, sequence, 0), SECOND, sequence + 1);
        let effects = done(&mut client, attempt);
        assert_eq!(effects.closed.len(), usize::from(sequence == 19));
    }
    let (_, next) = ring(&mut client, next.unwrap());
    assert_eq!(next, None, "everything was answered");
}

#[test]
fn a_close_is_said_until_it_is_known() {
    let mut client = client(lossy());
    let other = at(&mut client, 0, Input::Close { writer: 3 });
    assert!(other.messages.is_empty() && other.timers.is_empty(), "of another");
    let closes = close(&mut client);
    assert_eq!((&closes.messages[..], &closes.closed[..]), (&[closing(0)][..], &closed(0, 0)[..]));
    let (said, next) = ring(&mut client, timer(&closes));
    assert_eq!(said, [closing(0)]);
    hear(&mut client, LAYOUT.sub(SECOND), Message::SubmissionAck { writer: WRITER, next: 1 });
    assert_eq!(ring(&mut client, next.unwrap()).1, None);
}

#[test]
fn a_commit_elsewhere_is_said_until_it_is_counted() {
    let mut client = client(lossy());
    let sub = LAYOUT.sub(SECOND);
    let set = timer(&at(&mut client, 0, Input::Submit { writer: WRITER, length_bytes: 8 }));
    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: 1 });
    let (first, second) = (id(WRITER, 0, 0), id(WRITER, 0, 1));
    for (write, request) in [(first, 5), (second, 6)] {
        let attempt = start(&mut client, write, FIRST, request);
        let said = done(&mut client, attempt).messages;
        assert_eq!(said, [complete(write, FIRST, request, 4), committed(write, FIRST, request, 4)]);
    }
    let (said, next) = ring(&mut client, set);
    assert_eq!(said, [committed(first, FIRST, 5, 4), committed(second, FIRST, 6, 4)]);
    hear(&mut client, LAYOUT.sub(FIRST), Message::CommitAck { write: first });
    hear(&mut client, LAYOUT.sub(FIRST), Message::CommitAck { write: first });
    hear(&mut client, LAYOUT.sub(FIRST), Message::CommitAck { write: id(WRITER, 0, 9) });
    let (said, next) = ring(&mut client, next.unwrap());
    assert_eq!(said, [committed(second, FIRST, 6, 4)]);
    hear(&mut client, LAYOUT.sub(FIRST), Message::CommitAck { write: second });
    assert_eq!(ring(&mut client, next.unwrap()), (vec![], None), "all is known");

    // An answer that promises more than was submitted must not hide what comes later.
    hear(&mut client, sub, Message::SubmissionAck { writer: WRITER, next: u32::MAX });
    let set = timer(&at(&mut client, 0, Input::Submit { writer: WRITER, length_bytes: 3 }));
    assert_eq!(ring(&mut client, set).0, [submission(1, 3)]);
}

#[test]
fn what_comes_after_the_close_or_from_others_is_refused() {
    let mut client = client(settings());
    let say = |client: &mut Client, writer| {
        at(client, 0, Input::Submit { writer, length_bytes: 5 }).refused
    };
    let refusal = |writer, reason| vec![Refusal { writer, length_bytes: 5, reason }];
    assert_eq!(say(&mut client, WRITER), []);
    assert_eq!(say(&mut client, WRITER + 1), refusal(WRITER + 1, RefusalReason::UnknownWriter));
    close(&mut client);
    assert_eq!(say(&mut client, WRITER), refusal(WRITER, RefusalReason::Closed));
}
