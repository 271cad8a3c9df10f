//! How much a reader may spend on a container. Its owner may be anybody, and some kilobytes can claim to hold anything.

use rustix::io::Errno;

use crate::findings::Record;
use crate::log::Log;
use crate::manifest::ListedLog;
use crate::patience::Patience;

/// Memory that a record takes, about.
pub const RECORD_BYTES: u64 = 200;

/// Memory that a segment takes, and a log beside its path, which is kept twice.
const SEGMENT_BYTES: u64 = 300;
const LOG_BYTES: u64 = 1000;

/// Bytes of a container that are compared with checksums whatever its targets keep of them, and those for each byte that a target keeps: file systems
/// compress. Otherwise, logs that are nearly all hole could keep whoever looks busy for days.
const COMPARED_ANYHOW: u64 = 64 << 20;
const COMPARED_FOR_EACH: u64 = 1000;

/// What may still be spent on all logs of a container.
#[derive(Debug)]
pub struct Allowance {
    memory: u64,
    taken: u64,
    compared: u64,
    patience: Patience,
    /// Why not all was read, if more was needed than there was.
    used_up: Option<Errno>,
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
        let (compared, patience) = (COMPARED_ANYHOW, Patience::without_end());
        Allowance { memory, taken: 0, compared, patience, used_up: None }
    }

    /// A look begins, which has so much patience.
    pub fn begin_look(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Fails if there are more records than there is memory for, or if it took too long to find them.
    pub fn require_room(&mut self, records: usize) -> Result<(), Errno> {
        self.require_bytes(records as u64 * RECORD_BYTES)?;
        self.require_time()
    }

    /// Fails if looking at the container took too long.
    pub fn require_time(&mut self) -> Result<(), Errno> {
        let late = self.patience.require().err();
        self.fail_if(late)
    }

    fn require_bytes(&mut self, more: u64) -> Result<(), Errno> {
        let is_too_much = more > self.memory.saturating_sub(self.taken);
        self.fail_if(is_too_much.then_some(Errno::FBIG))
    }

    fn fail_if(&mut self, why: Option<Errno>) -> Result<(), Errno> {
        self.used_up = self.used_up.or(why);
        self.used_up.map_or(Ok(()), Err)
    }

    /// Returns why not all was read, if more was needed than there was, of memory or of time.
    pub fn used_up(&self) -> Option<Errno> {
        self.used_up
    }

    /// Returns the bytes of memory that are taken by what is kept, about.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Notes that so many records are kept. Who holds much may be looked at for longer.
    pub fn keep(&mut self, records: usize) {
        self.taken = self.taken.saturating_add(records as u64 * RECORD_BYTES);
        self.patience.allow_for_records(records);
    }

    /// Notes that a segment is kept.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn keep_segment(&mut self) -> Result<(), Errno> {
        self.require_bytes(SEGMENT_BYTES)?;
        self.taken += SEGMENT_BYTES;
        Ok(())
    }

    /// Notes that a log is kept that the manifest lists.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn keep_listed(&mut self, listed: &ListedLog) -> Result<(), Errno> {
        let path = listed.path.as_os_str().len();
        let bytes = LOG_BYTES + (2 * path + listed.target.len()) as u64;
        self.require_bytes(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    /// Notes that a log was found.
    pub fn note_found(&mut self) {
        self.patience.allow_for_log();
    }
}

impl Compared {
    /// Notes that a record of a log will be compared.
    ///
    /// # Errors
    /// If too much would be, or took too long, or if the target does not answer.
    pub fn note(
        &mut self,
        record: &Record,
        log: &Log,
        allowance: &mut Allowance,
    ) -> Result<(), Errno> {
        allowance.require_time()?;
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
