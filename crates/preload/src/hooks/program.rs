//! Calls that change what the process is: it ends, becomes another program, changes directory.

use core::ffi::{c_char, c_int};

use plimsoll_trace::layout::State;

use crate::environment::Patched;
use crate::thread::Busy;
use crate::{config, exit, paths, sys};

/// The process ends without the destructors' help.
#[inline(never)]
pub fn ends() {
    exit::finish(State::Finished);
}

/// The process becomes another program, with this environment; comes back when that fails.
///
/// # Safety
/// The environment is what a program gave to `execve`.
#[inline(never)]
pub unsafe fn execute(
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    if !config::is_on() {
        return real(environment);
    }
    // SAFETY: as the caller says.
    let patched = unsafe { Patched::new(environment) };
    exit::finish(State::Executed);
    let result = real(patched.list());
    let error = sys::errno();
    exit::resume();
    sys::set_errno(error);
    result
}

/// Another process is started, with this environment.
///
/// # Safety
/// The environment is what a program gave to `posix_spawn`.
#[inline(never)]
pub unsafe fn spawn(
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    if !config::is_on() {
        return real(environment);
    }
    // SAFETY: as the caller says.
    let patched = unsafe { Patched::new(environment) };
    real(patched.list())
}

/// The working directory changes.
#[inline]
pub fn change_directory(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if config::is_on()
        && let Some(busy) = Busy::begin()
    {
        paths::forget_working_directory(&busy);
    }
    result
}
