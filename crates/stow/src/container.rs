//! A container: the directory at the user's path, with its marker, anchor, manifest and shared state.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, random_hex, read_at_most, read_small};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::error::Attempt;
use crate::header::FORMAT_VERSION;
use crate::log::{self, Log};
use crate::manifest::{self, ListedLog, MANIFEST_BYTES_MAX};
use crate::rights::{PRIVATE_DIRECTORY, PRIVATE_FILE};
use crate::state::{STATE, STATE_BYTES_MAX, SharedState, StateCopy};
use crate::{Id, StowError};

/// The file that tells a container from other directories.
pub const MARKER: &str = "plimsoll-container";
/// The file whose rights and times are those of the container. It is always empty.
pub const ANCHOR: &str = "anchor";
/// The list of logs.
pub const MANIFEST: &str = "manifest";
/// Held by who needs the size to stay as it is.
pub const LOCK: &str = "lock";

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A place that stores logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What it is called, wherever it is mounted.
    pub name: String,
    /// Where it is mounted here: an absolute path.
    pub path: PathBuf,
}

/// An open container.
#[derive(Debug)]
pub struct Container {
    directory: Directory,
    id: Id,
    owner: u32,
    node: Id,
    targets: Vec<Target>,
}

impl Container {
    /// Makes an empty container whose logs will be on these targets.
    ///
    /// # Errors
    /// If there is anything at the path, or nothing can be made there.
    pub fn create(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        let (above, name) = split(path)?;
        let parent = Directory::open(above).attempt("make a container in", above)?;
        if parent.kind_of(name).is_ok() {
            return Err(Errno::EXIST).attempt("make the container", path);
        }
        let id = Id::random().attempt("make the container", path)?;
        let draft = format!(".{DRAFT_PREFIX}{}", random_hex(8).attempt("make", path)?);
        let made = Self::fill(&parent, &draft, id).and_then(|()| parent.rename(&draft, name));
        if made.is_err() {
            // Half a container is worse than none.
            let _ = parent.remove_tree(&draft);
        }
        made.and_then(|()| parent.sync()).attempt("make the container", path)?;
        Self::open(path, targets)
    }

    fn fill(parent: &Directory, name: &str, id: Id) -> io::Result<()> {
        let directory = parent.make(name, PRIVATE_DIRECTORY)?;
        let node = node_of(&directory)?;
        let marker = format!("{}\nid {id}\n", first_line());
        let files: [(&str, &[u8]); 5] = [
            (MARKER, marker.as_bytes()),
            (ANCHOR, &[]),
            (MANIFEST, &[]),
            (LOCK, &[]),
            (STATE, &SharedState::new_file(node)),
        ];
        for (name, bytes) in files {
            let file = directory.create(name, OFlags::WRONLY, PRIVATE_FILE)?;
            io::Write::write_all(&mut &file, bytes)?;
            file.sync_all()?;
        }
        directory.sync()
    }

    /// Opens a container. Targets that are named here are looked for at these paths, all others where they were when their logs
    /// were made.
    ///
    /// # Errors
    /// If there is none, or one of a newer format.
    pub fn open(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        Self::open_in(Directory::open(path).attempt("open", path)?, targets)
    }

    /// Opens the container whose directory this is, as [`Container::open`] does.
    ///
    /// # Errors
    /// As there.
    pub fn open_in(directory: Directory, targets: &[Target]) -> Result<Self, StowError> {
        let path = directory.path();
        let facts = directory.facts().attempt("look at", path)?;
        let not = |why: String| StowError::NotAContainer { path: path.into(), why };
        let marker = directory.read_small(MARKER).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => not(format!("it has no {MARKER}")),
            _ => not(format!("its {MARKER}: {cause}")),
        })?;
        let id = id_in(&marker).map_err(not)?;
        let node = node_of(&directory).attempt("look at", path)?;
        let (owner, targets) = (facts.st_uid, targets.to_vec());
        Ok(Container { directory, id, owner, node, targets })
    }

    /// Returns whether there is a container at this path.
    pub fn is_at(path: &Path) -> bool {
        Directory::open(path).is_ok_and(|it| Self::is_in(&it))
    }

    /// Returns whether this directory is a container.
    pub fn is_in(directory: &Directory) -> bool {
        directory.read_small(MARKER).is_ok_and(|text| text.starts_with(FIRST_WORDS))
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns what it is known by.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns what this node is known by to it.
    pub fn node(&self) -> Id {
        self.node
    }

    /// Returns the targets that new segments may go to: those that were named, or else all that have logs.
    ///
    /// # Errors
    /// If the manifest is damaged.
    pub fn targets(&self) -> Result<Vec<Target>, StowError> {
        if !self.targets.is_empty() {
            return Ok(self.targets.clone());
        }
        let mut targets: Vec<Target> = Vec::new();
        for ListedLog { target: name, path, .. } in self.logs()? {
            if !targets.iter().any(|it| it.name == name) {
                targets.push(Target { name, path });
            }
        }
        Ok(targets)
    }

    /// Returns the logs that the manifest lists.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn logs(&self) -> Result<Vec<ListedLog>, StowError> {
        let path = || self.path().join(MANIFEST);
        let file = self.directory.open_file(MANIFEST, OFlags::RDONLY).attempt("open", path())?;
        let text = read_at_most(MANIFEST_BYTES_MAX, file).attempt("read", path())?;
        let logs = text.ok_or_else(|| "it is too large".to_string());
        let logs = logs.and_then(|text| manifest::parse(&text));
        logs.map_err(|why| StowError::Damaged { path: path(), why })
    }

    /// Opens a log: on the target of its name if that was named, where it was when it was made, or on any other named target.
    ///
    /// # Errors
    /// If it is nowhere. The reason is that of the first place.
    pub fn open_log(&self, listed: &ListedLog, flags: OFlags) -> io::Result<Log> {
        let is_named = |it: &&Target| it.name == listed.target;
        let named = self.targets.iter().filter(is_named).map(|it| &it.path);
        let others = self.targets.iter().filter(|it| !is_named(it)).map(|it| &it.path);
        let mut reason = None;
        for target in named.chain([&listed.path]).chain(others) {
            match Log::open(target, self.id, listed.number, flags, self.owner) {
                Ok(log) => return Ok(log),
                Err(cause) => reason = reason.or(Some(cause)),
            }
        }
        Err(reason.unwrap_or_else(|| Errno::NOENT.into()))
    }

    /// Returns what writers share, as it is now; `None` if that is damaged.
    pub fn state(&self) -> Option<StateCopy> {
        let file = self.directory.open_file(STATE, OFlags::RDONLY).ok()?;
        StateCopy::decode(&read_at_most(STATE_BYTES_MAX, file).ok()??)
    }

    /// Keeps others from giving room back until the file is dropped; `None` where files cannot be locked, or this user may not: nobody gives
    /// room back there.
    pub(crate) fn hold_for_reading(&self) -> Option<File> {
        let file = self.directory.open_file(MARKER, OFlags::RDONLY).ok()?;
        flock(&file, FlockOperation::LockShared).ok()?;
        Some(file)
    }

    /// Keeps readers out until the file is dropped.
    ///
    /// # Errors
    /// If there are any.
    pub(crate) fn keep_readers_out(&self) -> Result<File, StowError> {
        let path = || self.path().join(MARKER);
        let file = self.directory.open_own_file(MARKER, OFlags::RDONLY).attempt("open", path())?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(Errno::AGAIN) => Err(StowError::BeingRead { path: self.path().into() }),
            Err(errno) => Err(errno).attempt("lock", path()),
        }
    }

    /// Removes the container and all its logs. Returns the logs that could not be reached and so are left.
    ///
    /// # Errors
    /// If somebody writes to it, or something cannot be removed.
    pub fn remove(self) -> Result<Vec<ListedLog>, StowError> {
        let path = self.path().to_path_buf();
        let state = SharedState::join(&self.directory, self.node)?;
        if !state.is_alone().attempt("lock", &path)? {
            return Err(StowError::Busy { path });
        }
        let mut left = Vec::new();
        for listed in self.logs()? {
            match self.open_log(&listed, OFlags::RDONLY) {
                Ok(log) => self.remove_log(&log)?,
                Err(_) => left.push(listed),
            }
        }
        let (above, name) = split(&path)?;
        let parent = Directory::open(above).attempt("remove from", above)?;
        parent.remove_tree(name).attempt("remove", &path)?;
        Ok(left)
    }

    /// Removes a log, and the directory that it was the last one in.
    fn remove_log(&self, log: &Log) -> Result<(), StowError> {
        let path = log.path();
        let folder = path.parent().unwrap_or(path);
        let directory = Directory::open(folder).attempt("open", folder)?;
        directory.remove_file_if_there(log::file_name(log.number())).attempt("remove", path)?;
        if let Some(target) = folder.parent()
            && let Ok(target) = Directory::open(target)
        {
            // Others' logs may still be in it.
            let _ = target.remove_directory(log::directory_name(self.id));
        }
        Ok(())
    }
}

/// What the names of unfinished containers begin with.
const DRAFT_PREFIX: &str = "plimsoll-stow-new-";

const FIRST_WORDS: &str = "plimsoll container";

fn first_line() -> String {
    format!("{FIRST_WORDS} {FORMAT_VERSION}")
}

/// Reads the marker.
///
/// # Errors
/// Says what is wrong with it.
pub fn id_in(marker: &str) -> Result<Id, String> {
    let mut lines = marker.lines();
    let first = lines.next().unwrap_or_default();
    if first != first_line() {
        return Err(match first.strip_prefix(FIRST_WORDS) {
            Some(version) => {
                format!("it has format{version}, and this program knows {FORMAT_VERSION}")
            }
            None => format!("its {MARKER} has other words"),
        });
    }
    let id = lines.next().and_then(|line| line.strip_prefix("id ")).and_then(Id::parse);
    id.ok_or_else(|| format!("its {MARKER} has no id"))
}

/// Returns the directory above, and the name in it.
fn split(path: &Path) -> Result<(&Path, &std::ffi::OsStr), StowError> {
    let name = path.file_name().ok_or(Errno::INVAL).attempt("use", path)?;
    let above = path.parent().filter(|it| !it.as_os_str().is_empty());
    Ok((above.unwrap_or(Path::new(".")), name))
}

/// Returns what this node is known by: processes with the same one share the memory of files in this directory. It changes when
/// the machine is started again, and between two mounts of one network file system.
fn node_of(directory: &Directory) -> io::Result<Id> {
    let text = read_small(Path::new(BOOT_ID))?;
    let digits: String = text.trim().chars().filter(|it| *it != '-').collect();
    let boot = Id::parse(&digits).ok_or_else(|| io::Error::other("the kernel has no boot id"))?;
    let device = u128::from(directory.facts()?.st_dev);
    Ok(Id::from_bytes((u128::from_be_bytes(boot.bytes()) ^ device).to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_says_format_and_id() {
        let id = Id::from_bytes([3; 16]);
        assert_eq!(id_in(&format!("plimsoll container 1\nid {id}\n")), Ok(id));
        let newer = id_in("plimsoll container 2\n").unwrap_err();
        assert_eq!(newer, "it has format 2, and this program knows 1");
        assert!(id_in("").unwrap_err().contains("other words"));
        assert!(id_in("plimsoll container 1\nid ../..\n").unwrap_err().contains("no id"));
    }
}
