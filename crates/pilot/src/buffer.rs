//! How much a writer may write beyond the window.

use std::time::Duration;

use rustix::time::Timespec;

/// A program that took so long for a segment did something else meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a writer waits at first for the targets that nothing is known of: those that are as fast as the first one have shown it by then.
const PATIENCE: Duration = Duration::from_millis(200);

/// The least part of it for a target, of very many.
const LEAST_BYTES: u64 = 256 << 10;

/// The buffer. It is for bursts: what was spent of it comes back once the program has paused, so that one which writes all the time is
/// soon paced by the targets, and little of what it wrote waits for one that has become slow.
#[derive(Debug)]
pub(crate) struct Buffer {
    all_bytes: u64,
    left_bytes: u64,
    /// When the segment was given that the program filled last.
    given: Option<Duration>,
    /// When the program first needed one.
    asked: Option<Duration>,
}

impl Buffer {
    pub fn new(all_bytes: u64) -> Self {
        Buffer { all_bytes, left_bytes: all_bytes, given: None, asked: None }
    }

    /// The program has filled a segment and needs another.
    pub fn begin_to_ask(&mut self, now: Timespec) {
        self.asked.get_or_insert(since_boot(now));
        let took = since_boot(now).saturating_sub(self.given.unwrap_or_default());
        if self.given.is_none() || took >= PAUSE {
            self.left_bytes = self.all_bytes;
        }
    }

    /// It goes on.
    pub fn end_to_ask(&mut self, now: Timespec) {
        self.given = Some(since_boot(now));
    }

    /// Returns whether it is in vain to wait longer for targets that nothing is known of.
    pub fn has_waited(&self, now: Timespec) -> bool {
        self.asked.is_some_and(|asked| since_boot(now).saturating_sub(asked) >= PATIENCE)
    }

    /// Returns how much of it may lie on one of so many targets: all that was written in a moment is not to wait for the one that was
    /// the first to be known.
    pub fn of_each(&self, targets: usize) -> u64 {
        (self.all_bytes / targets.max(1) as u64).max(LEAST_BYTES)
    }

    /// Returns how much may be written beyond the window when so much was.
    pub fn room(&self, held_bytes: u64) -> u64 {
        self.left_bytes.min(self.all_bytes.saturating_sub(held_bytes))
    }

    pub fn spend(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }
}

fn since_boot(now: Timespec) -> Duration {
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Timespec {
        Timespec { tv_sec: 7 + ms / 1000, tv_nsec: ms % 1000 * 1_000_000 }
    }

    #[test]
    fn it_is_spent_once_and_comes_back_after_a_pause() {
        let mut buffer = Buffer::new(100);
        assert!(!buffer.has_waited(at_ms(0)));
        buffer.begin_to_ask(at_ms(0));
        assert!(!buffer.has_waited(at_ms(199)) && buffer.has_waited(at_ms(200)));
        assert_eq!((buffer.room(0), buffer.room(30), buffer.room(200)), (100, 70, 0));
        buffer.spend(80);
        // However long the targets took.
        buffer.end_to_ask(at_ms(900));
        buffer.begin_to_ask(at_ms(950));
        assert_eq!(buffer.room(0), 20);
        buffer.spend(80);
        buffer.end_to_ask(at_ms(950));
        buffer.begin_to_ask(at_ms(1049));
        assert_eq!(buffer.room(0), 0);
        buffer.end_to_ask(at_ms(1049));
        buffer.begin_to_ask(at_ms(1149));
        assert_eq!((buffer.room(0), buffer.room(60)), (100, 40));
    }
}
