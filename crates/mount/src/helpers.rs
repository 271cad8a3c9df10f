//! Threads that answer what may take long: however long it does, the threads that answer all else go on.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// All threads that answer what may take long.
#[derive(Debug)]
pub struct AllHelpers {
    /// They open the user's own containers,
    pub opening: Helpers,
    /// and those of them that take long.
    pub patient: Helpers,
    /// They do what is asked of other users' containers.
    pub others: Helpers,
}

impl AllHelpers {
    const OPENING: usize = 4;
    const PATIENT: usize = 2;

    /// Starts so many for other users' containers, and the others.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(others: usize) -> io::Result<Self> {
        let [opening, patient] = [Self::OPENING, Self::PATIENT].map(Helpers::start);
        Ok(AllHelpers { opening: opening?, patient: patient?, others: Helpers::start(others)? })
    }

    /// Returns how many there are if there are so many for other users' containers.
    pub fn count(others: usize) -> usize {
        Self::OPENING + Self::PATIENT + others
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Some threads, which end when this is dropped and nothing is left to do.
pub struct Helpers {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Programs wait for each of them, so there are never more than these ask for.
    left: Mutex<Left>,
    more: Condvar,
}

#[derive(Default)]
struct Left {
    work: VecDeque<Work>,
    has_ended: bool,
}

impl fmt::Debug for Helpers {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Helpers").finish_non_exhaustive()
    }
}

impl Helpers {
    /// Starts so many.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(count: usize) -> io::Result<Self> {
        let helpers = Helpers { queue: Arc::default() };
        for _ in 0..count {
            let queue = helpers.queue.clone();
            let thread = std::thread::Builder::new().name("helper".into());
            thread.spawn(move || queue.work_off())?;
        }
        Ok(helpers)
    }

    /// Has it done as soon as one of them has time.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.queue.left().work.push_back(Box::new(work));
        self.queue.more.notify_one();
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.queue.left().has_ended = true;
        self.queue.more.notify_all();
    }
}

impl Queue {
    fn work_off(&self) {
        while let Some(work) = self.next() {
            // What fails answers EIO by being dropped; the others are answered all the same.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }

    fn next(&self) -> Option<Work> {
        let is_idle = |it: &mut Left| it.work.is_empty() && !it.has_ended;
        let waited = self.more.wait_while(self.left(), is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).work.pop_front()
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn all_is_done_also_after_what_failed() {
        let helpers = Helpers::start(2).unwrap();
        let (told, done) = channel();
        for number in 0..50 {
            let told = told.clone();
            helpers.run(move || {
                assert_ne!(number % 10, 3, "as it should");
                told.send(number).unwrap();
            });
        }
        drop((helpers, told));
        let mut done: Vec<i32> = done.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..50).filter(|it| it % 10 != 3).collect::<Vec<_>>());
    }
}
