//! Whether what a program calls its memory is there: the kernel says EFAULT where it is not.

use libc::iovec;
use plimsoll_stow::copied;
use rustix::io::Errno;

use crate::{mapped_files, sys};

/// The smallest page there is: what has one byte of it has all of them.
const PAGE_BYTES: usize = 4096;

/// As many pages are looked at.
const PAGES_MAX: usize = 4096;

/// Returns whether a program can have memory there at all. Cheap, so that it can be asked each time.
pub fn may_be_there(piece: &iovec) -> bool {
    let start = piece.iov_base.addr();
    // The upper half is the kernel's.
    let is_below = |end: usize| end <= isize::MAX as usize;
    piece.iov_len == 0 || start != 0 && start.checked_add(piece.iov_len).is_some_and(is_below)
}

/// Returns whether the kernel can write to memory. What is in it is lost: only asked where nothing is promised of it any more.
pub fn can_be_written(start: usize, length: usize) -> bool {
    if length == 0 {
        return true;
    }
    let Some(last) = start.checked_add(length - 1) else { return false };
    let pages = (start..=last).step_by(PAGE_BYTES).take(PAGES_MAX);
    pages.chain([last]).all(|byte| sys::random_byte_at(byte) != Err(Errno::FAULT))
}

/// Returns whether the kernel can read memory: before it is read here, where that would be the program's end.
fn can_be_read(bytes: &[u8]) -> bool {
    let start = bytes.as_ptr().addr();
    let Some(last) = bytes.len().checked_sub(1).map(|it| start + it) else { return true };
    let first_of_page = |byte: usize| byte & !(PAGE_BYTES - 1);
    let pages = (first_of_page(start)..=last).step_by(PAGE_BYTES);
    pages.map(|page| page.max(start & !7)).all(|byte| sys::read_at(byte) != Err(Errno::FAULT))
}

/// Copies what a program writes, or says that it is not there. Where it may be a mapped file, the kernel does so, which also notices if somebody cuts the file at that moment; it takes longer.
pub fn copy(bytes: &[u8], to: &mut Vec<u8>) -> Result<(), Errno> {
    if mapped_files::are_there() && is_copied_by_kernel(bytes, to)? {
        return Ok(());
    }
    if !can_be_read(bytes) {
        return Err(Errno::FAULT);
    }
    copied(bytes, to)
}

/// Returns false if the kernel does not do so here.
fn is_copied_by_kernel(bytes: &[u8], to: &mut Vec<u8>) -> Result<bool, Errno> {
    let length = bytes.len();
    to.clear();
    to.try_reserve(length).map_err(|_| Errno::NOMEM)?;
    let from = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: length };
    let room = iovec { iov_base: to.as_mut_ptr().cast(), iov_len: length };
    // SAFETY: there is room for all of it, and the kernel tells what it cannot read.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &room, 1, &from, 1, 0) };
    match usize::try_from(copied) {
        Ok(count) if count == length => {
            // SAFETY: the kernel has written all of it.
            unsafe { to.set_len(length) };
            Ok(true)
        }
        Ok(_) => Err(Errno::FAULT),
        Err(_) if sys::errno() == libc::EFAULT => Err(Errno::FAULT),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    #[test]
    fn what_the_kernel_copies_is_whole_or_told() {
        let (bytes, mut copy) = (vec![7; 5 * PAGE_BYTES + 3], Vec::new());
        assert_eq!(is_copied_by_kernel(&bytes, &mut copy), Ok(true));
        assert_eq!(copy, bytes);
        let file = rustix::fs::memfd_create(c"cut", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 2 * PAGE_BYTES as u64).unwrap();
        let (read, shared) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
        // SAFETY: a mapping of our own, of which nobody but the kernel reads what is cut off.
        unsafe {
            let pages = rustix::mm::mmap(ptr::null_mut(), 2 * PAGE_BYTES, read, shared, &file, 0);
            let pages = pages.unwrap();
            rustix::fs::ftruncate(&file, PAGE_BYTES as u64).unwrap();
            let cut = core::slice::from_raw_parts(pages.cast::<u8>(), 2 * PAGE_BYTES);
            assert_eq!(is_copied_by_kernel(cut, &mut copy), Err(Errno::FAULT));
            rustix::mm::munmap(pages, 2 * PAGE_BYTES).unwrap();
        }
    }

    #[test]
    fn memory_that_cannot_be_read_is_told() {
        // SAFETY: nobody but the kernel reads it.
        let piece =
            |start: *const u8, length| unsafe { core::slice::from_raw_parts(start, length) };
        let flags = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: pages of our own, of which the second is not to be read.
        let pages = unsafe {
            let read = rustix::mm::ProtFlags::READ;
            let pages = rustix::mm::mmap_anonymous(ptr::null_mut(), 2 * PAGE_BYTES, read, flags);
            let pages = pages.unwrap().cast::<u8>();
            let none = rustix::mm::MprotectFlags::empty();
            rustix::mm::mprotect(pages.add(PAGE_BYTES).cast(), PAGE_BYTES, none).unwrap();
            pages
        };
        for (from, length, can_be) in [
            (0, PAGE_BYTES, true),
            (PAGE_BYTES - 1, 1, true),
            (PAGE_BYTES - 1, 2, false),
            (PAGE_BYTES, 1, false),
            (5, PAGE_BYTES, false),
            (3, 0, true),
        ] {
            assert_eq!(can_be_read(piece(pages.wrapping_add(from), length)), can_be, "{from}");
        }
        assert!(!can_be_read(piece(ptr::without_provenance(8), 1)));
        // SAFETY: as they were made.
        unsafe { rustix::mm::munmap(pages.cast(), 2 * PAGE_BYTES).unwrap() };
    }

    #[test]
    fn memory_that_is_not_there_is_told() {
        let mut bytes = vec![0_u8; 3 * PAGE_BYTES];
        let start = bytes.as_mut_ptr().expose_provenance();
        assert!(can_be_written(start, bytes.len()) && can_be_written(start, 1));
        assert!(can_be_written(1, 0));
        assert!(!can_be_written(1, 1) && !can_be_written(usize::MAX, 2));
        assert!(!can_be_written(isize::MAX as usize, 1));
        let piece =
            |start, length| iovec { iov_base: ptr::without_provenance_mut(start), iov_len: length };
        assert!(may_be_there(&piece(start, 5)) && may_be_there(&piece(0, 0)));
        assert!(!may_be_there(&piece(0, 5)) && !may_be_there(&piece(usize::MAX, 2)));
        assert!(!may_be_there(&piece(isize::MAX as usize, 1)));
    }
}
