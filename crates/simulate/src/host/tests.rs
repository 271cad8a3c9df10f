use plimsoll_stats::Random;

use super::*;
use crate::scenario::embedded;

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
    let program = Program::new(&scenario.application);
    Host::new(Vec::new(), Stages::new(&scenario.storage, 1.0), program, settings, 2)
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
