//! Calls on files by name.

use core::ffi::{c_char, c_int};

use plimsoll_trace::Op;

use crate::backend::{self, FromAnswer, Name, NameRequest};
use crate::hooks::Returned;
use crate::hooks::descriptor::write;
use crate::paths;
use crate::recorder::{begin_in, ended};

/// Records a call on the file of this name.
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
    ended(start, |busy, span| {
        // SAFETY: what a program gave to a call that has ended so.
        let file = unsafe { paths::number_after(busy, result.outcome(), directory, path) };
        write(busy, span, op, file, result, argument);
    });
    result
}

/// Records a call on the file of this name that a backend may serve.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn ask<R: Returned + FromAnswer>(
    op: Op,
    directory: c_int,
    path: *const c_char,
    argument: u64,
    request: impl FnOnce() -> NameRequest,
    real: impl FnOnce() -> R,
) -> R {
    let served = || backend::serve_name(|| Name::new(directory, path), request, real);
    // SAFETY: the same name.
    unsafe { on(op, directory, path, argument, served) }
}

/// Returns whether `unlinkat` does what `unlink` or what `rmdir` does.
#[inline]
pub fn unlinkat_op(flags: c_int) -> Op {
    if flags & libc::AT_REMOVEDIR != 0 { Op::Rmdir } else { Op::Unlink }
}
