//! Words as a process sees them that may be killed between any two of its stores.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_route::lease::Word;

thread_local! {
    /// Stores that the process at work may still do.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Runs what a process does until its `stores`th store, after which it is dead: nothing that it does then has an effect.
/// Says whether it was killed before its end.
pub fn killed_after<R>(stores: u32, work: impl FnOnce() -> R) -> (R, bool) {
    LEFT.set(stores);
    let result = work();
    let is_killed = LEFT.get() == 0;
    LEFT.set(u32::MAX);
    (result, is_killed)
}

fn may_store() -> bool {
    let left = LEFT.get();
    if left != u32::MAX && left > 0 {
        LEFT.set(left - 1);
    }
    left > 0
}

/// One word.
#[derive(Debug, Default)]
pub struct Shared(AtomicU64);

impl Word for Shared {
    fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn set(&self, value: u64) {
        // A store that changes nothing is not worth a kill of its own.
        if self.get() != value && may_store() {
            self.0.store(value, Ordering::SeqCst);
        }
    }

    fn replace(&self, known: u64, new: u64) -> bool {
        let is_known = self.get() == known;
        if is_known && may_store() {
            self.0.store(new, Ordering::SeqCst);
        }
        is_known
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Shared(AtomicU64::new(self.get()))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}
