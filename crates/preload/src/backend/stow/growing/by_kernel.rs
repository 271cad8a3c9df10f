//! What the kernel does for a program with a plain file, done here: afterwards is looked whether it was one still.

use core::ffi::c_int;

use libc::iovec;
use plimsoll_trace::Class;
use rustix::fs::{AtFlags, SeekFrom, Stat, StatxFlags, fstat, seek, statx};
use rustix::io::{IoSlice, IoSliceMut, ReadWriteFlags, preadv2, pwritev2};

use super::super::{Outcome, number};
use crate::backend::{Buffers, Status, TransferRequest};
use crate::sys;

/// Returns how many bytes there are; `None` if that cannot be told.
pub fn length(buffers: &Buffers) -> Option<usize> {
    match *buffers {
        Buffers::One { length, .. } | Buffers::Own { length, .. } => Some(length),
        Buffers::Many { list, count } => {
            let count = usize::try_from(count).ok()?;
            if list.is_null() || count > libc::UIO_MAXIOV as usize {
                return None;
            }
            // SAFETY: the program says that there are as many.
            let pieces = unsafe { core::slice::from_raw_parts(list, count) };
            Some(pieces.iter().fold(0, |sum: usize, it| sum.saturating_add(it.iov_len)))
        }
    }
}

/// Has the kernel move data.
pub fn moved(fd: c_int, request: &TransferRequest) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    // Without one, the kernel takes the position.
    let offset = match request.offset {
        Some(offset) => u64::try_from(offset).map_err(|_| libc::EINVAL)?,
        None => u64::MAX,
    };
    let one;
    let (list, count) = match request.buffers {
        Buffers::One { address, length } | Buffers::Own { address, length } => {
            one = iovec { iov_base: address, iov_len: length };
            (&raw const one, 1)
        }
        Buffers::Many { list, count } => (list, usize::try_from(count).map_err(|_| libc::EINVAL)?),
    };
    if count > libc::UIO_MAXIOV as usize {
        return Err(libc::EINVAL);
    }
    if list.is_null() && count > 0 {
        return Err(libc::EFAULT);
    }
    let flags = ReadWriteFlags::from_bits_retain(request.flags as u32);
    let writes = request.op.class() == Class::Write;
    // SAFETY: the program says that there are as many; what they say is the kernel's to check, which gets them as they are.
    unsafe {
        match writes {
            true => {
                let pieces: &[IoSlice<'_>] =
                    if count == 0 { &[] } else { core::slice::from_raw_parts(list.cast(), count) };
                pwritev2(file, pieces, offset, flags)
            }
            false => {
                let pieces: &mut [IoSliceMut<'_>] = match count {
                    0 => &mut [],
                    count => core::slice::from_raw_parts_mut(list.cast_mut().cast(), count),
                };
                preadv2(file, pieces, offset, flags)
            }
        }
    }
    .map_err(number)
}

/// Sets the position.
pub fn sought(fd: c_int, offset: i64, whence: c_int) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let positive = || u64::try_from(offset);
    let to = match whence {
        libc::SEEK_SET => SeekFrom::Start(positive().map_err(|_| libc::EINVAL)?),
        libc::SEEK_CUR => SeekFrom::Current(offset),
        libc::SEEK_END => SeekFrom::End(offset),
        libc::SEEK_DATA => SeekFrom::Data(positive().map_err(|_| libc::ENXIO)?),
        libc::SEEK_HOLE => SeekFrom::Hole(positive().map_err(|_| libc::ENXIO)?),
        _ => return Err(libc::EINVAL),
    };
    seek(file, to).map(|position| position as usize).map_err(number)
}

/// Puts what the file is where the program wants it.
pub fn tell(fd: c_int, status: &Status) -> Outcome {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    match *status {
        Status::Plain { to, .. } => {
            let facts = fstat(file).map_err(number)?;
            if to.is_null() {
                return Err(libc::EFAULT);
            }
            // SAFETY: the program's room for one, which the C library would fill in the same way.
            unsafe { to.cast::<Stat>().write_unaligned(facts) };
        }
        Status::Extended { to, flags, mask } => {
            let flags = AtFlags::from_bits_retain(flags as u32) | AtFlags::EMPTY_PATH;
            let facts = statx(file, c"", flags, StatxFlags::from_bits_retain(mask));
            let facts = facts.map_err(number)?;
            if to.is_null() {
                return Err(libc::EFAULT);
            }
            // SAFETY: as above.
            unsafe { to.cast::<rustix::fs::Statx>().write_unaligned(facts) };
        }
    }
    Ok(0)
}
