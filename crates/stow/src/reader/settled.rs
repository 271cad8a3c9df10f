//! Whether what was not there yet may still come.
//!
//! Of what another node wrote, words may be there before their bytes. A reader that finds such a record looks for all anew, which takes
//! long where there is much, and may be for nothing: what a power failure took does not come back, and anybody can make it so.

use std::time::{Duration, Instant};

use super::Reader;
use crate::fresh::FileState;
use crate::read_log::ReadLog;

/// What another node wrote is all there after so long: network file systems keep what they know for some seconds.
const LATE: Duration = Duration::from_secs(5);

/// What the logs were at the looks of before.
#[derive(Default)]
pub struct Settled {
    logs: Vec<LogState>,
    since: Option<Instant>,
    /// Whether all was looked for anew so long after they became what they are.
    is_settled: bool,
}

/// What changes when a log is written to, or why it cannot be read: one that comes back is looked for at each look.
type LogState = Result<FileState, String>;

impl Settled {
    /// Notes what the logs are now; returns whether all has to be looked for anew.
    fn is_to_be_read_anew(&mut self, logs: Vec<LogState>, now: Instant) -> bool {
        let since = match self.since {
            Some(since) if self.logs == logs => since,
            _ => {
                *self = Settled { logs, since: Some(now), is_settled: false };
                return true;
            }
        };
        if self.is_settled {
            return false;
        }
        self.is_settled = now.duration_since(since) >= LATE;
        true
    }
}

impl Reader {
    /// Returns whether troubles of before may be none by now.
    pub(super) fn may_have_come(&mut self) -> bool {
        let state = |log: &ReadLog| match &log.scan {
            Ok(scan) => scan.log().state().map(Ok),
            Err(why) => Ok(Err(why.clone())),
        };
        match self.logs.iter().map(state).collect() {
            Ok(logs) => self.settled.is_to_be_read_anew(logs, Instant::now()),
            // Nobody can tell.
            Err(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_as_it_is_is_looked_for_anew_once_more_later() {
        let mut settled = Settled::default();
        let start = Instant::now();
        let mut look = |seconds: u64, size: Option<u64>| {
            let log = size.map(|size| FileState { size, changed: [(1, 2), (3, 4)] });
            let log = log.ok_or_else(|| "it is missing".to_string());
            settled.is_to_be_read_anew(vec![log], start + Duration::from_secs(seconds))
        };
        assert!(look(0, Some(7)) && look(1, Some(7)) && look(4, Some(7)));
        assert!(look(5, Some(7)), "once, late enough");
        assert!(!look(5, Some(7)) && !look(100, Some(7)));
        assert!(look(101, Some(8)) && look(102, Some(8)), "it was written to");
        assert!(look(108, Some(8)) && !look(109, Some(8)));
        assert!(look(110, None) && look(120, None) && !look(121, None), "it is away");
    }
}
