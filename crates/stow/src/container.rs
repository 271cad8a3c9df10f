//! A container: the directory at the user's path, with its marker, anchor, manifest and shared state.

mod bounds;
mod halves;
mod listed;
mod node;
mod small;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_guarded::{
    Directory, Readers, Refusal, SMALL_BYTES_MAX, acting_user, keep_writers_out, read_at_most,
};
use rustix::fs::{OFlags, fstat};
use rustix::io::Errno;

pub use crate::anchor::ANCHOR;
use crate::error::Attempt;
use crate::first_sync::is_torn;
use crate::fresh::{self, is_of_one_node};
use crate::home;
use crate::log::Log;
use crate::log_place::LogPlace;
use crate::manifest::ListedLog;
use crate::marker::{self, MARKER};
use crate::seat;
use crate::state::SharedState;
use crate::{Id, StowError};
use bounds::Bounds;
use halves::halves_of;
pub(crate) use node::{boot_id, node_of};

/// The list of logs.
pub const MANIFEST: &str = "manifest";

/// A place that stores logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What it is called, wherever it is mounted.
    pub name: String,
    /// Where it is mounted here: an absolute path.
    pub path: PathBuf,
}

/// An open container.
///
/// Its directory is opened once, and everything goes through it: whoever may write beside it can exchange its name at any moment.
#[derive(Debug)]
pub struct Container {
    directory: Directory,
    path: PathBuf,
    way: Way,
    /// Twice 64 bits: that of a copy changes when it outgrows its marker.
    id: [AtomicU64; 2],
    /// Whether it was small when it was looked at last: one that is not never becomes small again.
    small: AtomicBool,
    owner: u32,
    node: Id,
    /// Whether that is not the one that the system tells.
    is_pretended: bool,
    targets: Vec<Target>,
    /// The last stamp that a reader has found: what is written then is later.
    seen: AtomicU64,
    /// Slot pages that the last reader had to read, which an index did not tell of.
    pub(crate) pages_read: AtomicU64,
    bounds: Bounds,
}

/// How a container was found.
#[derive(Debug)]
pub(crate) enum Way {
    /// By a name in this directory, over nobody else's links.
    Named { parent: Directory, name: OsString },
    /// By its directory, which somebody else opened.
    Held,
    /// Wherever that leads: it is only read.
    Anyhow,
}

impl Container {
    /// Opens a container. Targets that are named here are looked for at these paths, all others where they were when their logs
    /// were made. On the way to it, links are followed only if they are this user's or root's.
    ///
    /// # Errors
    /// If there is none, or one of a newer format; if another user's link or file system is on the way.
    pub fn open(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        let Ok((above, name)) = split(path) else {
            let directory = Directory::open_by_own_links(path).attempt("open", path)?;
            return Self::opened(directory, Way::Held, targets);
        };
        let parent = Directory::open_by_own_links(above).attempt("open", path)?;
        let directory = parent.child_or_own_link(name).attempt("open", path)?;
        let way = Way::Named { parent, name: name.to_os_string() };
        Self::opened(directory.renamed(path.to_path_buf()), way, targets)
    }

    /// Opens a container that is only read, wherever its path leads.
    ///
    /// # Errors
    /// If there is none, or one of a newer format.
    pub fn open_to_read(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        let directory = Directory::open(path).attempt("open", path)?;
        Self::opened(directory, Way::Anyhow, targets)
    }

    /// Opens the container whose directory this is, as [`Container::open`] does.
    ///
    /// # Errors
    /// As there.
    pub fn open_in(directory: Directory, targets: &[Target]) -> Result<Self, StowError> {
        Self::opened(directory, Way::Held, targets)
    }

    pub(crate) fn opened(
        directory: Directory,
        way: Way,
        targets: &[Target],
    ) -> Result<Self, StowError> {
        let path = directory.path().to_path_buf();
        let owner = directory.facts().attempt("look at", &path)?.st_uid;
        let not = |why: String| StowError::NotAContainer { path: path.clone(), why };
        let marker =
            open_part(&directory, MARKER, owner).and_then(|it| all_of(it, SMALL_BYTES_MAX));
        let marker = marker.map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => not(format!("it has no {MARKER}")),
            _ => not(format!("its {MARKER}: {cause}")),
        })?;
        if is_torn(&marker) {
            return Err(StowError::Torn { path });
        }
        let words = marker.get(..marker.len().min(marker::WORDS_BYTES)).unwrap_or_default();
        let id = marker::id_in(&String::from_utf8_lossy(words)).map_err(not)?;
        let small = AtomicBool::new(marker::is_small(&marker));
        let node = node_of(&directory).attempt("look at", &path)?;
        let (targets, seen) = (targets.to_vec(), AtomicU64::new(0));
        let bounds = Bounds::of(&way);
        let id = halves_of(id);
        let is_pretended = false;
        Ok(Container {
            directory,
            path,
            way,
            id,
            small,
            owner,
            node,
            is_pretended,
            targets,
            seen,
            pages_read: AtomicU64::new(0),
            bounds,
        })
    }

    /// Takes part as another node than the one that the system tells: where several of them share a kernel, or in a test.
    #[must_use]
    pub fn seen_from(self, node: Id) -> Self {
        Container { node, is_pretended: true, ..self }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it is known by.
    pub fn id(&self) -> Id {
        let [high, low] = self.id.each_ref().map(|it| u128::from(it.load(Ordering::Acquire)));
        Id::from_bytes((high << 64 | low).to_be_bytes())
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns what this node is known by to it.
    pub fn node(&self) -> Id {
        self.node
    }

    /// Opens a log: on the target of its name if that was named, where it was when it was made, or on any other named target.
    /// To write to it, only where it is noted to be this container's.
    ///
    /// # Errors
    /// If it is nowhere. The reason is that of the first place.
    pub fn open_log(&self, listed: &ListedLog, flags: OFlags) -> io::Result<Log> {
        let is_changed = flags.contains(OFlags::RDWR);
        self.find_log(listed, |target| {
            let place = match is_changed {
                true => LogPlace::open(target, self.id()),
                false => self.place_to_read(target),
            }?;
            let log = place.log(listed.number, flags, self.owner)?;
            if is_changed {
                home::require_noted(self, &place)?;
            }
            Ok(log)
        })
    }

    pub(crate) fn place_to_read(&self, target: &Path) -> io::Result<LogPlace> {
        let target = match &self.way {
            // Its user did not name it, but what it is in: nothing leads to where others want.
            Way::Held => Directory::open_by_own_links(target)?,
            _ => Directory::open_unserved(target)?,
        };
        LogPlace::open_to_read(target, self.id())
    }

    /// Finds a log and the directory that it is in, to change or remove it: whose it is, the note in that directory says.
    ///
    /// # Errors
    /// As [`Container::open_log`].
    pub(crate) fn log_in_place(&self, listed: &ListedLog) -> io::Result<(LogPlace, Log)> {
        self.find_log(listed, |target| {
            let place = LogPlace::open(target, self.id())?;
            let log = place.log(listed.number, OFlags::RDONLY, self.owner)?;
            Ok((place, log))
        })
    }

    /// Finds a log on the targets where it may be, one after the other.
    pub(crate) fn find_log<T>(
        &self,
        listed: &ListedLog,
        mut find: impl FnMut(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        let is_named = |it: &&Target| it.name == listed.target;
        let named = self.targets.iter().filter(is_named).map(|it| &it.path);
        let others = self.targets.iter().filter(|it| !is_named(it)).map(|it| &it.path);
        let mut reason = None;
        for target in named.chain([&listed.path]).chain(others) {
            match find(target) {
                Ok(found) => return Ok(found),
                Err(cause) => reason = reason.or(Some(cause)),
            }
        }
        Err(reason.unwrap_or_else(|| Errno::NOENT.into()))
    }

    /// Notes that something of this stamp was read.
    pub(crate) fn note_seen(&self, sequence: u64) {
        self.seen.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Returns the last stamp that was read.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// Opens a file of the container to read it.
    ///
    /// # Errors
    /// If it is not there, or does not belong to the container's owner.
    pub(crate) fn open_part(&self, name: &str) -> io::Result<File> {
        open_part(&self.directory, name, self.owner)
    }

    /// Joins the writers.
    ///
    /// # Errors
    /// As [`seat::join`], or if the container was opened only to be read.
    pub(crate) fn join(&self) -> Result<SharedState, StowError> {
        self.require_changeable()?;
        let one_kernel = !self.is_pretended && is_of_one_node(&self.directory);
        seat::join(&self.directory, self.node, one_kernel)
    }

    /// Makes sure that it was not opened only to be read.
    pub(crate) fn require_changeable(&self) -> Result<(), StowError> {
        match self.way {
            Way::Anyhow => Err(Errno::PERM).attempt("write to", self.path()),
            Way::Named { .. } | Way::Held => Ok(()),
        }
    }

    /// Returns who may read what is in it, as far as its own files decide.
    pub fn readers(&self) -> Readers {
        let of = |name| match self.directory.open_file(name, OFlags::RDONLY) {
            Ok(file) => Readers::of(&file),
            Err(_) => Readers::OwnerAlone,
        };
        let marker = Readers::of(&self.directory).and(of(MARKER));
        // What is small has all in its marker.
        match self.small_log() {
            Ok(Some(_)) => marker,
            _ => marker.and(of(MANIFEST)),
        }
    }

    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// Returns whether it is this user's.
    pub fn is_own(&self) -> bool {
        self.owner == acting_user()
    }

    /// Returns whether it is of another user than this one and root.
    pub fn is_strangers(&self) -> bool {
        !self.is_own() && self.owner != 0
    }

    pub(crate) fn way(&self) -> &Way {
        &self.way
    }

    /// It was given another name in the same directory.
    pub(crate) fn note_name(&mut self, new: &OsStr) {
        if let Way::Named { parent, name } = &mut self.way {
            self.path = parent.path().join(new);
            *name = new.to_os_string();
        }
    }
}

/// Opens a file of a container, if it belongs to the container's owner.
fn open_part(directory: &Directory, name: &str, owner: u32) -> io::Result<File> {
    let file = directory.open_file(name, OFlags::RDONLY)?;
    let facts = fstat(&file)?;
    match facts.st_uid {
        found if found == owner => {
            keep_writers_out(&file, &facts);
            fresh::renew(&file)?;
            Ok(file)
        }
        found => Err(Refusal::Owner { owner: found, expected: owner }.into()),
    }
}

fn all_of(file: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    read_at_most(most, file)?.ok_or_else(|| Refusal::TooLarge.into())
}

/// Returns the directory above, and the name in it.
pub(crate) fn split(path: &Path) -> Result<(&Path, &OsStr), StowError> {
    let name = path.file_name().ok_or(Errno::INVAL).attempt("use", path)?;
    let above = path.parent().filter(|it| !it.as_os_str().is_empty());
    Ok((above.unwrap_or(Path::new(".")), name))
}
