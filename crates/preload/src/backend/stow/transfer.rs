//! Data between a program and a container, and the position.

use core::ffi::c_int;
use core::ops::Range;
use core::slice;
use std::borrow::Cow;

use libc::iovec;
use plimsoll_stow::{Reader, StowError, Writer};
use plimsoll_trace::Class;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl};
use rustix::io::Errno;

use super::entry::{Used, told};
use super::{Outcome, memory, number, plain, reserve};
use crate::backend::{Buffers, TransferRequest};
use crate::sys;

/// The kernel moves no more at once (MAX_RW_COUNT in include/linux/fs.h).
const MOST: usize = 0x7fff_f000;

/// Flags of `pwritev2` (linux/fs.h) that can be followed; priority and waiting make no difference.
const HIGH_PRIORITY: c_int = 1;
const DATA_DURABLE: c_int = 2;
const DURABLE: c_int = 4;
const APPENDS: c_int = 16;

/// Reads or writes.
pub fn transfer(entry: &mut Used, fd: c_int, request: &TransferRequest) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let flags = fcntl_getfl(file).map_err(number)?;
    let access = flags & OFlags::ACCMODE;
    let writes = request.op.class() == Class::Write;
    let is_allowed = if writes { access != OFlags::RDONLY } else { access != OFlags::WRONLY };
    if !is_allowed || flags.contains(OFlags::PATH) {
        return Err(libc::EBADF);
    }
    with_pieces(request, |pieces, length, offset| {
        if !writes {
            let got = read(entry.reader()?, fd, pieces, length, offset)?;
            entry.offer(fd);
            return Ok(got);
        }
        let appends = flags.contains(OFlags::APPEND) || request.flags & APPENDS != 0;
        let data = Data {
            bytes: &gathered(pieces)?,
            is_own: matches!(request.buffers, Buffers::Own { .. }),
        };
        let written = write(entry, fd, data, offset, appends)?;
        if flags.contains(OFlags::DSYNC) || request.flags & (DATA_DURABLE | DURABLE) != 0 {
            entry.sync()?;
        }
        Ok(written)
    })
}

/// Reads by a descriptor that can be read.
pub fn read_known(reader: &Reader, fd: c_int, request: &TransferRequest) -> Outcome {
    with_pieces(request, |pieces, length, offset| read(reader, fd, pieces, length, offset))
}

/// Does something with a request's memory, so much of it as can be moved, and the offset.
fn with_pieces(
    request: &TransferRequest,
    work: impl FnOnce(&[iovec], usize, Option<u64>) -> Outcome,
) -> Outcome {
    if request.flags & !(HIGH_PRIORITY | DATA_DURABLE | DURABLE | APPENDS) != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let offset = match request.offset.map(u64::try_from) {
        Some(Err(_)) => return Err(libc::EINVAL),
        Some(Ok(offset)) => Some(offset),
        None => None,
    };
    let one;
    let pieces = match request.buffers {
        Buffers::One { address, length } | Buffers::Own { address, length } => {
            one = [iovec { iov_base: address, iov_len: length.min(MOST) }];
            &one[..]
        }
        Buffers::Many { list, count } => {
            let count = usize::try_from(count).map_err(|_| libc::EINVAL)?;
            if count > libc::UIO_MAXIOV as usize || (list.is_null() && count > 0) {
                return Err(if count > 0 && list.is_null() { libc::EFAULT } else { libc::EINVAL });
            }
            // SAFETY: the program says that there are as many.
            if count == 0 { &[] } else { unsafe { slice::from_raw_parts(list, count) } }
        }
    };
    let length = pieces.iter().fold(0_usize, |sum, it| sum.saturating_add(it.iov_len));
    if length > isize::MAX as usize {
        return Err(libc::EINVAL);
    }
    if !pieces.iter().all(memory::may_be_there) {
        return Err(libc::EFAULT);
    }
    work(pieces, length.min(MOST), offset)
}

/// Returns what is in all buffers, in one piece: it is one write, which others see as a whole.
fn gathered<'a>(pieces: &[iovec]) -> Result<Cow<'a, [u8]>, c_int> {
    let bytes = |piece: &iovec| -> &'a [u8] {
        if piece.iov_len == 0 {
            return &[];
        }
        // SAFETY: memory of the program, which says so.
        unsafe { slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) }
    };
    if let [piece] = pieces {
        return Ok(Cow::Borrowed(bytes(piece)));
    }
    let (mut all, mut copy) = (Vec::new(), Vec::new());
    for piece in pieces {
        let piece = bytes(piece);
        let piece = piece.get(..piece.len().min(MOST - all.len())).unwrap_or(&[]);
        memory::copy(piece, &mut copy).map_err(number)?;
        all.try_reserve(copy.len()).map_err(|_| libc::ENOMEM)?;
        all.extend_from_slice(&copy);
    }
    Ok(Cow::Owned(all))
}

/// What is written.
#[derive(Clone, Copy)]
struct Data<'a> {
    bytes: &'a [u8],
    /// It is in memory of the library's, and nobody changes it meanwhile.
    is_own: bool,
}

fn write(entry: &mut Used, fd: c_int, data: Data, offset: Option<u64>, appends: bool) -> Outcome {
    let bytes = data.bytes;
    if bytes.is_empty() {
        return Ok(0);
    }
    let written = if appends {
        let written = put(entry, data, None)?;
        if offset.is_none() {
            set_position(fd, written.end)?;
        }
        written
    } else if let Some(offset) = offset {
        put(entry, data, Some(offset))?
    } else {
        // Before anything is written: others who share the position write behind it.
        if entry.small()?.is_none() {
            entry.writer()?;
        }
        let start = reserve(fd, bytes.len()).map_err(|errno| match errno {
            Errno::INVAL | Errno::OVERFLOW => libc::EFBIG,
            errno => number(errno),
        })?;
        let written = put(entry, data, Some(start));
        let count = written.as_ref().map_or(0, |it| it.end - it.start);
        if count < bytes.len() as u64 {
            move_back(fd, bytes.len() - count as usize);
        }
        written?
    };
    if written.start == 0 {
        let (mut first, begin) = (Vec::new(), bytes.len().min(plain::KNOWN_BY));
        // The program's memory may not be there any more.
        let is_read = memory::copy(&bytes[..begin], &mut first).is_ok();
        entry.is_program = is_read && plain::is_program(&first);
    }
    entry.touch();
    Ok((written.end - written.start) as usize)
}

/// Writes at an offset, or at the end; returns what is there.
fn put(entry: &mut Used, data: Data, offset: Option<u64>) -> Result<Range<u64>, c_int> {
    let bytes = data.bytes;
    if let Some(start) = entry.write_small(bytes, offset)? {
        return Ok(start..start + bytes.len() as u64);
    }
    let writer = entry.writer()?;
    let done = match offset {
        Some(offset) if data.is_own => writer.write_kept_at(bytes, offset),
        Some(offset) => writer.write_at(bytes, offset),
        None => writer.append(bytes).map(drop),
    };
    as_far_as_it_came(writer, done, bytes)
}

/// Returns what of a write is there. One that failed behind its first bytes is a short one: whoever tries again would have these twice.
fn as_far_as_it_came(
    writer: &Writer,
    done: Result<(), StowError>,
    bytes: &[u8],
) -> Result<Range<u64>, c_int> {
    let written = writer.last_write();
    match done {
        Err(error) if written.is_empty() || written.end - written.start == bytes.len() as u64 => {
            Err(told(error))
        }
        _ => Ok(written),
    }
}

fn read(
    reader: &Reader,
    fd: c_int,
    pieces: &[iovec],
    length: usize,
    offset: Option<u64>,
) -> Outcome {
    let start = match offset {
        Some(offset) => offset,
        None => reserve(fd, length).map_err(number)?,
    };
    let mut moved = 0;
    for piece in pieces {
        let room = piece.iov_len.min(length - moved);
        if room == 0 {
            continue;
        }
        // SAFETY: memory of the program, which says so.
        let bytes = unsafe { slice::from_raw_parts_mut(piece.iov_base.cast::<u8>(), room) };
        match reader.read_at(bytes, start.saturating_add(moved as u64)) {
            Ok(count) => {
                moved += count;
                if count < room {
                    break;
                }
            }
            Err(_) if moved > 0 => break,
            Err(error) => {
                if offset.is_none() {
                    move_back(fd, length);
                }
                // What a target refuses and what the program's memory does looks the same.
                let is_there = memory::can_be_written(piece.iov_base.addr(), room);
                return Err(if is_there { told(error) } else { libc::EFAULT });
            }
        }
    }
    if offset.is_none() {
        move_back(fd, length - moved);
    }
    Ok(moved)
}

/// Gives back what was reserved and not used.
pub fn move_back(fd: c_int, length: usize) {
    if let Some(file) = sys::borrow(fd)
        && length > 0
    {
        let _ = rustix::fs::seek(file, SeekFrom::Current(-(length as i64)));
    }
}

fn set_position(fd: c_int, position: u64) -> Result<u64, c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    rustix::fs::seek(file, SeekFrom::Start(position)).map_err(number)
}

/// Sets the position, counting from the end or to the next data or hole. What is relative to the beginning or the position is
/// the kernel's, but for what is refused.
pub fn seek(entry: &mut Used, fd: c_int, offset: i64, whence: c_int) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let position = match whence {
        libc::SEEK_SET => return Err(libc::EINVAL),
        libc::SEEK_CUR => {
            let here = rustix::fs::seek(file, SeekFrom::Current(offset)).map_err(number)?;
            return Ok(here as usize);
        }
        libc::SEEK_END => entry.size()?.checked_add_signed(offset).ok_or(libc::EINVAL)?,
        libc::SEEK_DATA | libc::SEEK_HOLE => {
            let offset = u64::try_from(offset).map_err(|_| libc::ENXIO)?;
            stretch(entry, offset, whence == libc::SEEK_HOLE)?
        }
        _ => return Err(libc::EINVAL),
    };
    set_position(fd, position).map(|position| position as usize)
}

/// Returns where the next hole, or the next data, begins. The end of the file is a hole.
fn stretch(entry: &mut Used, offset: u64, hole: bool) -> Result<u64, c_int> {
    let reader = entry.reader()?;
    let mut at = offset;
    while let Some(stretch) = reader.stretch_from(at).map_err(told)? {
        if stretch.is_hole == hole {
            return Ok(at);
        }
        at = stretch.end;
    }
    let end = reader.known_size().map_err(told)?;
    if hole && offset < end { Ok(end) } else { Err(libc::ENXIO) }
}
