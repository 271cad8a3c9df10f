//! Writes that each wait until they are on storage, because their file was opened so.

use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Event, Op};

/// How a process opened a file to write to it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Openings {
    forced: bool,
    plain: bool,
}

/// `O_DSYNC` of Linux on every architecture but MIPS, PA-RISC and SPARC; `O_SYNC` contains it.
const O_DSYNC: u64 = 0o10_000;
/// `O_WRONLY` and `O_RDWR`.
const WRITES: u64 = 0o3;

impl Openings {
    /// Looks at a call that may open the file.
    pub fn add(&mut self, event: &Event) {
        let is_opened = event.op == Op::Open && !matches!(event.outcome, Outcome::Error(_));
        if is_opened && event.argument & WRITES != 0 {
            let is_forced = event.argument & O_DSYNC != 0;
            self.forced |= is_forced;
            self.plain |= !is_forced;
        }
    }

    /// Returns whether all writes of the process waited. Where it opened the file in both ways,
    /// nobody knows which writes did.
    pub fn are_forced(self) -> bool {
        self.forced && !self.plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_forced(opens: &[(u64, Outcome)]) -> bool {
        let mut openings = Openings::default();
        for &(argument, outcome) in opens {
            let event = Event {
                op: Op::Open,
                file: 1,
                offset: None,
                length: 0,
                outcome,
                argument,
                start: 0,
                end: 1,
                depth: 0,
            };
            openings.add(&event);
        }
        openings.are_forced()
    }

    #[test]
    fn only_what_was_always_opened_so_is_forced() {
        const O_SYNC: u64 = 0o4_010_000;
        let (fine, failed) = (Outcome::Value(3), Outcome::Error(2));
        assert!(!are_forced(&[]));
        assert!(are_forced(&[(1 | O_DSYNC, fine)]));
        assert!(are_forced(&[(2 | O_SYNC, fine), (0, fine)]), "reading does not count");
        assert!(are_forced(&[(1, failed), (1 | O_DSYNC, fine)]));
        assert!(!are_forced(&[(1, fine), (1 | O_DSYNC, fine)]));
        assert!(!are_forced(&[(O_DSYNC, fine)]), "reading only");
    }
}
