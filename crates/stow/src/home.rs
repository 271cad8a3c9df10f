//! Where the container of some logs is: a note beside them, on each target.
//!
//! A container that was copied (`cp -r`) has the id and the logs of the other one: two that write to the same logs would spoil both. So the
//! logs know which one is theirs, by the number of its marker and by its path; the other one can be read and not written. The
//! same note tells whose logs are left behind when a container was removed without them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, acting_user, open_trusted, random_hex};
use rustix::fs::OFlags;

use crate::error::Attempt;
use crate::log_place::{LogPlace, NOTE};
use crate::marker::{MARKER, id_in};
use crate::rights::PRIVATE_FILE;
use crate::{Container, Id, StowError};

const FIRST_LINE: &str = "plimsoll home 1";

/// What the note says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Where the container was when it was written to last; `None` if that cannot be written in a line.
    pub path: Option<PathBuf>,
    /// The number of its marker in the file system.
    pub inode: u64,
}

/// Whether a container may write to its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They are its own.
    Original,
    /// They are those of the container at this path.
    Copy(PathBuf),
    /// They are those of a container that was at this path, where nobody can look now.
    Unknown(PathBuf),
}

impl Home {
    /// Returns the text of the note.
    pub fn text(&self) -> String {
        let path = self.path.as_deref().and_then(Path::to_str).unwrap_or("-");
        let said = format!("{FIRST_LINE}\npath {path}\ninode {}\n", self.inode);
        format!("{said}sum {:08x}\n", crc32c::crc32c(said.as_bytes()))
    }

    /// Reads a note; `None` if nobody wrote it like this.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let path = PathBuf::from(lines.next()?.strip_prefix("path ")?);
        let inode = lines.next()?.strip_prefix("inode ")?.parse().ok()?;
        let home = Home { path: path.is_absolute().then_some(path), inode };
        // What can be said in one way only is read in that way only.
        (home.text() == text).then_some(home)
    }

    /// Returns the note beside some logs; `None` if there is none that can be read.
    pub fn beside(logs: &Directory) -> Option<Self> {
        logs.read_small(NOTE).ok().and_then(|text| Home::parse(&text))
    }

    fn of(container: &Container) -> io::Result<Self> {
        let inode = container.directory().facts_of(MARKER)?.st_ino;
        let path = std::fs::read_link(container.directory().path_by_descriptor())?;
        let is_plain = |it: &Path| it.to_str().is_some_and(|it| !it.contains(char::is_control));
        Ok(Home { path: Some(path).filter(|it| is_plain(it)), inode })
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
    let Some(noted) = noted_of(container)? else { return Ok(()) };
    let path = || container.path().to_path_buf();
    match standing(container, &noted)? {
        Standing::Original => {
            let home = Home::of(container).attempt("look at", path())?;
            if home == noted { Ok(()) } else { renew(container) }
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
    match noted_of(container)? {
        Some(noted) => standing(container, &noted),
        None => Ok(Standing::Original),
    }
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
    let own = directory.facts_of(MARKER).attempt("look at", directory.path())?;
    if own.st_ino == noted.inode {
        return Ok(Standing::Original);
    }
    let Some(path) = &noted.path else { return Ok(Standing::Unknown("an unknown place".into())) };
    Ok(match found_near(path, container.id()) {
        Ok(Some(found)) if found.marker == (own.st_dev, own.st_ino) => Standing::Original,
        Ok(Some(found)) => Standing::Copy(found.path),
        // It was moved to another file system, or restored.
        Ok(None) => Standing::Original,
        Err(_) => Standing::Unknown(path.clone()),
    })
}

/// A container that is where its logs say.
pub struct FoundHome {
    path: PathBuf,
    /// Device and inode of its marker.
    marker: (u64, u64),
}

/// Returns this user's container that was at this path: there, or under another name in the same directory.
///
/// # Errors
/// If nobody can look there, or if others can exchange a directory on the way: what is not there then proves nothing.
pub fn found_near(path: &Path, id: Id) -> io::Result<Option<FoundHome>> {
    let above = path.parent().unwrap_or(path);
    let trusted = open_trusted(above).map_err(io::Error::other)?;
    if !trusted.missing.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let parent = trusted.directory;
    let last = path.file_name().map(std::ffi::OsStr::to_os_string);
    let found = |name: OsString| {
        let child = parent.child(&name).ok()?;
        let is_own = child.facts().is_ok_and(|it| it.st_uid == acting_user());
        let text = child.read_small(MARKER).ok().filter(|_| is_own)?;
        let marker = child.facts_of(MARKER).ok().filter(|_| id_in(&text) == Ok(id))?;
        Some(FoundHome { path: above.join(name), marker: (marker.st_dev, marker.st_ino) })
    };
    Ok(last.into_iter().chain(parent.names()?).find_map(found))
}

fn noted_of(container: &Container) -> Result<Option<Home>, StowError> {
    let listed = container.logs()?;
    let mut places = listed.iter().filter_map(|it| container.log_in_place(it).ok());
    Ok(places.find_map(|(place, _)| Home::beside(place.directory())))
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
        let home = Home { path: Some("/scratch/a b/big".into()), inode: 77 };
        let text = "plimsoll home 1\npath /scratch/a b/big\ninode 77\nsum a4ea521c\n";
        assert_eq!(home.text(), text);
        assert_eq!(Home::parse(text), Some(home));
        let nowhere = Home { path: None, inode: u64::MAX };
        assert_eq!(Home::parse(&nowhere.text()), Some(nowhere));
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1;
            assert_eq!(Home::parse(&String::from_utf8(changed).unwrap()), None, "{at}");
            assert_eq!(Home::parse(&text[..at]), None);
        }
    }
}
