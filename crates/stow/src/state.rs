//! What the writers of a node share about a container: the next stamp, and the last ones in each log.
//!
//! It is a small file of the container that the writers of one node map; each node has its own (`seat.rs`). A stamp is taken by one
//! atomic addition, so that writes are ordered without a clock of the wall. What each log must hold is here as well, so that one
//! that lost its end is told from one that never had it.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::Id;
use crate::fresh;
use crate::header::{FORMAT_VERSION, SEQUENCE_MAX};
use crate::lock::{self, Hold, LockFile, WAIT_MAX};
use crate::manifest::LOGS_MAX;
use crate::pieces::Stamp;
use crate::shared_page::SharedPage;
use crate::word::PAGE_BYTES;

/// Largest file: a page for all, and lines of 64 bytes for all logs.
pub const STATE_BYTES_MAX: u64 = PAGE_BYTES + LINE_BYTES as u64 * LOGS_MAX as u64;

/// Each log has a cache line to itself.
pub(crate) const LINE_BYTES: usize = 64;
const LINES_PER_PAGE: usize = PAGE_BYTES as usize / LINE_BYTES;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"plimstat");
pub(crate) const NODE_AT: usize = 16;
pub(crate) const SEQUENCE_AT: usize = 64;
const INDEXED_AT: usize = 72;
pub(crate) const RESERVED_AT: usize = 80;
const WRITERS_AT: usize = 128;
pub(crate) const LOGS_AT: usize = 192;
pub(crate) const DURABLE_LOGS_AT: usize = 200;
const TAKEN_AT: usize = 256;
const KEPT_AT: usize = 264;
const END_AT: usize = 272;

/// Words of a log's line.
pub(crate) const INTENDED: usize = 0;
pub(crate) const PUBLISHED: usize = 8;
pub(crate) const DURABLE: usize = 16;
pub(crate) const PUBLICATIONS: usize = 24;
/// How many of these are known to be durable. Whoever trusts it has made the log durable itself before: in a copy, it says what was so elsewhere.
const DURABLE_PUBLICATIONS: usize = 32;

/// Stamps that a node reserves at a time. Other nodes are told of them before they are used, and whoever catches up is later than all
/// of them: so a node that was lost took no stamp that nobody knows of.
const RESERVE: u64 = 1 << 20;

/// Bytes that are not worth looking for.
const SPACE_TO_WASTE: u64 = 32 << 20;

/// The memory that the writers of a node share.
pub struct SharedState {
    file: File,
    page: SharedPage,
    is_of_one_node: bool,
    /// Which of the nodes that write this is.
    seat: u32,
    /// Shared by those who write on this node, as long as this lives.
    _seat_lock: LockFile,
    /// Shared by those who write on any node, as long as this lives.
    lock: LockFile,
}

/// What writers share about one log.
pub struct LogMark {
    page: SharedPage,
    /// Where the log's line begins in the page.
    line: usize,
}

impl SharedState {
    /// Returns the bytes of a new file, whose next stamp is this one.
    pub fn new_file(node: Id, sequence: u64) -> Vec<u8> {
        let mut bytes = vec![0; PAGE_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[NODE_AT..NODE_AT + 16].copy_from_slice(&node.bytes());
        bytes[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&sequence.to_le_bytes());
        bytes
    }

    /// Maps the file of a seat; both locks are held.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn of(seat: u32, file: File, seat_lock: LockFile, lock: LockFile) -> Result<Self, Errno> {
        let page = SharedPage::map(&file, 0)?;
        let is_of_one_node = fresh::is_of_one_node(&file);
        Ok(SharedState { file, page, is_of_one_node, seat, _seat_lock: seat_lock, lock })
    }

    /// Gives the file to another node, or to the same one after a restart: of what was published before, only what was durable must
    /// be in the logs. Whoever finds the new node in it finds all the rest.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn hand_over(file: &File, node: Id, sequence: u64) -> Result<(), Errno> {
        let size = fresh::size(file)?.min(STATE_BYTES_MAX);
        for begin in (PAGE_BYTES..size).step_by(PAGE_BYTES as usize) {
            // A hole needs no room to stay one.
            if is_zero(file, begin)? {
                continue;
            }
            let page = SharedPage::map(file, begin)?;
            for line in (0..PAGE_BYTES as usize).step_by(LINE_BYTES) {
                let durable = page.word(line + DURABLE).load(Ordering::Acquire);
                page.word(line + PUBLISHED).store(durable, Ordering::Release);
                page.word(line + DURABLE_PUBLICATIONS).store(0, Ordering::Release);
            }
        }
        let page = SharedPage::map(file, 0)?;
        let durable = page.word(DURABLE_LOGS_AT).load(Ordering::Acquire);
        page.word(LOGS_AT).store(durable, Ordering::Release);
        page.word(SEQUENCE_AT).fetch_max(sequence, Ordering::AcqRel);
        let number = u128::from_le_bytes(node.bytes());
        page.word(NODE_AT).store(number as u64, Ordering::Release);
        page.word(NODE_AT + 8).store((number >> 64) as u64, Ordering::Release);
        match fresh::is_of_one_node(file) {
            true => Ok(()),
            false => rustix::fs::fdatasync(file),
        }
    }

    /// Returns which of the nodes that write this is.
    pub fn seat(&self) -> u32 {
        self.seat
    }

    /// Returns whether nobody else writes, and keeps others from beginning until it is dropped.
    ///
    /// # Errors
    /// If the system does not lock.
    pub fn is_alone(&self) -> Result<bool, Errno> {
        if lock::is_taken(&self.lock, Hold::Alone)? {
            return Ok(true);
        }
        // A lock that could not be converted may be gone.
        lock::take_within(WAIT_MAX, &self.lock, Hold::Shared)?;
        Ok(false)
    }

    /// Lets others write again.
    ///
    /// # Errors
    /// If the system does not lock.
    pub fn share(&self) -> Result<(), Errno> {
        lock::take_within(WAIT_MAX, &self.lock, Hold::Shared)
    }

    /// Takes the next stamp, which is later than `seen`; `None` if there are no more.
    pub fn next_stamp(&self, seen: u64) -> Option<Stamp> {
        let mut sequence = self.word(SEQUENCE_AT).fetch_add(1, Ordering::AcqRel);
        if sequence <= seen {
            self.raise(seen.saturating_add(1));
            sequence = self.word(SEQUENCE_AT).fetch_add(1, Ordering::AcqRel);
        }
        if sequence >= SEQUENCE_MAX {
            // The next one must not be the first again.
            self.raise(SEQUENCE_MAX);
            return None;
        }
        if sequence + RESERVE / 2 >= self.word(RESERVED_AT).load(Ordering::Acquire) {
            self.reserve(sequence + RESERVE);
        }
        Some(Stamp { sequence, seat: self.seat })
    }

    /// Returns whether there are no more stamps.
    pub fn is_used_up(&self) -> bool {
        let last = [SEQUENCE_AT, RESERVED_AT].map(|it| self.word(it).load(Ordering::Acquire));
        last.into_iter().any(|it| it >= SEQUENCE_MAX)
    }

    /// Lets other nodes know long before it matters that stamps up to this one will be used.
    #[cold]
    fn reserve(&self, sequence: u64) {
        self.word(RESERVED_AT).fetch_max(sequence, Ordering::AcqRel);
        if !self.is_of_one_node() {
            // Who cannot tell them now tells them with what is made durable next.
            let _ = self.sync();
        }
    }

    /// From now on, no stamp is before this one.
    pub fn raise(&self, sequence: u64) {
        self.word(SEQUENCE_AT).fetch_max(sequence, Ordering::AcqRel);
    }

    /// Returns how many stamps were taken since the index was written.
    pub fn writes_since_index(&self) -> u64 {
        let next = self.word(SEQUENCE_AT).load(Ordering::Acquire);
        next.saturating_sub(self.word(INDEXED_AT).load(Ordering::Acquire))
    }

    /// Notes that the index is written.
    pub fn note_indexed(&self) {
        let next = self.word(SEQUENCE_AT).load(Ordering::Acquire);
        self.word(INDEXED_AT).store(next, Ordering::Release);
    }

    /// Notes that there is no index any more, so that the last writer to close makes one.
    pub fn note_without_index(&self) {
        self.word(INDEXED_AT).store(0, Ordering::Release);
    }

    /// Returns the number of a new writer.
    pub fn next_writer(&self) -> u64 {
        self.word(WRITERS_AT).fetch_add(1, Ordering::Relaxed)
    }

    /// Returns what writers share about a log. Room for it is made by whoever lists the log.
    ///
    /// # Errors
    /// If there is no room for more logs.
    pub fn mark(&self, log: u32) -> Result<LogMark, Errno> {
        let (page, line) = (1 + log as usize / LINES_PER_PAGE, log as usize % LINES_PER_PAGE);
        if log as usize >= LOGS_MAX {
            return Err(Errno::NFILE);
        }
        let begin = page as u64 * PAGE_BYTES;
        let mut size = fresh::size(&self.file)?;
        while size < begin + PAGE_BYTES {
            // A hole in a mapping would end the program on a full disk.
            let next = size - size % PAGE_BYTES;
            let count = rustix::io::pwrite(&self.file, &[0; PAGE_BYTES as usize], next)?;
            if count < PAGE_BYTES as usize {
                return Err(Errno::NOSPC);
            }
            size = next + PAGE_BYTES;
        }
        Ok(LogMark { page: SharedPage::map(&self.file, begin)?, line: line * LINE_BYTES })
    }

    /// Notes that a segment of so many bytes was begun, and that the file reaches to this end by now. Returns whether more than half
    /// of all that was taken must be of no use any more.
    pub fn note_taken(&self, bytes: u64, end: u64) -> bool {
        let taken = self.word(TAKEN_AT).fetch_add(bytes, Ordering::AcqRel).saturating_add(bytes);
        let end = self.word(END_AT).fetch_max(end, Ordering::AcqRel).max(end);
        let kept = self.word(KEPT_AT).load(Ordering::Acquire);
        taken > end.max(kept).saturating_mul(2).saturating_add(SPACE_TO_WASTE)
    }

    /// Returns the bytes of all segments, as far as they were noted.
    pub fn taken(&self) -> u64 {
        self.word(TAKEN_AT).load(Ordering::Acquire)
    }

    /// Notes that the file ends here, and that so many bytes are in use.
    pub fn note_kept(&self, bytes: u64, end: u64) {
        self.word(TAKEN_AT).store(bytes, Ordering::Release);
        self.word(KEPT_AT).store(bytes, Ordering::Release);
        self.word(END_AT).store(end, Ordering::Release);
    }

    /// Notes how many logs are listed.
    pub fn note_logs(&self, count: u64) {
        self.word(LOGS_AT).fetch_max(count, Ordering::AcqRel);
    }

    /// Notes that so many logs are listed and that this is durable.
    pub fn note_durable_logs(&self, count: u64) {
        self.word(DURABLE_LOGS_AT).fetch_max(count, Ordering::AcqRel);
    }

    /// Returns whether its file is where only one node can be.
    pub fn is_of_one_node(&self) -> bool {
        self.is_of_one_node
    }

    /// Makes it durable, and seen by other nodes.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.file)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        self.page.word(at)
    }
}

impl LogMark {
    /// Notes that something with this stamp will be written, before it is.
    pub fn intend(&self, stamp: u64) {
        self.page.word(self.line + INTENDED).fetch_max(stamp, Ordering::AcqRel);
    }

    /// Notes that something with this stamp was published.
    pub fn publish(&self, stamp: u64) {
        self.page.word(self.line + PUBLISHED).fetch_max(stamp, Ordering::AcqRel);
        // Writers of one log may publish in another order than that of their stamps.
        self.page.word(self.line + PUBLICATIONS).fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the last stamp that was published.
    pub fn published(&self) -> u64 {
        self.page.word(self.line + PUBLISHED).load(Ordering::Acquire)
    }

    /// Returns how often something was published; `None` while somebody is about to publish more, or was killed then: it may be there and
    /// not be counted.
    pub fn publications(&self) -> Option<u64> {
        let count = self.page.word(self.line + PUBLICATIONS).load(Ordering::Acquire);
        let intended = self.page.word(self.line + INTENDED).load(Ordering::Acquire);
        (intended == self.published()).then_some(count)
    }

    /// Notes that so many publications are durable.
    pub fn note_durable_publications(&self, count: u64) {
        let word = self.page.word(self.line + DURABLE_PUBLICATIONS);
        word.fetch_max(count, Ordering::AcqRel);
    }

    /// Returns how many publications are durable, as far as somebody has noted it.
    pub fn durable_publications(&self) -> u64 {
        self.page.word(self.line + DURABLE_PUBLICATIONS).load(Ordering::Acquire)
    }

    /// Notes that all up to this stamp is durable.
    pub fn note_durable(&self, stamp: u64) {
        self.page.word(self.line + DURABLE).fetch_max(stamp, Ordering::AcqRel);
    }
}

/// Returns whether nothing was noted in a page.
fn is_zero(file: &File, begin: u64) -> Result<bool, Errno> {
    let mut bytes = [0; PAGE_BYTES as usize];
    rustix::io::pread(file, &mut bytes, begin)?;
    Ok(bytes.iter().all(|it| *it == 0))
}
