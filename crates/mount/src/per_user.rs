//! How much of something each user has, so that nobody takes it from all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts by user, up to a bound. The user who mounted has none: it is theirs.
#[derive(Debug, Clone)]
pub struct PerUser {
    most: usize,
    without_bound: u32,
    taken: Arc<Mutex<HashMap<u32, usize>>>,
}

/// What a user has, given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    user: u32,
    count: usize,
    of: PerUser,
}

impl PerUser {
    /// Each user may have this many, and one user any number.
    pub fn new(most: usize, without_bound: u32) -> Self {
        PerUser { most, without_bound, taken: Arc::default() }
    }

    /// Takes so many for a user; `None` if that would be too many.
    pub fn take(&self, user: u32, count: usize) -> Option<Share> {
        let mut taken = self.taken();
        let before = taken.get(&user).copied().unwrap_or(0);
        let after = before.checked_add(count)?;
        if after > self.most && user != self.without_bound {
            return None;
        }
        taken.insert(user, after);
        Some(Share { user, count, of: self.clone() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        if let Some(count) = taken.get_mut(&self.user) {
            *count = count.saturating_sub(self.count);
            if *count == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_cannot_take_what_is_for_others() {
        let files = PerUser::new(3, 0);
        let first = files.take(1, 2).unwrap();
        assert!(files.take(1, 2).is_none());
        let second = files.take(1, 1).unwrap();
        assert!(files.take(1, 1).is_none());
        let other = files.take(2, 3).unwrap();
        drop(first);
        assert!(files.take(1, 3).is_none());
        assert!(files.take(1, 2).is_some());
        drop((second, other));
        assert!(files.taken().is_empty(), "nothing is kept of users who have nothing");
    }

    #[test]
    fn the_one_who_mounted_has_no_bound() {
        let files = PerUser::new(3, 7);
        let all: Vec<Share> = (0..100).map(|_| files.take(7, 5).unwrap()).collect();
        assert!(files.take(7, usize::MAX).is_none(), "nor can it be counted");
        assert!(files.take(8, 3).is_some());
        drop(all);
        assert!(files.taken().is_empty());
    }
}
