//! Data from one file to another, of which at least one is a container's: read and written here, piece by piece.

use core::ffi::c_int;

use libc::off_t;
use plimsoll_trace::Op;
use rustix::fs::{FileType, OFlags, SeekFrom, Stat, fcntl_getfl, fstat, seek};

use super::entry::Key;
use super::{number, on_own, registry, serving};
use crate::backend::{Answer, Buffers, End, Request, TransferRequest};
use crate::sys;

/// What is moved at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Serves `copy_file_range`, `sendfile` and `splice`.
pub fn copy(op: Op, from: End, to: End, length: usize) -> Answer {
    Some(match to_copy(op, from, to, length) {
        Ok(length) => copy_all(op, from, to, length),
        Err(error) => Err(error),
    })
}

fn facts_of(fd: c_int) -> Result<Stat, c_int> {
    fstat(sys::borrow(fd).ok_or(libc::EBADF)?).map_err(number)
}

/// Returns the size of a file, which is a container's or not.
fn size_of(fd: c_int, facts: &Stat) -> u64 {
    let of_container = serving(|serving| {
        let (entry, _) = registry::of(serving, fd).ok()??;
        let size = entry.hold(serving).size();
        Some(size.map(|it| it as usize))
    });
    match of_container {
        Some(size) => size.map_or(u64::MAX, |it| it as u64),
        None => facts.st_size as u64,
    }
}

/// Returns how much is to be copied: within one file no more than there is now, as what is copied may come behind it.
///
/// # Errors
/// With what the kernel refuses.
fn to_copy(op: Op, from: End, to: End, length: usize) -> Result<usize, c_int> {
    let is_there = |end: End| end.offset.is_null() || sys::is_memory_at(end.offset);
    if !is_there(from) || !is_there(to) {
        return Err(libc::EFAULT);
    }
    let (source, sink) = (facts_of(from.fd)?, facts_of(to.fd)?);
    let is_regular = |it: &Stat| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile;
    let is_pipe = |it: &Stat| FileType::from_raw_mode(it.st_mode) == FileType::Fifo;
    let flags = fcntl_getfl(sys::borrow(to.fd).ok_or(libc::EBADF)?).map_err(number)?;
    match op {
        Op::CopyFileRange | Op::CopyFileRangeRead => {
            if !is_regular(&source) || !is_regular(&sink) {
                return Err(libc::EINVAL);
            }
            if flags.contains(OFlags::APPEND) {
                return Err(libc::EBADF);
            }
            let is_same = (source.st_dev, source.st_ino) == (sink.st_dev, sink.st_ino);
            let (one, other) = (position(from)?, position(to)?);
            if is_same {
                let length = size_of(from.fd, &source).saturating_sub(one).min(length as u64);
                let end = |at: u64| at.saturating_add(length);
                let is_overlap = one < end(other) && other < end(one);
                return if is_overlap { Err(libc::EINVAL) } else { Ok(length as usize) };
            }
        }
        Op::Sendfile | Op::SendfileWrite
            if !is_regular(&source) || flags.contains(OFlags::APPEND) =>
        {
            return Err(libc::EINVAL);
        }
        Op::Sendfile | Op::SendfileWrite => {}
        _ if !is_pipe(&source) && !is_pipe(&sink) => return Err(libc::EINVAL),
        _ => {}
    }
    Ok(length)
}

/// Returns where one end begins.
fn position(end: End) -> Result<u64, c_int> {
    if end.offset.is_null() {
        return seek(sys::borrow(end.fd).ok_or(libc::EBADF)?, SeekFrom::Current(0)).map_err(number);
    }
    // SAFETY: the program says so, as it would to the kernel.
    u64::try_from(unsafe { end.offset.read_unaligned() }).map_err(|_| libc::EINVAL)
}

/// One end, and which file it is where that is no container's: who knows it need not ask for its name for each piece.
struct KnownEnd {
    end: End,
    plain: Option<Key>,
}

impl KnownEnd {
    fn of(end: End) -> Self {
        let mut plain = None;
        serving(|serving| {
            if let Ok(None) = registry::of(serving, end.fd) {
                plain = facts_of(end.fd).ok().map(|it| Key::of(&it));
            }
            None
        });
        KnownEnd { end, plain }
    }

    /// Returns whether it is the file still that it was, and no container's: other threads may give its number to another one.
    fn is_plain(&self) -> bool {
        self.plain.is_some_and(|key| facts_of(self.end.fd).is_ok_and(|it| Key::of(&it) == key))
    }
}

fn copy_all(op: Op, from: End, to: End, length: usize) -> Result<usize, c_int> {
    let (from, to) = (KnownEnd::of(from), KnownEnd::of(to));
    let by_kernel = matches!(op, Op::CopyFileRange | Op::CopyFileRangeRead)
        && from.plain.is_none()
        && to.plain.is_some();
    let mut piece = Vec::new();
    piece.try_reserve_exact(length.min(PIECE_BYTES)).map_err(|_| libc::ENOMEM)?;
    piece.resize(length.min(PIECE_BYTES), 0);
    let mut copied = 0;
    while copied < length {
        if by_kernel && let Some(count) = copied_by_kernel(from.end, to.end, length - copied) {
            copied += count;
            continue;
        }
        let room = piece.len().min(length - copied);
        let moved = copy_piece(&from, &to, piece.get_mut(..room).unwrap_or(&mut []));
        match moved {
            Ok(0) => break,
            Ok(count) => copied += count,
            Err(_) if copied > 0 => break,
            Err(error) => return Err(error),
        }
        // What comes from a pipe, or goes to one, may be all there is for now.
        if matches!(op, Op::SpliceRead | Op::SpliceWrite) {
            break;
        }
    }
    Ok(copied)
}

/// Has the kernel copy what lies side by side in a log to a plain file; `None` where it does not.
fn copied_by_kernel(from: End, to: End, length: usize) -> Option<usize> {
    let start = position(from).ok()?;
    // SAFETY: the program says so, as it would to the kernel.
    let at = (!to.offset.is_null()).then(|| unsafe { to.offset.read_unaligned() });
    let mut at = at.map(u64::try_from).transpose().ok()?;
    let answer = serving(|serving| {
        let (entry, _) = registry::of(serving, from.fd).ok()??;
        if registry::of(serving, to.fd).ok()?.is_some() {
            return None;
        }
        let (source, sink) = (sys::borrow(from.fd)?, sys::borrow(to.fd)?);
        if fcntl_getfl(source).ok()? & OFlags::ACCMODE == OFlags::WRONLY {
            return None;
        }
        let mut held = entry.hold(serving);
        held.reader().ok()?.copy_to(sink, at.as_mut(), start, length).map(Ok)
    });
    let copied = answer?.ok()?;
    move_on(from, copied as off_t);
    if let Some(at) = at {
        // SAFETY: as above; the kernel would write there.
        unsafe { to.offset.write_unaligned(at as off_t) };
    }
    Some(copied)
}

fn copy_piece(from: &KnownEnd, to: &KnownEnd, piece: &mut [u8]) -> Result<usize, c_int> {
    let got = move_bytes(Op::Pread, Op::Read, from, piece.as_mut_ptr(), piece.len())?;
    let (mut put, mut error) = (0, None);
    while put < got {
        let rest = piece.get_mut(put..got).unwrap_or(&mut []);
        match move_bytes(Op::Pwrite, Op::Write, to, rest.as_mut_ptr(), rest.len()) {
            Ok(0) => break,
            Ok(count) => put += count,
            Err(number) => {
                error = Some(number);
                break;
            }
        }
    }
    if put < got {
        move_on(from.end, -((got - put) as off_t));
    }
    match error {
        Some(number) if put == 0 => Err(number),
        _ => Ok(put),
    }
}

/// Moves an end on, or back.
fn move_on(end: End, length: off_t) {
    if !end.offset.is_null() {
        // SAFETY: the program says so, and it was read before.
        unsafe { end.offset.write_unaligned(end.offset.read_unaligned() + length) };
    } else if let Some(file) = sys::borrow(end.fd) {
        let _ = seek(file, SeekFrom::Current(length));
    }
}

/// Moves bytes between memory and one end, which is ours or the kernel's.
fn move_bytes(
    at_offset: Op,
    at_position: Op,
    side: &KnownEnd,
    address: *mut u8,
    length: usize,
) -> Result<usize, c_int> {
    let end = side.end;
    // SAFETY: the program says so, as it would to the kernel.
    let offset = (!end.offset.is_null()).then(|| unsafe { end.offset.read_unaligned() });
    let op = if offset.is_some() { at_offset } else { at_position };
    let buffers = Buffers::Own { address: address.cast(), length };
    let request = Request::Move(TransferRequest { op, buffers, offset, flags: 0 });
    let own = || serving(|serving| on_own(serving, end.fd, &request));
    let answer = if side.is_plain() { None } else { own() };
    let moved = match answer {
        Some(moved) => moved?,
        None => {
            // SAFETY: our own memory.
            let bytes = unsafe { core::slice::from_raw_parts_mut(address, length) };
            let file = sys::borrow(end.fd).ok_or(libc::EBADF)?;
            let offset = offset.map(|offset| offset as u64);
            match (op, offset) {
                (Op::Pread, Some(offset)) => rustix::io::pread(file, bytes, offset),
                (Op::Pwrite, Some(offset)) => rustix::io::pwrite(file, bytes, offset),
                (Op::Read, _) => rustix::io::read(file, bytes),
                _ => rustix::io::write(file, bytes),
            }
            .map_err(number)?
        }
    };
    if let Some(offset) = offset {
        // SAFETY: as above.
        unsafe { end.offset.write_unaligned(offset + moved as off_t) };
    }
    Ok(moved)
}
