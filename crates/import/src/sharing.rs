//! Pieces of a matrix that threads share: unpacking takes most of the time of an import.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::ImportError;

/// Threads that read: more wait for each other's memory.
const THREADS_MAX: usize = 4;

/// Values that are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub missing: u64,
    pub impossible: u64,
}

impl LeftOut {
    pub fn plus(self, other: LeftOut) -> LeftOut {
        LeftOut {
            missing: self.missing + other.missing,
            impossible: self.impossible + other.impossible,
        }
    }
}

/// Calls for each piece, by several threads. Returns what was left out of all. After an error the rest is done in vain.
pub(crate) fn share<T: Send>(
    pieces: Vec<T>,
    each: impl Fn(T) -> Result<LeftOut, ImportError> + Sync,
) -> Result<LeftOut, ImportError> {
    let threads = thread::available_parallelism().map_or(1, |it| it.get());
    let threads = threads.min(THREADS_MAX).min(pieces.len());
    let pieces = Mutex::new(pieces.into_iter());
    let work = || {
        let mut left_out = LeftOut::default();
        loop {
            // A panic elsewhere is passed on when threads are joined.
            let piece = pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(piece) = piece else { return Ok(left_out) };
            left_out = left_out.plus(each(piece)?);
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            let done = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            all = all.and_then(|all| Ok(all.plus(done?)));
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_counted() {
        let counted = share((0..100).collect(), |it| {
            Ok(LeftOut { missing: it, impossible: u64::from(it == 7) })
        });
        assert_eq!(counted.unwrap(), LeftOut { missing: 4950, impossible: 1 });
        assert_eq!(share(Vec::<u64>::new(), |_| unreachable!()).unwrap(), LeftOut::default());
    }

    #[test]
    fn an_error_of_one_piece_is_that_of_all() {
        let failed = share((0..8).collect(), |it| match it {
            4 => Err(ImportError::content(std::path::Path::new("x"), "damaged")),
            _ => Ok(LeftOut::default()),
        });
        assert!(failed.is_err());
    }
}
