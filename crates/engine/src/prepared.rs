//! A burst from its files' opening to their closing.

use std::fmt;
use std::marker::PhantomData;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern};
use rustix::fs::fsync;

use crate::error::file_error;
use crate::files::{BurstFile, Source, open_all};
use crate::finished::{CacheKeptOut, Finished, PageCache};
use crate::moved::Moved;
use crate::page_cache::{Dropped, cached_bytes, drop_region, is_in_memory};
use crate::supply::Supply;
use crate::transfers::Transfers;
use crate::uring::Queue;
use crate::{Burst, EngineError, check, lustre, synchronous};

/// A burst that is ready to go. It belongs to the thread that opened it: io_uring takes
/// submissions from that one only.
pub struct Prepared<'a> {
    burst: Burst,
    source: Source<'a>,
    transfers: Transfers,
    // Dropped before the memory and the files that the kernel knows through it.
    queue: Option<Queue>,
    supply: Supply,
    files: Vec<BurstFile>,
    dropped: Option<Dropped>,
    moved: Moved,
    of_this_thread: PhantomData<*const ()>,
}

impl<'a> Prepared<'a> {
    /// Everything that must not be measured: files opened or made and laid out, pages of files
    /// that are to be read dropped, memory allocated and filled, the queue set up.
    pub fn open(burst: &Burst, source: Source<'a>) -> Result<Self, EngineError> {
        check(burst)?;
        let transfers = Transfers::new(burst);
        let files = open_all(burst, source, &transfers)?;
        let dropped = match burst.operation {
            Operation::Read => Some(drop_all(&files, &transfers)?),
            Operation::Write => None,
        };
        let in_flight = transfers.count().min(u64::from(burst.depth)) as u32;
        let supply = Supply::new(burst, in_flight)?;
        let queue = match burst.engine {
            Engine::Synchronous => None,
            Engine::Uring => Some(Queue::new(in_flight, &files, &supply)?),
        };
        let (burst, moved) = (burst.clone(), Moved::default());
        Ok(Self {
            burst,
            source,
            transfers,
            queue,
            supply,
            files,
            dropped,
            moved,
            of_this_thread: PhantomData,
        })
    }

    /// Exactly what is measured: all transfers, then, of a write, fsync of each file.
    pub fn transfer(&mut self) -> Result<(), EngineError> {
        let Self { burst, transfers, queue, supply, files, moved, .. } = self;
        match queue {
            Some(queue) => queue.run(burst.operation, files, transfers, supply, moved)?,
            None => synchronous::run(burst.operation, files, transfers, supply, moved)?,
        }
        match burst.operation {
            Operation::Write => files.iter().try_for_each(make_durable),
            Operation::Read => Ok(()),
        }
    }

    /// Does what comes after the measure: a write that is to be verified is read back, not from the
    /// cache, and the files are closed.
    pub fn finish(self) -> Result<Finished, EngineError> {
        let layouts = self.files.iter().map(|it| lustre::file_layout(&it.file)).collect();
        let (burst, source) = (self.burst.clone(), self.source);
        let (moved, page_cache) = (self.moved, self.page_cache());
        drop(self);
        let verified = match (burst.verify, burst.operation) {
            (false, _) => 0,
            (true, Operation::Read) => moved.bytes,
            (true, Operation::Write) => read_back(&burst, source)?,
        };
        Ok(Finished {
            bytes: Bytes::new(moved.bytes),
            calls: moved.calls,
            layouts,
            page_cache,
            verified: Bytes::new(verified),
        })
    }

    fn page_cache(&self) -> PageCache {
        let in_memory = self.files.iter().any(|it| is_in_memory(&it.file));
        match (self.burst.caching, self.burst.operation) {
            (Caching::Direct, _) => {
                PageCache { by: CacheKeptOut::Direct, cached: self.cached(), in_memory }
            }
            (Caching::Synced, Operation::Write) => {
                PageCache { by: CacheKeptOut::Fsync, cached: None, in_memory }
            }
            (Caching::Synced, Operation::Read) => PageCache {
                by: CacheKeptOut::Dropped,
                cached: self.dropped.and_then(|it| it.still_cached),
                in_memory,
            },
        }
    }

    /// Some file systems take O_DIRECT and use the cache all the same (tmpfs, ext4 with
    /// data=journal, some of FUSE).
    fn cached(&self) -> Option<Bytes> {
        let of_file = |(index, it): (usize, &BurstFile)| {
            cached_bytes(&it.file, self.transfers.region(index)).map(Bytes::get)
        };
        self.files.iter().enumerate().map(of_file).sum::<Option<u64>>().map(Bytes::new)
    }
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepared").field(&self.burst).finish()
    }
}

fn drop_all(files: &[BurstFile], transfers: &Transfers) -> Result<Dropped, EngineError> {
    let mut sum = Dropped { still_cached: Some(Bytes::default()), in_memory: false };
    for (index, it) in files.iter().enumerate() {
        let dropped = drop_region(&it.file, &it.path, transfers.region(index))?;
        let pair = sum.still_cached.zip(dropped.still_cached);
        sum.still_cached = pair.map(|(sum, more)| Bytes::new(sum.get() + more.get()));
        sum.in_memory |= dropped.in_memory;
    }
    Ok(sum)
}

fn make_durable(file: &BurstFile) -> Result<(), EngineError> {
    loop {
        match fsync(&file.file) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.map_err(file_error("fsync", &file.path)),
        }
    }
}

/// Repeats the transfers as reads that are compared; in their own order only when that is what
/// names them.
fn read_back(written: &Burst, source: Source<'_>) -> Result<u64, EngineError> {
    let pattern = if written.span.is_some() { written.pattern } else { Pattern::Sequential };
    let read = Burst { operation: Operation::Read, pattern, ..written.clone() };
    let mut prepared = Prepared::open(&read, source)?;
    prepared.transfer()?;
    Ok(prepared.moved.bytes)
}
