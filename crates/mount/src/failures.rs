//! Others' containers that could not be looked at, and took long: programs look at a file several times, and a hostile one would take as long each time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fuser::Errno;
use plimsoll_stow::InVain;

use crate::place::Identity;

/// What takes less is looked at again.
const LONG: Duration = Duration::from_millis(50);

/// A failure is told again for so many times as long as it took, so that it takes a small part of the time of one thread, and for so long at most.
const TIMES_AS_LONG: u32 = 10;
const TOLD_MAX: Duration = Duration::from_secs(30);

/// More are forgotten.
const REMEMBERED_MAX: usize = 4096;

/// After somebody was waited for in vain, nobody is for a while: whoever holds one of many holds all.
const WITHOUT_WAITING: Duration = Duration::from_secs(5);

/// Others' containers that could not be looked at.
#[derive(Debug, Default)]
pub struct Failures {
    state: Mutex<Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    failed: HashMap<Identity, (Errno, Instant)>,
    waited: Option<Instant>,
    in_vain: InVain,
}

impl Failures {
    /// Returns why a container could not be looked at a moment ago.
    pub fn of(&self, identity: Identity) -> Option<Errno> {
        let state = self.state();
        let (why, until) = state.failed.get(&identity)?;
        (Instant::now() < *until).then_some(*why)
    }

    /// It could not be looked at, which took so long.
    pub fn note(&self, identity: Identity, why: Errno, took: Duration) {
        if took < LONG {
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        state.in_vain.note(took);
        if state.failed.len() >= REMEMBERED_MAX {
            state.failed.retain(|_, (_, until)| now < *until);
        }
        if state.failed.len() >= REMEMBERED_MAX {
            state.failed.clear();
        }
        let until = now + took.saturating_mul(TIMES_AS_LONG).min(TOLD_MAX);
        state.failed.insert(identity, (why, until));
    }

    /// It could be looked at, which took so long.
    pub fn note_seen(&self, took: Duration) {
        self.state().in_vain.note_seen(took);
    }

    /// Returns how long the next look may take at a container that has hardly anything in it.
    pub fn next_look(&self) -> Duration {
        self.state().in_vain.next_look()
    }

    /// Somebody who holds a container was waited for in vain.
    pub fn note_waited(&self) {
        self.state().waited = Some(Instant::now());
    }

    /// Returns whether that was just now.
    pub fn has_waited(&self) -> bool {
        self.state().waited.is_some_and(|it| it.elapsed() < WITHOUT_WAITING)
    }

    fn state(&self) -> MutexGuard<'_, Remembered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_after_long_fails_again_for_a_while() {
        let failures = Failures::default();
        failures.note((1, 1), Errno::EIO, LONG / 2);
        failures.note((1, 2), Errno::EFBIG, LONG);
        let number = |identity| failures.of(identity).map(|it| it.code());
        assert_eq!([(1, 1), (1, 2), (1, 3)].map(number), [None, Some(Errno::EFBIG.code()), None]);
        std::thread::sleep(TIMES_AS_LONG * LONG);
        assert_eq!(number((1, 2)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let failures = Failures::default();
        for number in 0..3 * REMEMBERED_MAX as u64 {
            failures.note((1, number), Errno::EIO, TOLD_MAX);
        }
        assert!(failures.state().failed.len() <= REMEMBERED_MAX);
    }
}
