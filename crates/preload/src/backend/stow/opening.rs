//! Opening a container as a file, and making one.

use core::ffi::c_int;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use libc::mode_t;
use plimsoll_guarded::Directory;
use plimsoll_stow::{ANCHOR, Container, is_gone, is_of_one_node, unmark_left};
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, fsync, openat, statat};
use rustix::io::{Errno, FdFlags, dup, fcntl_dupfd_cloexec, fcntl_getfd};
use rustix::process::fchdir;
use rustix::thread::nanosleep;
use rustix::time::Timespec;

use super::entry::{Key, told};
use super::found::{Found, Sought, create_anchor};
use super::held_file::HeldFile;
use super::names::{NamedAt, is_directory};
use super::settings::Settings;
use super::{Outcome, naming, number, registry, settings, space};
use crate::backend::Answer;
use crate::descriptors;
use crate::text::{PATH_BYTES, Text};
use crate::thread::Serving;

/// How often others may make and remove the name meanwhile.
const TRIES: usize = 16;
/// As often nobody is waited for.
const PATIENT_TRIES: usize = 8;
/// How long is waited then, each time, for whoever removes it.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Opens a file by its name. `None` where it is no container, and is not to be one.
pub fn open(serving: &Serving, at: &NamedAt<'_>, flags: c_int, mode: mode_t) -> Answer {
    let flags = OFlags::from_bits_retain(flags as u32);
    if flags.contains(OFlags::TMPFILE) {
        return Some(Err(libc::EOPNOTSUPP));
    }
    if flags.contains(OFlags::DIRECTORY) && !flags.contains(OFlags::CREATE) {
        return Some(open_directory(at, flags));
    }
    let follow = !flags.contains(OFlags::NOFOLLOW);
    for tried in 0..TRIES {
        let sought = Found::sought(at, follow);
        let is_nothing = matches!(sought, Sought::Nothing);
        if let Sought::Container(found) = sought {
            let found = found.aside();
            match open_there(serving, at, &found, flags) {
                // It was removed just now.
                Err(libc::ENOENT | libc::ESTALE) => {
                    wait_for_removal(at, &found, follow, tried);
                    continue;
                }
                Err(error) => return Some(Err(error)),
                Ok(file) => {
                    if let Some(entry) = registry::known(serving, file.as_raw_fd()) {
                        entry.hold(serving).note(file.as_raw_fd());
                    }
                    return Some(Ok(file.into_raw_fd() as usize));
                }
            }
        }
        let facts = if is_nothing { Err(Errno::NOENT) } else { at.facts() };
        // Another one may have taken its place while it was looked at.
        if facts.is_ok_and(|it| is_directory(&it)) && !at.is_plain_directory() {
            continue;
        }
        match facts {
            // Something else may have the name when the kernel looks.
            Err(Errno::NOENT) if !flags.contains(OFlags::CREATE) => return Some(Err(libc::ENOENT)),
            Ok(facts) if is_directory(&facts) && makes(flags) => {
                let is_new = flags.contains(OFlags::EXCL);
                return Some(Err(if is_new { libc::EEXIST } else { libc::EISDIR }));
            }
            Err(Errno::NOENT) => {}
            _ => return None,
        }
        match make(serving, at, flags, mode)? {
            Err(libc::EEXIST) => continue,
            made => return Some(made),
        }
    }
    Some(Err(libc::EBUSY))
}

/// Returns whether a file is made where there is none.
fn makes(flags: OFlags) -> bool {
    flags.contains(OFlags::CREATE) && !flags.intersects(OFlags::PATH | OFlags::DIRECTORY)
}

/// Gives whoever removes a container the time to, and takes its mark back if nobody does: who did was killed.
fn wait_for_removal(at: &NamedAt<'_>, found: &Found, follow: bool, tried: usize) {
    let is_marked = || is_gone(found.directory()).unwrap_or(false);
    if tried < PATIENT_TRIES || !is_marked() {
        return;
    }
    if tried + 2 < TRIES {
        let _ = nanosleep(&PAUSE);
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) = openat(found.directory(), c".", flags, Mode::empty()) {
        let is_named = || at.container(follow).is_some_and(|it| it.key() == found.key());
        let _ = unmark_left(&directory, is_named);
    }
}

/// Gives a directory the lowest number that is free, as programs count on: what was held to open it may have had that one. Not for files: whoever closes
/// one of a file's descriptors gives up the locks of the process on it (fcntl(2)).
fn lowest(file: OwnedFd) -> OwnedFd {
    let kept = fcntl_getfd(&file).unwrap_or(FdFlags::CLOEXEC);
    let again = match kept.contains(FdFlags::CLOEXEC) {
        true => fcntl_dupfd_cloexec(&file, 0),
        false => dup(&file),
    };
    match again {
        Ok(lower) if lower.as_raw_fd() < file.as_raw_fd() => lower,
        _ => file,
    }
}

fn open_there(
    serving: &Serving,
    at: &NamedAt<'_>,
    found: &Found,
    flags: OFlags,
) -> Result<OwnedFd, c_int> {
    if flags.contains(OFlags::DIRECTORY) || at.ends_with_slash() {
        return Err(libc::ENOTDIR);
    }
    if flags.contains(OFlags::CREATE | OFlags::EXCL) {
        return Err(libc::EEXIST);
    }
    let file = found.open_anchor(flags)?;
    match prepare(serving, at, found, flags, &file) {
        Ok(()) => Ok(file),
        Err(error) => {
            registry::give_up(serving, file);
            // Whoever removes it may have left it to this process, which had it open for a moment.
            naming::discard_if_gone(found);
            Err(error)
        }
    }
}

/// Has a file that was opened be the container's, as it is now, and as short as is wanted.
fn prepare(
    serving: &Serving,
    at: &NamedAt<'_>,
    found: &Found,
    flags: OFlags,
    file: &OwnedFd,
) -> Result<(), c_int> {
    // Who removes it marks it first, and then asks whether anybody has it open.
    if is_gone(found.directory()).map_err(number)? {
        return Err(libc::ESTALE);
    }
    let key = Key::of(&fstat(file).map_err(number)?);
    // The number of an inode may be a later file's by now.
    if let Some(entry) = registry::find(serving, key) {
        let mut entry = entry.hold(serving);
        let is_same = |it: &Container| status_of(it).is_some_and(|found| found == key);
        if !is_same(entry.container()) {
            registry::remove(serving, key);
            let _ = entry.close();
        } else {
            entry.follow_others()?;
        }
    }
    let access = flags & OFlags::ACCMODE;
    // It may have become a plain file before this was held.
    if access != OFlags::RDONLY
        && !flags.contains(OFlags::PATH)
        && at.container(!flags.contains(OFlags::NOFOLLOW)).map(|it| it.key()) != Some(key)
    {
        return Err(libc::ESTALE);
    }
    if flags.contains(OFlags::TRUNC) && !flags.contains(OFlags::PATH) {
        if access == OFlags::RDONLY {
            let rights = accessat(found.directory(), ANCHOR, Access::WRITE_OK, AtFlags::EACCESS);
            rights.map_err(number)?;
        }
        let Some((entry, _)) = registry::of(serving, file.as_raw_fd())? else {
            return Err(libc::ESTALE);
        };
        let mut entry = entry.hold(serving);
        if !entry.is_empty()? {
            space::set_size(&mut entry, 0)?;
        }
    }
    Ok(())
}

fn status_of(container: &Container) -> Option<Key> {
    let anchor = statat(container.directory(), ANCHOR, AtFlags::SYMLINK_NOFOLLOW);
    anchor.ok().map(|anchor| Key::of(&anchor))
}

/// Makes a container and opens it. `None` where a file of this name is to be a plain one, or cannot be.
fn make(serving: &Serving, at: &NamedAt<'_>, flags: OFlags, mode: mode_t) -> Answer {
    if at.ends_with_slash() {
        return None;
    }
    let settings = settings::get()?;
    let (above, name) = at.divided()?;
    let held = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat(at.directory, above.as_c_str(), held, Mode::empty()).ok()?;
    let mut whole = Text::<PATH_BYTES>::new();
    descriptors::push_link(parent.as_raw_fd(), &mut whole);
    let above = OsStr::from_bytes(whole.as_bytes()).to_os_string();
    whole.push(b"/");
    whole.push(name);
    if !settings.takes(whole.as_bytes()) {
        return None;
    }
    let name = OsStr::from_bytes(name);
    let parent = match held_to_make(settings, parent, above.into()) {
        Ok(parent) => parent,
        Err(cause) => return Some(Err(cause.raw_os_error().unwrap_or(libc::EIO))),
    };
    let parent = match make_small(serving, settings, parent, (name, flags, mode)) {
        Ok(Small::Made(fd)) => return Some(Ok(fd)),
        Ok(Small::NotHere(parent)) => parent,
        Err(error) => return Some(Err(error)),
    };
    Some(make_large(serving, settings, parent, (name, flags, mode)))
}

/// Makes a container for a file that is large from the beginning, and opens it.
fn make_large(
    serving: &Serving,
    settings: &Settings,
    parent: Directory,
    (name, flags, mode): (&OsStr, OFlags, mode_t),
) -> Outcome {
    let mut file = None;
    let mut anchor = |directory: &Directory| {
        let made = make_anchor(&mut file, directory, flags, mode)?;
        // What several nodes see is durable from the beginning.
        if is_of_one_node(directory) { Ok(()) } else { Ok(fsync(made)?) }
    };
    let made = Container::create_unsynced(parent, name, &settings.targets, &mut anchor);
    let container = made.map_err(told)?;
    let file = file.ok_or(libc::EIO)?;
    let key = Key::of(&fstat(&file).map_err(number)?);
    let entry = registry::add(serving, key, container, None);
    entry.hold(serving).note(file.as_raw_fd());
    Ok(file.into_raw_fd() as usize)
}

/// Makes the anchor of a new file. Its rights are the kernel's matter, and the new file may have some that would not let its maker in later.
fn make_anchor<'a>(
    file: &'a mut Option<OwnedFd>,
    directory: &Directory,
    flags: OFlags,
    mode: mode_t,
) -> io::Result<&'a OwnedFd> {
    // That of an attempt before.
    *file = None;
    let made = create_anchor(directory, flags, Mode::from_raw_mode(mode & 0o7777));
    Ok(file.insert(made.map_err(io::Error::from_raw_os_error)?))
}

/// Holds a directory to make something in it. Another user who serves it is not asked; the mount's own file system nobody else serves.
fn held_to_make(settings: &Settings, held: OwnedFd, path: PathBuf) -> io::Result<Directory> {
    let held = Directory::of_held(held, path);
    if held.mount_number().is_none() || held.mount_number() != settings.mount_number {
        held.require_served_by_none_else()?;
    }
    Ok(held)
}

/// What becomes of a file that may be small.
enum Small {
    /// It is open.
    Made(usize),
    /// None can be in this directory.
    NotHere(Directory),
}

/// Makes a container for a file that is small, and opens it.
fn make_small(
    serving: &Serving,
    settings: &Settings,
    parent: Directory,
    (name, flags, mode): (&OsStr, OFlags, mode_t),
) -> Result<Small, c_int> {
    if settings.small_bytes == 0 {
        return Ok(Small::NotHere(parent));
    }
    let mut file = None;
    let mut anchor =
        |directory: &Directory| make_anchor(&mut file, directory, flags, mode).map(drop);
    let room = settings.small_room();
    let made = Container::create_small(parent, name, &settings.targets, room, &mut anchor);
    let (container, small) = match made.map_err(told)? {
        Ok(made) => made,
        Err(parent) => return Ok(Small::NotHere(parent)),
    };
    let file = file.ok_or(libc::EIO)?;
    let key = Key::of(&fstat(&file).map_err(number)?);
    let entry = registry::add(serving, key, container, Some(small));
    let mut held = entry.hold(serving);
    held.is_new();
    held.note(file.as_raw_fd());
    Ok(Small::Made(file.into_raw_fd() as usize))
}

/// Opens a directory: the one that was looked at, as a program that takes a container for a directory destroys it.
fn open_directory(at: &NamedAt<'_>, flags: OFlags) -> Outcome {
    let held = HeldFile::directory(at, !flags.contains(OFlags::NOFOLLOW))?;
    let flags = flags - OFlags::NOFOLLOW;
    let opened = openat(CWD, held.path().as_c_str(), flags, Mode::empty()).map_err(number)?;
    drop(held);
    Ok(lowest(opened).into_raw_fd() as usize)
}

/// Makes a directory the working directory, in the same way.
pub fn enter(at: &NamedAt<'_>) -> Outcome {
    fchdir(HeldFile::directory(at, true)?).map(|()| 0).map_err(number)
}
