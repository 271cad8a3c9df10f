//! What changes while a race runs, such as the limit of a target.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_wire::clock::monotonic;

/// Something to be done a while after the beginning of a race.
pub struct Change {
    /// How long after the beginning.
    pub after: Duration,
    /// Does it. The sentence says why it could not be done.
    pub apply: Box<dyn FnOnce() -> Result<(), String> + Send>,
    /// Takes it back at the end of the race, however that ends. Not called if its time did not come.
    pub undo: Box<dyn FnOnce() + Send>,
}

/// A change that waits for its time in a thread of its own: setting a limit takes
/// milliseconds, for which the coordinator must not stop.
pub(crate) struct Scheduled {
    call_off: Sender<()>,
    thread: Option<JoinHandle<Applied>>,
    undo: Option<Box<dyn FnOnce() + Send>>,
}

/// `None` for one whose time did not come.
type Applied = Option<Result<u64, String>>;

impl Scheduled {
    pub fn new(change: Change) -> Self {
        let (call_off, called_off) = channel();
        let Change { after, apply, undo } = change;
        let thread = std::thread::spawn(move || match called_off.recv_timeout(after) {
            Err(RecvTimeoutError::Timeout) => Some(apply().map(|()| monotonic())),
            _ => None,
        });
        Scheduled { call_off, thread: Some(thread), undo: Some(undo) }
    }

    /// Takes it back. Tells the moment at which it was done, or `None` if its time did not come.
    pub fn end(mut self) -> Result<Option<u64>, String> {
        self.join().transpose()
    }

    fn join(&mut self) -> Applied {
        // One that has ended does not listen.
        let _ = self.call_off.send(());
        let done = self.thread.take()?.join();
        let done = done.unwrap_or_else(|_| Some(Err("it panicked".into())));
        if let (Some(_), Some(undo)) = (&done, self.undo.take()) {
            undo();
        }
        done
    }
}

impl Drop for Scheduled {
    /// After a race that failed nothing changes any more, and what was changed is as before.
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A change that fails, and whether it was taken back.
    fn failing(after: Duration) -> (Change, Arc<AtomicBool>) {
        let is_undone = Arc::new(AtomicBool::new(false));
        let told = is_undone.clone();
        let apply = || -> Result<(), String> { Err("done".into()) };
        let undo = move || told.store(true, Ordering::Relaxed);
        (Change { after, apply: Box::new(apply), undo: Box::new(undo) }, is_undone)
    }

    fn begun(change: Change) -> Scheduled {
        let scheduled = Scheduled::new(change);
        while !scheduled.thread.as_ref().unwrap().is_finished() {
            std::thread::yield_now();
        }
        scheduled
    }

    #[test]
    fn what_is_called_off_is_neither_done_nor_undone() {
        let (later, is_undone) = failing(Duration::from_secs(600));
        assert_eq!(Scheduled::new(later).end(), Ok(None));
        assert!(!is_undone.load(Ordering::Relaxed));
    }

    #[test]
    fn what_was_tried_is_undone_however_the_race_ends() {
        let (now, is_undone) = failing(Duration::ZERO);
        assert_eq!(begun(now).end(), Err("done".to_string()));
        assert!(is_undone.load(Ordering::Relaxed));
        let (now, is_undone) = failing(Duration::ZERO);
        drop(begun(now));
        assert!(is_undone.load(Ordering::Relaxed));
    }
}
