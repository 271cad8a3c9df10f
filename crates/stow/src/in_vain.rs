//! How long looks at other users' containers took in vain. Each look has an end, but a hostile user can make many containers, of each of which a program asks.

use std::time::{Duration, Instant};

/// How long a look at another user's container takes that has hardly anything in it.
const LOOK: Duration = Duration::from_secs(1);

/// The same, once so much time was spent in vain. It comes back after a while without such looks.
const SHORT_LOOK: Duration = Duration::from_millis(20);
const MUCH: Duration = Duration::from_secs(3);
const WHILE: Duration = Duration::from_secs(30);

/// What takes less in vain is no matter.
const LONG: Duration = Duration::from_millis(50);

/// Of what took long and was not in vain, a part counts.
const SEEN_PART: u32 = 20;

/// The time that was spent in vain.
#[derive(Debug, Default)]
pub struct InVain {
    took: Duration,
    last: Option<Instant>,
}

impl InVain {
    /// Returns how long the next look at another user's container may take, if there is hardly anything in it ([`crate::Container::within_time`]).
    pub fn next_look(&self) -> Duration {
        let is_over = self.last.is_none_or(|it| it.elapsed() > WHILE);
        if is_over || self.took < MUCH { LOOK } else { SHORT_LOOK }
    }

    /// A look at another user's container took so long, and was not in vain. Many of them hold up whoever looks all the same, if later.
    pub fn note_seen(&mut self, took: Duration) {
        if took >= LONG {
            self.add(took / SEEN_PART);
        }
    }

    /// A look at another user's container took so long, and failed.
    pub fn note(&mut self, took: Duration) {
        if took >= LONG {
            self.add(took);
        }
    }

    fn add(&mut self, took: Duration) {
        if self.last.is_some_and(|it| it.elapsed() > WHILE) {
            self.took = Duration::ZERO;
        }
        self.took = self.took.saturating_add(took);
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_short_after_much_was_in_vain() {
        let mut in_vain = InVain::default();
        (0..1000).for_each(|_| in_vain.note(LONG / 2));
        assert_eq!(in_vain.next_look(), LOOK, "what is quick is no matter");
        in_vain.note(MUCH - LONG);
        assert_eq!(in_vain.next_look(), LOOK);
        in_vain.note(LONG);
        assert_eq!(in_vain.next_look(), SHORT_LOOK);
        let mut seen = InVain::default();
        (0..1000).for_each(|_| seen.note_seen(LONG / 2));
        seen.note_seen(MUCH * (SEEN_PART - 1));
        assert_eq!(seen.next_look(), LOOK);
        seen.note_seen(MUCH);
        assert_eq!(seen.next_look(), SHORT_LOOK, "a minute of looks at strangers' containers");
        in_vain.last = Instant::now().checked_sub(WHILE + LONG);
        assert_eq!(in_vain.next_look(), LOOK, "that was long ago");
        in_vain.note(LONG);
        assert_eq!(in_vain.next_look(), LOOK, "and counts no more");
    }
}
