//! Calls that change what the process is: it ends, becomes another program, changes
//! directory.

use core::ffi::{c_char, c_int};

use libc::pid_t;
use plimsoll_trace::Unseen;
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::layout::State;

use crate::backend::{FromAnswer, Name, NameRequest, Request};
use crate::environment::Patched;
use crate::inspect::{Inspected, Target};
use crate::path_room::with_path;
use crate::thread::Busy;
use crate::{backend, config, environment, exit, handover, hot, paths, process, recorder, sys};

/// Ends the recording of a process that ends without the destructors' help.
#[inline(never)]
pub fn ends() {
    backend::ends();
    exit::finish(State::Finished);
}

/// Records that the process becomes another program, with this environment; comes back when that fails.
///
/// # Safety
/// Target and environment are what a program gave to `execve`.
#[inline(never)]
pub unsafe fn execute(
    target: Target,
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    // What it writes does not go on, whether it is recorded or not.
    backend::ends();
    // SAFETY: as the caller says.
    if let Err(error) = unsafe { prepare(target) } {
        return c_int::from_answer(Err(error));
    }
    if !hot::is_on() {
        // SAFETY: as the caller says.
        return unsafe { with_library(environment, real) };
    }
    let reason = with_path(|text| {
        let mut program = Inspected::new(text);
        // SAFETY: as the caller says.
        let is_there = unsafe { program.look_at(target) };
        if is_there && (program.reason.is_some() || has_file()) {
            tell(0, &program);
        }
        program.reason
    });
    // SAFETY: as the caller says.
    let patched = unsafe { patched(reason, environment) };
    exit::finish(State::Executed);
    let result = real(patched.list());
    let error = sys::errno();
    exit::resume();
    sys::set_errno(error);
    result
}

/// Records that another process is started, with this environment; its number goes to `pid`.
///
/// # Safety
/// The arguments are what a program gave to `posix_spawn`.
#[inline(never)]
pub unsafe fn spawn(
    pid: *mut pid_t,
    target: Target,
    environment: *const *const c_char,
    real: impl FnOnce(*mut pid_t, *const *const c_char) -> c_int,
) -> c_int {
    // SAFETY: as the caller says.
    if let Err(error) = unsafe { prepare(target) } {
        return error;
    }
    if !hot::is_on() {
        // SAFETY: as the caller says.
        return unsafe { with_library(environment, |environment| real(pid, environment)) };
    }
    with_path(|text| {
        let mut program = Inspected::new(text);
        // SAFETY: as the caller says.
        unsafe { program.look_at(target) };
        // SAFETY: as the caller says.
        let patched = unsafe { patched(program.reason, environment) };
        let mut new: pid_t = 0;
        let result = real(&raw mut new, patched.list());
        if result == 0 {
            if !pid.is_null() {
                // SAFETY: where the caller wants it.
                unsafe { pid.write(new) };
            }
            if program.reason.is_some() {
                let before = sys::errno();
                tell(new as u32, &program);
                sys::set_errno(before);
            }
        }
        result
    })
}

/// Has the backend that owns a program let the kernel execute it.
///
/// # Safety
/// As `execute`.
unsafe fn prepare(target: Target) -> Result<(), c_int> {
    if !backend::is_active() {
        return Ok(());
    }
    let ask = |directory, path| match backend::answer_name(
        || Name::new(directory, path),
        || NameRequest::Execute,
    ) {
        Some(Err(error)) => Err(error),
        _ => Ok(()),
    };
    let (directory, path) = match target {
        Target::Descriptor(_) => return Ok(()),
        Target::Path(directory, path) => (directory, path),
        Target::Name(name) => (libc::AT_FDCWD, name),
    };
    // SAFETY: as the caller says.
    let Some(name) = (unsafe { sys::string_at(path) }) else { return Ok(()) };
    let name = name.to_bytes();
    if matches!(target, Target::Path(..)) || name.contains(&b'/') {
        return ask(directory, path);
    }
    // Whichever is found first, the C library says: it skips what may not be executed.
    for directory in sys::variable("PATH").unwrap_or(b"").split(|byte| *byte == b':') {
        let asked = with_path(|path| {
            path.push(if directory.is_empty() { b"." } else { directory });
            path.push(b"/");
            path.push(name);
            ask(libc::AT_FDCWD, path.as_c_str().as_ptr())
        });
        match asked {
            Err(libc::EACCES) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Does as `execute` with a program that may be named by its descriptor: it is the one that its backend says.
///
/// # Safety
/// As `execute`.
pub unsafe fn execute_at(
    target: Target,
    fd: c_int,
    environment: *const *const c_char,
    real: impl FnOnce(c_int, *const *const c_char) -> c_int,
) -> c_int {
    let other = match target {
        Target::Descriptor(fd) => backend::answer(fd, || Request::Execute),
        _ => None,
    };
    match other {
        // SAFETY: as the caller says.
        None => unsafe { execute(target, environment, |environment| real(fd, environment)) },
        Some(Err(error)) => c_int::from_answer(Err(error)),
        Some(Ok(other)) => {
            let (other, target) = (other as c_int, Target::Descriptor(other as c_int));
            // SAFETY: as the caller says.
            let result =
                unsafe { execute(target, environment, |environment| real(other, environment)) };
            // SAFETY: made for this call, which failed, and known to nobody else.
            unsafe { rustix::io::close(other) };
            result
        }
    }
}

/// Calls with an environment that has our library, where a backend needs it in new programs.
///
/// # Safety
/// As `execute`.
unsafe fn with_library<R>(
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> R,
) -> R {
    if !backend::is_active() {
        return real(environment);
    }
    // SAFETY: as the caller says.
    let patched = unsafe { Patched::to_be_recorded(environment) };
    let result = real(patched.list());
    let error = sys::errno();
    drop(patched);
    sys::set_errno(error);
    result
}

/// Returns the environment that makes the new program record itself, or that lets it be.
///
/// # Safety
/// As `execute`.
#[inline(never)]
unsafe fn patched(reason: Option<Unseen>, given: *const *const c_char) -> Patched {
    let is_to_be_left_out = reason.is_some_and(|reason| match reason {
        Unseen::OutOfReach => environment::is_library_gone(),
        reason => reason.must_not_be_preloaded(),
    });
    if is_to_be_left_out {
        // SAFETY: as the caller says.
        unsafe { Patched::not_to_be_recorded(given) }
    } else {
        // SAFETY: as the caller says.
        unsafe { Patched::to_be_recorded(given) }
    }
}

/// Says in the recording which program is started, and why it will not be recorded.
fn tell(pid: u32, program: &Inspected) {
    let reason = program.reason.map_or(0, |reason| reason as u64);
    recorder::define(DefinitionKind::Program, pid, reason, program.text.as_bytes());
}

fn has_file() -> bool {
    process::current().is_some_and(|process| process.is_recording())
}

/// Records that the process goes where its files may have other names, or none: another root directory,
/// another mount namespace. Its recording must exist before that.
#[inline]
pub fn change_root(real: impl FnOnce() -> c_int) -> c_int {
    if hot::is_on()
        && let Some(busy) = Busy::begin()
    {
        process::recording(&busy);
    }
    change_directory(real)
}

/// Records that the process gets another user, who may not be allowed to create its recording, nor to open it when it
/// has to grow: it is created before that, and stays open.
#[inline]
pub fn change_user(real: impl FnOnce() -> c_int) -> c_int {
    if hot::is_on()
        && let Some(busy) = Busy::begin()
        && let Some(process) = process::recording(&busy)
    {
        handover::keep_open(process, &busy);
    }
    real()
}

/// Records that the process may restrict the system calls that it may make: `prctl`.
#[inline]
pub fn control(option: c_int, value: usize, real: impl FnOnce() -> c_int) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        before_sandbox();
    }
    // From now on the clock that we read, or any call that we make, would end the program.
    let is_strict = option == libc::PR_SET_SECCOMP && value == libc::SECCOMP_MODE_STRICT as usize;
    let has_no_clock = option == libc::PR_SET_TSC && value != libc::PR_TSC_ENABLE as usize;
    if hot::is_on() && (is_strict || has_no_clock) {
        exit::finish(State::Finished);
        hot::turn_off();
    }
    real()
}

/// Returns what `prctl` calls the mode that `seccomp` sets by this operation.
pub fn mode_of_sandbox(operation: usize) -> usize {
    let is_strict = operation == libc::SECCOMP_SET_MODE_STRICT as usize;
    (if is_strict { libc::SECCOMP_MODE_STRICT } else { libc::SECCOMP_MODE_FILTER }) as usize
}

/// Prepares a process that is about to restrict the system calls that it may make. Its recording must exist
/// before that.
pub fn before_sandbox() {
    if hot::is_on()
        && let Some(busy) = Busy::begin()
    {
        process::recording(&busy);
        config::enter_sandbox();
    }
}

/// Records that the working directory changes.
#[inline]
pub fn change_directory(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    backend::directory_changed();
    if hot::is_on()
        && let Some(busy) = Busy::begin()
    {
        paths::forget_working_directory(&busy);
    }
    result
}
