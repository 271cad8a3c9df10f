//! Backends: parts of this library that serve calls instead of the kernel, on descriptors and names that are theirs.
//!
//! A stand-in hands over the whole request (`Request`, `NameRequest`), and the kernel is asked where no backend
//! answers. A descriptor that a backend gives to a program is a real one, of a real file: numbers, duplicates, their
//! common position, locks and inheritance stay the kernel's, and a backend answers only what it must.
//!
//! What a backend may use: system calls by rustix, which lead to no stand-in; memory of the library's own
//! (`own_memory`); descriptors of the library's own (`own_descriptors`). It is called on any thread, and again in a
//! signal handler that interrupts it there.
//!
//! The C library's streams make system calls that cannot be seen. Those of a backend's files, by name or by descriptor, are
//! streams of ours instead (`hooks::served_stream`), and so are then the standard ones (`hooks::standard_streams`).
//!
//! Refused where a backend owns the file, because it cannot be served:
//! - `io_submit` with EINVAL, as the kernel does where a file cannot do it; `aio_read` and its family are served at once;
//! - `ioctl` by which files share blocks (FICLONE), with EOPNOTSUPP: `cp` copies then;
//! - io_uring with ENOSYS, for every file, as long as a backend is active (`hooks::served_transfer`);
//! - `freopen` of one of the C library's own streams by such a name, with ENOTSUP; wide characters in streams of ours.
//!
//! Rows that ask no backend:
//! - `sync`, `munmap` and `msync`, which name no file: what a backend keeps to itself, or maps, the kernel cannot write back;
//! - `fchdir`, `dup` and its family, and `fcntl` but for locks: the descriptor is a real one;
//! - what `posix_spawn` opens and closes in the new process, and `chroot`: the kernel looks such names up itself;
//! - `tmpfile`, whose file has no name, and `fdopendir`, whose entries are asked for one by one;
//! - `io_getevents`, `aio_error`, `aio_return`, `aio_suspend`: about transfers that were begun;
//! - all of MPI, whose library makes the calls that are seen.
//!
//! Calls that have no row, and reach the kernel's file or name: `mknod`, other requests of `ioctl`, `posix_fadvise`, `realpath`, `getcwd`; what the C library does by itself
//! where it walks over directories (`nftw`, `fts_read`); system calls that a program makes without the C
//! library. A backend must keep its files so that these do no harm, or get a row for them.

#[cfg(feature = "inverted-backend")]
mod inverted;
mod owners;
mod request;
mod stow;

use core::ffi::{CStr, c_int, c_void};

use self::owners::{FIRST_BACKEND, KERNEL, UNKNOWN};
pub use self::request::{
    AttributeRequest, Buffers, End, FileSystemStatus, HIDDEN, LockRequest, MapRequest, Name,
    NameRequest, Request, Status, TransferRequest,
};
use crate::{descriptors, hot, sys, thread};

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

    /// The numbers from `first` to `last` may be other files' from now on.
    fn forget(&self, _first: u32, _last: u32) {}

    /// A descriptor of its own was duplicated.
    fn duplicated(&self, _from: c_int, _to: c_int) {}

    /// Calls what gives the number of a descriptor of its own to another file (`dup2`) and returns whether it did, while nobody uses the one that it was.
    fn replace(&self, fd: c_int, kernel: &mut dyn FnMut() -> bool) {
        if kernel() {
            let _ = self.on_descriptor(fd, &Request::Close);
        }
    }

    /// A descriptor was closed, of which it was told before.
    fn closed(&self) {}

    /// Returns the name by which programs know the file of a descriptor of its own, out of what the kernel tells.
    fn known_name<'a>(&self, told: &'a [u8]) -> &'a [u8] {
        told
    }

    /// Returns whether memory is a mapping that it made.
    fn has_mapped(&self, _address: usize) -> bool {
        false
    }

    /// The working directory is another one.
    fn directory_changed(&self) {}

    /// The process ends, or becomes another program.
    fn ends(&self) {}
}

/// The backends, in the order in which they are asked.
const BACKENDS: &[&dyn Backend] = &[
    &stow::Stow,
    #[cfg(feature = "inverted-backend")]
    &inverted::Inverted,
];

/// Returns whether any backend has something to do.
pub fn begin() -> bool {
    descriptors::name_by(known_name);
    BACKENDS.iter().fold(false, |any, backend| backend.begin() | any)
}

/// Returns true when descriptors may be a backend's.
#[inline(always)]
pub fn is_active() -> bool {
    hot::has_backend()
}

/// Returns false for descriptors that are known to be no backend's.
#[inline(always)]
fn may_be_owned(fd: c_int) -> bool {
    is_active() && owners::known(fd) != KERNEL
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
    match answer(fd, request) {
        Some(answer) => R::from_answer(answer),
        None => kernel(),
    }
}

/// Returns what the backend that owns a descriptor answers, for calls that are not served by one call of the kernel.
#[inline(always)]
pub fn answer(fd: c_int, request: impl FnOnce() -> Request) -> Answer {
    if may_be_owned(fd) { ask_owner(fd, &request()) } else { None }
}

/// Returns what the backend that owns a name answers.
#[inline(always)]
pub fn answer_name(name: impl FnOnce() -> Name, request: impl FnOnce() -> NameRequest) -> Answer {
    if is_active() { ask_all(&name(), &request()) } else { None }
}

/// Returns whether a backend owns a descriptor.
#[inline(always)]
pub fn is_owned(fd: c_int) -> bool {
    may_be_owned(fd) && owner(fd).is_some()
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
    match answer_name(name, request) {
        Some(answer) => R::from_answer(answer),
        None => kernel(),
    }
}

#[cold]
#[inline(never)]
fn ask_owner(fd: c_int, request: &Request) -> Answer {
    if thread::is_serving() {
        return None;
    }
    let owner = owner(fd)?;
    if let Request::Move(_) | Request::Copy { .. } | Request::Sync { .. } | Request::Lock(_) =
        request
    {
        thread::cancellation_point();
    }
    owner.on_descriptor(fd, request)
}

#[cold]
#[inline(never)]
fn ask_all(name: &Name, request: &NameRequest) -> Answer {
    if thread::is_serving() {
        return None;
    }
    if name.path().is_some_and(CStr::is_empty) {
        // With AT_EMPTY_PATH, the descriptor itself; without, the kernel refuses it.
        return match *request {
            NameRequest::Status(status) if status.flags() & libc::AT_EMPTY_PATH != 0 => {
                ask_owner(name.directory, &Request::Status(status))
            }
            NameRequest::Link { flags, .. } if flags & libc::AT_EMPTY_PATH != 0 => {
                ask_owner(name.directory, &Request::Link)
            }
            NameRequest::ChangeMode { mode, flags } if flags & libc::AT_EMPTY_PATH != 0 => {
                ask_owner(name.directory, &Request::ChangeMode { mode })
            }
            _ => None,
        };
    }
    if let NameRequest::Open { .. } = request {
        thread::cancellation_point();
    }
    for (mark, backend) in (FIRST_BACKEND..).zip(BACKENDS) {
        let Some(answer) = backend.on_name(name, request) else { continue };
        if let (NameRequest::Open { .. }, Ok(fd)) = (request, answer) {
            set_owner(fd as c_int, mark);
        }
        return Some(answer);
    }
    None
}

fn owner(fd: c_int) -> Option<&'static dyn Backend> {
    let mark = match owners::known(fd) {
        UNKNOWN if fd < 0 => return None,
        UNKNOWN => {
            let position = BACKENDS.iter().position(|backend| backend.owns(fd));
            let mark = position.map_or(KERNEL, |position| FIRST_BACKEND + position as u8);
            set_owner(fd, mark);
            mark
        }
        known => known,
    };
    BACKENDS.get(usize::from(mark.checked_sub(FIRST_BACKEND)?)).copied()
}

/// Returns the name by which programs know a descriptor's file, out of what the kernel tells. A backend that was not asked yet
/// whether the descriptor is its own is not asked here.
fn known_name(fd: c_int, told: &[u8]) -> &[u8] {
    let mark = owners::known(fd).checked_sub(FIRST_BACKEND);
    let owner = mark.and_then(|mark| BACKENDS.get(usize::from(mark)));
    owner.map_or(told, |owner| owner.known_name(told))
}

fn set_owner(fd: c_int, mark: u8) {
    if owners::known(fd) >= FIRST_BACKEND {
        BACKENDS.iter().for_each(|backend| backend.forget(fd as u32, fd as u32));
    }
    owners::note(fd, mark);
}

/// Closes a descriptor, after the backend that owns it was told.
pub fn close(fd: c_int, kernel: impl FnOnce() -> c_int) -> c_int {
    let told = answer(fd, || Request::Close);
    let result = kernel();
    forget(fd);
    if is_active() && !thread::is_serving() {
        BACKENDS.iter().for_each(|backend| backend.closed());
    }
    match told {
        Some(Err(error)) if result >= 0 => c_int::from_answer(Err(error)),
        _ => result,
    }
}

/// Gives the number of a descriptor to another file, by the kernel. Threads that write to the one that it was are not met in between.
pub fn replace(fd: c_int, kernel: impl FnOnce() -> c_int) -> c_int {
    let owner = if may_be_owned(fd) && !thread::is_serving() { owner(fd) } else { None };
    let Some(owner) = owner else { return kernel() };
    let (mut kernel, mut done) = (Some(kernel), None);
    owner.replace(fd, &mut || {
        done = kernel.take().map(|kernel| (kernel(), sys::errno()));
        done.is_some_and(|(result, _)| result >= 0)
    });
    match (done, kernel) {
        (Some((result, error)), _) => {
            if result < 0 {
                sys::set_errno(error);
            }
            result
        }
        (None, Some(kernel)) => kernel(),
        (None, None) => -1,
    }
}

/// Tells the backends which of the descriptors from `first` to `last` are about to be closed, with others.
pub fn before_close(first: u32, last: u32) {
    if is_active() {
        for fd in owners::numbers(first, last).map(|number| number as c_int) {
            if owners::known(fd) >= FIRST_BACKEND {
                ask_owner(fd, &Request::Close);
            }
        }
    }
}

/// Forgets whose a descriptor is that is closed, or whose number gets another file.
#[inline]
pub fn forget(fd: c_int) {
    if is_active() {
        set_owner(fd, UNKNOWN);
    }
}

/// Notes that a descriptor was duplicated.
#[inline]
pub fn duplicated(from: c_int, to: c_int) {
    if is_active() {
        set_owner(to, owners::known(from));
        if let Some(backend) = owner(from).filter(|_| to >= 0 && !thread::is_serving()) {
            backend.duplicated(from, to);
        }
    }
}

/// Returns whether memory is a mapping that a backend made.
pub fn has_mapped(address: usize) -> bool {
    is_active()
        && !thread::is_serving()
        && BACKENDS.iter().any(|backend| backend.has_mapped(address))
}

/// Notes that the working directory changed.
pub fn directory_changed() {
    if is_active() {
        BACKENDS.iter().for_each(|backend| backend.directory_changed());
    }
}

/// Notes that the process ends or becomes another program.
pub fn ends() {
    if is_active() && !thread::is_serving() {
        BACKENDS.iter().for_each(|backend| backend.ends());
    }
}

/// Forgets all descriptors from `first` to `last`, which are closed.
pub fn forget_range(first: u32, last: u32) {
    if is_active() {
        BACKENDS.iter().for_each(|backend| backend.forget(first, last));
        owners::forget(first, last);
        if !thread::is_serving() {
            BACKENDS.iter().for_each(|backend| backend.closed());
        }
    }
}
