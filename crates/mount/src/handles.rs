//! What programs have open, by number.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use fuser::FileHandle;

/// What programs have open, by number.
#[derive(Debug)]
pub struct Handles<T> {
    open: RwLock<Open<T>>,
}

#[derive(Debug)]
struct Open<T> {
    next: u64,
    by_number: HashMap<u64, Arc<T>>,
}

impl<T> Handles<T> {
    /// Nothing is open yet.
    pub fn new() -> Self {
        Handles { open: RwLock::new(Open { next: 1, by_number: HashMap::new() }) }
    }

    /// Adds something.
    pub fn add(&self, it: T) -> FileHandle {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let number = open.next;
        open.next += 1;
        open.by_number.insert(number, Arc::new(it));
        FileHandle(number)
    }

    /// Returns what has a number.
    pub fn get(&self, handle: FileHandle) -> Option<Arc<T>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.by_number.get(&handle.0).cloned()
    }

    /// It was closed.
    pub fn remove(&self, handle: FileHandle) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let removed = open.by_number.remove(&handle.0);
        // Closing it may take its time.
        drop(open);
        drop(removed);
    }
}
