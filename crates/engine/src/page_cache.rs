//! Drops a file from the page cache, and asks the kernel whether it is gone.

use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use plimsoll_domain::Bytes;
use rustix::fs::{Advice, fadvise, fdatasync, fstatfs};
use rustix::io::Errno;

use crate::EngineError;
use crate::error::file_error;

/// A page that was just used may wait in some core's list and escapes the first attempt.
const ATTEMPTS: usize = 3;

/// What happened to a file's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Bytes that are still in the page cache; `None` when the kernel does not say.
    pub still_cached: Option<Bytes>,
    /// Whether the file system has no other place than memory (tmpfs, ramfs), so that its pages
    /// never leave.
    pub in_memory: bool,
}

/// Writes changed pages of a part of a file back and drops all pages of it from this node's cache. What a
/// server keeps in its memory stays there.
pub(crate) fn drop_region(
    file: &File,
    path: &Path,
    region: Range<u64>,
) -> Result<Dropped, EngineError> {
    match fdatasync(file) {
        // Nothing to write back where nothing can be written.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => {}
        Err(cause) => return Err(file_error("write back the pages of", path)(cause)),
    }
    let in_memory = is_in_memory(file);
    // No length would mean all of the file.
    let Some(length) = NonZeroU64::new(region.end - region.start) else {
        return Ok(Dropped { still_cached: Some(Bytes::default()), in_memory });
    };
    let mut still_cached = None;
    for _ in 0..ATTEMPTS {
        fadvise(file, region.start, Some(length), Advice::DontNeed)
            .map_err(file_error("drop the pages of", path))?;
        still_cached = cached_bytes(file, region.clone());
        if in_memory || still_cached.is_none_or(|bytes| bytes == Bytes::default()) {
            break;
        }
    }
    Ok(Dropped { still_cached, in_memory })
}

/// Returns whether the file system lives in memory alone.
pub(crate) fn is_in_memory(file: impl AsFd) -> bool {
    /// TMPFS_MAGIC and RAMFS_MAGIC (include/uapi/linux/magic.h).
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    fstatfs(file).is_ok_and(|facts| IN_MEMORY.contains(&(facts.f_type as u64)))
}

/// Returns the bytes of a part of a file that are in the page cache; `None` when the kernel does not tell.
pub(crate) fn cached_bytes(file: &File, region: Range<u64>) -> Option<Bytes> {
    if region.is_empty() {
        return Some(Bytes::default());
    }
    cachestat(file, &region).or_else(|| resident(file, &region))
}

/// struct cachestat_range and struct cachestat (include/uapi/linux/mman.h), Linux 6.5.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    written_back: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The same number on all architectures but alpha.
const SYS_CACHESTAT: libc::c_long = 451;

fn cachestat(file: &File, region: &Range<u64>) -> Option<Bytes> {
    let range = CachestatRange { offset: region.start, length: region.end - region.start };
    let mut pages = Cachestat::default();
    // SAFETY: both structs are the kernel's, live during the call, and no flags are given.
    let status =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &range, &mut pages, 0u32) };
    (status == 0).then(|| Bytes::new(pages.cached * rustix::param::page_size() as u64))
}

/// Older kernels: map the file and ask page by page, in steps so that the answer stays small.
fn resident(file: &File, region: &Range<u64>) -> Option<Bytes> {
    const STEP: u64 = 256 << 20;
    let page = rustix::param::page_size() as u64;
    let mut pages = 0;
    let mut start = region.start - region.start % page;
    let end = region.end.min(file.metadata().ok()?.len());
    while start < end {
        let length = STEP.min(end - start);
        pages += resident_pages(file, start, length as usize)?;
        start += length;
    }
    Some(Bytes::new(pages * page))
}

fn resident_pages(file: &File, start: u64, length: usize) -> Option<u64> {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let mut answer = vec![0u8; length.div_ceil(rustix::param::page_size())];
    let (none, access, kind) = (std::ptr::null_mut(), ProtFlags::READ, MapFlags::SHARED);
    // SAFETY: a new mapping at a place that the kernel chooses; it is never read from.
    let mapped = unsafe { mmap(none, length, access, kind, file, start) }.ok()?;
    // SAFETY: the mapping is `length` bytes, and the answer has a byte for each of its pages.
    let status = unsafe { libc::mincore(mapped, length, answer.as_mut_ptr().cast()) };
    // SAFETY: mapped above, with this length, and not used afterwards.
    let _ = unsafe { munmap(mapped, length) };
    (status == 0).then(|| answer.iter().filter(|state| **state & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1 << 20;

    fn file_in(directory: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        std::fs::write(file.path(), vec![1; SIZE]).unwrap();
        file
    }

    #[test]
    fn pages_on_a_disk_leave() {
        let file = file_in("/var/tmp");
        let open = File::open(file.path()).unwrap();
        if is_in_memory(&open) {
            println!("SKIPPED: /var/tmp is in memory");
            return;
        }
        let all = Some(Bytes::new(SIZE as u64));
        assert_eq!(cached_bytes(&open, 0..SIZE as u64), all);
        assert_eq!(resident(&open, &(0..SIZE as u64)), all, "asked the old way");
        let dropped = drop_region(&open, file.path(), 0..SIZE as u64).unwrap();
        assert_eq!(dropped, Dropped { still_cached: Some(Bytes::new(0)), in_memory: false });
        assert_eq!(resident(&open, &(0..SIZE as u64)), Some(Bytes::new(0)));
    }

    #[test]
    fn pages_in_memory_stay_and_that_is_said() {
        let file = file_in("/dev/shm");
        let open = File::open(file.path()).unwrap();
        let dropped = drop_region(&open, file.path(), 0..SIZE as u64).unwrap();
        assert!(dropped.in_memory);
        assert_eq!(dropped.still_cached, Some(Bytes::new(SIZE as u64)));
    }
}
