//! The two directories that a file can be in. They are opened anew each time, as no descriptor is kept, and all
//! that follows goes through the open one: others may exchange what the path leads to.

use plimsoll_trace::marker;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::config;
use crate::open_file::{self, OwnFile};
use crate::walk::{HELD, walk};

/// Where a file is. Zeros are the spool.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Folder {
    /// Where it grows.
    Spool = 0,
    /// Where recordings are collected, if that is another one.
    Home = 1,
}

impl Folder {
    /// Opens it, whatever is there: for a file that is known already.
    pub fn open(self) -> Result<OwnFile, Errno> {
        let config = config::get();
        let path = match self {
            Folder::Spool => &config.spool,
            Folder::Home => &config.directory,
        };
        // What a sandbox expects is little.
        if config::is_sandboxed() {
            return open_file::openat(CWD, path.as_c_str(), HELD, Mode::empty());
        }
        walk(path.as_bytes())
    }

    /// Opens it to create a file there. Fails if it is to be the recording, and is not.
    pub fn open_to_create(self) -> Result<OwnFile, Errno> {
        let directory = self.open()?;
        let is_recording = self == Folder::Home || is_one();
        if is_recording {
            require_recording(&directory)?
        }
        Ok(directory)
    }
}

/// Returns true when there is no spool but the recording itself.
pub fn is_one() -> bool {
    let config = config::get();
    config.directory.as_bytes() == config.spool.as_bytes()
}

/// Makes sure that a directory is the recording that was begun. Whoever set the variables by hand has said no id.
fn require_recording(directory: &OwnFile) -> Result<(), Errno> {
    let (id, owner) = marker::split_variable(config::get().id.as_bytes());
    if id.is_empty() {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open_file::openat(directory, marker::NAME_FOR_CALLS, flags, Mode::empty())?;
    // In a container, the owner has another number.
    let found = rustix::fs::fstat(&file)?.st_uid;
    if owner.is_some_and(|it| it != found) && found != rustix::process::geteuid().as_raw() {
        return Err(Errno::STALE);
    }
    let mut text = [0; marker::ID_WITHIN_BYTES];
    let length = rustix::io::read(&file, &mut text)?;
    let is_it = marker::has_id(text.get(..length).unwrap_or(&[]), id);
    if is_it { Ok(()) } else { Err(Errno::STALE) }
}
