//! I/O of some pattern that keeps a target as busy as it can be.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use plimsoll_engine::Memory;
use plimsoll_stats::Random;

/// Which transfers are made: one of these at random each time.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// What it is, for people.
    pub name: &'static str,
    /// Sizes of reads in KiB,
    pub reads: &'static [u64],
    /// and of writes.
    pub writes: &'static [u64],
}

impl Pattern {
    /// Makes transfers at random places of an open file, past the page cache, so many at a time, while `work` goes on.
    ///
    /// # Errors
    /// If a transfer fails.
    pub fn during<T>(
        &self,
        file: &File,
        span: u64,
        at_a_time: u64,
        work: impl FnOnce() -> T,
    ) -> io::Result<T> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (is_over, pattern) = (&is_over, *self);
            let threads: Vec<_> = (0..at_a_time)
                .map(|seed| scope.spawn(move || pattern.transfers(file, span, seed, is_over)))
                .collect();
            let outcome = work();
            is_over.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().map_err(|_| io::Error::other("a thread of the load died"))??;
            }
            Ok(outcome)
        })
    }

    fn transfers(self, file: &File, span: u64, seed: u64, is_over: &AtomicBool) -> io::Result<()> {
        let kinds: Vec<(bool, u64)> = self
            .reads
            .iter()
            .map(|kib| (true, kib << 10))
            .chain(self.writes.iter().map(|kib| (false, kib << 10)))
            .collect();
        let largest = kinds.iter().map(|it| it.1).max().unwrap_or(0);
        let mut memory = Memory::new(largest as usize).map_err(io::Error::other)?;
        let mut random = Random::new(seed);
        while !is_over.load(Ordering::Relaxed) {
            let (is_read, size) = kinds[random.index(kinds.len())];
            let offset = random.below((span - size) >> 12) << 12;
            let bytes = &mut memory.bytes_mut()[..size as usize];
            match is_read {
                true => file.read_exact_at(bytes, offset)?,
                false => file.write_all_at(bytes, offset)?,
            }
        }
        Ok(())
    }
}
