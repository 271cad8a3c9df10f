//! A backend for tests: files below the directory in PLIMSOLL_INVERTED_DIR are stored with every byte inverted and with
//! another name, NAME.inverted. Whatever reaches such a file past the stand-ins shows, because it is not inverted.
//! Each transfer is noted in a file that the backend keeps open, NOTES, as so many lines as there were writes.

use core::ffi::{CStr, c_int};

use plimsoll_trace::{Class, Op};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{Answer, Backend, Buffers, Name, NameRequest, Request, Status, TransferRequest};
use crate::own_descriptors::OwnDescriptor;
use crate::{descriptors, sys, text::Text};

/// The backend.
pub struct Inverted;

const SUFFIX: &[u8] = b".inverted";
const NOTES: &[u8] = b"/NOTES";

/// The descriptor of the notes, once there is one.
static KEPT: OwnDescriptor = OwnDescriptor::none();

fn directory() -> &'static [u8] {
    sys::variable("PLIMSOLL_INVERTED_DIR").unwrap_or(b"")
}

impl Backend for Inverted {
    fn begin(&self) -> bool {
        !directory().is_empty()
    }

    fn owns(&self, fd: c_int) -> bool {
        let mut path = Text::<4096>::new();
        descriptors::push_link(fd, &mut path);
        path.as_bytes().starts_with(directory()) && path.as_bytes().ends_with(SUFFIX)
    }

    fn on_descriptor(&self, fd: c_int, request: &Request) -> Answer {
        match request {
            Request::Move(transfer) => Some(number(transfer_all(fd, transfer))),
            Request::Copy { op: Op::CopyFileRange, .. } => Some(Err(libc::EXDEV)),
            Request::Copy { .. } => Some(Err(libc::EINVAL)),
            Request::Map(_) => Some(Err(libc::ENODEV)),
            Request::Seek { .. }
            | Request::Status(_)
            | Request::Truncate { .. }
            | Request::Allocate { .. }
            | Request::Sync { .. }
            | Request::Lock(_)
            | Request::Close => None,
        }
    }

    fn on_name(&self, name: &Name, request: &NameRequest) -> Answer {
        let own = stored(name);
        let own = own.as_ref().map(Text::as_c_str);
        let answer = match (*request, own) {
            (NameRequest::Rename { to, flags }, _) => return rename(own, &to, flags),
            (NameRequest::Link { to }, Some(_)) => {
                return stored(&to).is_some().then_some(Err(libc::EPERM));
            }
            (_, None) => return None,
            (NameRequest::Open { flags, mode }, Some(path)) => {
                let flags = OFlags::from_bits_retain(flags as u32);
                let opened = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(mode));
                opened.map(|fd| rustix::fd::IntoRawFd::into_raw_fd(fd) as usize)
            }
            (NameRequest::Status(status), Some(path)) => put_status(path, &status),
            (NameRequest::Access { mode }, Some(path)) => {
                let access = rustix::fs::Access::from_bits_retain(mode as u32);
                rustix::fs::accessat(CWD, path, access, AtFlags::empty()).map(|()| 0)
            }
            (NameRequest::Truncate { length }, Some(path)) => {
                rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                    .and_then(|file| rustix::fs::ftruncate(&file, length as u64))
                    .map(|()| 0)
            }
            (NameRequest::Unlink { flags }, Some(path)) => {
                let flags = AtFlags::from_bits_retain(flags as u32);
                rustix::fs::unlinkat(CWD, path, flags).map(|()| 0)
            }
            (NameRequest::ChangeMode { mode }, Some(path)) => {
                rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())
                    .map(|()| 0)
            }
        };
        Some(number(answer))
    }
}

fn number(result: Result<usize, Errno>) -> Result<usize, c_int> {
    result.map_err(Errno::raw_os_error)
}

/// Returns the name that a file of the backend is stored under; `None` for names that are not the backend's.
/// Directories are left alone.
fn stored(name: &Name) -> Option<Text<4096>> {
    let path = name.path()?.to_bytes();
    let mut whole = Text::<4096>::new();
    if !path.starts_with(b"/") {
        match name.directory {
            libc::AT_FDCWD => whole.push_link(c"/proc/self/cwd"),
            directory => descriptors::push_link(directory, &mut whole),
        }
        whole.push(b"/");
    }
    whole.push(path);
    let below = whole.as_bytes().strip_prefix(directory())?;
    if below.len() < 2 || !below.starts_with(b"/") || below.ends_with(SUFFIX) {
        return None;
    }
    let is_directory =
        rustix::fs::statat(CWD, whole.as_c_str(), AtFlags::empty()).is_ok_and(|it| {
            rustix::fs::FileType::from_raw_mode(it.st_mode) == rustix::fs::FileType::Directory
        });
    whole.push(SUFFIX);
    (!is_directory).then_some(whole)
}

fn rename(from: Option<&CStr>, to: &Name, flags: u32) -> Answer {
    let to = stored(to);
    match (from, to.as_ref().map(Text::as_c_str)) {
        (Some(from), Some(to)) => {
            let flags = RenameFlags::from_bits_retain(flags);
            Some(number(rustix::fs::renameat_with(CWD, from, CWD, to, flags).map(|()| 0)))
        }
        (None, None) => None,
        // As between two file systems: programs copy then.
        _ => Some(Err(libc::EXDEV)),
    }
}

fn put_status(path: &CStr, status: &Status) -> Result<usize, Errno> {
    match *status {
        Status::Plain { to, flags } => {
            let flags = AtFlags::from_bits_retain(flags as u32);
            let found = rustix::fs::statat(CWD, path, flags)?;
            // SAFETY: the program's room for one, which the C library would fill in the same way.
            unsafe { to.cast::<rustix::fs::Stat>().write_unaligned(found) };
        }
        Status::Extended { to, flags, mask } => {
            let flags = AtFlags::from_bits_retain(flags as u32);
            let mask = rustix::fs::StatxFlags::from_bits_retain(mask);
            let found = rustix::fs::statx(CWD, path, flags, mask)?;
            // SAFETY: as above.
            unsafe { to.cast::<rustix::fs::Statx>().write_unaligned(found) };
        }
    }
    Ok(0)
}

fn transfer_all(fd: c_int, transfer: &TransferRequest) -> Result<usize, Errno> {
    let fd = sys::borrow(fd).ok_or(Errno::BADF)?;
    let (mut offset, mut moved) = (transfer.offset.map(|offset| offset as u64), 0);
    let one;
    let pieces = match transfer.buffers {
        Buffers::One { address, length } => {
            one = [libc::iovec { iov_base: address, iov_len: length }];
            &one[..]
        }
        // SAFETY: the program says that there are as many.
        Buffers::Many { list, count } => unsafe {
            core::slice::from_raw_parts(list, usize::try_from(count).map_err(|_| Errno::INVAL)?)
        },
    };
    for piece in pieces {
        // SAFETY: memory of the program, which says so.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(piece.iov_base.cast::<u8>(), piece.iov_len) };
        let count = if transfer.op.class() == Class::Write {
            write(fd, bytes, offset)
        } else {
            read(fd, bytes, offset)
        };
        let count = match count {
            Err(error) if moved == 0 => return Err(error),
            Err(_) => break,
            Ok(count) => count,
        };
        moved += count;
        offset = offset.map(|offset| offset + count as u64);
        if count < piece.iov_len {
            break;
        }
    }
    Ok(moved)
}

fn write(fd: BorrowedFd<'_>, bytes: &[u8], offset: Option<u64>) -> Result<usize, Errno> {
    // Not in the program's memory, which may be read by others, or not be writable.
    let mut inverted = Vec::new();
    inverted.try_reserve_exact(bytes.len()).map_err(|_| Errno::NOMEM)?;
    inverted.extend(bytes.iter().map(|byte| !byte));
    let written = match offset {
        Some(offset) => rustix::io::pwrite(fd, &inverted, offset),
        None => rustix::io::write(fd, &inverted),
    }?;
    note();
    Ok(written)
}

fn read(fd: BorrowedFd<'_>, bytes: &mut [u8], offset: Option<u64>) -> Result<usize, Errno> {
    let count = match offset {
        Some(offset) => rustix::io::pread(fd, &mut *bytes, offset),
        None => rustix::io::read(fd, &mut *bytes),
    }?;
    bytes.iter_mut().take(count).for_each(|byte| *byte = !*byte);
    Ok(count)
}

/// Adds a line to the notes, through a descriptor that is kept open.
fn note() {
    if let Some(notes) = notes() {
        let _ = rustix::io::write(notes.as_fd(), b"write\n");
    }
}

fn notes() -> Option<BorrowedFd<'static>> {
    if let Some(kept) = KEPT.get() {
        return Some(kept);
    }
    let mut path = Text::<4096>::new();
    path.push(directory());
    path.push(NOTES);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path.as_c_str(), flags, Mode::RUSR | Mode::WUSR).ok()?;
    KEPT.keep(file).ok()?;
    KEPT.get()
}
