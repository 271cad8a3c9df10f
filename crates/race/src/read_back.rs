//! Reading a race's data back, page by page, past the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use plimsoll_engine::Memory;
use rustix::fs::OFlags;

use crate::RaceError;
use crate::course::Course;
use crate::ledger::Committed;
use crate::outcome::ReadBack;
use crate::stamp::{PAGE_BYTES, Stamps, padded};

/// Read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Compares everything that was committed with what lies there; all targets at once.
pub(crate) fn check(
    course: &Course,
    race: u64,
    index: &[Committed],
) -> Result<ReadBack, RaceError> {
    let targets = course.working.len();
    let results: Vec<Result<ReadBack, RaceError>> = std::thread::scope(|scope| {
        let check = |target| scope.spawn(move || check_target(course, race, index, target));
        let threads: Vec<_> = (0..targets).map(check).collect();
        let panicked = || RaceError::ReadBack {
            path: course.working[0].path().to_path_buf(),
            error: io::Error::other("a thread panicked"),
        };
        threads.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    let mut all = ReadBack::default();
    for found in results {
        let found = found?;
        all.bytes += found.bytes;
        all.wrong_pages += found.wrong_pages;
        all.first_wrong = all.first_wrong.or(found.first_wrong);
    }
    Ok(all)
}

fn check_target(
    course: &Course,
    race: u64,
    index: &[Committed],
    target: usize,
) -> Result<ReadBack, RaceError> {
    let stamps = Stamps::new(race);
    let mut found = ReadBack::default();
    for writer in 0..course.writers {
        let is_here = |it: &&Committed| {
            it.attempt.write.writer == writer && it.attempt.target.index() == target
        };
        let mut here: Vec<&Committed> = index.iter().filter(is_here).collect();
        if here.is_empty() {
            continue;
        }
        here.sort_unstable_by_key(|it| it.file_offset);
        let (directory, name) = (course.working[target].directory(), Course::file(writer));
        let mut read = || -> io::Result<()> {
            let file = directory.open_file(&name, OFlags::RDONLY | course.way.flags())?;
            let mut memory = Memory::new(CHUNK_BYTES).map_err(io::Error::other)?;
            here.iter().try_for_each(|it| compare(&file, it, &stamps, &mut memory, &mut found))
        };
        let path = directory.path().join(&name);
        read().map_err(|error| RaceError::ReadBack { path, error })?;
    }
    Ok(found)
}

fn compare(
    file: &File,
    committed: &Committed,
    stamps: &Stamps,
    memory: &mut Memory,
    found: &mut ReadBack,
) -> io::Result<()> {
    let attempt = &committed.attempt;
    let length = padded(attempt.length_bytes);
    let mut done = 0;
    while done < length {
        let chunk = (length - done).min(CHUNK_BYTES as u64) as usize;
        let bytes = &mut memory.bytes_mut()[..chunk];
        file.read_exact_at(bytes, committed.file_offset + done)?;
        let first_page = done / PAGE_BYTES as u64;
        for page in stamps.wrong_pages(attempt, first_page, bytes) {
            found.wrong_pages += 1;
            let (write, target) = (attempt.write, attempt.target.0);
            found.first_wrong.get_or_insert_with(|| {
                format!("page {page} of {write:?} on target {target} is not what was written")
            });
        }
        done += chunk as u64;
    }
    found.bytes += attempt.length_bytes;
    Ok(())
}

/// Removes the files. If another race follows, waits until the file systems have written that down,
/// so that it does not burden that one.
pub(crate) fn remove_files(course: &Course, is_followed: bool) {
    let directories = || course.working.iter().map(|it| it.directory());
    for directory in directories() {
        for name in directory.names().unwrap_or_default() {
            let text = name.to_string_lossy();
            if text.starts_with("writer") || text.starts_with("noise") {
                let _ = directory.remove_file(&name);
            }
        }
    }
    for directory in directories().filter(|_| is_followed) {
        let _ = directory.sync_file_system();
    }
}
