//! Calls that change what the process is: it ends, becomes another program, changes
//! directory.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU32, Ordering};

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::layout::State;

use crate::environment::{self, Patched};
use crate::text::Text;
use crate::thread::Busy;
use crate::{config, exit, paths, process, recorder, sys};

/// The process ends without the destructors' help.
#[inline(never)]
pub fn ends() {
    exit::finish(State::Finished);
}

/// The process becomes another program, with this environment; comes back when that fails.
///
/// # Safety
/// Name and environment are what a program gave to `execve`; a name that is not known is null.
#[inline(never)]
pub unsafe fn execute(
    name: *const c_char,
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    if !config::is_on() {
        return real(environment);
    }
    // SAFETY: as the caller says.
    let patched = unsafe { patched(name, environment) };
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
/// Name and environment are what a program gave to `posix_spawn`.
#[inline(never)]
pub unsafe fn spawn(
    name: *const c_char,
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    if !config::is_on() {
        return real(environment);
    }
    // SAFETY: as the caller says.
    let patched = unsafe { patched(name, environment) };
    real(patched.list())
}

/// The environment that makes the new program record itself, or that lets it be.
///
/// # Safety
/// As `execute`.
unsafe fn patched(name: *const c_char, environment: *const *const c_char) -> Patched {
    match environment::out_of_reach() {
        // SAFETY: as the caller says.
        None => unsafe { Patched::to_be_recorded(environment) },
        Some(missing) => {
            // SAFETY: as the caller says.
            unsafe {
                note_unrecorded(name, missing);
                Patched::not_to_be_recorded(environment)
            }
        }
    }
}

/// Notes that one process writes at most: it may start any number of programs.
const NOTES_MAX: u32 = 16;

/// Says in the recording that a program is not recorded, and why.
///
/// # Safety
/// Null or a C string.
unsafe fn note_unrecorded(name: *const c_char, missing: &[u8]) {
    static NOTES: AtomicU32 = AtomicU32::new(0);
    let name = match name.is_null() {
        true => b"a program",
        // SAFETY: as the caller says.
        false => unsafe { CStr::from_ptr(name) }.to_bytes(),
    };
    // Shells try one directory after the other.
    let is_attempt = name.contains(&b'/') && !sys::is_reachable(name);
    if is_attempt || NOTES.fetch_add(1, Ordering::Relaxed) >= NOTES_MAX {
        return;
    }
    let mut text = Text::<4096>::new();
    for part in [name, b" was not recorded: it cannot reach ", missing] {
        text.push(part);
    }
    recorder::define(DefinitionKind::Note, 0, 0, text.as_bytes());
}

/// The process goes where its files may have other names, or none: another root directory,
/// another mount namespace. Its recording must exist before that.
#[inline]
pub fn change_root(real: impl FnOnce() -> c_int) -> c_int {
    if config::is_on()
        && let Some(busy) = Busy::begin()
    {
        process::recording(&busy);
    }
    change_directory(real)
}

/// The process may restrict the system calls that it may make: `prctl`.
#[inline]
pub fn control(option: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        before_sandbox();
    }
    real()
}

/// The process is about to restrict the system calls that it may make. Its recording must exist
/// before that.
pub fn before_sandbox() {
    if config::is_on()
        && let Some(busy) = Busy::begin()
    {
        process::recording(&busy);
        config::enter_sandbox();
    }
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
