//! How many windows there may be at once, over all open files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of things that may be taken.
#[derive(Debug, Clone)]
pub struct Budget {
    left: Arc<AtomicUsize>,
}

/// One of them, given back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    left: Arc<AtomicUsize>,
}

impl Budget {
    /// So many may be taken.
    pub fn new(count: usize) -> Self {
        Budget { left: Arc::new(AtomicUsize::new(count)) }
    }

    /// Takes one; `None` if all are taken.
    pub fn take(&self) -> Option<Permit> {
        let taken =
            self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        taken.ok().map(|_| Permit { left: self.left.clone() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let budget = Budget::new(2);
        let (first, _second) = (budget.take().unwrap(), budget.take().unwrap());
        assert!(budget.take().is_none());
        drop(first);
        assert!(budget.take().is_some());
    }
}
