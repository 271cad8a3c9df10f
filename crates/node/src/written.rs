//! How somebody who can open a lease's file sees whether its data is on the target.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use plimsoll_route::lease::{SealedLease, Seen};
use rustix::fs::fstatfs;

use crate::kernel::now_ns;
use crate::syncing::Syncing;

/// Whoever finds data that was sealed so long ago and that nobody has pushed out does it.
const PUSH_AFTER_NS: u64 = 2_000_000;

/// Have it written out, and wait for that.
const WAIT: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE
    | libc::SYNC_FILE_RANGE_WRITE
    | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// tmpfs and ramfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// `cachestat` is the same on every machine.
const SYS_CACHESTAT: libc::c_long = 451;

/// Looks of one process at leases of anybody.
#[derive(Debug, Default)]
pub struct Watch {
    /// Where the kernel does not tell of pages.
    syncing: Syncing,
}

impl Watch {
    /// Returns whether a lease of anybody, in this file, is on its target; has it written out if nobody has. Written is not flushed: it is
    /// durable after the next fdatasync of the file. `None` if the system does not say.
    pub fn look(&mut self, file: BorrowedFd<'_>, lease: &SealedLease) -> Option<Seen> {
        let (offset, length) = (lease.place.offset_bytes, u64::from(lease.length_bytes));
        let Ok([_, dirty, written_back, ..]) = cachestat(file, offset, length) else {
            return self.ask(file, lease);
        };
        if dirty == 0 && written_back == 0 {
            return Some(Seen::Durable);
        }
        if dirty > 0 && now_ns().saturating_sub(lease.started_ns) > PUSH_AFTER_NS {
            let _ = push(file, offset, length);
        }
        // Files in memory are never written out.
        let is_in_memory = fstatfs(file).is_ok_and(|facts| IN_MEMORY.contains(&facts.f_type));
        Some(if is_in_memory { Seen::Durable } else { Seen::Pending })
    }

    /// Asks a kernel that cannot tell of pages: it can say when a file is durable. One that cannot do even that can wait for it.
    fn ask(&mut self, file: BorrowedFd<'_>, lease: &SealedLease) -> Option<Seen> {
        match self.syncing.is_durable(file, lease.started_ns, now_ns()) {
            Ok(true) => Some(Seen::Durable),
            Ok(false) => Some(Seen::Pending),
            Err(_) => {
                let (offset, length) = (lease.place.offset_bytes, lease.length_bytes.into());
                sync_file_range(file, offset, length, WAIT).is_ok().then_some(Seen::Durable)
            }
        }
    }
}

/// Returns whether a part of a file is known to be written out.
pub fn is_written(file: BorrowedFd<'_>, offset: u64, length: u64) -> bool {
    match cachestat(file, offset, length) {
        Ok([_, dirty, written_back, ..]) => dirty == 0 && written_back == 0,
        Err(_) => false,
    }
}

/// Has a part of a file written out, without waiting for it.
///
/// # Errors
/// Fails if the system does.
pub fn push(file: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<()> {
    sync_file_range(file, offset, length, libc::SYNC_FILE_RANGE_WRITE)
}

/// The system call itself, here and below: the C library's function may be somebody's hook.
fn sync_file_range(file: BorrowedFd<'_>, offset: u64, length: u64, flags: u32) -> io::Result<()> {
    let (offset, length) = (offset as i64, length as i64);
    let file = file.as_raw_fd();
    // SAFETY: the call takes numbers only.
    let result = unsafe { libc::syscall(libc::SYS_sync_file_range, file, offset, length, flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Pages of a part in the page cache: all, dirty, being written, evicted, evicted lately.
fn cachestat(file: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<[u64; 5]> {
    let range = [offset, length];
    let mut counts = [0; 5];
    // SAFETY: the kernel reads two numbers and writes five, all of which outlive the call.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(counts) }
}
