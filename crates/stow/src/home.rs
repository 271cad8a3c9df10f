//! Where the container of some logs is: a note beside them, on each target.
//!
//! A container that was copied (`cp -r`) has the id and the logs of the other one: two that write to the same logs would spoil both. So the
//! logs know which one is theirs, by the number of its marker and when that was made; the other one can be read and not written. The
//! same note tells where to look for it, and whose logs are left behind when a container was removed without them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_guarded::{
    Directory, SMALL_BYTES_MAX, Untrusted, open_trusted, random_hex, read_at_most,
};
use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags, fstat, fstatfs, makedev, statx};

use crate::Container;
use crate::fresh;
use crate::log_place::{LogPlace, NOTE};
use crate::marker::MARKER;
use crate::rights::{OTHERS_WRITE, PRIVATE_FILE};

const FIRST_LINE: &str = "plimsoll home 1";
/// Of notes that say when the marker was made.
const FIRST_LINE_2: &str = "plimsoll home 2";
/// Of notes that say in which directory the container was.
const FIRST_LINE_3: &str = "plimsoll home 3";

/// How often, and after which time, a note is looked for again: network file systems remember names and attributes for a second.
const LOOKS: u32 = 15;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Overlayfs (statfs(2)), which may show one file with several devices.
const OVERLAY: i64 = 0x794C_7630;

/// What the note says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Where the container was when it was written to last; `None` if that cannot be written in a line.
    pub path: Option<PathBuf>,
    /// The number of its marker in the file system.
    pub inode: u64,
    /// When its marker was made, in nanoseconds since 1970, where the file system tells: the number may be another file's by now, or one of
    /// another file system.
    pub born: Option<u64>,
    /// The directory that the container was in, where that is known: another one may have its path by now, as where a file system is not mounted.
    pub above: Option<Above>,
}

/// A directory, as its file system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Above {
    /// Its number.
    pub inode: u64,
    /// When it was made, as in [`Home`].
    pub born: Option<u64>,
}

/// How often notes are looked for again, for all logs of a container together: what was remembered of one is forgotten of all by then.
pub struct Looks {
    left: u32,
}

impl Looks {
    /// Others are not waited for: they decide how many of their notes are missing.
    pub fn of(container: &Container) -> Self {
        Looks { left: if container.is_own() { LOOKS } else { 0 } }
    }

    /// Returns the note beside some logs, as [`Home::beside`] does.
    pub fn for_note(&mut self, logs: &Directory) -> Option<Home> {
        let mut found = Home::beside_now(logs);
        if found.is_some() || self.left == 0 || fresh::is_of_one_node(logs) {
            return found;
        }
        while found.is_none() && self.left > 0 {
            self.left -= 1;
            std::thread::sleep(LOOK_AGAIN);
            found = Home::beside_now(logs);
        }
        found
    }
}

impl Above {
    /// Looks at a directory; `None` if that is not told.
    pub(crate) fn of(directory: &Directory) -> Option<Self> {
        let mask = StatxFlags::BTIME | StatxFlags::INO;
        let told = statx(directory, "", AtFlags::EMPTY_PATH, mask).ok()?;
        Some(Above { inode: told.stx_ino, born: born_of(&told) })
    }

    fn line(self) -> String {
        let born = self.born.map_or("-".into(), |it| it.to_string());
        format!("above {} {born}\n", self.inode)
    }

    fn parse(text: &str) -> Option<Self> {
        let (inode, born) = text.split_once(' ')?;
        Some(Above { inode: inode.parse().ok()?, born: born.parse().ok() })
    }
}

impl Home {
    /// Returns the text of the note.
    pub fn text(&self) -> String {
        let path = self.path.as_deref().and_then(Path::to_str).unwrap_or("-");
        let first_line = match (self.born, self.above) {
            (_, Some(_)) => FIRST_LINE_3,
            (Some(_), None) => FIRST_LINE_2,
            (None, None) => FIRST_LINE,
        };
        let born = self.born.map_or(String::new(), |it| format!("born {it}\n"));
        let above = self.above.map_or(String::new(), Above::line);
        let said = format!("{first_line}\npath {path}\ninode {}\n{born}{above}", self.inode);
        format!("{said}sum {:08x}\n", crc32c::crc32c(said.as_bytes()))
    }

    /// Reads a note; `None` if nobody wrote it like this.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let path = PathBuf::from(lines.next()?.strip_prefix("path ")?);
        let inode = lines.next()?.strip_prefix("inode ")?.parse().ok()?;
        let mut home = Home { path: Some(path), inode, born: None, above: None };
        home.path = home.path.filter(|it| it.is_absolute());
        for line in lines {
            if let Some(born) = line.strip_prefix("born ") {
                home.born = born.parse().ok();
            } else if let Some(above) = line.strip_prefix("above ") {
                home.above = Above::parse(above);
            }
        }
        // What can be said in one way only is read in that way only.
        (home.text() == text).then_some(home)
    }

    /// Returns the note beside some logs; `None` if there is none that can be read. Another node may have replaced it just now, and this one remember
    /// what was there before: where there can be others, it is looked for again until that is forgotten.
    pub fn beside(logs: &Directory) -> Option<Self> {
        Looks { left: LOOKS }.for_note(logs)
    }

    fn beside_now(logs: &Directory) -> Option<Self> {
        let file = logs.open_file(NOTE, OFlags::RDONLY).ok()?;
        // It may be anybody's words.
        if fstat(&file).ok()?.st_mode & OTHERS_WRITE != 0 {
            return None;
        }
        fresh::renew(&file).ok()?;
        let bytes = read_at_most(SMALL_BYTES_MAX, file).ok()??;
        String::from_utf8(bytes).ok().and_then(|text| Home::parse(&text))
    }

    pub(crate) fn of(container: &Container) -> io::Result<Self> {
        let Made { inode, born, .. } = Made::of(container.directory())?;
        let path = std::fs::read_link(container.directory().path_by_descriptor())?;
        let is_plain = |it: &Path| it.to_str().is_some_and(|it| !it.contains(char::is_control));
        let above = container.directory().above_not_mounted();
        let above = above.ok().and_then(|above| Above::of(&above));
        Ok(Home { path: Some(path).filter(|it| is_plain(it)), inode, born, above })
    }

    pub(crate) fn write(&self, logs: &Directory, is_synced: bool) -> io::Result<()> {
        let draft = format!(".{NOTE}-{}", random_hex(8)?);
        let file = logs.create(&draft, OFlags::WRONLY, PRIVATE_FILE)?;
        let written = io::Write::write_all(&mut &file, self.text().as_bytes());
        let synced = written.and_then(|()| if is_synced { file.sync_all() } else { Ok(()) });
        let placed = synced.and_then(|()| logs.rename(&draft, NOTE));
        placed.inspect_err(|_| {
            let _ = logs.remove_file(&draft);
        })
    }
}

/// Notes beside new logs whose they are, if nothing is noted yet. It is durable if their container is.
///
/// # Errors
/// If the target refuses, or if there are logs that are not known to be this container's.
pub fn note(place: &LogPlace, container: &Container, is_synced: bool) -> io::Result<()> {
    match Home::beside_now(place.directory()) {
        // A power failure can leave a note that says nothing, and logs without any record.
        None if !place.has_records()? => Home::of(container)?.write(place.directory(), is_synced),
        _ => require_noted(container, place),
    }
}

/// Makes sure that logs may be changed or removed in this place.
///
/// # Errors
/// If the note there does not say that they are this container's.
pub fn require_noted(container: &Container, place: &LogPlace) -> io::Result<()> {
    let own = Made::of(container.directory())?;
    match Home::beside(place.directory()) {
        Some(noted) if own.is_noted(&noted) => Ok(()),
        Some(_) => Err(io::Error::other("it is another container's")),
        None => Err(io::Error::other("nothing beside it says whose it is")),
    }
}

/// The marker of a container, as its file system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub device: u64,
    pub inode: u64,
    pub born: Option<u64>,
}

impl Made {
    /// Looks at the marker in a directory.
    pub(crate) fn of(directory: &Directory) -> io::Result<Self> {
        let facts = directory.facts_of(MARKER)?;
        let (flags, mask) = (AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME | StatxFlags::INO);
        let told =
            statx(directory, MARKER, flags, mask).ok().filter(|it| it.stx_ino == facts.st_ino);
        let born = told.as_ref().and_then(born_of);
        Ok(Made { device: facts.st_dev, inode: facts.st_ino, born })
    }

    /// Looks at a marker that is open.
    pub(crate) fn of_file(marker: &File) -> io::Result<Self> {
        let mask = StatxFlags::BTIME | StatxFlags::INO;
        let told = statx(marker, c"", AtFlags::EMPTY_PATH, mask)?;
        let device = makedev(told.stx_dev_major, told.stx_dev_minor);
        Ok(Made { device, inode: told.stx_ino, born: born_of(&told) })
    }

    /// Returns whether this is the one of a note. Not every node tells when a file was made.
    pub(crate) fn is_noted(&self, noted: &Home) -> bool {
        let is_of_that_time = match (self.born, noted.born) {
            (Some(own), Some(noted)) => own == noted,
            _ => true,
        };
        self.inode == noted.inode && is_of_that_time
    }
}

/// Returns when a file was made, where its file system tells.
fn born_of(told: &Statx) -> Option<u64> {
    let is_told = told.stx_mask & StatxFlags::BTIME.bits() != 0;
    let seconds = u64::try_from(told.stx_btime.tv_sec).ok().filter(|_| is_told)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::from(told.stx_btime.tv_nsec))
}

/// Returns who else could give what is at this path another name, if somebody could.
pub(crate) fn who_could_hide(path: &Path) -> Option<Untrusted> {
    let untrusted = open_trusted(path.parent()?).err()?;
    (!matches!(untrusted, Untrusted::File { .. })).then_some(untrusted)
}

/// Returns whether files of different devices are different files here. A network file system can be mounted twice.
pub(crate) fn tells_devices(directory: &Directory) -> bool {
    fstatfs(directory).is_ok_and(|it| it.f_type != OVERLAY && fresh::is_kind_of_one_node(it.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: a container of ten logs without notes, where there can be several nodes. Each was waited for, twice.
    #[test]
    fn all_notes_of_a_container_together_are_waited_for_once() {
        // Nobody says of it that it has one node.
        let logs = Directory::open(Path::new("/proc/self")).unwrap();
        let mut looks = Looks { left: 2 };
        for left in [0, 0] {
            assert_eq!(looks.for_note(&logs), None);
            assert_eq!(looks.left, left);
        }
    }

    #[test]
    fn a_note_says_one_thing_in_one_way() {
        let home =
            Home { path: Some("/scratch/a b/big".into()), inode: 77, born: None, above: None };
        let text = "plimsoll home 1\npath /scratch/a b/big\ninode 77\nsum a4ea521c\n";
        assert_eq!(home.text(), text);
        assert_eq!(Home::parse(text), Some(home));
        let nowhere = Home { path: None, inode: u64::MAX, born: Some(5), above: None };
        assert_eq!(Home::parse(&nowhere.text()), Some(nowhere.clone()));
        for born in [None, Some(7)] {
            let above = Some(Above { inode: 2, born });
            let home = Home { above, ..nowhere.clone() };
            assert_eq!(Home::parse(&home.text()), Some(home.clone()));
            let home = Home { born: None, ..home };
            assert_eq!(Home::parse(&home.text()), Some(home));
        }
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1;
            assert_eq!(Home::parse(&String::from_utf8(changed).unwrap()), None, "{at}");
            assert_eq!(Home::parse(&text[..at]), None);
        }
    }
}
