//! Backends: parts of this library that serve calls instead of the kernel, on descriptors and names that are theirs.
//!
//! A stand-in hands over the whole request (`Request`, `NameRequest`), and the kernel is asked where no backend
//! answers. A descriptor that a backend gives to a program is a real one, of a real file: numbers, duplicates, their
//! common position, locks and inheritance stay the kernel's, and a backend answers only what it must.
//!
//! What a backend may use: system calls by rustix, which lead to no stand-in; memory of the library's own
//! (`own_memory`); descriptors of the library's own (`own_descriptors`). It is called on any thread, and again in a
//! signal handler that interrupts it there. It is not called for the C library's streams, whose system calls
//! cannot be seen.

#[cfg(feature = "inverted-backend")]
mod inverted;
mod request;

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU8, Ordering};

pub use self::request::{
    Buffers, End, LockRequest, MapRequest, Name, NameRequest, Request, Status, TransferRequest,
};
use crate::{hot, sys};

/// What a backend does with a request: the result or the error number; `None` leaves it to the kernel.
pub type Answer = Option<Result<usize, c_int>>;

/// A backend.
pub trait Backend: Sync {
    /// Reads its settings from the environment. Returns whether it has anything to do in this program.
    fn begin(&self) -> bool;

    /// Returns whether a descriptor is its own of which nothing is known: inherited, received or just opened.
    fn owns(&self, fd: c_int) -> bool;

    /// Serves a call on a descriptor of its own.
    fn on_descriptor(&self, fd: c_int, request: &Request) -> Answer;

    /// Serves a call on a name, if that is its own.
    fn on_name(&self, name: &Name, request: &NameRequest) -> Answer;
}

/// The backends, in the order in which they are asked.
const BACKENDS: &[&dyn Backend] = &[
    #[cfg(feature = "inverted-backend")]
    &inverted::Inverted,
];

/// Returns whether any backend has something to do.
pub fn begin() -> bool {
    BACKENDS.iter().fold(false, |any, backend| backend.begin() | any)
}

/// Returns true when descriptors may be a backend's.
#[inline(always)]
pub fn is_active() -> bool {
    !BACKENDS.is_empty() && hot::has_backend()
}

/// Returns false for descriptors that are known to be no backend's.
#[inline(always)]
fn may_be_owned(fd: c_int) -> bool {
    let owner = || OWNERS.get(fd as usize).map_or(UNKNOWN, |entry| entry.load(Ordering::Relaxed));
    is_active() && owner() != KERNEL
}

/// A result that a function of the C library gives, made of a backend's.
pub trait FromAnswer {
    /// Returns the result, with `errno` set after a failure.
    fn from_answer(answer: Result<usize, c_int>) -> Self;
}

impl FromAnswer for isize {
    fn from_answer(answer: Result<usize, c_int>) -> Self {
        match answer {
            Ok(value) => value as isize,
            Err(error) => {
                sys::set_errno(error);
                -1
            }
        }
    }
}

impl FromAnswer for i64 {
    fn from_answer(answer: Result<usize, c_int>) -> Self {
        isize::from_answer(answer) as i64
    }
}

impl FromAnswer for c_int {
    fn from_answer(answer: Result<usize, c_int>) -> Self {
        isize::from_answer(answer) as c_int
    }
}

impl FromAnswer for *mut c_void {
    /// Returns the result of `mmap`, which fails with all ones.
    fn from_answer(answer: Result<usize, c_int>) -> Self {
        isize::from_answer(answer) as *mut c_void
    }
}

/// Serves a call on a descriptor by the backend that owns it, or else by the kernel. Where a backend is active, other
/// descriptors cost one load more.
#[inline(always)]
pub fn serve<R: FromAnswer>(
    fd: c_int,
    request: impl FnOnce() -> Request,
    kernel: impl FnOnce() -> R,
) -> R {
    if may_be_owned(fd)
        && let Some(answer) = ask_owner(fd, &request())
    {
        return R::from_answer(answer);
    }
    kernel()
}

/// Serves a call on two descriptors by the backend that owns one of them.
#[inline(always)]
pub fn serve_between<R: FromAnswer>(
    fds: [c_int; 2],
    request: impl FnOnce() -> Request,
    kernel: impl FnOnce() -> R,
) -> R {
    if is_active() {
        let request = request();
        if let Some(answer) = fds.into_iter().find_map(|fd| ask_owner(fd, &request)) {
            return R::from_answer(answer);
        }
    }
    kernel()
}

/// Serves a call on a name in the same way.
#[inline(always)]
pub fn serve_name<R: FromAnswer>(
    name: impl FnOnce() -> Name,
    request: impl FnOnce() -> NameRequest,
    kernel: impl FnOnce() -> R,
) -> R {
    if is_active()
        && let Some(answer) = ask_all(&name(), &request())
    {
        return R::from_answer(answer);
    }
    kernel()
}

#[cold]
#[inline(never)]
fn ask_owner(fd: c_int, request: &Request) -> Answer {
    owner(fd)?.on_descriptor(fd, request)
}

#[cold]
#[inline(never)]
fn ask_all(name: &Name, request: &NameRequest) -> Answer {
    if let NameRequest::Status(status) = request
        && name.path().is_some_and(CStr::is_empty)
    {
        // With AT_EMPTY_PATH, the descriptor itself.
        return ask_owner(name.directory, &Request::Status(*status));
    }
    BACKENDS.iter().find_map(|backend| backend.on_name(name, request))
}

/// Descriptors beyond this are asked about at each call.
const DESCRIPTORS: usize = 1 << 16;

/// Nobody has asked yet whose it is.
const UNKNOWN: u8 = 0;
/// No backend's.
const KERNEL: u8 = 1;
/// The first backend's; the others follow.
const FIRST_BACKEND: u8 = 2;

/// Whose each descriptor is. Not wiped in forked children, which inherit descriptors.
static OWNERS: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(UNKNOWN) }; DESCRIPTORS];

fn owner(fd: c_int) -> Option<&'static dyn Backend> {
    let entry = OWNERS.get(usize::try_from(fd).ok()?);
    let known = entry.map_or(UNKNOWN, |entry| entry.load(Ordering::Relaxed));
    let mark = match known {
        UNKNOWN => {
            let position = BACKENDS.iter().position(|backend| backend.owns(fd));
            let mark = position.map_or(KERNEL, |position| FIRST_BACKEND + position as u8);
            if let Some(entry) = entry {
                entry.store(mark, Ordering::Relaxed);
            }
            mark
        }
        known => known,
    };
    BACKENDS.get(usize::from(mark.checked_sub(FIRST_BACKEND)?)).copied()
}

/// Forgets whose a descriptor is that is closed, or whose number gets another file.
#[inline]
pub fn forget(fd: c_int) {
    if is_active()
        && let Some(entry) = usize::try_from(fd).ok().and_then(|fd| OWNERS.get(fd))
    {
        entry.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// Forgets all descriptors from `first` to `last`, which are closed.
pub fn forget_range(first: u32, last: u32) {
    if is_active() {
        let numbers = first as usize..(last as usize).saturating_add(1).min(DESCRIPTORS);
        for entry in OWNERS.get(numbers).unwrap_or_default() {
            entry.store(UNKNOWN, Ordering::Relaxed);
        }
    }
}
