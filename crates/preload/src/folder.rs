//! The two directories that a file can be in. They are opened anew each time, as no descriptor is kept, and all
//! that follows goes through the open one: others may exchange what the path leads to.

use core::ffi::CStr;

use plimsoll_trace::marker;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::text::Text;
use crate::{config, mount};

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
    pub fn open(self) -> Result<OwnedFd, Errno> {
        let config = config::get();
        let path = match self {
            Folder::Spool => &config.spool,
            Folder::Home => &config.directory,
        };
        // What a sandbox expects is little, and who set the variables by hand may have named a link.
        if config::is_sandboxed() || config.id.as_bytes().is_empty() {
            return rustix::fs::openat(CWD, path.as_c_str(), HELD, Mode::empty());
        }
        walk(path.as_bytes())
    }

    /// Opens it to create a file there. Fails if it is to be the recording, and is not.
    pub fn open_to_create(self) -> Result<OwnedFd, Errno> {
        let directory = self.open()?;
        let is_recording = self == Folder::Home || is_one();
        if is_recording {
            require_recording(&directory)?
        }
        Ok(directory)
    }
}

/// A directory is only held: nothing of it is asked.
const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Goes to a directory step by step. Others may have put their file system (FUSE) on the way since the recording was begun: it
/// is not entered, as the program would wait for it.
fn walk(path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = rustix::fs::openat(CWD, c"/", HELD, Mode::empty())?;
    let mut mount = mount::number(&at);
    let mut name = Text::<NAME_BYTES>::new();
    for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        name.set(part);
        at = step(&at, name.as_c_str())?;
        let next = mount::number(&at);
        if let Some(next) = next.filter(|_| next != mount) {
            mount::require_served_by_none_else(next)?;
        }
        mount = next;
    }
    Ok(at)
}

/// Opens the directory of that name, or where a link of root's or of this user's leads: on other nodes, there may be
/// links on the way.
fn step(at: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(at, name, HELD | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {}
        opened => return opened,
    }
    let link = (HELD | OFlags::NOFOLLOW) - OFlags::DIRECTORY;
    let link = rustix::fs::openat(at, name, link, Mode::empty())?;
    if mount::number(&link) != mount::number(at) {
        return Err(Errno::STALE);
    }
    let facts = rustix::fs::fstat(&link)?;
    let me = rustix::process::geteuid().as_raw();
    if facts.st_uid != 0 && facts.st_uid != me {
        return Err(Errno::STALE);
    }
    rustix::fs::openat(at, name, HELD, Mode::empty())
}

/// The longest name of a file, with its zero (NAME_MAX in include/uapi/linux/limits.h).
const NAME_BYTES: usize = 256;

/// Returns true when there is no spool but the recording itself.
pub fn is_one() -> bool {
    let config = config::get();
    config.directory.as_bytes() == config.spool.as_bytes()
}

/// Makes sure that a directory is the recording that was begun. Whoever set the variables by hand has said no id.
fn require_recording(directory: &OwnedFd) -> Result<(), Errno> {
    let id = config::get().id.as_bytes();
    if id.is_empty() {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, marker::NAME_FOR_CALLS, flags, Mode::empty())?;
    let mut text = [0; marker::ID_WITHIN_BYTES];
    let length = rustix::io::read(&file, &mut text)?;
    let is_it = marker::has_id(text.get(..length).unwrap_or(&[]), id);
    if is_it { Ok(()) } else { Err(Errno::STALE) }
}
