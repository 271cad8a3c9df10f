//! Attempts: their names, second ones, and those that are late.

use plimsoll_route::placement::Timing;
use plimsoll_route::{Attempt, AttemptId, Factor, Input, Node, TargetId, TimerId, WriteId};

use super::{ByHand, Script, node, stops};

#[test]
fn attempts_have_names_of_their_own_and_places_are_used_again() {
    let mut node = node(1, 1, Factor::NONE);
    let mut names: Vec<AttemptId> = Vec::new();
    for nth in 0..100 {
        let started = node.submit(10, 4, &[(0, 4)]);
        let attempt = started[0].attempt;
        assert!(!names.contains(&attempt) && attempt.slot < 4, "{attempt:?}");
        for old in &names {
            let old = Input::AttemptDone { attempt: *old, pending_until_ns: 0 };
            assert!(node.at(0, old).committed.is_empty(), "it ended before");
        }
        names.push(attempt);
        assert_eq!(started[0].write, WriteId { writer: 10, sequence: nth, part: 0 });
        assert_eq!(node.end(started[0]).committed, started);
    }
}

#[test]
fn a_second_attempt_is_asked_for_when_nothing_waits_and_a_lane_is_idle() {
    let mut node = node(1, 3, Factor::NONE);
    let started = node.submit(10, 16, &[(0, 4), (0, 4), (1, 4)]);
    node.end(started[2]);
    assert!(node.policy().asked_to_rescue.is_empty(), "something waits");
    node.policy_mut().places.extend([(1, 4)]);
    let last = node.end(started[0]).started;
    assert!(node.policy().asked_to_rescue.is_empty(), "its lane has more under way");
    node.policy_mut().rescues.extend([1, 9]);
    let ended = node.end(started[1]);
    assert_eq!(node.policy().asked_to_rescue, [(1, true)], "of what is under way");
    assert!(ended.started.is_empty(), "not where it is");
    assert_eq!(node.end(last[0]).committed.len(), 1);
    assert_eq!(node.policy().asked_to_rescue, [(1, true)], "nothing is under way");
}

/// A part on lanes 0 and 1, after another one: the second attempt began at 10 ns.
fn tried_twice(lanes: u16) -> (Node<Script>, Attempt, Attempt) {
    let mut node = node(1, lanes, Factor::NONE);
    let started = node.submit(10, 8, &[(2, 4), (0, 4)]);
    node.policy_mut().rescues.extend([1]);
    let attempt = started[0].attempt;
    let second = node.at(10, Input::AttemptDone { attempt, pending_until_ns: 10 }).started;
    assert_eq!((second.len(), second[0].write), (1, started[1].write));
    assert_eq!((second[0].target, second[0].offset_bytes), (TargetId(1), 4));
    (node, started[1], second[0])
}

#[test]
fn the_first_attempt_that_ends_counts_and_the_other_is_superseded() {
    let (mut node, first, second) = tried_twice(3);
    assert_eq!(node.placed(), [4, 4, 4]);
    let ended = node.end(second);
    assert_eq!((ended.committed, ended.superseded), (vec![second], vec![first.attempt]));
    assert_eq!(node.placed(), [0, 4, 4], "only what counts");
    let ended = node.end(first);
    assert!(ended.committed.is_empty() && ended.superseded.is_empty());
    let (mut node, first, second) = tried_twice(3);
    let ended = node.end(first);
    assert_eq!((ended.committed, ended.superseded), (vec![first], vec![second.attempt]));
    let (mut node, first, second) = tried_twice(3);
    let failed = node.fail(first);
    assert!(failed.started.is_empty(), "the other is under way");
    assert!(!node.policy().waiting.last().unwrap().is_retry);
    assert_eq!(node.end(second).committed, [second]);
}

#[test]
fn of_two_attempts_that_are_stuck_the_oldest_is_not_waited_for() {
    let (mut node, first, second) = tried_twice(5);
    node.fail(first);
    node.policy_mut().rescues.extend([3]);
    let third = node.at(20, Input::Begin).started;
    assert_eq!(third[0].target, TargetId(3));
    node.at(30, stops(1));
    node.policy_mut().places.extend([(4, 4)]);
    let fourth = node.at(40, stops(3)).started;
    assert_eq!((fourth.len(), fourth[0].target), (1, TargetId(4)));
    assert!(node.end(second).committed.is_empty(), "the one of 10 ns");
    assert_eq!(node.end(third[0]).committed, third, "the one of 20 ns may still end");
}

#[test]
fn reactions_to_what_is_late_are_counted_by_attempt() {
    let mut node = node(1, 2, Factor::NONE);
    node.policy_mut().look_every_ns = Some(100);
    node.policy_mut().places.extend([(0, 4), (1, 4)]);
    let first = node.at(5, Input::Submit { writer: 10, length_bytes: 8 });
    let mut timer = first.timers[0];
    assert_eq!((timer.id, timer.at_ns, first.timers.len()), (TimerId::Overdue, 105, 1));
    for reactions in 0..3 {
        let input = Input::Timer { id: timer.id, generation: timer.generation };
        timer = node.at(timer.at_ns, input).timers[0];
        let expected = [(0, reactions), (1, reactions)];
        assert_eq!(node.policy().overdue[2 * usize::from(reactions)..], expected);
    }
    let end = Input::AttemptDone { attempt: first.started[0].attempt, pending_until_ns: 400 };
    node.at(450, end);
    let expected =
        Timing { lane: 0, length_bytes: 4, at_least_ns: 395, at_most_ns: 445, older_bytes: 0 };
    assert_eq!(node.policy().ended, [expected]);
}

#[test]
fn a_policy_hears_when_much_was_tried_a_second_time() {
    const MIB: u64 = 1 << 20;
    let mut node = node(1, 2, Factor::NONE);
    let much = |node: &Node<Script>| -> Vec<bool> {
        node.policy().asked_to_rescue.iter().map(|(_, is_much)| *is_much).collect()
    };
    // A twentieth of what was submitted: 2 MiB of 40.
    let places: Vec<_> = (0..40).map(|_| (0, MIB)).collect();
    node.submit(10, 40 * MIB, &places);
    node.policy_mut().rescues.extend([1; 40]);
    node.at(0, Input::Close { writer: 10 });
    assert_eq!(much(&node), (0..40).map(|before| before >= 2).collect::<Vec<_>>());
}

#[test]
fn of_what_may_come_some_is_tried_in_advance() {
    const KIB: u64 = 1 << 10;
    // A twentieth of 3,840 KiB are 192 KiB, a third of that are 64 KiB.
    for (closes, most) in [(true, 3), (false, 4)] {
        let mut node = node(1, 3, Factor::NONE);
        let mut places = vec![(0, 64 * KIB); 59];
        places.push((2, 64 * KIB));
        let started = node.submit(10, 60 * 64 * KIB, &places);
        node.policy_mut().rescues.extend([1; 60]);
        if closes {
            node.at(0, Input::Close { writer: 10 });
        } else {
            node.end(started[59]);
        }
        let asked = &node.policy().asked_to_rescue;
        assert_eq!(asked.iter().take_while(|(_, is_much)| !is_much).count(), most);
    }
}
