//! Containers that must be plain files: programs, which the kernel reads itself, and shared libraries, which the dynamic linker does.
//!
//! A file that was written as one becomes a plain file when it is closed, and any other that is executed, such as a script, before that. The
//! plain file is made inside of the container, and takes its name once it is durable; whoever still reads the container goes on doing so.

use core::ffi::c_int;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{
    ANCHOR, Container, FLAT, Reader, StowError, gone_name, is_held, is_held_to_write, mark_gone,
};
use rustix::fd::{AsRawFd, IntoRawFd};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, openat};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

use super::entry::{Key, told};
use super::found::Found;
use super::names::{self, NamedAt};
use super::{Outcome, naming, number};
use crate::backend::Answer;
use crate::sys;
use crate::text::Text;

/// What is copied at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes at the beginning of a file by which it is known.
pub const KNOWN_BY: usize = 18;

/// Returns whether a file that begins like this is a program or a shared library: elf(5), where `e_type` is ET_EXEC or ET_DYN.
pub fn is_program(start: &[u8]) -> bool {
    let Some(kind) = start.get(16..KNOWN_BY) else { return false };
    start.starts_with(b"\x7fELF") && matches!(kind, [2 | 3, 0] | [0, 2 | 3])
}

/// Prepares a file that is executed by its name: `None` lets the kernel do so.
pub fn before_execution(at: &NamedAt<'_>) -> Answer {
    let found = at.container(true)?;
    let prepared =
        if at.ends_with_slash() { Err(libc::EACCES) } else { executable(&found).map(drop) };
    prepared.err().map(Err)
}

/// Makes a container a plain file that may be executed.
fn executable(found: &Found) -> Result<File, c_int> {
    accessat(found.directory(), ANCHOR, Access::EXEC_OK, AtFlags::EACCESS).map_err(number)?;
    let path = found.path();
    make_plain(Path::new(OsStr::from_bytes(path.as_bytes())), found.key(), |_| true)?
        .ok_or(libc::EACCES)
}

/// Returns another descriptor by which a file can be executed that is a container's; `None` if it is none.
pub fn to_execute(fd: c_int) -> Answer {
    match names::container_of(fd) {
        Ok(found) => found.map(|found| plain_descriptor(&found, fd)),
        Err(error) => Some(Err(error)),
    }
}

fn plain_descriptor(found: &Found, fd: c_int) -> Outcome {
    let kept = fcntl_getfd(sys::borrow(fd).ok_or(libc::EBADF)?).map_err(number)?;
    let flat = executable(found)?;
    // The very file, whatever has its name by now, and not to be written to: nothing else can be executed.
    let mut path = Text::<64>::new();
    path.push(b"/proc/self/fd/");
    path.push_number(flat.as_raw_fd() as u64, 10);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let plain = openat(CWD, path.as_c_str(), flags, Mode::empty()).map_err(number)?;
    // An interpreter opens the script that it is given as a descriptor.
    if !kept.contains(FdFlags::CLOEXEC) {
        fcntl_setfd(&plain, FdFlags::empty()).map_err(number)?;
    }
    Ok(plain.into_raw_fd() as usize)
}

/// Makes the container with this anchor the plain file that it holds, if its first bytes are wanted; returns that file.
///
/// # Errors
/// As executing a plain file: ETXTBSY while somebody can write to it. It is a container then.
pub fn make_plain(
    path: &Path,
    key: Key,
    is_wanted: impl FnOnce(&[u8]) -> bool,
) -> Result<Option<File>, c_int> {
    let container = Arc::new(Container::open(path, naming::targets()).map_err(told)?);
    container.require_in_place().map_err(told)?;
    let alone = container.hold_alone().map_err(|error| match error {
        StowError::Busy { .. } | StowError::Held { .. } => libc::ETXTBSY,
        error => told(error),
    })?;
    let anchor = container.directory().open_file(ANCHOR, OFlags::RDONLY).map_err(failure)?;
    if Key::of(&fstat(&anchor).map_err(number)?) != key {
        return Err(libc::ESTALE);
    }
    if is_held_to_write(&anchor) {
        return Err(libc::ETXTBSY);
    }
    let reader = Reader::open_scanned(container.clone()).map_err(told)?;
    let mut start = [0; KNOWN_BY];
    let count = reader.read_at(&mut start, 0).map_err(told)?;
    if !is_wanted(start.get(..count).unwrap_or(&[])) {
        return Ok(None);
    }
    let flat = copy_of(&reader)?;
    drop(reader);
    container.give_rights_to(&flat).map_err(told)?;
    flat.sync_all().map_err(failure)?;
    let mut container = Arc::into_inner(container).ok_or(libc::EBUSY)?;
    replace(&mut container, &flat, &anchor)?;
    if !is_held(&anchor) {
        // What cannot be removed now is removed with the next `plimsoll stow run`.
        let _ = container.discard(&alone);
    }
    Ok(Some(flat))
}

/// Gives the container's name to the plain file, unless somebody opened the container to write to it meanwhile.
fn replace(container: &mut Container, flat: &File, anchor: &File) -> Result<(), c_int> {
    let gone = gone_name(container.directory()).map_err(failure)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(container.directory(), c".", flags, Mode::empty()).map_err(number)?;
    mark_gone(&directory, true).map_err(number)?;
    let must_hold = || match is_held_to_write(anchor) {
        true => Err(io::Error::from_raw_os_error(libc::ETXTBSY)),
        false => Ok(()),
    };
    container.exchange_with(flat, OsStr::new(&gone), must_hold).map_err(|error| {
        let _ = mark_gone(&directory, false);
        told(error)
    })?;
    naming::mark_again(&directory)
}

/// Writes what a container holds to a file in it. Its holes are holes.
fn copy_of(reader: &Reader) -> Result<File, c_int> {
    let directory = reader.container().directory();
    directory.remove_file_if_there(FLAT).map_err(failure)?;
    let flat = directory.create(FLAT, OFlags::RDWR, 0o600).map_err(failure)?;
    let mut piece = Vec::new();
    piece.try_reserve_exact(PIECE_BYTES).map_err(|_| libc::ENOMEM)?;
    piece.resize(PIECE_BYTES, 0);
    let mut at = 0;
    while let Some(stretch) = reader.stretch_from(at).map_err(told)? {
        if stretch.is_hole {
            at = stretch.end;
            continue;
        }
        while at < stretch.end {
            let room = (stretch.end - at).min(PIECE_BYTES as u64) as usize;
            let piece = piece.get_mut(..room).unwrap_or(&mut []);
            let count = reader.read_verified_at(piece, at).map_err(told)?;
            let piece = piece.get(..count).filter(|it| !it.is_empty()).ok_or(libc::EIO)?;
            flat.write_all_at(piece, at).map_err(failure)?;
            at += count as u64;
        }
    }
    flat.set_len(reader.known_size().map_err(told)?).map_err(failure)?;
    Ok(flat)
}

fn failure(error: io::Error) -> c_int {
    error.raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_libraries_are_told_from_objects_and_cores() {
        let file = |kind: [u8; 2]| {
            let mut start = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0\0";
            start[16..].copy_from_slice(&kind);
            is_program(&start)
        };
        assert!(file([2, 0]) && file([3, 0]) && file([0, 3]));
        assert!(!file([1, 0]) && !file([4, 0]) && !file([0, 0]) && !file([3, 3]));
        assert!(!is_program(b"\x7fELF") && !is_program(&[0; 64]) && !is_program(b""));
    }
}
