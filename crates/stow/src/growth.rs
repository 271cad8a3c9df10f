//! Plain files that become containers once they need more room than a small file does.
//!
//! Such a file is a plain one, with a mark in an attribute of its own: whoever has it open knows by the mark that its bytes are in it. When it grows, a container is made in
//! hiding that holds the same bytes, the two exchange their names, and the plain file becomes the container's anchor: descriptors of it stay what they are, with their position, flags and locks.
//!
//! The mark says how far that has come, so that whoever is killed in between leaves something that the next one can tell: before the names are exchanged, the file is
//! as it was, and what was made in hiding goes with other removed containers; afterwards all is in the container, and what is left is to put the file into it. Whoever calls
//! this keeps all others from changing the file meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use plimsoll_guarded::{Directory, random_hex};
use rustix::fs::{
    FileType, Mode, OFlags, RenameFlags, XattrFlags, fchmod, fgetxattr, fremovexattr, fsetxattr,
    fstat, ftruncate, renameat, renameat_with,
};
use rustix::io::Errno;

use crate::container::{ANCHOR, Way, split};
use crate::creation::{DRAFT_PREFIX, fill};
use crate::error::Attempt;
use crate::gone::{
    GONE_PREFIX, discard_gone, gone_name, hold, is_gone_name, mark_gone, unmark_left,
};
use crate::{Container, Id, StowError, Target, Writer};

/// The attribute with the mark.
const MARK: &str = "user.plimsoll.grows";

/// How far a plain file has come on its way to be a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its bytes are in it.
    Plain {
        /// Whether they may have been made durable.
        is_synced: bool,
    },
    /// They may be in a container already, which has its name or is just getting it.
    Moving {
        /// The same, of before.
        is_synced: bool,
    },
}

impl Stage {
    const ALL: [(Self, u8); 4] = [
        (Stage::Plain { is_synced: false }, b'p'),
        (Stage::Plain { is_synced: true }, b's'),
        (Stage::Moving { is_synced: false }, b'm'),
        (Stage::Moving { is_synced: true }, b'n'),
    ];

    /// Returns that of a file; `None` if it is no such file.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn of(file: impl AsFd) -> Result<Option<Self>, Errno> {
        let mut mark = [0; 1];
        match fgetxattr(file, MARK, &mut mark[..]) {
            Ok(1) => Ok(Self::ALL.iter().find(|(_, word)| *word == mark[0]).map(|(it, _)| *it)),
            Ok(_) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::RANGE) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Marks a file.
    ///
    /// # Errors
    /// If the file system has no such attributes, or no room for one.
    pub fn set(self, file: impl AsFd) -> Result<(), Errno> {
        let word = Self::ALL.iter().find(|(stage, _)| *stage == self).map_or(b'p', |(_, it)| *it);
        writable(&file, || fsetxattr(&file, MARK, &[word], XattrFlags::empty()))
    }

    /// Takes the mark of a file away: it is a plain one for good, or an anchor.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn forget(file: impl AsFd) -> Result<(), Errno> {
        match writable(&file, || fremovexattr(&file, MARK)) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            forgotten => forgotten,
        }
    }
}

/// Does something to the attributes of a file, also if its rights keep its owner from that.
fn writable(file: impl AsFd, work: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    match work() {
        Err(Errno::ACCESS) => {
            let mode = fstat(&file)?.st_mode & 0o7777;
            fchmod(&file, Mode::from_raw_mode(mode | 0o200))?;
            let done = work();
            fchmod(&file, Mode::from_raw_mode(mode))?;
            done
        }
        done => done,
    }
}

/// A plain file that has outgrown what a small one may have.
pub struct Outgrown<'a> {
    /// The directory that it is in, where nobody else can give its name to another file.
    pub parent: Directory,
    /// Its name there.
    pub name: &'a OsStr,
    /// The file, to be read.
    pub file: &'a File,
    /// The same, to be cut.
    pub writable: BorrowedFd<'a>,
    /// Whether its bytes may have been made durable.
    pub is_synced: bool,
}

impl Outgrown<'_> {
    /// Makes it a container, which the writer that is opened here writes to; `None` if its name leads elsewhere.
    ///
    /// # Errors
    /// If the mount or the targets refuse. The file is as it was then.
    pub fn grow(
        self,
        targets: &[Target],
        open: impl FnOnce(&Arc<Container>) -> Result<Writer, StowError>,
    ) -> Result<Option<(Arc<Container>, Writer)>, StowError> {
        if self.parent.require_same(self.name, self.file).is_err() {
            return Ok(None);
        }
        let path = self.parent.path().join(self.name);
        let (directory, gone) = self.hidden().attempt("make a container of", &path)?;
        let grown = self.grow_in(directory.renamed(path), &gone, targets, open);
        if !matches!(grown, Ok(Some(_))) && self.parent.require_same(&gone, self.file).is_err() {
            discard_gone(&self.parent.path().join(&gone), targets);
        }
        grown
    }

    /// Makes a directory that counts as a removed container.
    fn hidden(&self) -> io::Result<(Directory, String)> {
        let draft = format!("{DRAFT_PREFIX}{}", random_hex(8)?);
        let directory = self.parent.make_own(&draft)?;
        let named = mark_gone(&directory, true).map_err(io::Error::from).and_then(|()| {
            let gone = gone_name(&directory)?;
            self.parent.rename_directory(&draft, &gone, &directory)?;
            Ok(gone)
        });
        match named {
            Ok(gone) => Ok((directory, gone)),
            Err(cause) => {
                let _ = self.parent.remove_held_directory(&draft, &directory);
                Err(cause)
            }
        }
    }

    fn grow_in(
        &self,
        directory: Directory,
        gone: &str,
        targets: &[Target],
        open: impl FnOnce(&Arc<Container>) -> Result<Writer, StowError>,
    ) -> Result<Option<(Arc<Container>, Writer)>, StowError> {
        let path = directory.path().to_path_buf();
        let attempt = |it: io::Result<()>| it.attempt("make a container of", &path);
        let id = Id::random().attempt("make a container of", &path)?;
        // Until the file itself is the anchor, nobody else takes it for one that was left.
        let mut stand_in = None;
        let lock = fill(&directory, id, self.is_synced).and_then(|lock| {
            let anchor = directory.open_file(ANCHOR, OFlags::RDONLY)?;
            hold(&anchor)?;
            stand_in = Some(anchor);
            Ok(lock)
        });
        let lock = lock.attempt("make a container of", &path)?;
        let container = Arc::new(Container::opened(directory, Way::Held, targets)?);
        drop(lock);
        let mut writer = open(&container)?;
        attempt(self.copy(&mut writer))?;
        if self.is_synced {
            writer.sync()?;
        }
        attempt(Stage::Moving { is_synced: self.is_synced }.set(self.file).map_err(Into::into))?;
        if !self.exchange(gone, container.directory()).unwrap_or(false) {
            attempt(Stage::Plain { is_synced: self.is_synced }.set(self.file).map_err(Into::into))?;
            return Ok(None);
        }
        let landing = Landing {
            parent: &self.parent,
            hidden: Some(gone),
            is_named: &|directory| self.is_named(directory),
        };
        attempt(landing.put(container.directory(), self.file, Some(self.writable)))?;
        Ok(Some((container, writer)))
    }

    fn is_named(&self, directory: &Directory) -> bool {
        self.parent.require_same_directory(self.name, directory).is_ok()
    }

    /// Writes what is in the file. What is zero in it is a hole: holes are not asked for, as that would move the position, which is the program's.
    fn copy(&self, writer: &mut Writer) -> io::Result<()> {
        let size = u64::try_from(fstat(self.file)?.st_size).unwrap_or(0);
        let mut piece = vec![0; PIECE_BYTES];
        let mut at = 0;
        while at < size {
            let room = (size - at).min(PIECE_BYTES as u64) as usize;
            let count = self.file.read_at(&mut piece[..room], at)?;
            if count == 0 {
                return Err(Errno::IO.into());
            }
            if piece[..count].iter().any(|byte| *byte != 0) {
                writer.write_at(&piece[..count], at).map_err(|it| io::Error::from(it.errno()))?;
            }
            at += count as u64;
        }
        if size > writer.last_write().end {
            writer.truncate(size).map_err(|it| io::Error::from(it.errno()))?;
        }
        Ok(())
    }

    /// Gives the container the file's name; returns whether that was the file's.
    fn exchange(&self, gone: &str, directory: &Directory) -> io::Result<bool> {
        let exchange =
            || renameat_with(&self.parent, gone, &self.parent, self.name, RenameFlags::EXCHANGE);
        match exchange() {
            Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => return Ok(false),
            exchanged => exchanged?,
        }
        let is_done = self.parent.require_same(gone, self.file).is_ok()
            && self.is_named(directory)
            // What was durable must not be found without what comes after it.
            && (!self.is_synced || self.parent.sync().is_ok());
        if !is_done {
            exchange()?;
        }
        Ok(is_done)
    }
}

/// What is copied at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Where a file is that has lost its name to its container.
struct Landing<'a> {
    parent: &'a Directory,
    /// Its name there; `None` if it is in the container.
    hidden: Option<&'a str>,
    /// Whether the container has a name that programs see.
    is_named: &'a dyn Fn(&Directory) -> bool,
}

impl Landing<'_> {
    /// Makes the file the anchor of its container.
    fn put(
        &self,
        directory: &Directory,
        file: &File,
        writable: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        if let Some(hidden) = self.hidden {
            // In the place of the one that stood in for it.
            renameat(self.parent, hidden, directory, ANCHOR)?;
        }
        if let Some(writable) = writable {
            ftruncate(writable, 0)?;
        }
        Stage::forget(file)?;
        unmark_left(directory, || (self.is_named)(directory))?;
        Ok(())
    }
}

/// Ends what somebody began who was killed: the file at a path, which is open and whose stage is [`Stage::Moving`], becomes what it was, or its container's anchor.
///
/// # Errors
/// If the system refuses.
pub fn settle(path: &Path, file: &File) -> io::Result<()> {
    let Some(Stage::Moving { is_synced }) = Stage::of(file)? else { return Ok(()) };
    let (above, name) = split(path).map_err(|it| io::Error::from(it.errno()))?;
    let parent = Directory::open_by_own_links(above)?;
    parent.require_same(name, file)?;
    let writable = || -> Option<BorrowedFd<'_>> { Some(file.as_fd()) };
    if name == ANCHOR && Container::is_in(&parent).unwrap_or(false) {
        // It came there, and nothing more.
        let named = |_: &Directory| parent.path().file_name().is_none_or(|it| !is_gone_name(it));
        let landing = Landing { parent: &parent, hidden: None, is_named: &named };
        return landing.put(&parent, file, writable());
    }
    let hidden = name.to_str().filter(|_| is_gone_name(name));
    if let Some(hidden) = hidden
        && let Some((directory, its_name)) = container_of(&parent, hidden)
    {
        let named =
            |directory: &Directory| parent.require_same_directory(&its_name, directory).is_ok();
        let landing = Landing { parent: &parent, hidden: Some(hidden), is_named: &named };
        return landing.put(&directory, file, writable());
    }
    Ok(Stage::Plain { is_synced }.set(file)?)
}

/// Returns the container that has exchanged its name with a file, and that name.
fn container_of(parent: &Directory, hidden: &str) -> Option<(Directory, OsString)> {
    let (number, _) = hidden.strip_prefix(GONE_PREFIX)?.split_once('-')?;
    let number = u64::from_str_radix(number, 16).ok()?;
    for (name, kind) in parent.names_and_kinds().ok()? {
        if !matches!(kind, FileType::Directory | FileType::Unknown) || is_gone_name(&name) {
            continue;
        }
        let Ok(child) = parent.child_not_mounted(&name) else { continue };
        if child.facts().is_ok_and(|it| it.st_ino == number)
            && child.require_own().is_ok()
            && Container::is_in(&child).unwrap_or(false)
        {
            return Some((child, name));
        }
    }
    None
}

/// Returns the path of the file that a container takes the place of, if somebody was killed meanwhile: beside it, or in it.
pub fn left_file(directory: &Directory) -> Option<std::path::PathBuf> {
    let is_moving = |parent: &Directory, name: &OsStr| {
        let file = parent.open_own_file(name, OFlags::RDONLY).ok()?;
        matches!(Stage::of(&file), Ok(Some(Stage::Moving { .. }))).then(|| parent.path().join(name))
    };
    let prefix = format!("{GONE_PREFIX}{:x}-", directory.facts().ok()?.st_ino);
    let parent = Directory::open_by_own_links(directory.path().parent()?).ok()?;
    let names = parent.names_and_kinds().unwrap_or_default();
    let beside = names.into_iter().find(|(name, kind)| {
        *kind == FileType::RegularFile && name.to_str().is_some_and(|it| it.starts_with(&prefix))
    });
    match beside {
        Some((name, _)) => is_moving(&parent, &name),
        None => is_moving(directory, OsStr::new(ANCHOR)),
    }
}
