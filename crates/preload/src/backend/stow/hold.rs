//! Locks on anchors: those of programs, and one of ours by which it is known whether anybody still has a file open.
//!
//! Ours belongs to the open file description that the program has, so that it lasts as long as any copy of the descriptor, in whichever
//! process. It lies so far behind all offsets that a program's lock "up to the end" ends before it.

use core::ffi::c_int;

use libc::{flock, off_t};
use plimsoll_stow::{HOLDS_FROM, is_of_one_node};
use rustix::fs::{FlockOperation, OFlags, SeekFrom, seek};

use super::entry::Used;
use super::lock_change::LockChange;
use super::{Outcome, number, registry, serving};
use crate::any_number::any_number;
use crate::backend::LockRequest;
use crate::sys;
use crate::text::Text;

/// Where our locks begin: a program's end before that.
const HOLDS: off_t = HOLDS_FROM;
/// How many places there are: two that open a file to write must not have the same.
const PLACES: u64 = plimsoll_stow::HOLDS as u64;

fn lock_at(kind: c_int, start: off_t, length: off_t) -> flock {
    flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

/// How often another place is tried.
const TRIES: usize = 8;

/// Has a new descriptor of an anchor keep its file. Where the file system has no such locks, a file that is removed is gone at once.
///
/// # Errors
/// If there are such locks and none can be had: EAGAIN if somebody who may read the anchor has locked all places, or ENOLCK. Without one, the file could be discarded
/// while it is open, and an anchor that cannot be told by its path would be taken for a plain file.
pub fn take(fd: c_int, access: OFlags) -> Result<(), c_int> {
    // By this it is known whether anybody can write to it.
    let kind = if access == OFlags::RDONLY { libc::F_RDLCK } else { libc::F_WRLCK };
    for _ in 0..TRIES {
        let mut lock = lock_at(kind, HOLDS + (any_number() % PLACES) as off_t, 1);
        match sys::control(fd, libc::F_OFD_SETLK, &raw mut lock) {
            Err(libc::EAGAIN | libc::EACCES) => {}
            // There are no such locks: Lustre without `flock`, an old kernel.
            Ok(_) | Err(libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    // Where several nodes meet, a lock of another one on the whole file may be in the way of ours.
    let meets_others = sys::borrow(fd).is_some_and(|it| !is_of_one_node(it));
    if meets_others { Ok(()) } else { Err(libc::EAGAIN) }
}

/// Returns whether a descriptor has a lock of ours, and so is an anchor's; `None` where there are no such locks. Others can lay their own on any file that they may read:
/// what counts is that it belongs to this open file, which nobody else has.
pub fn is_held_by(fd: c_int) -> Option<bool> {
    if let Some(place) = first_lock(fd, libc::F_GETLK, HOLDS, plimsoll_stow::HOLDS).ok()? {
        let is_own = is_listed(fd) || is_always_own(fd, place);
        // What keeps its locks elsewhere lists none here (FUSE): others' may lie before ours.
        let is_kept_here = sys::borrow(fd).is_some_and(is_of_one_node);
        return Some(is_own || !is_kept_here);
    }
    Some(false)
}

/// Returns whether a lock is in the way of the process and not of this open file, however often that is asked: another user may drop his between two questions,
/// also in our rhythm, so that it is by chance which one is asked.
fn is_always_own(fd: c_int, place: off_t) -> bool {
    const QUESTIONS: u32 = 32;
    let found = |command| first_lock(fd, command, place, 1);
    let order = any_number();
    (0..QUESTIONS).all(|number| match order >> number & 1 {
        0 => found(libc::F_OFD_GETLK) == Ok(None),
        _ => found(libc::F_GETLK).is_ok_and(|it| it.is_some()),
    })
}

/// Returns where a lock lies that looks like one of ours, in the way of this command; the process that asks has none itself, only its open files have.
fn first_lock(
    fd: c_int,
    command: c_int,
    start: off_t,
    length: off_t,
) -> Result<Option<off_t>, c_int> {
    // Those who may only read can lay no locks to write before ours.
    for kind in [libc::F_RDLCK, libc::F_WRLCK] {
        let mut lock = lock_at(kind, start, length);
        sys::control(fd, command, &raw mut lock)?;
        // A program's lock up to the end of a plain file is none of ours.
        if c_int::from(lock.l_type) != libc::F_UNLCK && lock.l_start >= HOLDS && lock.l_len == 1 {
            return Ok(Some(lock.l_start));
        }
    }
    Ok(None)
}

/// Returns whether the kernel lists one of ours among the locks of this open file: proc_pid_fdinfo(5). Linux before 4.2 lists none.
fn is_listed(fd: c_int) -> bool {
    let mut path = Text::<64>::new();
    path.push(b"/proc/self/fdinfo/");
    path.push_number(fd as u64, 10);
    let mut list = vec![0; LIST_BYTES];
    let list = sys::read_file(path.as_c_str(), &mut list);
    list.split(|byte| *byte == b'\n').any(is_line_of_ours)
}

/// What is read of such a list. A program's own locks lie before ours.
const LIST_BYTES: usize = 1 << 20;

/// `lock: 1: OFDLCK ADVISORY READ -1 fd:01:42 FIRST LAST`
fn is_line_of_ours(line: &[u8]) -> bool {
    let Some(lock) = str::from_utf8(line).ok().and_then(|it| it.strip_prefix("lock:")) else {
        return false;
    };
    let mut parts = lock.split_ascii_whitespace();
    let is_of_open_file = parts.nth(1) == Some("OFDLCK");
    let mut ends = parts.rev().map(|it| it.parse::<off_t>().ok());
    match (ends.next().flatten(), ends.next().flatten()) {
        (Some(last), Some(first)) => is_of_open_file && first == last && first >= HOLDS,
        _ => false,
    }
}

/// Locks a file or a part of it for the program, or tells who has it. Whoever has a lock sees what other nodes wrote before, and they see what was written
/// under it.
pub fn lock(fd: c_int, request: LockRequest) -> Outcome {
    let change = LockChange::of(request);
    let shown = if change.gives { with_entry(fd, Used::show_others) } else { Ok(0) };
    let done = change_lock(fd, request)?;
    if change.takes {
        with_entry(fd, Used::follow_others)?;
    }
    shown.map(|_| done)
}

fn change_lock(fd: c_int, request: LockRequest) -> Outcome {
    match request {
        LockRequest::Range { command, lock } => {
            let lock = lock as *mut flock;
            if lock.is_null() {
                return Err(libc::EFAULT);
            }
            // SAFETY: the program says so, as it would to the kernel.
            let mut wanted = unsafe { lock.read_unaligned() };
            clip(fd, &mut wanted)?;
            let done = sys::control(fd, command, &raw mut wanted)?;
            if matches!(command, libc::F_GETLK | libc::F_OFD_GETLK) {
                if wanted.l_start + wanted.l_len == HOLDS {
                    wanted.l_len = 0;
                }
                // SAFETY: as above; the kernel would write there.
                unsafe { lock.write_unaligned(wanted) };
            }
            Ok(done as usize)
        }
        LockRequest::Section { command, length } => section(fd, command, length),
        LockRequest::Whole { operation } => whole(fd, operation),
    }
}

fn whole(fd: c_int, operation: c_int) -> Outcome {
    const TRY_SHARED: c_int = libc::LOCK_SH | libc::LOCK_NB;
    const TRY_EXCLUSIVE: c_int = libc::LOCK_EX | libc::LOCK_NB;
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let operation = match operation {
        libc::LOCK_SH => FlockOperation::LockShared,
        libc::LOCK_EX => FlockOperation::LockExclusive,
        TRY_SHARED => FlockOperation::NonBlockingLockShared,
        TRY_EXCLUSIVE => FlockOperation::NonBlockingLockExclusive,
        _ if operation & !libc::LOCK_NB == libc::LOCK_UN => FlockOperation::Unlock,
        _ => return Err(libc::EINVAL),
    };
    rustix::fs::flock(file, operation).map(|()| 0).map_err(number)
}

fn section(fd: c_int, command: c_int, length: off_t) -> Outcome {
    let kind = if command == libc::F_ULOCK { libc::F_UNLCK } else { libc::F_WRLCK };
    let mut lock = lock_at(kind, 0, length);
    lock.l_whence = libc::SEEK_CUR as i16;
    clip(fd, &mut lock)?;
    let command = match command {
        libc::F_LOCK => libc::F_SETLKW,
        libc::F_TLOCK | libc::F_ULOCK => libc::F_SETLK,
        libc::F_TEST => libc::F_GETLK,
        _ => return Err(libc::EINVAL),
    };
    sys::control(fd, command, &raw mut lock)?;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_free = c_int::from(lock.l_type) == libc::F_UNLCK || lock.l_pid == own;
    if command == libc::F_GETLK && !is_free { Err(libc::EACCES) } else { Ok(0) }
}

/// Has a lock count from the beginning of the file, and end before ours.
fn clip(fd: c_int, lock: &mut flock) -> Result<(), c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let from = match c_int::from(lock.l_whence) {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => seek(file, SeekFrom::Current(0)).map_err(number)? as off_t,
        libc::SEEK_END => size(fd)? as off_t,
        _ => return Err(libc::EINVAL),
    };
    let start = from.checked_add(lock.l_start).ok_or(libc::EOVERFLOW)?;
    if start < 0 {
        return Err(libc::EINVAL);
    }
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = start;
    if start >= HOLDS {
        return Err(libc::EOVERFLOW);
    }
    let ends_behind = lock.l_len == 0 || start.checked_add(lock.l_len).is_none_or(|it| it > HOLDS);
    if ends_behind {
        lock.l_len = HOLDS - start;
    }
    Ok(())
}

fn size(fd: c_int) -> Result<u64, c_int> {
    with_entry(fd, |used| used.size().map(|size| size as usize)).map(|size| size as u64)
}

/// Does something with the container that a descriptor is of.
fn with_entry(fd: c_int, work: impl FnOnce(&mut Used) -> Outcome) -> Outcome {
    let answer = serving(|serving| match registry::of(serving, fd) {
        Ok(Some((entry, _))) => Some(work(&mut entry.hold(serving))),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    });
    answer.unwrap_or(Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_byte_behind_all_offsets_that_the_open_file_has_locked_is_ours() {
        let line = |kind: &str, first: off_t, last: &str| {
            is_line_of_ours(
                format!("lock:\t1: {kind}  ADVISORY  READ  -1 fd:01:42 {first} {last}").as_bytes(),
            )
        };
        let (at, text) = (HOLDS + 5, (HOLDS + 5).to_string());
        assert!(line("OFDLCK", at, &text));
        assert!(!line("POSIX", at, &text) && !line("OFDLCK", 5, "5"));
        assert!(!line("OFDLCK", HOLDS, &text) && !line("OFDLCK", at, "EOF"));
        assert!(
            !is_line_of_ours(b"pos:\t0") && !is_line_of_ours(b"lock:") && !is_line_of_ours(b"")
        );
    }

    #[test]
    fn a_lock_that_another_has_laid_on_the_file_makes_it_no_anchor() {
        use rustix::fd::AsRawFd;
        let own = rustix::fs::memfd_create("log", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let others = std::fs::File::open(format!("/proc/self/fd/{}", own.as_raw_fd())).unwrap();
        assert_eq!(is_held_by(own.as_raw_fd()), Some(false));
        take(others.as_raw_fd(), OFlags::RDONLY).unwrap();
        assert_eq!(is_held_by(own.as_raw_fd()), Some(false));
        assert_eq!(is_held_by(others.as_raw_fd()), Some(true));
        take(own.as_raw_fd(), OFlags::WRONLY).unwrap();
        assert_eq!(is_held_by(own.as_raw_fd()), Some(true));
    }
    /// The attack: another user lays and drops a lock like ours on a plain file, again and again.
    #[test]
    fn a_lock_that_another_lays_and_drops_makes_it_no_anchor() {
        use core::sync::atomic::{AtomicBool, Ordering};
        use rustix::fd::AsRawFd;
        let own = rustix::fs::memfd_create("log", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let others = std::fs::File::open(format!("/proc/self/fd/{}", own.as_raw_fd())).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for kind in [libc::F_RDLCK, libc::F_UNLCK] {
                        let mut lock = lock_at(kind, HOLDS + 5, 1);
                        sys::control(others.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock).unwrap();
                    }
                }
            });
            let taken = (0..20_000).filter(|_| is_held_by(own.as_raw_fd()) != Some(false)).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(taken, 0);
        });
    }
}
