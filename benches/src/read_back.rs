//! A file that several processes wrote in strided records, as a container and plain, and reading it back.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::{Result, bail};
use plimsoll_stats::Random;
use plimsoll_stow::{Container, Placement, Writer};

use crate::crowd::Worker;

/// Processes, or writers, that write one file together.
pub const WRITERS: usize = 4;

/// How often each process reads its part: once takes some hundredths of a second, which others on the machine disturb.
const PASSES: usize = 4;

/// Writes the same strided records to a container, by several writers, and to a plain file.
///
/// # Errors
/// Fails if one of both cannot be written.
pub fn write_both(
    container: &Arc<Container>,
    plain: &File,
    record: usize,
    all: usize,
) -> Result<()> {
    let bytes = noise(record);
    let open = |_| Writer::open(container.clone(), Placement::Striped);
    let mut writers: Vec<Writer> = (0..WRITERS).map(open).collect::<Result<_, _>>()?;
    for (index, offset) in
        (0..all as u64 / record as u64 * record as u64).step_by(record).enumerate()
    {
        writers[index % WRITERS].write_at(&bytes, offset)?;
        plain.write_all_at(&bytes, offset)?;
    }
    writers[0].sync()?;
    // The last one writes the merged index.
    writers.into_iter().try_for_each(Writer::close)?;
    Ok(plain.sync_all()?)
}

/// Returns where one process reads, again and again: its part of the file, from its beginning on or at random.
pub fn offsets(worker: &Worker, each: usize, all: usize) -> Vec<u64> {
    let count = all / each;
    let (begin, end) = (worker.rank * count / worker.of, (worker.rank + 1) * count / worker.of);
    let mut offsets: Vec<u64> = (begin..end).map(|index| (index * each) as u64).collect();
    if worker.work.last().is_some_and(|it| it == "random") {
        Random::for_stream(7, worker.rank as u64).shuffle(&mut offsets);
    }
    offsets.repeat(PASSES)
}

/// What a process does that reads a file by the calls of any program: its work is a word, the path, bytes of each call and of all, and the order.
///
/// # Errors
/// Fails if it is not told what to do, or cannot open the file.
pub fn read_plain(worker: &Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [_, path, each, all, _] = &worker.work[..] else { bail!("what to read?") };
    let each = each.parse()?;
    let file = File::open(path)?;
    let offsets = offsets(worker, each, all.parse()?);
    let mut bytes = vec![0; each];
    Ok(Box::new(move || {
        Ok(offsets.into_iter().try_for_each(|at| file.read_exact_at(&mut bytes, at))?)
    }))
}

/// Returns bytes that nothing can make smaller.
pub fn noise(length: usize) -> Vec<u8> {
    let mut random = Random::for_stream(1, 1);
    (0..length).map(|_| random.below(256) as u8).collect()
}
