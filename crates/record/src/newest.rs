//! The recordings that somebody made here, for commands that are given none.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, acting_user};
use plimsoll_trace::layout::FILE_EXTENSION;
use rustix::fs::{FileType, Stat};

use crate::marker::NAME as MARKER;

/// Seconds and nanoseconds since 1970.
type Time = (i64, i64);

/// Returns this user's recordings in a directory, the newest first: the directory itself and those directly below it.
/// Links are not followed, and what belongs to others is not taken.
///
/// # Errors
/// If the directory cannot be read, or another user serves it, who says of files there what they like.
pub fn newest(place: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = Directory::open_unserved(place)?;
    let mut found: Vec<(Time, PathBuf)> = Vec::new();
    if let Some(began) = began(&directory) {
        found.push((began, place.to_path_buf()));
    }
    for name in directory.names()? {
        let is_own = directory.facts_of(&name).is_ok_and(|it| {
            is_mine(&it) && FileType::from_raw_mode(it.st_mode) == FileType::Directory
        });
        if let Some(child) = is_own.then(|| directory.child(&name).ok()).flatten()
            && let Some(began) = began(&child)
        {
            found.push((
                began,
                if place == Path::new(".") { PathBuf::from(&name) } else { place.join(&name) },
            ));
        }
    }
    found.sort_by(|one, other| other.cmp(one));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Returns when a recording began: when its marker was made or, without one, its newest file. `None` for directories
/// without a file of a process.
fn began(directory: &Directory) -> Option<Time> {
    let time = |name: &OsStr| {
        let facts = directory.facts_of(name).ok().filter(is_mine)?;
        Some((facts.st_mtime, i64::try_from(facts.st_mtime_nsec).unwrap_or(0)))
    };
    let names = directory.names().ok()?;
    let is_recorded =
        |name: &&OsStr| Path::new(name).extension() == Some(OsStr::new(FILE_EXTENSION));
    let files = names.iter().map(|name| name.as_os_str()).filter(is_recorded);
    let newest_file = files.filter_map(time).max()?;
    Some(time(OsStr::new(MARKER)).unwrap_or(newest_file))
}

fn is_mine(facts: &Stat) -> bool {
    facts.st_uid == acting_user()
}
