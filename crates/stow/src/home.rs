//! Where the container of some logs is: a note beside them, on each target.
//!
//! A container that was copied (`cp -r`) has the id and the logs of the other one: two that write to the same logs would spoil both. So the
//! logs know which one is theirs, by the number of its marker and when that was made; the other one can be read and not written. The
//! same note tells where to look for it, and whose logs are left behind when a container was removed without them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, acting_user, open_trusted, random_hex};
use rustix::fs::{AtFlags, OFlags, StatxFlags, statx};

use crate::error::Attempt;
use crate::log_place::{LogPlace, NOTE};
use crate::marker::{MARKER, id_in};
use crate::rights::PRIVATE_FILE;
use crate::{Container, Id, StowError};

const FIRST_LINE: &str = "plimsoll home 1";
/// Of notes that say when the marker was made.
const FIRST_LINE_2: &str = "plimsoll home 2";

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
}

/// Whether a container may write to its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They are its own.
    Original,
    /// They are those of the container at this path.
    Copy(PathBuf),
    /// They are those of a container that was at this path, where nobody can look now, or which is not there any more: this one may be a copy of it, also
    /// if it is at this path itself.
    Unknown(PathBuf),
}

impl Home {
    /// Returns the text of the note.
    pub fn text(&self) -> String {
        let path = self.path.as_deref().and_then(Path::to_str).unwrap_or("-");
        let said = match self.born {
            None => format!("{FIRST_LINE}\npath {path}\ninode {}\n", self.inode),
            Some(born) => {
                format!("{FIRST_LINE_2}\npath {path}\ninode {}\nborn {born}\n", self.inode)
            }
        };
        format!("{said}sum {:08x}\n", crc32c::crc32c(said.as_bytes()))
    }

    /// Reads a note; `None` if nobody wrote it like this.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let path = PathBuf::from(lines.next()?.strip_prefix("path ")?);
        let inode = lines.next()?.strip_prefix("inode ")?.parse().ok()?;
        let born = lines.next()?.strip_prefix("born ").and_then(|it| it.parse().ok());
        let home = Home { path: path.is_absolute().then_some(path), inode, born };
        // What can be said in one way only is read in that way only.
        (home.text() == text).then_some(home)
    }

    /// Returns the note beside some logs; `None` if there is none that can be read.
    pub fn beside(logs: &Directory) -> Option<Self> {
        logs.read_small(NOTE).ok().and_then(|text| Home::parse(&text))
    }

    fn of(container: &Container) -> io::Result<Self> {
        let Made { inode, born, .. } = Made::of(container.directory())?;
        let path = std::fs::read_link(container.directory().path_by_descriptor())?;
        let is_plain = |it: &Path| it.to_str().is_some_and(|it| !it.contains(char::is_control));
        Ok(Home { path: Some(path).filter(|it| is_plain(it)), inode, born })
    }

    fn write(&self, logs: &Directory, is_synced: bool) -> io::Result<()> {
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
/// If the target refuses.
pub fn note(logs: &Directory, container: &Container, is_synced: bool) -> io::Result<()> {
    if logs.kind_of(NOTE).is_ok() { Ok(()) } else { Home::of(container)?.write(logs, is_synced) }
}

/// Makes sure that a container may write to its logs, and notes where it is if it was moved.
///
/// # Errors
/// If it is a copy, or if that cannot be told.
pub fn require_original(container: &Container) -> Result<(), StowError> {
    let noted = noted_of(container)?;
    let path = || container.path().to_path_buf();
    match standing_by(container, &noted)? {
        Standing::Original => {
            let home = Home::of(container).attempt("look at", path())?;
            if noted.iter().all(|it| *it == home) { Ok(()) } else { renew(container) }
        }
        Standing::Copy(original) => Err(StowError::Copy { path: path(), original }),
        Standing::Unknown(home) => Err(StowError::Displaced { path: path(), home }),
    }
}

/// Returns whether a container may write to its logs.
///
/// # Errors
/// If the container cannot be looked at.
pub fn standing_of(container: &Container) -> Result<Standing, StowError> {
    standing_by(container, &noted_of(container)?)
}

/// Returns what all notes together say: whoever forged a container can have laid a log and a note of his own beside those of another.
fn standing_by(container: &Container, noted: &[Home]) -> Result<Standing, StowError> {
    for noted in noted {
        let told = standing(container, noted)?;
        if told != Standing::Original {
            return Ok(told);
        }
    }
    Ok(Standing::Original)
}

/// Notes beside all logs that they are this container's, wherever it is now.
///
/// # Errors
/// If a target refuses.
pub fn renew(container: &Container) -> Result<(), StowError> {
    let home = Home::of(container).attempt("look at", container.path())?;
    for place in places_of(container)? {
        let logs = place.directory();
        if Home::beside(logs).as_ref() != Some(&home) {
            home.write(logs, !container.is_unsynced())
                .attempt("note the container in", logs.path())?;
        }
    }
    Ok(())
}

fn standing(container: &Container, noted: &Home) -> Result<Standing, StowError> {
    let directory = container.directory();
    let own = Made::of(directory).attempt("look at", directory.path())?;
    if own.is_noted(noted) {
        return Ok(Standing::Original);
    }
    let Some(path) = &noted.path else { return Ok(Standing::Unknown("an unknown place".into())) };
    let Ok(near) = found_near(path, container.id()) else {
        return Ok(Standing::Unknown(path.clone()));
    };
    if let Some(original) = near.iter().find(|it| it.marker.is_noted(noted)) {
        return Ok(Standing::Copy(original.path.clone()));
    }
    // What is in the noted place may be an old copy that was put back there, after the container was moved.
    Ok(match near.iter().find(|it| it.path == *path && it.marker != own) {
        Some(found) => Standing::Copy(found.path.clone()),
        None => Standing::Unknown(path.clone()),
    })
}

/// A container that is where its logs say.
pub struct FoundHome {
    path: PathBuf,
    marker: Made,
}

/// The marker of a container, as its file system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Made {
    device: u64,
    inode: u64,
    born: Option<u64>,
}

impl Made {
    /// Looks at the marker in a directory.
    fn of(directory: &Directory) -> io::Result<Self> {
        let facts = directory.facts_of(MARKER)?;
        let (flags, mask) = (AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME | StatxFlags::INO);
        let told = statx(directory, MARKER, flags, mask)
            .ok()
            .filter(|it| it.stx_ino == facts.st_ino && it.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born = told.and_then(|it| {
            let seconds = u64::try_from(it.stx_btime.tv_sec).ok()?;
            seconds.checked_mul(1_000_000_000)?.checked_add(u64::from(it.stx_btime.tv_nsec))
        });
        Ok(Made { device: facts.st_dev, inode: facts.st_ino, born })
    }

    /// Returns whether this is the one of a note. Not every node tells when a file was made.
    fn is_noted(&self, noted: &Home) -> bool {
        let is_of_that_time = match (self.born, noted.born) {
            (Some(own), Some(noted)) => own == noted,
            _ => true,
        };
        self.inode == noted.inode && is_of_that_time
    }
}

/// Returns this user's containers of this id at this path or under other names in the same directory.
///
/// # Errors
/// If nobody can look there, or if others can exchange a directory on the way: what is not there then proves nothing.
pub fn found_near(path: &Path, id: Id) -> io::Result<Vec<FoundHome>> {
    let above = path.parent().unwrap_or(path);
    let trusted = open_trusted(above).map_err(io::Error::other)?;
    if !trusted.missing.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let parent = trusted.directory;
    let found = |name: OsString| {
        let child = parent.child(&name).ok()?;
        let is_own = child.facts().is_ok_and(|it| it.st_uid == acting_user());
        let text = child.read_small(MARKER).ok().filter(|_| is_own)?;
        let marker = Made::of(&child).ok().filter(|_| id_in(&text) == Ok(id))?;
        Some(FoundHome { path: above.join(name), marker })
    };
    Ok(parent.names()?.into_iter().filter_map(found).collect())
}

/// Returns what is noted beside the logs of a container, by its owner, as far as they can be reached.
fn noted_of(container: &Container) -> Result<Vec<Home>, StowError> {
    let mut notes: Vec<Home> = Vec::new();
    for listed in container.logs()? {
        if let Ok(Some(noted)) = container.note_beside(&listed)
            && !notes.contains(&noted)
        {
            notes.push(noted);
        }
    }
    Ok(notes)
}

/// Returns the places that have logs of a container, as far as they can be reached.
fn places_of(container: &Container) -> Result<Vec<LogPlace>, StowError> {
    let mut places: Vec<LogPlace> = Vec::new();
    for listed in container.logs()? {
        let Ok((place, _)) = container.log_in_place(&listed) else { continue };
        if !places.iter().any(|it| it.directory().path() == place.directory().path()) {
            places.push(place);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_one_thing_in_one_way() {
        let home = Home { path: Some("/scratch/a b/big".into()), inode: 77, born: None };
        let text = "plimsoll home 1\npath /scratch/a b/big\ninode 77\nsum a4ea521c\n";
        assert_eq!(home.text(), text);
        assert_eq!(Home::parse(text), Some(home));
        let nowhere = Home { path: None, inode: u64::MAX, born: Some(5) };
        assert_eq!(Home::parse(&nowhere.text()), Some(nowhere));
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1;
            assert_eq!(Home::parse(&String::from_utf8(changed).unwrap()), None, "{at}");
            assert_eq!(Home::parse(&text[..at]), None);
        }
    }
}
