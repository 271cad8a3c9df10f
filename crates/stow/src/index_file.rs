//! A merged index as a reader has it: blocks are read when they are needed, and compared with their checksums.

use std::fs::File;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::fstat;
use rustix::io::{Errno, pread};

use crate::index::{Fence, IndexHead};
use crate::index_entry::{Extent, IndexRun, RUN_BYTES, SINGLE_BYTES, decode_single};
use crate::strands::Strands;

/// Bytes that are read at first: all of a small index's beginning.
const FIRST_BYTES: usize = 4096;

/// A beginning of up to this many bytes is read whatever is stored of it; a longer one, if it is so many times as long at most as what is stored.
const QUICKLY_READ: u64 = 16 << 20;
const PACKED_MAX: u64 = 20;

/// Most parts that are told at once, and the memory that each may take until it is read: an index that claims more is not believed.
const PARTS_MAX: u64 = 1 << 26;
const BYTES_OF_PART: u64 = 128;

/// An open index.
pub struct IndexFile {
    file: File,
    head: IndexHead,
    runs: Blocks<ReachingRun>,
    singles: Blocks<Extent>,
    bytes: u64,
    parts_max: usize,
    /// Bytes of memory that blocks take which were read, and may take.
    blocks: AtomicU64,
    blocks_max: u64,
}

/// The blocks of one kind.
struct Blocks<T> {
    /// Where each begins in the file.
    begins: Vec<u64>,
    /// Those that were needed; `None` if they are damaged.
    entries: Vec<OnceLock<Option<Box<[T]>>>>,
}

/// What is done about a block that is needed and was not read yet.
#[derive(Clone, Copy)]
enum Unread {
    IsRead,
    IsLeft,
}

/// How the bytes of a range lie.
pub enum Lay {
    /// In runs of short parts, which fill it.
    Strands(Strands),
    /// In these parts, each cut to it, in the order of the file; what is between them are holes.
    Parts(Vec<Extent>),
}

/// A run, and where the furthest part ends of it and all before it in its block.
struct ReachingRun {
    run: IndexRun,
    reach: u64,
}

/// The index is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedIndex;

impl IndexFile {
    /// Reads the beginning of an index, if that takes at most so many bytes of memory. What is read later may take other ones.
    ///
    /// # Errors
    /// Says why it cannot be used.
    pub fn open(file: File, memory_max: u64, blocks_max: u64) -> Result<Self, String> {
        let told = |errno: Errno| errno.to_string();
        let facts = fstat(&file).map_err(told)?;
        let bytes = u64::try_from(facts.st_size).unwrap_or(0);
        let stored = u64::try_from(facts.st_blocks).unwrap_or(0).saturating_mul(512);
        let mut first = vec![0; FIRST_BYTES.min(bytes as usize)];
        let got = read(&file, &mut first, 0).map_err(told)?;
        first.truncate(got);
        let length = IndexHead::bytes_of(&first, bytes)?;
        if length > memory_max {
            return Err("it takes too much memory".into());
        }
        if length > QUICKLY_READ && length / PACKED_MAX > stored {
            return Err("it is nearly all hole".into());
        }
        let length = length as usize;
        let so_far = first.len();
        first.resize(length, 0);
        if length > so_far {
            let got = read(&file, &mut first[so_far..], so_far as u64).map_err(told)?;
            first.truncate(so_far + got);
        }
        let head = IndexHead::decode(&first, bytes)?;
        let (runs, end) = Blocks::at(length as u64, &head.runs, RUN_BYTES);
        let (singles, _) = Blocks::at(end, &head.singles, SINGLE_BYTES);
        let parts_max = PARTS_MAX.min(memory_max / BYTES_OF_PART) as usize;
        let blocks = AtomicU64::new(0);
        Ok(IndexFile { file, head, runs, singles, bytes, parts_max, blocks, blocks_max })
    }

    /// Returns its beginning.
    pub fn head(&self) -> &IndexHead {
        &self.head
    }

    /// Returns the bytes of memory that its beginning and what was read of the rest take, about.
    pub fn memory(&self) -> u64 {
        let fences = self.head.runs.len() + self.head.singles.len();
        let of_fence = size_of::<Fence>() + size_of::<u64>() + size_of::<OnceLock<Box<[()]>>>();
        (fences * of_fence) as u64 + self.blocks.load(Ordering::Relaxed)
    }

    /// Takes memory for a block; `None` if there is none left for it.
    fn take_for<T>(&self, fence: &Fence) -> Option<()> {
        let bytes = u64::from(fence.entries) * size_of::<T>() as u64;
        let taken = self.blocks.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if taken > self.blocks_max {
            self.blocks.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        Some(())
    }

    /// Returns how many bytes of the file can be read at a time within the memory: a small index can claim that every other one is a part.
    pub fn bytes_at_a_time(&self) -> usize {
        self.parts_max.saturating_mul(2).max(1)
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the parts of a range, each cut to it, in the order of the file; what is between them are holes.
    ///
    /// # Errors
    /// If a block that is needed is not what was written.
    pub fn of(&self, range: Range<u64>) -> Result<Vec<Extent>, DamagedIndex> {
        let left = range.end.saturating_sub(range.start);
        let mut parts = Parts { left, range, found: Vec::new(), most: self.parts_max };
        if parts.left == 0 {
            return Ok(parts.found);
        }
        self.singles_of(&mut parts)?;
        self.each_run(&parts.range.clone(), Unread::IsRead, |run| {
            parts.add_run(run).map(|()| false)
        })?;
        // The parts of each run are in order already, which this sort makes use of.
        parts.found.sort_by_key(|it| it.start);
        let is_apart = |pair: &[Extent]| pair[0].end() <= pair[1].start;
        parts.found.windows(2).all(is_apart).then_some(parts.found).ok_or(DamagedIndex)
    }

    fn singles_of(&self, parts: &mut Parts) -> Result<(), DamagedIndex> {
        let fences = &self.head.singles;
        let first = fences.partition_point(|it| it.reach <= parts.range.start);
        for (block, fence) in (first..).zip(&fences[first..]) {
            if fence.first >= parts.range.end {
                break;
            }
            let singles = self.singles_in(block, fence, Unread::IsRead)?;
            let from = singles.partition_point(|it| it.end() <= parts.range.start);
            for single in &singles[from..] {
                if single.start >= parts.range.end {
                    break;
                }
                parts.add(*single)?;
            }
        }
        Ok(())
    }

    /// Returns the part that has all bytes of a range that is not empty, if one has; no memory is needed for it.
    ///
    /// # Errors
    /// If a block that is needed is not what was written.
    pub fn around(&self, range: &Range<u64>) -> Result<Option<Extent>, DamagedIndex> {
        self.look_around(range, Unread::IsRead)
    }

    /// Does the same without reading or waiting; `None` also where a block is needed that was not read yet.
    pub fn around_known(&self, range: &Range<u64>) -> Option<Extent> {
        self.look_around(range, Unread::IsLeft).ok().flatten()
    }

    fn look_around(
        &self,
        range: &Range<u64>,
        unread: Unread,
    ) -> Result<Option<Extent>, DamagedIndex> {
        let fences = &self.head.singles;
        let block = fences.partition_point(|it| it.reach <= range.start);
        if let Some(fence) = fences.get(block).filter(|it| it.first <= range.start) {
            let singles = self.singles_in(block, fence, unread)?;
            let at = singles.partition_point(|it| it.end() <= range.start);
            if let Some(part) = singles.get(at).and_then(|it| it.cut(range)) {
                return Ok(Some(part));
            }
        }
        let mut found = None;
        self.each_run(range, unread, |run| {
            found = run.around(range);
            Ok(found.is_some())
        })?;
        Ok(found)
    }

    /// Returns the bytes of a range as they are quickest to read.
    ///
    /// # Errors
    /// If a block that is needed is not what was written.
    pub fn lay_of(&self, range: Range<u64>) -> Result<Lay, DamagedIndex> {
        let mut strands = Strands::new(range.clone());
        self.each_run(&range, Unread::IsRead, |run| Ok(!strands.add(run)))?;
        Ok(match strands.are_whole() {
            true => Lay::Strands(strands),
            false => Lay::Parts(self.of(range)?),
        })
    }

    /// Gives the runs that may have parts in a range to `take`, the one that begins last first, until it returns that it has
    /// enough. Runs may be interleaved, so that some that begin far before the range have parts in it.
    fn each_run(
        &self,
        range: &Range<u64>,
        unread: Unread,
        mut take: impl FnMut(&IndexRun) -> Result<bool, DamagedIndex>,
    ) -> Result<(), DamagedIndex> {
        let fences = &self.head.runs;
        let behind = fences.partition_point(|it| it.first < range.end);
        for (block, fence) in fences[..behind].iter().enumerate().rev() {
            if fence.reach <= range.start {
                break;
            }
            let runs = self.runs_in(block, fence, unread)?;
            let behind = runs.partition_point(|it| it.run.first.start < range.end);
            let reaching = runs[..behind].iter().rev().take_while(|it| it.reach > range.start);
            for it in reaching {
                if take(&it.run)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn runs_in(
        &self,
        block: usize,
        fence: &Fence,
        unread: Unread,
    ) -> Result<&[ReachingRun], DamagedIndex> {
        let read = || {
            self.take_for::<ReachingRun>(fence)?;
            let bytes = self.block(self.runs.begins[block], fence, RUN_BYTES)?;
            let mut reach = 0;
            let mut reaching = |it| {
                let run = IndexRun::decode(it)?;
                reach = run.end().max(reach);
                (run.end() <= self.head.size).then_some(ReachingRun { run, reach })
            };
            let runs: Option<Box<[ReachingRun]>> =
                bytes.chunks_exact(RUN_BYTES).map(&mut reaching).collect();
            runs.filter(|it| it.is_sorted_by_key(|it| it.run.first.start))
        };
        self.runs.entry(block, unread, read).ok_or(DamagedIndex)
    }

    fn singles_in(
        &self,
        block: usize,
        fence: &Fence,
        unread: Unread,
    ) -> Result<&[Extent], DamagedIndex> {
        let read = || {
            self.take_for::<Extent>(fence)?;
            let bytes = self.block(self.singles.begins[block], fence, SINGLE_BYTES)?;
            let is_inside = |it: &Extent| it.end() <= self.head.size;
            let single = |it| decode_single(it, fence.first).filter(is_inside);
            let singles: Option<Box<[Extent]>> =
                bytes.chunks_exact(SINGLE_BYTES).map(single).collect();
            singles.filter(|it| it.is_sorted_by(|a, b| a.end() <= b.start))
        };
        self.singles.entry(block, unread, read).ok_or(DamagedIndex)
    }

    fn block(&self, begin: u64, fence: &Fence, each: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; fence.entries as usize * each];
        let got = read(&self.file, &mut bytes, begin).ok()?;
        (got == bytes.len() && crc32c::crc32c(&bytes) == fence.checksum).then_some(bytes)
    }
}

impl<T> Blocks<T> {
    /// Returns the blocks that begin here, and where they end.
    fn at(begin: u64, fences: &[Fence], each: usize) -> (Self, u64) {
        let mut next = begin;
        let mut place = |fence: &Fence| {
            let place = next;
            next += u64::from(fence.entries) * each as u64;
            place
        };
        let begins = fences.iter().map(&mut place).collect();
        let entries = fences.iter().map(|_| OnceLock::new()).collect();
        (Blocks { begins, entries }, next)
    }

    /// Returns what is in a block; `None` if it is damaged, or was left unread.
    fn entry(
        &self,
        block: usize,
        unread: Unread,
        read: impl FnOnce() -> Option<Box<[T]>>,
    ) -> Option<&[T]> {
        let entry = &self.entries[block];
        match unread {
            Unread::IsRead => entry.get_or_init(read).as_deref(),
            Unread::IsLeft => entry.get()?.as_deref(),
        }
    }
}

/// The parts of a range that were found.
struct Parts {
    range: Range<u64>,
    found: Vec<Extent>,
    /// Bytes of the range that no part has yet: parts that take more overlap.
    left: u64,
    most: usize,
}

impl Parts {
    /// Adds a part, cut to the range.
    fn add(&mut self, it: Extent) -> Result<(), DamagedIndex> {
        let (start, end) = (it.start.max(self.range.start), it.end().min(self.range.end));
        let Some(length) = end.checked_sub(start).filter(|it| *it > 0) else { return Ok(()) };
        self.left = self.left.checked_sub(length).ok_or(DamagedIndex)?;
        if self.found.len() >= self.most {
            return Err(DamagedIndex);
        }
        let position = it.position + (start - it.start);
        self.found.push(Extent { start, length, log: it.log, position });
        Ok(())
    }

    fn add_run(&mut self, run: &IndexRun) -> Result<(), DamagedIndex> {
        let start = run.first.start;
        if start >= self.range.end || run.end() <= self.range.start {
            return Ok(());
        }
        let first = self.range.start.saturating_sub(start) / run.stride;
        for step in first..u64::from(run.count) {
            let part = run.part(step);
            if part.start >= self.range.end {
                break;
            }
            self.add(part)?;
        }
        Ok(())
    }
}

fn read(file: &File, bytes: &mut [u8], position: u64) -> Result<usize, Errno> {
    let mut got = 0;
    while got < bytes.len() {
        match pread(file, &mut bytes[got..], position + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(got)
}
