//! What waits, what is in flight and what was lost.

use plimsoll_route::placement::Waiting;
use plimsoll_route::{Closed, Factor, Input, Node, Refusal, RefusalReason, TargetId, WriteId};

use super::{ByHand, Script, is_back, node, stops};

#[test]
fn a_policy_hears_of_what_waits_when_it_may_matter() {
    let mut node = node(2, 2, Factor::NONE);
    let first = node.submit(10, 10, &[(0, 4)]);
    let told = Waiting {
        writer: 0,
        length_bytes: 10,
        offset_bytes: 0,
        submission_bytes: 10,
        is_retry: false,
        node_bytes: 10,
        is_last: false,
        only_lane: None,
    };
    let rest = Waiting { length_bytes: 6, offset_bytes: 4, node_bytes: 6, ..told };
    assert_eq!(node.policy().waiting, [told, rest]);
    assert_eq!(node.policy().lanes, [(0, 2, u64::MAX), (4, 1, u64::MAX)]);
    assert_eq!((first.len(), first[0].length_bytes, first[0].target), (1, 4, TargetId(0)));
    // There was no room, so more that waits changes nothing.
    assert!(node.submit(11, 5, &[]).is_empty() && node.submit(10, 7, &[]).is_empty());
    node.at(0, Input::Close { writer: 10 });
    assert_eq!(node.policy().waiting.len(), 2);
    node.at(0, Input::Close { writer: 10 });
    assert_eq!(node.policy().waiting.len(), 2, "it closes once");
    node.at(0, Input::Close { writer: 11 });
    let last = Waiting { node_bytes: 18, is_last: true, ..rest };
    assert_eq!(node.policy().waiting[2..], [last], "but that nothing more comes does");
    // Room where something ended.
    node.policy_mut().places.extend([(1, 6)]);
    let next = node.end(first[0]).started;
    assert_eq!(node.policy().waiting[3], Waiting { only_lane: Some(0), ..last });
    assert_eq!((next.len(), next[0].offset_bytes, next[0].length_bytes), (1, 4, 6));
    let second = node.policy().waiting[4];
    assert_eq!((second.writer, second.length_bytes, second.node_bytes), (1, 5, 12));
    assert_eq!(node.policy().lanes[3..], [(0, 2, u64::MAX), (6, 1, u64::MAX)]);
    assert_eq!(node.submit(10, 5, &[]).len(), 0);
    assert_eq!(node.asked(), (5, 0, 12), "it has closed");

    let mut other = super::node(1, 2, Factor::NONE);
    assert!(other.submit(10, 0, &[]).is_empty() && other.submit(11, 5, &[]).is_empty());
    assert!(other.policy().waiting.is_empty(), "nothing, and of nobody");
    assert_eq!(other.submit(10, 5, &[(0, 5)]).len(), 1);
    assert_eq!(other.submit(10, 6, &[(1, 6)]).len(), 1, "the one before is not waited for");
}

#[test]
fn a_node_moves_whatever_its_policy_says() {
    let mut node = node(1, 2, Factor::NONE);
    let started = node.submit(10, 10, &[(7, 4)]);
    assert_eq!((started[0].target, started[0].length_bytes), (TargetId(0), 10), "no such lane");
    node.end(started[0]);
    let started = node.submit(10, 10, &[(1, 0)]);
    assert_eq!((started[0].target, started[0].length_bytes), (TargetId(0), 10), "nothing of it");
    assert!(node.submit(10, 10, &[(1, 0)]).is_empty(), "something moves already");
    assert_eq!(node.end(started[0]).started.len(), 1, "the rest, since nothing moves");
}

#[test]
fn the_throttle_is_the_fair_share_and_its_allowance() {
    let most = |node: &Node<Script>| node.policy().lanes.last().unwrap().2;
    let mut node = node(1, 2, Factor::from_millionths(500_000));
    node.submit(10, 9, &[(0, 9)]);
    assert_eq!(most(&node), 5 + 3, "half of 9 and half of that, rounded up");
    assert_eq!(node.placed(), [9, 0]);
    assert!(node.is_throttle_kept(2) && !node.is_throttle_kept(1), "9 are less than 8 and 2");
    let started = node.submit(10, 11, &[(0, 4), (1, 4)]);
    assert_eq!(most(&node), 10 + 5);
    assert_eq!(started.iter().map(|it| it.target.0).collect::<Vec<_>>(), [0, 1]);
    assert!(node.submit(10, 1, &[]).is_empty());
    let asked = node.policy().waiting.len();
    node.submit(10, 1, &[]);
    assert_eq!(node.policy().waiting.len(), asked + 1, "more to write is more room");
    node.at(0, stops(1));
    assert_eq!(most(&node), 22 + 11, "all of it is for one target");
    assert!(!node.is_throttle_kept(0) || node.placed()[0] < 33);
    node.at(0, stops(0));
    assert!(node.is_throttle_kept(0), "of targets that failed nothing is asked");
    let mut unbounded = super::node(1, 2, Factor::NONE);
    unbounded.submit(10, 9, &[(0, 9)]);
    assert_eq!(most(&unbounded), u64::MAX);
}

#[test]
fn what_failed_waits_again_as_it_was() {
    let mut node = node(1, 3, Factor::NONE);
    let started = node.submit(10, 10, &[(0, 4), (1, 6)]);
    let failed = node.fail(started[1]);
    assert!(failed.started.is_empty());
    let again = *node.policy().waiting.last().unwrap();
    assert!(again.is_retry && again.writer == 0);
    assert_eq!((node.asked(), again.submission_bytes), ((6, 4, 6), 10));
    assert_eq!(node.placed(), [4, 0, 0]);
    node.policy_mut().places.extend([(2, 1)]);
    let again = node.end(started[0]).started;
    assert_eq!((again[0].write, again[0].length_bytes), (started[1].write, 6), "whole");
    assert_eq!(again[0].target, TargetId(2));
    node.submit(10, 3, &[]);
    assert_eq!(node.asked(), (3, 0, 3), "nothing else waits");
}

#[test]
fn what_ends_after_all_on_a_target_that_stopped_counts_and_waits_no_more() {
    let mut node = node(1, 2, Factor::NONE);
    let started = node.submit(10, 10, &[(0, 5), (1, 5)]);
    node.at(0, stops(0));
    assert_eq!(node.asked(), (5, 0, 5), "it is to be tried elsewhere");
    let ended = node.end(started[0]);
    assert_eq!(ended.committed, [started[0]]);
    node.end(started[1]);
    node.submit(10, 3, &[]);
    assert_eq!(node.asked(), (3, 0, 3));
}

#[test]
fn what_is_lost_without_targets_waits_no_more() {
    let mut node = node(2, 2, Factor::NONE);
    let started = node.submit(10, 10, &[(0, 4)]);
    node.submit(10, 20, &[]);
    node.submit(11, 30, &[]);
    node.at(0, stops(1));
    node.at(0, stops(0));
    let closes = node.at(0, Input::Close { writer: 11 });
    let lost = |writer, lost_bytes| Closed::Writer { writer, committed_bytes: 0, lost_bytes };
    assert_eq!(closes.closed, [lost(11, 30)]);
    node.submit(10, 40, &[]);
    node.at(0, is_back(1));
    let next = node.submit(10, 5, &[(1, 5)]);
    assert_eq!(node.asked(), (5, 0, 5), "the rest was lost");
    assert_eq!(next[0].write, WriteId { writer: 10, sequence: 3, part: 0 });
    assert!(node.end(started[0]).committed.is_empty(), "it was lost");
    let ended = node.end(next[0]);
    assert_eq!(ended.committed, next);
    let closes = node.at(0, Input::Close { writer: 10 }).closed;
    assert_eq!(closes, [Closed::Writer { writer: 10, committed_bytes: 5, lost_bytes: 70 }]);
    assert!(node.at(0, Input::Close { writer: 10 }).closed.is_empty(), "once");
}

#[test]
fn what_died_with_its_writer_is_not_counted_any_more() {
    let mut node = node(3, 3, Factor::NONE);
    // One is under way, one waits to be tried again, and one waits.
    let started = node.submit(10, 10, &[(0, 4), (1, 6)]);
    node.submit(10, 20, &[]);
    let other = node.submit(11, 7, &[]);
    assert!(other.is_empty());
    node.fail(started[1]);
    assert_eq!(node.asked(), (6, 4, 6 + 20 + 7));
    let dies = node.at(0, Input::WriterDied { writer: 10 });
    let lost = Closed::Writer { writer: 10, committed_bytes: 0, lost_bytes: 30 };
    assert_eq!(dies.closed, [lost]);
    assert_eq!(dies.started.len(), 1, "nothing moves, so the other's goes somewhere");
    assert_eq!(node.placed(), [7, 0, 0]);
    assert!(node.end(started[0]).committed.is_empty());
    node.submit(12, 3, &[]);
    assert_eq!(node.asked(), (3, 0, 3));
    assert!(node.at(0, Input::WriterDied { writer: 10 }).closed.is_empty(), "once");
    // Two of three have not closed: more may come until both have.
    let is_last = |node: &Node<Script>| node.policy().waiting.last().unwrap().is_last;
    assert!(!is_last(&node));
    node.at(0, Input::WriterDied { writer: 11 });
    assert!(!is_last(&node));
    node.at(0, Input::Close { writer: 12 });
    node.at(0, Input::WriterDied { writer: 12 });
    let mut node = super::node(2, 1, Factor::NONE);
    let first = node.submit(10, 4, &[(0, 4)]);
    node.submit(11, 4, &[]);
    node.at(0, Input::WriterDied { writer: 10 });
    assert_eq!(node.asked(), (4, 0, 4));
    assert!(!is_last(&node));
    assert!(node.end(first[0]).committed.is_empty());
    node.submit(11, 4, &[]);
    node.at(0, Input::Close { writer: 11 });
    assert!(is_last(&node));
}

#[test]
fn what_a_closed_or_unknown_writer_submits_is_refused() {
    let mut node = node(2, 1, Factor::NONE);
    let refusal = |writer, reason| vec![Refusal { writer, length_bytes: 5, reason }];
    let late = |writer| Input::Submit { writer, length_bytes: 5 };
    assert_eq!(node.at(0, late(10)).refused, []);
    node.at(0, Input::Close { writer: 10 });
    assert_eq!(node.at(0, late(10)).refused, refusal(10, RefusalReason::Closed));
    node.at(0, Input::WriterDied { writer: 11 });
    assert_eq!(node.at(0, late(11)).refused, refusal(11, RefusalReason::Closed));
    for unknown in [9, 12] {
        let expected = refusal(unknown, RefusalReason::UnknownWriter);
        assert_eq!(node.at(0, late(unknown)).refused, expected);
    }
}
