//! How long one look at a container may take: whoever forged it decides how much there is to look for.

use std::time::{Duration, Instant};

use rustix::io::Errno;

/// What each log that is there, and each record in it, may take longer: who holds much is looked at for longer, and nobody else. Ten times what they take in memory.
const FOR_EACH_LOG: Duration = Duration::from_millis(1);
const FOR_EACH_RECORD: Duration = Duration::from_micros(2);

/// The end of a look, if it has one.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    end: Option<Instant>,
}

impl Patience {
    /// A look may take as long as it takes.
    pub fn without_end() -> Self {
        Patience { end: None }
    }

    /// A look begins now, and may take so long; as long as it takes if there is no limit.
    pub fn of(limit: Option<Duration>) -> Self {
        Patience { end: limit.and_then(|it| Instant::now().checked_add(it)) }
    }

    /// Fails if it took too long.
    ///
    /// # Errors
    /// With [`Errno::TIMEDOUT`].
    pub fn require(&self) -> Result<(), Errno> {
        match self.end {
            Some(end) if Instant::now() > end => Err(Errno::TIMEDOUT),
            _ => Ok(()),
        }
    }

    /// A log was found.
    pub fn allow_for_log(&mut self) {
        self.allow(FOR_EACH_LOG);
    }

    /// So many records were found.
    pub fn allow_for_records(&mut self, records: usize) {
        self.allow(FOR_EACH_RECORD.saturating_mul(u32::try_from(records).unwrap_or(u32::MAX)));
    }

    fn allow(&mut self, more: Duration) {
        self.end = self.end.and_then(|it| it.checked_add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_ends_and_what_was_found_prolongs_it() {
        let mut patience = Patience::of(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(patience.require(), Err(Errno::TIMEDOUT));
        patience.allow_for_records(1_000_000_000);
        patience.allow_for_log();
        assert_eq!(patience.require(), Ok(()));
        for patience in [Patience::of(None), Patience::without_end()] {
            assert_eq!(patience.require(), Ok(()));
        }
    }
}
