//! A backend for tests: files below the directory in PLIMSOLL_INVERTED_DIR are stored with every byte inverted, and they and
//! the directories there with another name, NAME.inverted (`names`). Whatever reaches such a file past the
//! stand-ins shows, because it is not inverted or has no such name. Requests that leave no such trace are noted in a file that the backend keeps
//! open, NOTES, one a line, and so is every write.

mod names;

use core::ffi::{CStr, c_int};

use plimsoll_trace::{Class, Op};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{
    Answer, AttributeRequest, Backend, Buffers, FileSystemStatus, Name, NameRequest, Request,
    Status, TransferRequest,
};
use crate::own_descriptors::OwnDescriptor;
use crate::{descriptors, sys, text::Text};

/// The backend.
pub struct Inverted;

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
        names::is_stored(path.as_bytes())
    }

    fn on_descriptor(&self, fd: c_int, request: &Request) -> Answer {
        note(request);
        Some(match *request {
            Request::Move(ref transfer) => number(transfer_all(fd, transfer)),
            Request::Copy { op: Op::CopyFileRange, .. } => Err(libc::EXDEV),
            Request::Copy { .. } => Err(libc::EINVAL),
            Request::Link => return None,
            Request::Map(_) => Err(libc::ENODEV),
            Request::Attribute(request) => number(on_attribute(At::Descriptor(fd), &request)),
            Request::Entry(entry) => Ok(names::show(entry)),
            // Differs from what the kernel says, so that it shows who was asked.
            Request::FileSystem(status) => put_file_system(status),
            Request::ChangeMode { .. }
            | Request::Sync { .. }
            | Request::Close
            | Request::Execute
            | Request::Seek { .. }
            | Request::Status(_)
            | Request::Truncate { .. }
            | Request::Allocate { .. }
            | Request::Lock(_) => return None,
        })
    }

    fn on_name(&self, name: &Name, request: &NameRequest) -> Answer {
        let own = names::stored(name);
        let own = own.as_ref().map(Text::as_c_str);
        match *request {
            NameRequest::Rename { to, flags } => return rename(own, &to, flags),
            NameRequest::Link { to, flags } => return link(own, &to, flags),
            _ => {}
        }
        Some(on_own_name(own?, request))
    }
}

fn on_own_name(path: &CStr, request: &NameRequest) -> Result<usize, c_int> {
    number(match *request {
        NameRequest::Open { flags, mode } => {
            let flags = OFlags::from_bits_retain(flags as u32);
            rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(mode))
                .map(|fd| rustix::fd::IntoRawFd::into_raw_fd(fd) as usize)
        }
        NameRequest::Status(status) => put_status(path, &status),
        NameRequest::Access { mode, flags } => {
            let access = rustix::fs::Access::from_bits_retain(mode as u32);
            nothing(rustix::fs::accessat(CWD, path, access, at_flags(flags)))
        }
        NameRequest::Truncate { length } => nothing(
            rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .and_then(|file| rustix::fs::ftruncate(&file, length as u64)),
        ),
        NameRequest::Unlink { flags } => nothing(rustix::fs::unlinkat(CWD, path, at_flags(flags))),
        NameRequest::Symlink { target } => names::make_link(path, target),
        NameRequest::ReadLink { to, length } => names::read_link(path, to, length),
        NameRequest::MakeDirectory { mode } => {
            nothing(rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(mode)))
        }
        NameRequest::ChangeDirectory => nothing(rustix::process::chdir(path)),
        NameRequest::ChangeMode { mode, flags } => {
            let mode = Mode::from_raw_mode(mode);
            nothing(rustix::fs::chmodat(CWD, path, mode, at_flags(flags)))
        }
        NameRequest::ChangeOwner { owner, group, flags } => {
            let owner = (owner != u32::MAX).then(|| rustix::fs::Uid::from_raw(owner));
            let group = (group != u32::MAX).then(|| rustix::fs::Gid::from_raw(group));
            nothing(rustix::fs::chownat(CWD, path, owner, group, at_flags(flags)))
        }
        NameRequest::ChangeTimes { times, flags } => {
            let [last_access, last_modification] =
                times.map(|it| rustix::fs::Timespec { tv_sec: it.tv_sec, tv_nsec: it.tv_nsec });
            let times = rustix::fs::Timestamps { last_access, last_modification };
            nothing(rustix::fs::utimensat(CWD, path, &times, at_flags(flags)))
        }
        NameRequest::FileSystem(status) => return put_file_system(status),
        NameRequest::Attribute { request, flags } => {
            on_attribute(At::Name(path, flags & libc::AT_SYMLINK_NOFOLLOW == 0), &request)
        }
        NameRequest::OpenWithin => Err(Errno::NOSYS),
        // What is stored is no program.
        NameRequest::Execute => Err(Errno::ACCESS),
        NameRequest::Rename { .. } | NameRequest::Link { .. } => Err(Errno::INVAL),
    })
}

fn number(result: Result<usize, Errno>) -> Result<usize, c_int> {
    result.map_err(Errno::raw_os_error)
}

fn nothing(result: Result<(), Errno>) -> Result<usize, Errno> {
    result.map(|()| 0)
}

fn at_flags(flags: c_int) -> AtFlags {
    AtFlags::from_bits_retain(flags as u32)
}

fn rename(from: Option<&CStr>, to: &Name, flags: u32) -> Answer {
    let to = names::stored(to);
    match (from, to.as_ref().map(Text::as_c_str)) {
        (Some(from), Some(to)) => {
            let flags = RenameFlags::from_bits_retain(flags);
            Some(number(nothing(rustix::fs::renameat_with(CWD, from, CWD, to, flags))))
        }
        (None, None) => None,
        // As between two file systems: programs copy then.
        _ => Some(Err(libc::EXDEV)),
    }
}

fn link(from: Option<&CStr>, to: &Name, flags: c_int) -> Answer {
    let to = names::stored(to);
    match (from, to.as_ref().map(Text::as_c_str)) {
        (Some(from), Some(to)) => {
            Some(number(nothing(rustix::fs::linkat(CWD, from, CWD, to, at_flags(flags)))))
        }
        (None, None) => None,
        _ => Some(Err(libc::EXDEV)),
    }
}

/// The type of file system that is told.
const TYPE: i64 = 0x1234_5678;

fn put_file_system(status: FileSystemStatus) -> Result<usize, c_int> {
    // SAFETY: the program's room for one, which the C library would fill in the same way.
    unsafe {
        match status {
            FileSystemStatus::Statfs(to) => {
                let mut told: libc::statfs64 = core::mem::zeroed();
                told.f_type = TYPE;
                to.cast::<libc::statfs64>().write_unaligned(told);
            }
            FileSystemStatus::Statvfs(to) => {
                let mut told: libc::statvfs64 = core::mem::zeroed();
                told.f_fsid = TYPE as u64;
                to.cast::<libc::statvfs64>().write_unaligned(told);
            }
        }
    }
    Ok(0)
}

/// linux/limits.h
const LARGEST_ATTRIBUTE: usize = 65536;

/// A file whose attributes are meant: by its descriptor, or by its name, with links followed or not.
#[derive(Clone, Copy)]
enum At<'a> {
    Descriptor(c_int),
    Name(&'a CStr, bool),
}

/// Reads and changes attributes, whose values are stored inverted.
fn on_attribute(at: At<'_>, request: &AttributeRequest) -> Result<usize, Errno> {
    let fd = |fd| sys::borrow(fd).ok_or(Errno::BADF);
    // Where only a size is asked for, which rustix does not tell of an empty buffer.
    let mut scratch = vec![0; LARGEST_ATTRIBUTE];
    // SAFETY: names and memory that the program says are there.
    unsafe {
        match *request {
            AttributeRequest::Get { name, value, size } => {
                let name = CStr::from_ptr(name);
                let value = if size == 0 { &mut scratch[..] } else { bytes_at(value.cast(), size) };
                let count = match at {
                    At::Descriptor(it) => rustix::fs::fgetxattr(fd(it)?, name, &mut *value)?,
                    At::Name(path, true) => rustix::fs::getxattr(path, name, &mut *value)?,
                    At::Name(path, false) => rustix::fs::lgetxattr(path, name, &mut *value)?,
                };
                value.iter_mut().take(count).for_each(|byte| *byte = !*byte);
                Ok(count)
            }
            AttributeRequest::Set { name, value, size, flags } => {
                let name = CStr::from_ptr(name);
                let value: Vec<u8> =
                    bytes_at(value.cast_mut().cast(), size).iter().map(|byte| !byte).collect();
                let flags = rustix::fs::XattrFlags::from_bits_retain(flags as u32);
                nothing(match at {
                    At::Descriptor(it) => rustix::fs::fsetxattr(fd(it)?, name, &value, flags),
                    At::Name(path, true) => rustix::fs::setxattr(path, name, &value, flags),
                    At::Name(path, false) => rustix::fs::lsetxattr(path, name, &value, flags),
                })
            }
            AttributeRequest::List { list, size } => {
                let list = if size == 0 { &mut scratch[..] } else { bytes_at(list.cast(), size) };
                match at {
                    At::Descriptor(it) => rustix::fs::flistxattr(fd(it)?, list),
                    At::Name(path, true) => rustix::fs::listxattr(path, list),
                    At::Name(path, false) => rustix::fs::llistxattr(path, list),
                }
            }
            AttributeRequest::Remove { name } => {
                let name = CStr::from_ptr(name);
                nothing(match at {
                    At::Descriptor(it) => rustix::fs::fremovexattr(fd(it)?, name),
                    At::Name(path, true) => rustix::fs::removexattr(path, name),
                    At::Name(path, false) => rustix::fs::lremovexattr(path, name),
                })
            }
        }
    }
}

/// Returns the program's memory.
///
/// # Safety
/// The program says that there are as many bytes.
unsafe fn bytes_at<'a>(address: *mut u8, size: usize) -> &'a mut [u8] {
    if address.is_null() || size == 0 {
        return &mut [];
    }
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts_mut(address, size) }
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
        Buffers::One { address, length } | Buffers::Own { address, length } => {
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
    add_note(b"write\n");
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

/// Notes a request that leaves no other trace, because the kernel does the same.
fn note(request: &Request) {
    add_note(match request {
        Request::Seek { .. } => b"seek\n",
        Request::Status(_) => b"status\n",
        Request::Truncate { .. } => b"truncate\n",
        Request::Allocate { .. } => b"allocate\n",
        Request::Lock(_) => b"lock\n",
        Request::ChangeMode { .. } => b"change mode\n",
        Request::Attribute(AttributeRequest::List { .. }) => b"list attributes\n",
        Request::Attribute(AttributeRequest::Remove { .. }) => b"remove attribute\n",
        Request::Sync { op: Op::Sync } => b"sync all\n",
        Request::Sync { op: Op::AioSync } => b"sync later\n",
        Request::Sync { .. } => b"sync\n",
        Request::Close => b"close\n",
        _ => return,
    });
}

/// Adds a line to the notes, through a descriptor that is kept open.
fn add_note(line: &[u8]) {
    if let Some(notes) = notes() {
        let _ = rustix::io::write(notes.as_fd(), line);
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
    KEPT.keep(file.into()).ok()?;
    KEPT.get()
}
