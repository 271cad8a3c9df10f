//! What a name leads to, held, be it a container's file or another: it is looked at once, and what is done next is done to that one.
//!
//! Whoever may write to the directory can exchange the name at any moment. Were the kernel given it again after a look, it could change a container's
//! directory instead of the file: nobody could open it any more, or everybody write to what is in it.

use core::ffi::c_int;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, openat, statx};

use super::found::{Found, over_own_links};
use super::names::NamedAt;
use super::number;
use crate::text::Text;

const HELD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A file or directory, held to be changed but not opened.
pub struct HeldFile {
    file: OwnedFd,
    kind: FileType,
}

impl HeldFile {
    /// Holds what a name leads to; of a container, its anchor.
    ///
    /// # Errors
    /// As of a call that the kernel serves, and if a link of another user leads to a container.
    pub fn of(at: &NamedAt<'_>, follow: bool) -> Result<Self, c_int> {
        match Thing::of(at, follow)? {
            Thing::Container(found) => Self::of_container(&found),
            Thing::Other(held) => Ok(held),
        }
    }

    /// Holds the directory that a name leads to.
    ///
    /// # Errors
    /// As above, and if it is no directory, or a container.
    pub fn directory(at: &NamedAt<'_>, follow: bool) -> Result<Self, c_int> {
        let thing = match Thing::looked(at, OFlags::NOFOLLOW | OFlags::DIRECTORY) {
            Err(libc::ENOTDIR | libc::ELOOP) if follow => Thing::behind_link(at, OFlags::DIRECTORY),
            looked => looked,
        };
        match thing? {
            Thing::Container(_) => Err(libc::ENOTDIR),
            Thing::Other(held) => Ok(held),
        }
    }

    /// Holds the anchor of a container.
    pub fn of_container(found: &Found) -> Result<Self, c_int> {
        Ok(HeldFile { file: found.open_anchor(HELD)?, kind: FileType::RegularFile })
    }

    /// Returns whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Returns a path by which the kernel finds this very file, and follows nothing further.
    pub fn path(&self) -> Text<64> {
        let mut path = Text::new();
        path.push(b"/proc/self/fd/");
        path.push_number(self.file.as_raw_fd() as u64, 10);
        path
    }

    fn held(file: OwnedFd) -> Result<Self, c_int> {
        // What is known here is enough: another user's server (FUSE) is not asked.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let facts = statx(&file, c"", flags, StatxFlags::TYPE).map_err(number)?;
        Ok(HeldFile { file, kind: FileType::from_raw_mode(facts.stx_mode.into()) })
    }
}

impl AsFd for HeldFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What a name leads to.
enum Thing {
    /// A container that counts.
    Container(Found),
    /// Something else.
    Other(HeldFile),
}

impl Thing {
    fn of(at: &NamedAt<'_>, follow: bool) -> Result<Self, c_int> {
        let thing = match Self::looked(at, OFlags::NOFOLLOW)? {
            Thing::Other(held) if follow && held.is_link() => {
                Self::behind_link(at, OFlags::empty())?
            }
            thing => thing,
        };
        match thing {
            Thing::Container(_) if at.ends_with_slash() => Err(libc::ENOTDIR),
            thing => Ok(thing),
        }
    }

    fn behind_link(at: &NamedAt<'_>, more: OFlags) -> Result<Self, c_int> {
        if let Some(Ok(found)) = over_own_links(at).map(Found::in_directory) {
            return Ok(Thing::Container(found));
        }
        match Self::looked(at, more)? {
            Thing::Container(_) => Err(libc::EACCES),
            other => Ok(other),
        }
    }

    fn looked(at: &NamedAt<'_>, more: OFlags) -> Result<Self, c_int> {
        let file = openat(at.directory, at.path, HELD | more, Mode::empty()).map_err(number)?;
        let held = HeldFile::held(file)?;
        if held.kind != FileType::Directory {
            return Ok(Thing::Other(held));
        }
        Ok(match Found::in_directory(held.file) {
            Ok(found) => Thing::Container(found),
            Err(file) => Thing::Other(HeldFile { file, kind: FileType::Directory }),
        })
    }
}
