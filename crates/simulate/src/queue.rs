//! The future: what will happen, in order of time and then of scheduling.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Simulated time ends here: 2^56 ns are two years.
pub const HORIZON_NS: u64 = 1 << TIME_BITS;

const TIME_BITS: u32 = 56;
const SEQUENCE_BITS: u32 = 40;
const INDEX_BITS: u32 = 28;
const KIND_BITS: u32 = 4;
const WHAT_BITS: u32 = KIND_BITS + INDEX_BITS;

/// What a scheduled moment is for. The index is into the array of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The earliest job of a target may be done.
    Service(u32),
    /// The noise of a target changes.
    Noise(u32),
    /// All processes have computed and write.
    Burst,
    /// A timer of a machine may be due.
    Timer(u32),
    /// A message that waited for its receiver, or was sent twice, is handled.
    Delivery(u32),
    /// Something breaks or comes back.
    Fault(u32),
    /// A target that stopped long ago has failed for good.
    GiveUp(u32),
    /// A machine looks which of its writes have ended.
    Look(u32),
    /// A process has computed and has a block to hand over.
    Thought(u32),
    /// A buffer has taken in a block.
    Entered(u32),
}

/// Time, then order of scheduling, then what: one integer, so that the heap moves 16 bytes
/// and compares once.
type Key = u128;

/// Scheduled events. Equal times come out in the order in which they went in, so a run
/// depends on nothing but its inputs.
#[derive(Debug, Default)]
pub struct EventQueue {
    /// The earliest, in order, so that what they need can be asked for beforehand. All others
    /// are later.
    soon: VecDeque<Key>,
    later: BinaryHeap<Reverse<Key>>,
    sequence: u64,
}

/// How many events are kept in order: at least, if there are as many, and at most.
const SOON_MIN: usize = 32;
const SOON_MAX: usize = 128;

/// An event and when it was scheduled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// When it is due.
    pub at_ns: u64,
    /// Its place in the order of scheduling: the name of this very entry.
    pub sequence: u64,
    /// What.
    pub event: Event,
}

impl EventQueue {
    /// The next place in the order of scheduling, for things that wait elsewhere.
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Schedules an event and returns the name of its entry. Times beyond the horizon
    /// are the horizon: a run that gets there is stopped.
    pub fn push(&mut self, at_ns: u64, event: Event) -> u64 {
        let sequence = self.next_sequence();
        let at = u128::from(at_ns.min(HORIZON_NS - 1));
        let (kind, index) = encode(event);
        let low = u128::from(sequence) << WHAT_BITS | u128::from(kind << INDEX_BITS | index);
        self.insert(at << (SEQUENCE_BITS + WHAT_BITS) | low);
        sequence
    }

    /// When the next event is due and its place in the order.
    pub fn peek(&self) -> Option<(u64, u64)> {
        self.soon.front().map(|key| (time(*key), sequence(*key)))
    }

    /// The event that is due after `others` others, if that is known.
    pub fn upcoming(&self, others: usize) -> Option<Event> {
        self.soon.get(others).map(|key| decode(*key as u32))
    }

    /// Takes the next event out.
    pub fn pop(&mut self) -> Option<Scheduled> {
        let key = self.soon.pop_front()?;
        if self.soon.len() < SOON_MIN {
            let more = std::iter::from_fn(|| self.later.pop()).map(|Reverse(key)| key);
            self.soon.extend(more.take(SOON_MIN));
        }
        Some(Scheduled { at_ns: time(key), sequence: sequence(key), event: decode(key as u32) })
    }

    fn insert(&mut self, key: Key) {
        let is_soon = self.later.is_empty() || self.soon.back().is_some_and(|last| key < *last);
        if !is_soon {
            return self.later.push(Reverse(key));
        }
        let place = self.soon.partition_point(|known| *known < key);
        self.soon.insert(place, key);
        if self.soon.len() > SOON_MAX {
            self.later.extend(self.soon.pop_back().map(Reverse));
        }
    }
}

fn time(key: Key) -> u64 {
    (key >> (SEQUENCE_BITS + WHAT_BITS)) as u64
}

fn sequence(key: Key) -> u64 {
    (key >> WHAT_BITS) as u64 & ((1 << SEQUENCE_BITS) - 1)
}

fn encode(event: Event) -> (u32, u32) {
    match event {
        Event::Service(index) => (0, index),
        Event::Noise(index) => (1, index),
        Event::Burst => (2, 0),
        Event::Timer(index) => (3, index),
        Event::Delivery(index) => (4, index),
        Event::Fault(index) => (5, index),
        Event::GiveUp(index) => (6, index),
        Event::Look(index) => (7, index),
        Event::Thought(index) => (8, index),
        Event::Entered(index) => (9, index),
    }
}

fn decode(low: u32) -> Event {
    let index = low & ((1 << INDEX_BITS) - 1);
    match low >> INDEX_BITS {
        0 => Event::Service(index),
        1 => Event::Noise(index),
        2 => Event::Burst,
        3 => Event::Timer(index),
        4 => Event::Delivery(index),
        5 => Event::Fault(index),
        6 => Event::GiveUp(index),
        7 => Event::Look(index),
        8 => Event::Thought(index),
        _ => Event::Entered(index),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_of_scheduling(
            times in proptest::collection::vec(0u64..1000, 0..200),
        ) {
            let mut queue = EventQueue::default();
            let index = |i: usize| (i as u32) << 10;
            for (i, at) in times.iter().enumerate() {
                queue.push(*at << 40, Event::Timer(index(i)));
            }
            let mut expected: Vec<(u64, usize)> =
                times.iter().enumerate().map(|(i, at)| (*at << 40, i)).collect();
            expected.sort_unstable();
            for (at, i) in expected {
                let next = queue.pop().unwrap();
                prop_assert_eq!((next.at_ns, next.event), (at, Event::Timer(index(i))));
            }
            prop_assert!(queue.pop().is_none());
        }

        /// As in a run: events follow from events, some at once and some much later.
        #[test]
        fn events_that_follow_from_others_come_in_order_too(
            steps in proptest::collection::vec((0usize..4, 0u64..500), 1..1500),
        ) {
            let (mut queue, mut expected) = (EventQueue::default(), BTreeSet::new());
            let (mut now, mut index) = (0, 0);
            for (new, later) in steps {
                for nth in 0..new as u64 {
                    index += 1;
                    let at = now + later * nth;
                    let sequence = queue.push(at, Event::Delivery(index));
                    expected.insert((at, sequence, index));
                }
                prop_assert_eq!(queue.peek(), expected.first().map(|it| (it.0, it.1)));
                let next = queue.pop().map(|it| (it.at_ns, it.sequence, it.event));
                let first = expected.pop_first();
                prop_assert_eq!(next, first.map(|(at, n, index)| (at, n, Event::Delivery(index))));
                now = next.map_or(now, |(at, ..)| at);
            }
            for (at, sequence, index) in expected {
                let next = queue.pop().map(|it| (it.at_ns, it.sequence, it.event));
                prop_assert_eq!(next, Some((at, sequence, Event::Delivery(index))));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn kinds_and_appointments_survive_packing() {
        let mut queue = EventQueue::default();
        let last = (1 << INDEX_BITS) - 1;
        let kinds = [
            Event::Service,
            Event::Noise,
            Event::Timer,
            Event::Delivery,
            Event::Fault,
            Event::GiveUp,
            Event::Look,
            Event::Thought,
        ];
        let events: Vec<Event> =
            kinds.iter().flat_map(|kind| [kind(last), kind(0)]).chain([Event::Burst]).collect();
        let names: Vec<u64> = events.iter().map(|event| queue.push(7, *event)).collect();
        for (event, name) in events.into_iter().zip(names) {
            let next = queue.pop().unwrap();
            assert_eq!((next.event, next.sequence, next.at_ns), (event, name, 7));
        }
        queue.push(u64::MAX, Event::Fault(1));
        assert_eq!(queue.peek().map(|(at, _)| at), Some(HORIZON_NS - 1));
    }
}
