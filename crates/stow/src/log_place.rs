//! The directory on a target that has a container's logs.
//!
//! Others may be able to write to the target, and so give this directory another name, or its name to another one. So it is opened once,
//! everything goes through it, and what is in it is known by its header.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::Path;

use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::OFlags;

use crate::Id;
use crate::header::LogHeader;
use crate::log::{FILE_PREFIX, Log, directory_name, file_name, first_page};
use crate::word::PAGE_BYTES;

/// The file beside the logs that says whose they are.
pub const NOTE: &str = "container";
/// What it begins with.
pub const NOTE_BEGINS: &str = "plimsoll home ";

/// The directory on a target that has a container's logs, and the target.
pub struct LogPlace {
    target: Directory,
    directory: Directory,
    container: Id,
}

impl LogPlace {
    /// Opens it to read logs in it. Its path may be that of a hostile manifest: no file system of another user must have been asked
    /// for the target.
    ///
    /// # Errors
    /// If it is not there.
    pub fn open_to_read(target: Directory, container: Id) -> io::Result<Self> {
        let directory = target.child(directory_name(container))?;
        Ok(LogPlace { target, directory, container })
    }

    /// Opens it to change or remove logs in it: nobody else's link leads there, and nobody else can exchange them.
    ///
    /// # Errors
    /// If it is not there, or not this user's alone.
    pub fn open(target: &Path, container: Id) -> io::Result<Self> {
        let target = Directory::open_by_own_links(target)?;
        let directory = target.child(directory_name(container))?;
        directory.require_own()?;
        Ok(LogPlace { target, directory, container })
    }

    /// Opens it, and makes it if it is not there.
    ///
    /// # Errors
    /// If the target refuses, or if the name is that of something else.
    pub fn obtain(target: &Path, container: Id) -> io::Result<Self> {
        let target = Directory::open_by_own_links(target)?;
        let name = directory_name(container);
        match target.make_own(&name) {
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                let directory = target.child(&name)?;
                directory.require_own()?;
                let place = LogPlace { target, directory, container };
                place.require_no_others()?;
                Ok(place)
            }
            made => Ok(LogPlace { target, directory: made?, container }),
        }
    }

    /// Somebody may have given the name to the directory of another container, or to any other directory of this user.
    fn require_no_others(&self) -> io::Result<()> {
        let mut is_as_made = self.directory.is_private()?;
        for name in self.directory.names()? {
            let file = self.directory.open_file(&name, OFlags::RDONLY)?;
            let page = first_page(&file)?;
            match LogHeader::decode(&page) {
                Some(header) if header.container == self.container => return Ok(()),
                Some(_) => return Err(not_its_own()),
                None => is_as_made &= may_be_unfinished(&name, &page),
            }
        }
        if is_as_made { Ok(()) } else { Err(not_its_own()) }
    }

    /// Opens a log that is there.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn log(&self, number: u32, flags: OFlags, owner: u32) -> io::Result<Log> {
        Log::open(&self.directory, self.container, number, flags, owner)
    }

    /// Makes a log for the target of this name, which is empty and, if its container is, durable.
    ///
    /// # Errors
    /// If the target refuses, or if the name is taken by what is no unused log of the container.
    pub fn make_log(&self, number: u32, target: &str, is_synced: bool) -> io::Result<Log> {
        self.remove_unlisted(number)?;
        let log = Log::create(&self.directory, self.container, number, target)?;
        if is_synced {
            // Durable before it is listed: a log that is listed and not there has lost something.
            log.sync()?;
            self.sync()?;
        }
        Ok(log)
    }

    /// Makes the names of its logs durable, and its own.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&self) -> io::Result<()> {
        self.directory.sync()?;
        self.target.sync()
    }

    /// A log that is not listed was left by somebody who was killed, and never had a record.
    ///
    /// # Errors
    /// If it is another's: one with records is that of a container of which this one is a copy.
    pub fn remove_unlisted(&self, number: u32) -> io::Result<()> {
        let name = file_name(number);
        let file = match self.directory.open_own_file(&name, OFlags::RDONLY) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let page = first_page(&file)?;
        let is_its_own =
            LogHeader::decode(&page) == Some(LogHeader { container: self.container, log: number });
        let is_blank = page.iter().all(|it| *it == 0);
        let has_records = file.metadata()?.len() > page.len() as u64;
        if has_records || !is_its_own && !is_blank {
            return Err(not_its_own());
        }
        self.directory.require_same(&name, &file)?;
        self.directory.remove_file(&name)
    }

    /// Returns whether there is a log in it that has more than a header.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn has_records(&self) -> io::Result<bool> {
        for name in self.directory.names()?.iter().filter(|it| is_log(it)) {
            if self.directory.facts_of(name)?.st_size > PAGE_BYTES as i64 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the note durable, if there is one.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync_note(&self) -> io::Result<()> {
        match self.directory.open_file(NOTE, OFlags::RDONLY) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
            opened => opened?.sync_all(),
        }
    }

    /// Returns whether another one is the same directory.
    pub fn is_same(&self, other: &LogPlace) -> bool {
        let inode = |it: &LogPlace| it.directory.facts().map(|it| (it.st_dev, it.st_ino));
        matches!((inode(self), inode(other)), (Ok(one), Ok(another)) if one == another)
    }

    /// Without logs, the note says nothing.
    fn remove_last_note(&self) -> io::Result<()> {
        if self.directory.names()?.iter().any(is_log) {
            return Ok(());
        }
        match self.directory.open_own_file(NOTE, OFlags::RDONLY) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
            // Somebody may have given the directory's name to one that has another file of this name.
            opened => match may_be_unfinished(OsStr::new(NOTE), &first_page(&opened?)?) {
                true => self.directory.remove_file_if_there(NOTE),
                false => Err(not_its_own()),
            },
        }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes a log that was opened here, and the directory if that was the last one in it.
    ///
    /// # Errors
    /// If the target refuses.
    pub fn remove(&self, log: &Log) -> io::Result<()> {
        let name = file_name(log.number());
        log.require_named(&self.directory, &name)?;
        self.directory.remove_file(&name)?;
        self.remove_if_empty()
    }

    /// Removes the directory if there are no logs in it.
    ///
    /// # Errors
    /// If the target refuses.
    pub fn remove_if_empty(&self) -> io::Result<()> {
        self.remove_last_note()?;
        // Others' logs may still be in it.
        let _ = self.target.remove_held_directory(directory_name(self.container), &self.directory);
        Ok(())
    }
}

/// Returns whether a file may be what somebody left who was killed, or a power failure: a log without a header, a note or the draft of one.
fn may_be_unfinished(name: &OsStr, page: &[u8]) -> bool {
    let is_blank = page.iter().all(|it| *it == 0);
    let name = name.to_string_lossy();
    let is_note = name == NOTE || name.strip_prefix('.').is_some_and(|it| it.starts_with(NOTE));
    is_blank && name.starts_with(FILE_PREFIX)
        || is_note && (is_blank || page.starts_with(NOTE_BEGINS.as_bytes()))
}

fn is_log(name: &OsString) -> bool {
    name.to_string_lossy().starts_with(FILE_PREFIX)
}

fn not_its_own() -> io::Error {
    Refusal::Exchanged.into()
}
