//! Reading a race's data back, page by page, past the page cache.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use plimsoll_engine::Memory;

use crate::RaceError;
use crate::books::Committed;
use crate::order::Way;
use crate::outcome::ReadBack;
use crate::race::Course;
use crate::stamp::{PAGE_BYTES, Stamps, padded};

/// Read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Compares everything that was committed with what lies there; all targets at once.
pub(crate) fn check(
    course: &Course,
    race: u64,
    index: &[Committed],
) -> Result<ReadBack, RaceError> {
    let targets = course.directories.len();
    let results: Vec<Result<ReadBack, RaceError>> = std::thread::scope(|scope| {
        let check = |target| scope.spawn(move || check_target(course, race, index, target));
        let threads: Vec<_> = (0..targets).map(check).collect();
        let panicked = || RaceError::ReadBack {
            path: course.directories[0].clone(),
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
        let path = course.file(writer, target);
        let mut read = || -> io::Result<()> {
            let file = open(&path, course.way)?;
            let mut memory = Memory::new(CHUNK_BYTES).map_err(io::Error::other)?;
            here.iter().try_for_each(|it| compare(&file, it, &stamps, &mut memory, &mut found))
        };
        read().map_err(|error| RaceError::ReadBack { path: path.clone(), error })?;
    }
    Ok(found)
}

fn open(path: &std::path::Path, way: Way) -> io::Result<File> {
    let flag = if way == Way::Direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(true).custom_flags(flag).open(path)
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
    for directory in &course.directories {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("writer") || name.starts_with("noise") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    for directory in course.directories.iter().filter(|_| is_followed) {
        if let Ok(opened) = File::open(directory) {
            let _ = rustix::fs::syncfs(&opened);
        }
    }
}
