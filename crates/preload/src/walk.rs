//! The way to a directory, on which nobody else is asked or followed.

use core::ffi::CStr;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::mount;
use crate::open_file::{self, OwnFile};
use crate::text::Text;

/// A directory is only held: nothing of it is asked.
pub const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Goes to a directory step by step. Others may have put their file system (FUSE) on the way since the recording was begun: it
/// is not entered, as the program would wait for it.
pub fn walk(path: &[u8]) -> Result<OwnFile, Errno> {
    walk_with(path, step)
}

/// Goes to a directory as [`walk`] does, and makes what is missing on the way with these permissions.
pub fn make(path: &[u8], mode: Mode) -> Result<OwnFile, Errno> {
    walk_with(path, |at, name| match step(at, name) {
        Err(Errno::NOENT) => {
            match rustix::fs::mkdirat(at, name, mode) {
                // By another process of the job.
                Ok(()) | Err(Errno::EXIST) => step(at, name),
                Err(error) => Err(error),
            }
        }
        stepped => stepped,
    })
}

fn walk_with(
    path: &[u8],
    step: impl Fn(&OwnFile, &CStr) -> Result<OwnFile, Errno>,
) -> Result<OwnFile, Errno> {
    let mut at = open_file::openat(CWD, c"/", HELD, Mode::empty())?;
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
fn step(at: &OwnFile, name: &CStr) -> Result<OwnFile, Errno> {
    match open_file::openat(at, name, HELD | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {}
        opened => return opened,
    }
    let link = (HELD | OFlags::NOFOLLOW) - OFlags::DIRECTORY;
    let link = open_file::openat(at, name, link, Mode::empty())?;
    if mount::number(&link) != mount::number(at) {
        return Err(Errno::STALE);
    }
    let facts = rustix::fs::fstat(&link)?;
    let me = rustix::process::geteuid().as_raw();
    if facts.st_uid != 0 && facts.st_uid != me {
        return Err(Errno::STALE);
    }
    open_file::openat(at, name, HELD, Mode::empty())
}

/// The longest name of a file, with its zero (NAME_MAX in include/uapi/linux/limits.h).
const NAME_BYTES: usize = 256;
