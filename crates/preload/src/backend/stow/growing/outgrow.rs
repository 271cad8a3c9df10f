//! A plain file becomes a container.

use core::ffi::c_int;
use core::mem::ManuallyDrop;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plimsoll_guarded::{Directory, acting_user};
use plimsoll_stow::{Outgrown, Stage, StowError, Writer, left_file, settle};
use rustix::fs::{OFlags, Stat, fcntl_getfl, fstat};

use super::super::entry::{Key, told};
use super::super::found::Found;
use super::super::still::{self, Number, Way};
use super::super::{counting, hold, memory, number, registry, settings, spreading};
use super::IS_BUILT;
use crate::text::{PATH_BYTES, Text};
use crate::thread::Serving;
use crate::{descriptors, sys};

/// Waits for whoever makes a container of a file, and ends what they began if they were killed.
pub fn settled(serving: &Serving, fd: c_int, facts: &Stat) {
    let Some(file) = sys::borrow(fd) else { return };
    let Ok(_still) = still::keep(serving, Number::of(facts), Way::Alone) else { return };
    if !matches!(Stage::of(file), Ok(Some(Stage::Moving { .. }))) {
        return;
    }
    let (path, itself) = (path_of(fd), as_file(fd));
    let _ = settle(Path::new(OsStr::from_bytes(path.as_bytes())), &itself);
}

/// Waits for whoever makes a container of a file, which is what was found, and ends what they began if they were killed; returns whether it was such a one.
pub fn settle_named(serving: &Serving, found: &Found) -> bool {
    if !IS_BUILT {
        return false;
    }
    let path = found.path();
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let Ok(directory) = Directory::open_held(found.directory(), path.into()) else { return false };
    let Some(left) = left_file(&directory) else { return false };
    let opened = left.parent().and_then(|it| Directory::open_by_own_links(it).ok());
    let file = opened.zip(left.file_name()).and_then(|(parent, name)| {
        parent
            .open_own_file(name, OFlags::RDWR)
            .or_else(|_| parent.open_own_file(name, OFlags::RDONLY))
            .ok()
    });
    let Some((file, facts)) = file.and_then(|it| fstat(&it).ok().map(|facts| (it, facts))) else {
        return false;
    };
    let Ok(_still) = still::keep(serving, Number::of(&facts), Way::Alone) else { return false };
    settle(&left, &file).is_ok()
}

/// Makes a container of a file; returns false if it stays a plain one for good, and has lost its mark.
pub fn outgrow(serving: &Serving, fd: c_int) -> Result<bool, c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let seen = fstat(file).map_err(number)?;
    let _still = still::keep(serving, Number::of(&seen), Way::Alone)?;
    let facts = fstat(file).map_err(number)?;
    if Key::of(&facts) != Key::of(&seen) {
        // The number is another file's by now, which is to be looked at.
        return Ok(true);
    }
    let is_synced = match Stage::of(file).map_err(number)? {
        Some(Stage::Plain { is_synced }) => is_synced,
        // Another one was quicker, or is to be looked at again.
        _ => return Ok(true),
    };
    let stays = |error: Option<c_int>| {
        let _ = Stage::forget(file);
        error.map_or(Ok(false), Err)
    };
    let path = path_of(fd);
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let settings = settings::get().ok_or(libc::EINVAL)?;
    let is_wanted = facts.st_nlink == 1
        && facts.st_uid == acting_user()
        && facts.st_size <= LARGEST
        && settings.takes(path.as_os_str().as_bytes())
        && !hold::is_held_elsewhere(fd);
    let (Some(above), Some(name), true) = (path.parent(), path.file_name(), is_wanted) else {
        return stays(None);
    };
    let Ok(parent) = Directory::open_by_own_links(above) else { return stays(None) };
    if !parent.keeps_names() {
        return stays(None);
    }
    let is_readable = fcntl_getfl(file).map_err(number)? & OFlags::ACCMODE == OFlags::RDWR;
    let (itself, again) =
        (as_file(fd), if is_readable { None } else { registry::to_read(serving, fd) });
    if !is_readable && again.is_none() {
        return stays(None);
    }
    let read = again.as_deref().unwrap_or(&itself);
    let outgrown = Outgrown { parent, name, file: read, writable: file, is_synced };
    let crew = registry::crew(serving);
    let grown = outgrown.grow(&settings.targets, |container| {
        let tally = counting::of_writer(container);
        let placement = spreading::placement(&crew, container);
        let mut writer = Writer::open_counted(container.clone(), placement, tally)?;
        writer.copy_by(memory::copy);
        Ok::<_, StowError>(writer)
    });
    match grown.map_err(told) {
        Ok(Some((container, writer))) => {
            registry::add_grown(serving, Key::of(&facts), container, writer);
            counting::take_small(u64::try_from(facts.st_size).unwrap_or(0));
            Ok(true)
        }
        Ok(None) => stays(None),
        Err(error) => Err(error),
    }
}

/// A file that is larger, by what the library does not see, stays a plain one.
const LARGEST: i64 = 64 << 20;

/// Returns a descriptor of the program as a file that is not closed.
fn as_file(fd: c_int) -> ManuallyDrop<File> {
    // SAFETY: a number that the program has open, or none, which the kernel tells.
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

fn path_of(fd: c_int) -> Text<PATH_BYTES> {
    let mut path = Text::new();
    descriptors::push_link(fd, &mut path);
    path
}
