//! What is at a place below the directory that is mounted.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{FileAttr, FileType, INodeNo};
use plimsoll_guarded::{Directory, Refusal};
use plimsoll_stow::Container;
use rustix::fs::Stat;
use rustix::io::Errno;

use crate::place::{Identity, Place};

/// What the kernel is told to read and write at once.
const BLOCK_BYTES: u32 = 1 << 20;
const SECTOR_BYTES: u64 = 512;

/// What was found.
pub enum Entry {
    /// The directory of a container.
    Container(Directory),
    /// Anything else.
    Other(Stat),
}

/// Opens the directory at a place. Each on the way to it must be the one that the kernel was told of: for others, it has
/// asked nobody's permission.
///
/// # Errors
/// If it is not there any more, or something else is.
pub fn directory_at(root: &Arc<Directory>, place: &Place) -> io::Result<Arc<Directory>> {
    let mut directory = root.clone();
    for place in place.way() {
        let Some((_, name)) = place.step() else { break };
        let child = child_of(&directory, name)?;
        require_same(place, &child.facts()?)?;
        directory = Arc::new(child);
    }
    Ok(directory)
}

/// Looks at what has a name in a directory; returns also what it is, and the directory.
///
/// # Errors
/// If there is nothing any more.
pub fn look(
    root: &Arc<Directory>,
    above: &Place,
    name: &OsStr,
) -> io::Result<(Entry, Identity, Arc<Directory>)> {
    let above = directory_at(root, above)?;
    let facts = above.facts_of(name)?;
    if kind_of(&facts) != FileType::Directory {
        return Ok((Entry::Other(facts), identity_of(&facts), above));
    }
    let child = child_of(&above, name)?;
    // Something else may have this name by now, or be mounted there.
    let facts = child.facts()?;
    let identity = identity_of(&facts);
    match Container::is_in(&child)? {
        true => Ok((Entry::Container(child), identity, above)),
        false => Ok((Entry::Other(facts), identity, above)),
    }
}

/// Opens what was a directory when it was looked at.
fn child_of(above: &Directory, name: &OsStr) -> io::Result<Directory> {
    above.child(name).map_err(|error| match Refusal::of(&error) {
        Some(Refusal::NotADirectory | Refusal::Symlink) => Errno::STALE.into(),
        _ => error,
    })
}

/// Makes sure that something is what the kernel was told of.
///
/// # Errors
/// If it is something else, which took its place: the kernel then looks it up anew.
pub fn require_same(place: &Place, facts: &Stat) -> io::Result<()> {
    match identity_of(facts) == place.identity() {
        true => Ok(()),
        false => Err(Errno::STALE.into()),
    }
}

/// Returns what a file is, whatever its name.
pub fn identity_of(facts: &Stat) -> Identity {
    (facts.st_dev, facts.st_ino)
}

/// Returns the kind of a file.
pub fn kind_of(facts: &Stat) -> FileType {
    match rustix::fs::FileType::from_raw_mode(facts.st_mode) {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

/// Returns what is told of a file that is no container.
pub fn attributes_of(number: u64, facts: &Stat) -> FileAttr {
    let modified = moment(facts.st_mtime, facts.st_mtime_nsec);
    FileAttr {
        ino: INodeNo(number),
        size: facts.st_size.cast_unsigned(),
        blocks: facts.st_blocks.cast_unsigned(),
        atime: moment(facts.st_atime, facts.st_atime_nsec),
        mtime: modified,
        ctime: moment(facts.st_ctime, facts.st_ctime_nsec),
        crtime: modified,
        kind: kind_of(facts),
        // The kernel asks for the sticky bit before it follows links of others.
        perm: (facts.st_mode & 0o1777) as u16,
        // Names of one file have numbers of their own here.
        nlink: 1,
        uid: facts.st_uid,
        gid: facts.st_gid,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

/// Returns what is told of a container: rights, owner and times of its anchor, and the size of its file. A writer leaves the
/// anchor's times as they are, so that the time of the last write is that of the logs.
pub fn attributes_of_file(
    number: u64,
    anchor: &Stat,
    size: u64,
    written: Option<SystemTime>,
) -> FileAttr {
    let anchor = attributes_of(number, anchor);
    let latest = |time: SystemTime| written.map_or(time, |it| it.max(time));
    FileAttr {
        size,
        blocks: size.div_ceil(SECTOR_BYTES),
        mtime: latest(anchor.mtime),
        ctime: latest(anchor.ctime),
        kind: FileType::RegularFile,
        ..anchor
    }
}

fn moment(seconds: i64, nanos: u64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    let time = time.and_then(|it| it.checked_add(Duration::from_nanos(nanos.min(999_999_999))));
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_1970_and_impossible_ones_are_times_too() {
        assert_eq!(moment(0, 0), SystemTime::UNIX_EPOCH);
        let before = SystemTime::UNIX_EPOCH.duration_since(moment(-2, 500_000_000)).unwrap();
        assert_eq!(before, Duration::from_millis(1500));
        let _ = (moment(i64::MIN, u64::MAX), moment(i64::MAX, u64::MAX));
    }
}
