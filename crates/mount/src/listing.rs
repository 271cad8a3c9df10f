//! A directory that a program lists, part by part: it may have millions of names.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use fuser::{FileType, INodeNo, ReplyDirectory};
use plimsoll_guarded::Directory;
use plimsoll_stow::Container;
use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::entry::kind_of;
use crate::errno;

/// Names of directories have no numbers before they are looked up (FUSE_UNKNOWN_INO in libfuse).
const UNKNOWN: INodeNo = INodeNo(0xffff_ffff);

/// A directory that is being listed.
#[derive(Debug)]
pub struct Listing {
    directory: Arc<Directory>,
    names: Mutex<Names>,
}

#[derive(Debug)]
struct Names {
    stream: Dir,
    /// Behind the last name that was told, as the directory's own file system counts; `None` if that has to be found again.
    at: Option<u64>,
    /// The next one, which did not fit into the last answer.
    next: Option<Found>,
}

#[derive(Debug)]
struct Found {
    name: OsString,
    kind: FileType,
    /// Where the name behind it is.
    behind: u64,
}

impl Listing {
    /// Begins to list a directory.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn of(directory: Arc<Directory>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let stream = Dir::new(openat(&*directory, ".", flags, Mode::empty())?)?;
        Ok(Listing { directory, names: Mutex::new(Names { stream, at: None, next: None }) })
    }

    /// Answers with as many names as there is room for, from where the kernel is. It asks again for names for which the
    /// program had no room.
    pub fn tell(&self, offset: u64, mut reply: ReplyDirectory) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        // Who begins again sees what is there by now.
        if Some(offset) != names.at || offset == 0 {
            names.next = None;
            if let Err(errno) = names.stream.seek(offset.cast_signed()) {
                return reply.error(errno::of_system(&errno.into()));
            }
            names.at = Some(offset);
        }
        let mut is_empty = true;
        loop {
            let found = match names.next.take() {
                Some(next) => next,
                None => match self.find(&mut names.stream) {
                    Ok(Some(found)) => found,
                    Ok(None) => return reply.ok(),
                    Err(error) => {
                        names.at = None;
                        // Behind names that were told, it is told at the next request.
                        return match is_empty {
                            true => reply.error(errno::of_system(&error)),
                            false => reply.ok(),
                        };
                    }
                },
            };
            if reply.add(UNKNOWN, found.behind, found.kind, &found.name) {
                names.next = Some(found);
                return reply.ok();
            }
            names.at = Some(found.behind);
            is_empty = false;
        }
    }

    /// Returns the next name, containers as the files that they are.
    fn find(&self, stream: &mut Dir) -> io::Result<Option<Found>> {
        while let Some(entry) = stream.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // What was removed meanwhile is not there.
            let Some(kind) = self.kind(name, entry.file_type())? else { continue };
            let behind = entry.offset().cast_unsigned();
            return Ok(Some(Found { name: name.to_os_string(), kind, behind }));
        }
        Ok(None)
    }

    fn kind(&self, name: &OsStr, told: rustix::fs::FileType) -> io::Result<Option<FileType>> {
        if name == "." || name == ".." {
            return Ok(Some(FileType::Directory));
        }
        let kind = match told {
            rustix::fs::FileType::RegularFile => FileType::RegularFile,
            rustix::fs::FileType::Symlink => FileType::Symlink,
            rustix::fs::FileType::Directory => FileType::Directory,
            // Not all file systems tell.
            _ => match self.directory.facts_of(name) {
                Ok(facts) => kind_of(&facts),
                Err(_) => return Ok(None),
            },
        };
        let is_container = kind == FileType::Directory && self.is_container(name)?;
        Ok(Some(if is_container { FileType::RegularFile } else { kind }))
    }

    /// Fails only where this program is short of something: what is wrong with a single directory is told to who looks at it, and the others are listed.
    fn is_container(&self, name: &OsStr) -> io::Result<bool> {
        match self.directory.child(name).and_then(|child| Container::is_in(&child)) {
            Err(error) if is_short(&error) => Err(error),
            told => Ok(told.unwrap_or(false)),
        }
    }
}

/// Returns whether this program ran out of something.
fn is_short(error: &io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(|it| it.raw_os_error());
    error.raw_os_error().is_some_and(|it| short.contains(&it))
}
