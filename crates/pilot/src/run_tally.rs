//! What all processes of a run wrote, in memory that they share: what was counted stays counted, however a process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_guarded::{Directory, random_hex};
use plimsoll_node::{Mapping, hold};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat};
use rustix::time::{ClockId, clock_gettime};

use crate::memory::PREFIX;
use crate::place::of_user;

/// What the first word says, and the second.
const MAGIC: u64 = u64::from_le_bytes(*b"plimtaly");
const VERSION: u64 = 2;

/// Words before the counts: magic, version, how many targets, when the first write began and the last one ended.
const HEADER_WORDS: usize = 8;
const FIRST: usize = 3;
const LAST: usize = 4;

/// Processes count in one of so many rows, so that they seldom wait for each other's.
const ROWS: usize = 32;
/// Rows begin with a line of the processor's.
const LINE_WORDS: usize = 8;

const TARGETS_MAX: usize = 4096;

/// Nobody else has to do with it.
const MODE: u32 = 0o600;

/// The counts of a run.
pub struct RunTally {
    mapping: Mapping,
    targets: usize,
    /// With whoever made it: it counts as used while that one lives, and goes with it.
    made: Option<(Directory, String, File)>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTotals {
    /// Bytes that went to each target of the run.
    pub targets: Vec<u64>,
    /// Bytes that went to others: those of containers that were made before.
    pub elsewhere: u64,
    /// Bytes that went to small files, which are on no target.
    pub small: u64,
    /// From the beginning of the first write to the end of the last.
    pub time: Duration,
}

impl RunTally {
    /// Makes the counts of a run, for so many targets. They are gone when this value is dropped.
    ///
    /// # Errors
    /// Fails if there is no place for them.
    pub fn make(targets: usize) -> io::Result<Self> {
        let directory = of_user()?;
        let name = format!("{PREFIX}run-{}", random_hex(8)?);
        let file = directory.create(&name, OFlags::RDWR, MODE)?;
        let made = (directory, name, file);
        Self::filled(&made.2, targets)
            .inspect_err(|_| drop(made.0.remove_file_if_there(&made.1)))
            .map(|mapping| RunTally { mapping, targets, made: Some(made) })
    }

    fn filled(file: &File, targets: usize) -> io::Result<Mapping> {
        if targets > TARGETS_MAX {
            return Err(io::Error::other("too many targets"));
        }
        hold(file.as_fd())?;
        // Allocated before it is mapped: a full file system is an error here, and not a signal later.
        fallocate(file, FallocateFlags::empty(), 0, words(targets) as u64 * 8)?;
        let mapping = Mapping::new(file.as_fd(), words(targets))?;
        let header = [MAGIC, VERSION, targets as u64];
        for (word, value) in mapping.words().iter().zip(header) {
            word.store(value, Ordering::Relaxed);
        }
        Ok(mapping)
    }

    /// Returns where the processes of the run find them.
    pub fn path(&self) -> Option<PathBuf> {
        let (directory, name, _) = self.made.as_ref()?;
        Some(directory.path().join(name))
    }

    /// Opens the counts of a run, for so many targets.
    ///
    /// # Errors
    /// Fails if they are another user's, or for another run.
    pub fn open(path: &Path, targets: usize) -> io::Result<Self> {
        let unlike = || io::Error::other("it is something else");
        let (above, name) = path.parent().zip(path.file_name()).ok_or_else(unlike)?;
        let directory = Directory::open(above)?;
        directory.require_own()?;
        let file = directory.open_own_file(name, OFlags::RDWR)?;
        let mut header = [0; 3 * 8];
        file.read_exact_at(&mut header, 0)?;
        let expected = [MAGIC, VERSION, targets as u64].map(u64::to_ne_bytes);
        let length = fstat(&file)?.st_size as u64;
        let is_it = targets <= TARGETS_MAX && length == words(targets) as u64 * 8;
        if !is_it || header[..] != *expected.as_flattened() {
            return Err(unlike());
        }
        Ok(RunTally { mapping: Mapping::new(file.as_fd(), words(targets))?, targets, made: None })
    }

    /// Notes that a write begins.
    pub fn begin(&self) {
        let first = &self.mapping.words()[FIRST];
        if first.load(Ordering::Relaxed) == 0 {
            let _ = first.compare_exchange(0, now_ns(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Notes that something has ended which was begun to write.
    pub fn note_time(&self) {
        self.mapping.words()[LAST].fetch_max(now_ns(), Ordering::Relaxed);
    }

    /// Counts bytes that went to a target, or to one that is none of the run's.
    pub fn add(&self, target: Option<usize>, bytes: u64) {
        let target = target.filter(|it| *it < self.targets).unwrap_or(self.targets);
        self.own_row()[target].fetch_add(bytes, Ordering::Relaxed);
        self.note_end();
    }

    /// Counts bytes that went to a small file.
    pub fn add_small(&self, bytes: u64) {
        self.own_row()[self.targets + 1].fetch_add(bytes, Ordering::Relaxed);
        self.note_end();
    }

    /// Takes back what this process counted of a small file, which is on targets by now.
    pub fn take_small(&self, bytes: u64) {
        self.own_row()[self.targets + 1].fetch_sub(bytes, Ordering::Relaxed);
    }

    fn own_row(&self) -> &[AtomicU64] {
        self.row(rustix::process::getpid().as_raw_nonzero().get() as usize % ROWS)
    }

    fn note_end(&self) {
        let (now, last) = (now_ns(), &self.mapping.words()[LAST]);
        if last.load(Ordering::Relaxed) < now {
            last.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Returns what was counted until now.
    pub fn totals(&self) -> RunTotals {
        let of = |target: usize| {
            let counts = (0..ROWS).map(|row| self.row(row)[target].load(Ordering::Relaxed));
            counts.fold(0, u64::saturating_add)
        };
        let time = |at: usize| self.mapping.words()[at].load(Ordering::Relaxed);
        RunTotals {
            targets: (0..self.targets).map(of).collect(),
            elsewhere: of(self.targets),
            small: of(self.targets + 1),
            time: Duration::from_nanos(time(LAST).saturating_sub(time(FIRST))),
        }
    }

    fn row(&self, row: usize) -> &[AtomicU64] {
        let length = row_words(self.targets);
        &self.mapping.words()[HEADER_WORDS + row * length..][..length]
    }
}

impl Drop for RunTally {
    fn drop(&mut self) {
        if let Some((directory, name, _)) = &self.made {
            let _ = directory.remove_file_if_there(name);
        }
    }
}

fn row_words(targets: usize) -> usize {
    (targets + 2).next_multiple_of(LINE_WORDS)
}

fn words(targets: usize) -> usize {
    HEADER_WORDS + ROWS * row_words(targets)
}

/// The time on a clock that all processes of a node share, to the tick.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_count_is_added_up_and_gone_with_the_one_who_made_it() {
        let made = RunTally::make(2).unwrap();
        let path = made.path().unwrap();
        assert_eq!(made.totals().targets, [0, 0]);
        let opened = RunTally::open(&path, 2).unwrap();
        opened.begin();
        opened.add(Some(0), 5);
        made.add(Some(1), 7);
        opened.add(Some(1), 1);
        opened.add(Some(2), 2);
        opened.add(None, 1);
        opened.add_small(9);
        opened.take_small(5);
        let RunTotals { targets, elsewhere, small, .. } = made.totals();
        assert_eq!((targets, elsewhere, small), (vec![5, 8], 3, 4));
        assert!(RunTally::open(&path, 3).is_err() && RunTally::open(&path, usize::MAX).is_err());
        drop(made);
        assert!(!path.exists() && RunTally::open(&path, 2).is_err());
        // Who has it goes on.
        opened.add(Some(0), 1);
        assert_eq!(opened.totals().targets, [6, 8]);
    }

    #[test]
    fn something_else_is_refused() {
        let made = RunTally::make(1).unwrap();
        let path = made.path().unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(words(1) as u64 * 8 - 1).unwrap();
        assert!(RunTally::open(&path, 1).is_err());
        file.set_len(words(1) as u64 * 8).unwrap();
        assert!(RunTally::open(&path, 1).is_ok());
        file.write_all_at(b"x", 0).unwrap();
        assert!(RunTally::open(&path, 1).is_err());
    }
}
