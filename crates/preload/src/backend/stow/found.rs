//! A container that a name leads to, held: whatever is done next is done to this one, whoever exchanges names meanwhile.
//!
//! Others may share the mount, and forge containers in it, or lay links to some. So one counts only if it belongs to this user or to root, and nobody
//! else can write to it, so that what is in it cannot be exchanged; and a link to one only if it is this user's or root's. What
//! another user serves (FUSE) is not asked anything, as it may never answer.
//!
//! The modules `found`, `hold`, `names` and `registry` use each other: a name leads to a container, which is held, opened and known by its anchor, and an anchor's descriptor leads back to its name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use core::ffi::{CStr, c_int};

use plimsoll_guarded::{Directory, acting_user, mount_of, require_served_by_none_else};
use plimsoll_stow::{ANCHOR, Container, MARKER, told_by};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, chmodat, fstat, openat, openat2,
    statat,
};
use rustix::io::Errno;

use super::entry::Key;
use super::names::{NamedAt, is_regular};
use super::{hold, number, registry, settings};
use crate::text::{PATH_BYTES, Text};
use crate::{descriptors, own_descriptors};

/// By whom a container can be changed that counts.
const OTHERS_WRITE: u32 = 0o022;

/// Flags that are about the name, or that a container does not need: what is direct elsewhere is as it is.
const LEFT_OUT: OFlags =
    OFlags::CREATE.union(OFlags::EXCL).union(OFlags::TRUNC).union(OFlags::DIRECT);

/// A container, held by its directory.
pub struct Found {
    directory: OwnedFd,
    /// What its directory is known by.
    pub itself: Key,
    /// What its anchor is.
    pub anchor: Stat,
    /// The size of its file, if the times of its marker tell it.
    pub told_size: Option<u64>,
}

/// What a name leads to.
pub enum Sought {
    /// A container that counts.
    Container(Found),
    /// Something else.
    Other,
    /// Nothing has this name.
    Nothing,
}

/// What a name leads to that was listed as a directory.
pub enum Listed {
    /// A container that counts.
    Container(Found),
    /// What was listed, or what nobody can tell.
    Other,
    /// Something else, or nothing any more: what was listed may have been a container. Whoever wants to know asks.
    Changed,
}

impl Found {
    /// Looks what has a name now that was listed as a directory of this number.
    pub fn listed(at: &NamedAt<'_>, number: u64) -> Listed {
        let directory = match hold_directory(at, OFlags::NOFOLLOW) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Listed::Changed,
            Err(_) => return Listed::Other,
            Ok(directory) => directory,
        };
        // What is mounted there has another number, and may be another user's, who is not asked.
        let is_mounted = mount_of(&directory) != mount_of(at.directory);
        let is_listed =
            |it: &OwnedFd| is_mounted || fstat(it).is_ok_and(|facts| facts.st_ino == number);
        match Self::in_directory(directory) {
            Ok(found) => Listed::Container(found),
            // While it was looked at, another one may have taken its place, and it is being removed.
            Err(directory)
                if is_listed(&directory)
                    && hold_directory(at, OFlags::NOFOLLOW).is_ok_and(|it| is_listed(&it)) =>
            {
                Listed::Other
            }
            Err(_) => Listed::Changed,
        }
    }

    /// Looks for a container; `None` if there is something else, or one that does not count.
    pub fn at(at: &NamedAt<'_>, follow: bool) -> Option<Self> {
        match Self::sought(at, follow) {
            Sought::Container(found) => Some(found),
            Sought::Other | Sought::Nothing => None,
        }
    }

    /// Looks what a name leads to.
    pub fn sought(at: &NamedAt<'_>, follow: bool) -> Sought {
        let directory = match hold_directory(at, OFlags::NOFOLLOW) {
            Err(Errno::NOENT) => return Sought::Nothing,
            Err(Errno::LOOP | Errno::NOTDIR) if follow && is_link(at) => over_own_links(at),
            held => held.ok(),
        };
        let found = directory.map(Self::in_directory);
        found.and_then(Result::ok).map_or(Sought::Other, Sought::Container)
    }

    /// Returns the directory that has a name, if it is no container that counts.
    pub fn other_directory(at: &NamedAt<'_>) -> Option<OwnedFd> {
        Self::in_directory(hold_directory(at, OFlags::NOFOLLOW).ok()?).err()
    }

    /// Takes a directory that is held as a container; gives it back if it is something else, or one that does not count.
    pub fn in_directory(directory: OwnedFd) -> Result<Self, OwnedFd> {
        match Parts::of(&directory).ok().as_ref().and_then(Parts::that_count) {
            Some(parts) => Ok(Self::of_parts(directory, parts)),
            None => Err(directory),
        }
    }

    /// Looks for the container in a directory of which an open file, which is on this mount, is the anchor; `None` if it is a plain file there. `Err(None)` if the file is not
    /// there, or not any more.
    ///
    /// # Errors
    /// If it cannot be told, or if it is a container that does not count: what a program writes must not go into the anchor. What others put beside a plain file makes it none.
    pub fn of_anchor(
        fd: c_int,
        directory: &CStr,
        file: &Stat,
        mount: Option<u64>,
    ) -> Result<Option<Self>, Option<c_int>> {
        let directory = match hold_above(directory, mount) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(None),
            held => held.map_err(|it| Some(number(it)))?,
        };
        let parts = Parts::of(&directory).map_err(Some)?;
        if !parts.anchor.is_some_and(|it| Key::of(&it) == Key::of(file)) {
            return Err(None);
        }
        match (parts.marker, parts.that_count()) {
            (None, _) => Ok(None),
            (_, Some(parts)) => Ok(Some(Self::of_parts(directory, parts))),
            (Some(marker), None) => {
                let is_ours = hold::is_held_by(fd).unwrap_or(is_trusted(&marker) && parts.is_own);
                if is_ours { Err(Some(libc::EACCES)) } else { Ok(None) }
            }
        }
    }

    fn of_parts(directory: OwnedFd, [itself, anchor, marker]: [Stat; 3]) -> Self {
        Found { directory, itself: Key::of(&itself), anchor, told_size: told_by(&marker) }
    }

    /// Holds it by a number that programs do not count on, so that what is opened next gets the lowest that is free.
    pub fn aside(self) -> Self {
        match own_descriptors::high_copy(&self.directory) {
            Ok(directory) => Found { directory, ..self },
            Err(_) => self,
        }
    }

    /// Returns its directory, which can be looked into but not read.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Returns what it is known by.
    pub fn key(&self) -> Key {
        Key::of(&self.anchor)
    }

    /// Opens its anchor as a file of the program.
    pub fn open_anchor(&self, flags: OFlags) -> Result<OwnedFd, c_int> {
        open_anchor(&self.directory, flags)
    }

    /// Returns where it is now.
    pub fn path(&self) -> Text<PATH_BYTES> {
        let mut path = Text::new();
        descriptors::push_link(self.directory.as_raw_fd(), &mut path);
        path
    }

    /// Opens the container itself.
    pub fn open(&self) -> Result<Container, c_int> {
        let path = self.path();
        // Not by its path: it may be replaced just now, which others see as the old file or the new one.
        let directory =
            Directory::open_held(&self.directory, OsStr::from_bytes(path.as_bytes()).into());
        let directory = directory.map_err(|it| it.raw_os_error().unwrap_or(libc::EIO))?;
        registry::open_in(directory, self.key())
    }
}

/// What is in a directory of that which makes it a container.
struct Parts {
    itself: Option<Stat>,
    anchor: Option<Stat>,
    marker: Option<Stat>,
    /// The directory is this user's or root's.
    is_own: bool,
    /// Nobody but this user or root can exchange them.
    is_safe: bool,
}

impl Parts {
    /// Looks at them.
    ///
    /// # Errors
    /// If that cannot be told, or if another user would be asked.
    fn of(directory: &OwnedFd) -> Result<Self, c_int> {
        if !may_be_asked(directory) {
            return Err(libc::EIO);
        }
        let part = |name| match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            part => part.map(Some).map_err(number),
        };
        let Some(anchor) = part(ANCHOR)? else {
            return Ok(Parts {
                itself: None,
                anchor: None,
                marker: None,
                is_own: false,
                is_safe: false,
            });
        };
        let facts = fstat(directory).map_err(number)?;
        let is_own = is_trusted(&facts);
        let is_safe = is_own && facts.st_mode & OTHERS_WRITE == 0;
        let marker = part(MARKER)?.map(|it| if is_safe { closed(directory, it) } else { it });
        Ok(Parts { itself: Some(facts), anchor: Some(anchor), marker, is_own, is_safe })
    }

    /// Returns the directory, the anchor and the marker, if this is a container that counts. Its marker is the directory owner's: others may have left one
    /// in a directory that was open to them once, or another name of a file of the owner's.
    fn that_count(&self) -> Option<[Stat; 3]> {
        let (anchor, itself) = (self.anchor.filter(is_regular)?, self.itself?);
        let marker = self.marker.filter(|it| is_regular(it) && it.st_uid == itself.st_uid)?;
        let has_one_name = anchor.st_nlink == 1 && marker.st_nlink == 1;
        (self.is_safe && has_one_name).then_some([itself, anchor, marker])
    }
}

/// Takes the right to write to a marker of this user's from others, who may have made it so in an archive: what is in it is the file.
/// Not if it has another name, by which it may be shared on purpose.
fn closed(directory: &OwnedFd, marker: Stat) -> Stat {
    let is_own = is_regular(&marker) && marker.st_uid == acting_user() && marker.st_nlink == 1;
    if !is_own || marker.st_mode & OTHERS_WRITE == 0 {
        return marker;
    }
    let mode = Mode::from_raw_mode(marker.st_mode & 0o7777 & !OTHERS_WRITE);
    let changed = chmodat(directory, MARKER, mode, AtFlags::empty());
    // Some file systems have no permissions.
    changed.and_then(|()| statat(directory, MARKER, AtFlags::SYMLINK_NOFOLLOW)).unwrap_or(marker)
}

/// Opens the anchor of the container whose directory this is as a file of the program.
pub fn open_anchor(directory: impl AsFd, flags: OFlags) -> Result<OwnedFd, c_int> {
    let flags = (flags - LEFT_OUT) | OFlags::NOFOLLOW;
    let file = openat(directory, ANCHOR, flags, Mode::empty()).map_err(number)?;
    if !flags.contains(OFlags::PATH) {
        hold::take(file.as_raw_fd(), flags & OFlags::ACCMODE)?;
    }
    Ok(file)
}

/// Makes the anchor of a new container as a file of the program.
pub fn create_anchor(directory: impl AsFd, flags: OFlags, mode: Mode) -> Result<OwnedFd, c_int> {
    let flags = (flags - LEFT_OUT) | OFlags::NOFOLLOW | OFlags::CREATE | OFlags::EXCL;
    let file = openat(directory, ANCHOR, flags, mode).map_err(number)?;
    hold::take(file.as_raw_fd(), flags & OFlags::ACCMODE)?;
    Ok(file)
}

/// Opens the anchor again that a descriptor is of, whatever has become of its name.
pub fn reopen_anchor(path: &CStr, flags: OFlags) -> Result<OwnedFd, c_int> {
    let flags = flags - LEFT_OUT;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(number)?;
    hold::take(file.as_raw_fd(), flags & OFlags::ACCMODE)?;
    Ok(file)
}

fn is_trusted(facts: &Stat) -> bool {
    facts.st_uid == 0 || facts.st_uid == acting_user()
}

fn hold_directory(at: &NamedAt<'_>, more: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
    openat(at.directory, at.path, flags, Mode::empty())
}

/// Holds the directory that a file on this mount is in. If that is the one that `stow run` is for, no other one is on the way, unless somebody has just mounted it there: he
/// may serve it (FUSE) and never answer, and is not asked.
fn hold_above(directory: &CStr, mount: Option<u64>) -> Result<OwnedFd, Errno> {
    let at = NamedAt { directory: CWD, path: directory };
    let settings = settings::get().filter(|it| mount.is_some() && it.mount_number == mount);
    let below = settings.and_then(|it| it.split(directory.to_bytes()));
    let Some((top, below)) = below else { return hold_directory(&at, OFlags::NOFOLLOW) };
    let top = hold_directory(&NamedAt { directory: CWD, path: top }, OFlags::NOFOLLOW)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match openat2(&top, below, flags, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Err(Errno::IO),
        // Linux before 5.6, and sandboxes that do not know it.
        Err(Errno::NOSYS | Errno::PERM) => hold_directory(&at, OFlags::NOFOLLOW),
        held => held,
    }
}

fn is_link(at: &NamedAt<'_>) -> bool {
    at.facts().is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Symlink)
}

/// Follows the link that a name is, and those behind it, if they are this user's or root's.
pub fn over_own_links(at: &NamedAt<'_>) -> Option<OwnedFd> {
    let (above, name) = at.divided()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = openat(at.directory, above.as_c_str(), flags, Mode::empty()).ok()?;
    let mut path = Text::<PATH_BYTES>::new();
    descriptors::push_link(above.as_raw_fd(), &mut path);
    // Not by its path, which another directory may have by now.
    let above = Directory::of_held(above, Path::new(OsStr::from_bytes(path.as_bytes())).into());
    let found = above.child_or_own_link(OsStr::from_bytes(name)).ok()?;
    openat(&found, c".", flags, Mode::empty()).ok()
}

/// Returns whether no other user serves the file system.
fn may_be_asked(directory: &OwnedFd) -> bool {
    let number = mount_of(directory);
    number.is_none()
        || number == settings::get().and_then(|it| it.mount_number)
        || number.is_some_and(|it| require_served_by_none_else(it).is_ok())
}
