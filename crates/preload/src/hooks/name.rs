//! Calls on files by name.

use core::ffi::{c_char, c_int};

use plimsoll_trace::Op;
use plimsoll_trace::encode::NO_FILE;
use plimsoll_trace::layout::Loss;

use crate::hooks::descriptor::write;
use crate::hooks::{Returned, is_fault};
use crate::recorder::begin_in;
use crate::thread::Busy;
use crate::{clock, paths, process};

/// A call on the file of this name.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn on<R: Returned>(
    op: Op,
    directory: c_int,
    path: *const c_char,
    argument: u64,
    real: impl FnOnce() -> R,
) -> R {
    let start = begin_in(op.layer());
    let result = real();
    if start.is_on() {
        let end = clock::ticks();
        match Busy::begin() {
            None => process::lose(Loss::Reentered),
            Some(busy) => {
                let file = match is_fault(result.outcome()) {
                    true => NO_FILE,
                    // SAFETY: the kernel has read the same string.
                    false => unsafe { paths::number_at(&busy, directory, path) },
                };
                write(&busy, start, end, op, file, result, argument);
            }
        }
    }
    result
}

/// `unlinkat` does what `unlink` and `rmdir` do.
#[inline]
pub fn unlinkat_op(flags: c_int) -> Op {
    if flags & libc::AT_REMOVEDIR != 0 { Op::Rmdir } else { Op::Unlink }
}
