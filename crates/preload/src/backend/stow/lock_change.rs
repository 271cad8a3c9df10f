//! What a change of a lock means to other nodes.

use core::ffi::c_int;

use libc::flock;

use crate::backend::LockRequest;

/// What a request does with a lock that others may wait for.
pub struct LockChange {
    /// What others wrote under theirs is to be seen.
    pub takes: bool,
    /// Others are to see what was written under it.
    pub gives: bool,
}

impl LockChange {
    /// Returns what a request does if it is granted.
    pub fn of(request: LockRequest) -> Self {
        match request {
            LockRequest::Range { command: libc::F_GETLK | libc::F_OFD_GETLK, .. } => {
                LockChange { takes: false, gives: false }
            }
            // SAFETY: the program says so, as it would to the kernel.
            LockRequest::Range { lock, .. } if lock != 0 => Self::to(c_int::from(unsafe {
                (&raw const (*(lock as *const flock)).l_type).read_unaligned()
            })),
            LockRequest::Range { .. } => LockChange { takes: false, gives: false },
            LockRequest::Section { command, .. } => {
                let gives = command == libc::F_ULOCK;
                LockChange { takes: !gives && command != libc::F_TEST, gives }
            }
            LockRequest::Whole { operation } => match operation & !libc::LOCK_NB {
                libc::LOCK_UN => Self::to(libc::F_UNLCK),
                libc::LOCK_SH => Self::to(libc::F_RDLCK),
                _ => Self::to(libc::F_WRLCK),
            },
        }
    }

    /// A lock to read may have been one to write before.
    fn to(kind: c_int) -> Self {
        LockChange { takes: kind != libc::F_UNLCK, gives: kind != libc::F_WRLCK }
    }
}
