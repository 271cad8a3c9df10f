//! What one at a time may do, with waits that can end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What one at a time may do.
#[derive(Debug, Default)]
pub struct Turn {
    is_taken: Mutex<bool>,
    given_back: Condvar,
}

/// It is somebody's until this is dropped.
#[derive(Debug)]
pub struct Taken<'a> {
    turn: &'a Turn,
}

impl Turn {
    /// Waits until nobody else has it.
    pub fn take(&self) -> Taken<'_> {
        let waited = self.given_back.wait_while(self.locked(), |is_taken| *is_taken);
        *waited.unwrap_or_else(PoisonError::into_inner) = true;
        Taken { turn: self }
    }

    /// Does the same; `None` if that takes longer.
    pub fn take_within(&self, limit: Duration) -> Option<Taken<'_>> {
        let waited = self.given_back.wait_timeout_while(self.locked(), limit, |it| *it);
        let (mut is_taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *is_taken {
            return None;
        }
        *is_taken = true;
        Some(Taken { turn: self })
    }

    fn locked(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.turn.locked() = false;
        self.turn.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_others_wait_no_longer_than_they_said() {
        let turn = Turn::default();
        let taken = turn.take();
        assert!(turn.take_within(Duration::from_millis(1)).is_none());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(turn.take()));
            drop(taken);
            other.join().unwrap();
        });
        assert!(turn.take_within(Duration::ZERO).is_some());
        assert!(turn.take_within(Duration::ZERO).is_some(), "it was given back");
    }
}
