//! How much a reader may spend on a container. Its owner may be anybody, and some kilobytes can claim to hold anything.

use rustix::io::Errno;

use crate::findings::Record;
use crate::log::Log;

/// Memory that a record takes, about.
pub const RECORD_BYTES: u64 = 200;

/// Bytes of a container that are compared with checksums whatever its targets keep of them, and those for each byte that a target keeps: file systems
/// compress. Otherwise, logs that are nearly all hole could keep whoever looks busy for days.
const COMPARED_ANYHOW: u64 = 64 << 20;
const COMPARED_FOR_EACH: u64 = 1000;

/// What may still be spent on all logs of a container.
#[derive(Debug)]
pub struct Allowance {
    records: u64,
    compared: u64,
    is_used_up: bool,
}

/// What was compared with checksums in one log.
#[derive(Debug, Default)]
pub struct Compared {
    bytes: u64,
    /// Of these, those that its target keeps too little for.
    for_nothing: u64,
    stored: u64,
}

impl Allowance {
    /// Returns what may be spent with so many bytes of memory.
    pub fn of(memory: u64) -> Self {
        Allowance { records: memory / RECORD_BYTES, compared: COMPARED_ANYHOW, is_used_up: false }
    }

    /// Fails if there are more records than there is memory for.
    pub fn require_room(&mut self, records: usize) -> Result<(), Errno> {
        self.is_used_up |= records as u64 > self.records;
        if self.is_used_up { Err(Errno::FBIG) } else { Ok(()) }
    }

    /// Returns whether there were more records than there is memory for.
    pub fn is_used_up(&self) -> bool {
        self.is_used_up
    }

    /// Notes that so many are kept.
    pub fn keep(&mut self, records: usize) {
        self.records = self.records.saturating_sub(records as u64);
    }
}

impl Compared {
    /// Notes that a record of a log will be compared.
    ///
    /// # Errors
    /// If too much would be, or if the target does not answer.
    pub fn note(
        &mut self,
        record: &Record,
        log: &Log,
        allowance: &mut Allowance,
    ) -> Result<(), Errno> {
        self.bytes += u64::from(record.length);
        let unkept =
            |stored: u64| self.bytes.saturating_sub(stored.saturating_mul(COMPARED_FOR_EACH));
        if unkept(self.stored) > self.for_nothing {
            self.stored = log.stored()?;
        }
        let more = unkept(self.stored).saturating_sub(self.for_nothing);
        allowance.compared = allowance.compared.checked_sub(more).ok_or(Errno::FBIG)?;
        self.for_nothing += more;
        Ok(())
    }
}
