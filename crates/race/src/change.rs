//! What changes while a race runs, such as the limit of a target.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_bench::clock::monotonic;

/// Something to be done a while after the beginning of a race.
pub struct Change {
    /// How long after the beginning.
    pub after: Duration,
    /// Does it. The sentence says why it could not be done.
    pub apply: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

/// A change that waits for its time in a thread of its own: setting a limit takes
/// milliseconds, for which the coordinator must not stop.
pub(crate) struct Scheduled {
    call_off: Sender<()>,
    thread: Option<JoinHandle<Done>>,
}

/// `None` for one whose time did not come.
type Done = Option<Result<u64, String>>;

impl Scheduled {
    pub fn new(change: Change) -> Self {
        let (call_off, called_off) = channel();
        let thread = std::thread::spawn(move || wait_and_apply(change, &called_off));
        Scheduled { call_off, thread: Some(thread) }
    }

    /// The moment at which it was done, or `None` if its time did not come.
    pub fn end(mut self) -> Result<Option<u64>, String> {
        self.join().transpose()
    }

    fn join(&mut self) -> Done {
        // One that has ended does not listen.
        let _ = self.call_off.send(());
        self.thread.take()?.join().unwrap_or_else(|_| Some(Err("it panicked".into())))
    }
}

impl Drop for Scheduled {
    /// After a race that failed nothing changes any more: the caller may undo what was done.
    fn drop(&mut self) {
        self.join();
    }
}

fn wait_and_apply(change: Change, called_off: &Receiver<()>) -> Done {
    match called_off.recv_timeout(change.after) {
        Err(RecvTimeoutError::Timeout) => Some((change.apply)().map(|()| monotonic())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_off_is_not_done() {
        let apply = || -> Result<(), String> { Err("done".into()) };
        let later = Change { after: Duration::from_secs(600), apply: Box::new(apply) };
        assert_eq!(Scheduled::new(later).end(), Ok(None));
        let now = Change { after: Duration::ZERO, apply: Box::new(apply) };
        let scheduled = Scheduled::new(now);
        while !scheduled.thread.as_ref().unwrap().is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(scheduled.end(), Err("done".to_string()));
    }
}
