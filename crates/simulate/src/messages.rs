//! Messages between machines that are on their way, on a network that may lose or repeat them.

use std::collections::VecDeque;

use plimsoll_route::{ActorId, Input, Message};
use plimsoll_stats::Random;

/// What the network is like.
pub struct MessageSettings {
    /// From sending to arrival.
    pub latency_ns: u64,
    /// Time for which a message keeps its receiver busy.
    pub cost_ns: u64,
    /// Share that gets lost.
    pub loss: f64,
    /// Share that arrives twice.
    pub repeat: f64,
    /// For both.
    pub random: Random,
}

/// Messages on their way. The latency is the same for all, so they arrive in the order in
/// which they were sent and need no heap.
pub struct Messages {
    settings: MessageSettings,
    on_the_way: VecDeque<InTransit>,
    /// Waiting for a busy receiver, or sent twice: indexed by the queue's event.
    delayed: Vec<Option<InTransit>>,
    free: Vec<u32>,
    /// Of each actor; empty where messages cost no time.
    busy_until_ns: Vec<u64>,
}

/// A message that was sent.
#[derive(Debug, Clone, Copy)]
pub struct InTransit {
    /// When it arrives.
    pub at_ns: u64,
    /// Its place in the order of scheduling.
    pub sequence: u64,
    /// Who sent it.
    pub from: u32,
    /// Who gets it.
    pub to: u32,
    /// What it says.
    pub message: Message,
}

/// What becomes of a message that is sent.
pub enum Sent {
    /// It arrives.
    Once,
    /// It arrives, and again at another time.
    Twice {
        /// When.
        again_at_ns: u64,
    },
    /// It gets lost.
    Lost,
}

/// What becomes of a message that arrives.
pub enum Arrival {
    /// Its receiver handles it at once.
    Handled(InTransit),
    /// Its receiver is busy with others, until then.
    Waits {
        /// When it is handled.
        at_ns: u64,
        /// The message.
        message: InTransit,
    },
}

impl Messages {
    /// None yet, for this many actors.
    pub fn new(settings: MessageSettings, actors: usize) -> Self {
        Messages {
            on_the_way: VecDeque::new(),
            delayed: Vec::new(),
            free: Vec::new(),
            busy_until_ns: if settings.cost_ns > 0 { vec![0; actors] } else { Vec::new() },
            settings,
        }
    }

    /// Returns from sending to arrival.
    pub fn latency_ns(&self) -> u64 {
        self.settings.latency_ns
    }

    /// Returns true when no message is under way.
    pub fn are_delivered(&self) -> bool {
        self.on_the_way.is_empty() && self.delayed.len() == self.free.len()
    }

    /// Returns when the next message arrives and its place in the order.
    #[inline]
    pub fn next(&self) -> Option<(u64, u64)> {
        self.on_the_way.front().map(|sent| (sent.at_ns, sent.sequence))
    }

    /// Sends a message, and returns what becomes of it.
    pub fn send(&mut self, message: InTransit) -> Sent {
        let MessageSettings { latency_ns, loss, repeat, random, .. } = &mut self.settings;
        if *loss > 0.0 && random.unit() < *loss {
            return Sent::Lost;
        }
        self.on_the_way.push_back(message);
        if *repeat > 0.0 && random.unit() < *repeat {
            // The copy is late, so that it overtakes nothing but arrives among newer ones.
            let late_ns = random.below(20) * (*latency_ns + 1);
            return Sent::Twice { again_at_ns: message.at_ns + late_ns };
        }
        Sent::Once
    }

    /// Takes the message that arrives next.
    #[inline]
    pub fn arrive(&mut self, now_ns: u64) -> Option<Arrival> {
        let message = self.on_the_way.pop_front()?;
        if let Some(busy_until_ns) = self.busy_until_ns.get_mut(message.to as usize) {
            let at_ns = (*busy_until_ns).max(now_ns);
            *busy_until_ns = at_ns + self.settings.cost_ns;
            if at_ns > now_ns {
                return Some(Arrival::Waits { at_ns, message });
            }
        }
        Some(Arrival::Handled(message))
    }

    /// Keeps a message for later, and returns the number to take it by.
    pub fn delay(&mut self, message: InTransit) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.delayed.push(None);
            self.delayed.len() as u32 - 1
        });
        self.delayed[index as usize] = Some(message);
        index
    }

    /// Takes a message that was delayed.
    pub fn take_delayed(&mut self, index: u32) -> Option<InTransit> {
        let message = self.delayed[index as usize].take()?;
        self.free.push(index);
        Some(message)
    }
}

impl InTransit {
    /// Returns who gets it, and as what.
    pub fn input(self) -> (u32, Input) {
        (self.to, Input::Message { from: ActorId(self.from), message: self.message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(cost_ns: u64, loss: f64, repeat: f64) -> Messages {
        let random = Random::new(1);
        Messages::new(MessageSettings { latency_ns: 10, cost_ns, loss, repeat, random }, 2)
    }

    fn message(sequence: u64) -> InTransit {
        let message = Message::GroupCloseAck;
        InTransit { at_ns: 10, sequence, from: 0, to: 1, message }
    }

    #[test]
    fn a_busy_receiver_handles_one_after_the_other() {
        let mut messages = messages(3, 0.0, 0.0);
        for sequence in 1..=3 {
            assert!(matches!(messages.send(message(sequence)), Sent::Once));
        }
        assert_eq!(messages.next(), Some((10, 1)));
        assert!(matches!(messages.arrive(10), Some(Arrival::Handled(it)) if it.sequence == 1));
        for (sequence, handled_ns) in [(2, 13), (3, 16)] {
            let Some(Arrival::Waits { at_ns, message }) = messages.arrive(10) else { panic!() };
            assert_eq!((at_ns, message.sequence), (handled_ns, sequence));
            assert_eq!(messages.delay(message), sequence as u32 - 2);
        }
        assert!(!messages.are_delivered());
        assert_eq!(messages.take_delayed(1).unwrap().sequence, 3);
        assert_eq!(messages.delay(message(4)), 1, "its place is used again");
        assert!(messages.take_delayed(0).is_some() && messages.take_delayed(1).is_some());
        assert!(messages.are_delivered() && messages.take_delayed(1).is_none());
    }

    #[test]
    fn messages_get_lost_or_come_twice_as_often_as_the_network_says() {
        assert!(matches!(messages(0, 1.0, 1.0).send(message(1)), Sent::Lost));
        let mut repeating = messages(0, 0.0, 1.0);
        let Sent::Twice { again_at_ns } = repeating.send(message(1)) else { panic!() };
        assert!(again_at_ns >= 10);
        assert!(repeating.arrive(10).is_some() && repeating.arrive(10).is_none());
        let mut half = messages(0, 0.0, 0.5);
        let late: Vec<u64> = (0..1000)
            .filter_map(|sequence| match half.send(message(sequence)) {
                Sent::Twice { again_at_ns } => Some(again_at_ns - 10),
                _ => None,
            })
            .collect();
        assert!((420..580).contains(&late.len()), "{}", late.len());
        // Up to twenty latencies of 10 ns and a bit late, so that newer ones are handled before.
        assert!(late.iter().all(|ns| ns.is_multiple_of(11) && *ns < 220));
        assert!(late.contains(&0) && late.contains(&209));
    }
}
