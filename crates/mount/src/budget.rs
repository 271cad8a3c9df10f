//! The memory of all windows together: a number of buffers, which are used again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers that are kept while nobody uses them. New memory costs more than what is copied into it.
const SPARE_MAX: usize = 8;

/// A number of buffers that may be taken.
#[derive(Debug, Clone)]
pub struct Budget {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug)]
struct Shelf {
    left: usize,
    spare: Vec<Vec<u8>>,
}

/// One of them, given back when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    /// Whatever was in it before, or nothing.
    pub bytes: Vec<u8>,
    shelf: Arc<Mutex<Shelf>>,
}

impl Budget {
    /// So many may be taken.
    pub fn new(count: usize) -> Self {
        Budget { shelf: Arc::new(Mutex::new(Shelf { left: count, spare: Vec::new() })) }
    }

    /// Takes one; `None` if all are taken.
    pub fn take(&self) -> Option<Buffer> {
        let mut shelf = locked(&self.shelf);
        shelf.left = shelf.left.checked_sub(1)?;
        Some(Buffer { bytes: shelf.spare.pop().unwrap_or_default(), shelf: self.shelf.clone() })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut shelf = locked(&self.shelf);
        shelf.left += 1;
        if shelf.spare.len() < SPARE_MAX {
            shelf.spare.push(std::mem::take(&mut self.bytes));
        }
    }
}

fn locked(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let budget = Budget::new(2);
        let (mut first, _second) = (budget.take().unwrap(), budget.take().unwrap());
        assert!(budget.take().is_none());
        first.bytes.resize(100, 7);
        drop(first);
        assert_eq!(budget.take().unwrap().bytes, [7; 100]);
        assert_eq!(locked(&budget.shelf).left, 1);
    }
}
