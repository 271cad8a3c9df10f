//! When nodes notice that writes have ended: at once, or only when they look.

use std::collections::VecDeque;

use plimsoll_route::{AttemptId, Input};

/// Ends that nobody has noticed yet. A node looks at equal intervals, each node at moments of its own, and
/// whenever a timer wakes it.
pub struct Notice {
    /// 0 is at once.
    every_ns: u64,
    /// Of each machine; both are empty where ends are noticed at once.
    unnoticed: Vec<Vec<AttemptId>>,
    looked_ns: Vec<u64>,
}

/// Nodes look at different moments, which this spreads over the interval. A prime, so that neighbours
/// differ at any interval.
const APART_NS: u64 = 7_919_317;

impl Notice {
    /// Nothing has ended yet.
    pub fn new(every_ns: u64, actors: usize) -> Self {
        let actors = if every_ns > 0 { actors } else { 0 };
        Notice { every_ns, unnoticed: vec![Vec::new(); actors], looked_ns: vec![0; actors] }
    }

    /// True if ends are noticed later than they happen.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.every_ns > 0
    }

    /// An attempt has ended. Returns when its node looks next, if nobody has asked for this look yet.
    pub fn end(&mut self, now_ns: u64, actor: u32, attempt: AttemptId) -> Option<u64> {
        let unnoticed = &mut self.unnoticed[actor as usize];
        let is_first = unnoticed.is_empty();
        unnoticed.push(attempt);
        let shift_ns = self.shift_ns(actor);
        let next = (now_ns + shift_ns) / self.every_ns + 1;
        is_first.then_some(next * self.every_ns - shift_ns)
    }

    /// A node looks: what ended is put into `inputs`, with its last look as the moment at which it was
    /// known not to have ended.
    pub fn look(&mut self, now_ns: u64, actor: u32, inputs: &mut VecDeque<(u32, Input)>) {
        if !self.is_late() {
            return;
        }
        let shift_ns = self.shift_ns(actor);
        let before = (now_ns + shift_ns).saturating_sub(1) / self.every_ns;
        let regular_ns = (before * self.every_ns).saturating_sub(shift_ns);
        let looked_ns = &mut self.looked_ns[actor as usize];
        let pending_until_ns = (*looked_ns).max(regular_ns).min(now_ns);
        *looked_ns = now_ns;
        let done = |attempt| (actor, Input::AttemptDone { attempt, pending_until_ns });
        inputs.extend(self.unnoticed[actor as usize].drain(..).map(done));
    }

    /// How much earlier than at full intervals a node looks.
    fn shift_ns(&self, actor: u32) -> u64 {
        u64::from(actor) * APART_NS % self.every_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(slot: u32) -> AttemptId {
        AttemptId { slot, generation: 0 }
    }

    fn looked(notice: &mut Notice, now_ns: u64, actor: u32) -> Vec<(u32, u64)> {
        let mut inputs = VecDeque::new();
        notice.look(now_ns, actor, &mut inputs);
        let seen = |(of, input)| match input {
            Input::AttemptDone { attempt, pending_until_ns } if of == actor => {
                (attempt.slot, pending_until_ns)
            }
            _ => panic!("not an end of {actor}"),
        };
        inputs.into_iter().map(seen).collect()
    }

    #[test]
    fn ends_are_noticed_together_at_the_next_look() {
        let mut notice = Notice::new(100, 2);
        assert_eq!(notice.end(30, 0, attempt(1)), Some(100));
        assert_eq!(notice.end(70, 0, attempt(2)), None, "that look is asked for");
        // 7,919,317 is 17 more than a multiple of 100: the second node looks at 83, 183, ...
        assert_eq!(notice.end(70, 1, attempt(3)), Some(83));
        assert_eq!(looked(&mut notice, 83, 1), [(3, 0)]);
        assert_eq!(looked(&mut notice, 100, 0), [(1, 0), (2, 0)]);
        assert_eq!(notice.end(100, 0, attempt(4)), Some(200), "too late for that look");
        assert_eq!(notice.end(350, 1, attempt(5)), Some(383));
        assert_eq!(looked(&mut notice, 383, 1), [(5, 283)], "it looked in between and saw nothing");
        assert_eq!(looked(&mut notice, 200, 0), [(4, 100)]);
    }

    #[test]
    fn a_look_out_of_turn_counts_as_one() {
        let mut notice = Notice::new(100, 1);
        notice.end(30, 0, attempt(1));
        assert_eq!(looked(&mut notice, 40, 0), [(1, 0)]);
        assert_eq!(
            notice.end(45, 0, attempt(2)),
            Some(100),
            "asked for again: nobody is told twice"
        );
        assert_eq!(looked(&mut notice, 100, 0), [(2, 40)]);
        assert_eq!(looked(&mut notice, 100, 0), []);
    }

    #[test]
    fn who_notices_at_once_keeps_nothing() {
        let mut notice = Notice::new(0, 1000);
        assert!(!notice.is_late() && notice.unnoticed.is_empty());
        assert_eq!(looked(&mut notice, 5, 7), []);
    }
}
