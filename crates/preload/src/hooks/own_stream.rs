//! A stream whose reading and writing is done by functions of ours (`fopencookie`): by the backend that owns the
//! descriptor or, once the number has become another file's, by the kernel. It has the descriptor's number, as other streams do.

mod room;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{FILE, off_t, off64_t, ssize_t};
use plimsoll_trace::Op;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::backend::{self, Buffers, FromAnswer, Request, TransferRequest};
use crate::sys;

pub use self::room::fit;

/// What `fopencookie` takes (stdio.h).
#[repr(C)]
struct Functions {
    read: extern "C-unwind" fn(*mut c_void, *mut c_char, usize) -> ssize_t,
    write: extern "C-unwind" fn(*mut c_void, *const c_char, usize) -> ssize_t,
    seek: extern "C-unwind" fn(*mut c_void, *mut off64_t, c_int) -> c_int,
    close: extern "C-unwind" fn(*mut c_void) -> c_int,
}

type MakeStream = unsafe extern "C" fn(*mut c_void, *const c_char, Functions) -> *mut FILE;

// SAFETY: the C library defines them so.
unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut FILE;
    /// Forgets what is in a stream's buffer.
    pub fn __fpurge(stream: *mut FILE);
}

/// A stream of `fopencookie` as glibc has it; what others have begins in the same way (bits/types/struct_FILE.h, which programs are
/// compiled with).
#[repr(C)]
pub struct StreamHead {
    flags: c_int,
    /// Where bytes begin that were read ahead.
    pub read_base: *mut c_char,
    /// Where they end.
    pub read_end: *mut c_char,
    read_start: *mut c_char,
    /// Where bytes begin that were not written yet.
    pub write_base: *mut c_char,
    /// Where they end.
    pub write_end: *mut c_char,
    write_limit: *mut c_char,
    buffer: *mut c_char,
    buffer_end: *mut c_char,
    backup: [*mut c_char; 3],
    lists: [*mut c_void; 2],
    /// The number of the file.
    pub descriptor: c_int,
    before_offset: [usize; 3],
    /// Where the descriptor is, as far as the C library knows.
    offset: off64_t,
    characters: usize,
    wide: *const Wide,
    rest: [usize; 6],
    kind: usize,
    cookie: usize,
}

/// What a stream has for wide characters (libio.h): buffers and state, which stay as they are, and functions.
#[repr(C)]
struct Wide {
    nothing: [usize; 28],
    functions: &'static [extern "C-unwind" fn() -> isize; 21],
}

/// Streams of `fopencookie` have none of their own, and the C library crashes in some functions that a program should not
/// call on a stream of bytes. With this they fail.
static NO_WIDE: Wide = Wide { nothing: [0; 28], functions: &[refuse; 21] };

/// Returns WEOF, or -1 where that is the failure.
extern "C-unwind" fn refuse() -> isize {
    sys::set_errno(libc::ENOTSUP);
    -1
}

/// Returns the descriptor of a stream, which is negative if it has none; `None` with another C library, whose streams are not known.
///
/// # Safety
/// An open stream, or null.
#[inline]
pub unsafe fn known_descriptor(stream: *mut FILE) -> Option<c_int> {
    let is_known = cfg!(all(target_env = "gnu", target_pointer_width = "64"));
    // SAFETY: as the caller says.
    (is_known && !stream.is_null())
        .then(|| unsafe { (&raw const (*stream.cast::<StreamHead>()).descriptor).read_volatile() })
}

/// Returns where a stream's buffer begins, and where the stream is in it: to read, or to write. Another thread may change that meanwhile.
///
/// # Safety
/// An open stream of which the descriptor is known.
#[inline]
pub unsafe fn place(stream: *mut FILE, writes: bool) -> [usize; 2] {
    let head = stream.cast::<StreamHead>();
    // SAFETY: as the caller says.
    unsafe {
        let (start, now) = match writes {
            true => (&raw const (*head).write_base, &raw const (*head).write_end),
            false => (&raw const (*head).read_start, &raw const (*head).read_base),
        };
        [start.read_volatile().addr(), now.read_volatile().addr()]
    }
}

/// Returns how far a stream is ahead of its descriptor: what it has to write, without what it has read ahead.
///
/// # Safety
/// An open stream.
pub unsafe fn ahead(stream: *mut FILE) -> i64 {
    // SAFETY: as the caller says.
    unsafe {
        if known_descriptor(stream).is_none() {
            return 0;
        }
        let head = stream.cast::<StreamHead>();
        let length = |from: *mut c_char, to: *mut c_char| to.addr().saturating_sub(from.addr());
        let waits = length((*head).write_base, (*head).write_end);
        waits as i64 - length((*head).read_base, (*head).read_end) as i64
    }
}

const _: () = assert!(core::mem::offset_of!(StreamHead, descriptor) == 112);
const _: () = assert!(core::mem::offset_of!(StreamHead, offset) == 144);
const _: () = assert!(core::mem::offset_of!(StreamHead, wide) == 160);
const _: () = assert!(core::mem::offset_of!(StreamHead, cookie) == 224);
const _: () = assert!(core::mem::offset_of!(Wide, functions) == 224);

/// Bits of a stream's flags (libio.h): it cannot be read, cannot be written, appends.
const NO_READS: c_int = 4;
const NO_WRITES: c_int = 8;
const APPENDS: c_int = 0x1000;
const MODE_FLAGS: c_int = NO_READS | NO_WRITES | APPENDS;

/// Returns the flags of a stream whose file was opened with these.
fn mode_flags(flags: c_int) -> c_int {
    let access = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => NO_WRITES,
        libc::O_WRONLY => NO_READS,
        _ => 0,
    };
    access | if flags & libc::O_APPEND != 0 { APPENDS } else { 0 }
}

/// Gives a stream of ours, whose buffer is empty, the mode that a file was opened with.
///
/// # Safety
/// A stream of ours.
pub unsafe fn set_mode(stream: *mut FILE, flags: c_int) {
    // SAFETY: as the caller says.
    let head = unsafe { &mut *stream.cast::<StreamHead>() };
    head.flags = head.flags & !MODE_FLAGS | mode_flags(flags);
}

/// Returns whether a stream is one of ours.
///
/// # Safety
/// An open stream of glibc.
pub unsafe fn is_one(stream: *mut FILE) -> bool {
    let kind = KIND.load(Ordering::Relaxed);
    let head = stream.cast::<StreamHead>();
    // SAFETY: as the caller says. Those of other kinds may be shorter, and end before the cookie.
    unsafe { kind != 0 && (*head).kind == kind && (*head).cookie & !NUMBER == MARK }
}

/// What all streams of `fopencookie` have in common; 0 before there is one of ours.
static KIND: AtomicUsize = AtomicUsize::new(0);

/// In the upper half of our cookies: no program's, as nothing can lie at such addresses. The lower half is the descriptor.
const MARK: usize = 0x706c_696d << 32;
const NUMBER: usize = u32::MAX as usize;

/// Makes a stream of a descriptor. Null and `errno` when there is no memory, or with another C library, whose streams are
/// not known.
pub fn wrap(fd: c_int, mode: &CStr) -> *mut FILE {
    if cfg!(not(all(target_env = "gnu", target_pointer_width = "64"))) {
        return fail(libc::ENOTSUP);
    }
    let functions = Functions { read, write, seek, close };
    // SAFETY: functions that need nothing but the number.
    let stream = unsafe { make_stream()(cookie(fd), mode.as_ptr(), functions) };
    if stream.is_null() {
        return stream;
    }
    // SAFETY: a stream of glibc, as is looked at first. It uses the number for nothing but to tell it.
    unsafe {
        let head = stream.cast::<StreamHead>();
        if (*head).descriptor != NO_DESCRIPTOR || (*head).cookie != cookie(fd) as usize {
            // It stays, as closing it would close the descriptor.
            return fail(libc::ENOTSUP);
        }
        KIND.store((*head).kind, Ordering::Relaxed);
        note(fd, stream);
        (*head).descriptor = fd;
        if matches!((*head).wide.addr(), 0 | usize::MAX) {
            (*head).wide = &raw const NO_WIDE;
        }
    }
    stream
}

/// Descriptors beyond this have streams whose position the C library may take for an old one.
const NOTED: usize = 1 << 16;

/// The stream of each descriptor.
static STREAMS: [AtomicPtr<FILE>; NOTED] = [const { AtomicPtr::new(ptr::null_mut()) }; NOTED];

fn note(fd: c_int, stream: *mut FILE) {
    if let Some(place) = STREAMS.get(fd as usize) {
        place.store(stream, Ordering::Relaxed);
    }
}

/// Has the C library ask where a descriptor is before it counts from there: it notes that for files of its own when it writes, and not for those that others write to,
/// so that a program which goes on from where it is would write to the same place again.
fn forget_offset(fd: c_int) {
    const UNKNOWN: off64_t = -1;
    let stream = STREAMS.get(fd as usize).map_or(ptr::null_mut(), |it| it.load(Ordering::Relaxed));
    if !stream.is_null() {
        // SAFETY: an open stream of ours, which the C library has locked while it writes.
        unsafe { (*stream.cast::<StreamHead>()).offset = UNKNOWN };
    }
}

/// Returns the C library's own `fopencookie`: others stand in for it, and have a cookie of their own (AddressSanitizer, ThreadSanitizer).
fn make_stream() -> MakeStream {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let mut found = FOUND.load(Ordering::Relaxed);
    if found == 0 {
        // SAFETY: C strings; the answers are null, or the library that is there and a function of it.
        found = unsafe {
            let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            match library.is_null() {
                true => 0,
                false => libc::dlsym(library, c"fopencookie".as_ptr()).expose_provenance(),
            }
        };
        if found == 0 {
            return fopencookie;
        }
        FOUND.store(found, Ordering::Relaxed);
    }
    // SAFETY: the address of that function.
    unsafe { core::mem::transmute::<usize, MakeStream>(found) }
}

/// The number that `fopencookie` gives to streams.
const NO_DESCRIPTOR: c_int = -2;

/// Returns what the functions know of a stream: its descriptor.
pub fn cookie(fd: c_int) -> *mut c_void {
    (MARK | fd as u32 as usize) as *mut c_void
}

fn descriptor(cookie: *mut c_void) -> c_int {
    (cookie as usize & NUMBER) as c_int
}

/// Serves a call of the stream by the backend or the kernel.
fn serve(
    fd: c_int,
    request: Request,
    kernel: impl FnOnce(rustix::fd::BorrowedFd<'static>) -> Result<usize, Errno>,
) -> isize {
    backend::serve(
        fd,
        || request,
        || {
            let done = sys::borrow(fd).ok_or(Errno::BADF).and_then(kernel);
            isize::from_answer(done.map_err(Errno::raw_os_error))
        },
    )
}

fn transfer(op: Op, address: *mut c_char, length: usize) -> Request {
    let buffers = Buffers::one(address, length);
    Request::Move(TransferRequest { op, buffers, offset: None, flags: 0 })
}

extern "C-unwind" fn read(cookie: *mut c_void, to: *mut c_char, length: usize) -> ssize_t {
    // SAFETY: the stream's buffer, or the program's, for as many bytes.
    let bytes = unsafe { core::slice::from_raw_parts_mut(to.cast::<u8>(), length) };
    let request = transfer(Op::Read, to, length);
    serve(descriptor(cookie), request, |fd| rustix::io::read(fd, bytes))
}

/// Returns less than everything after a failure only, as such a function must.
extern "C-unwind" fn write(cookie: *mut c_void, from: *const c_char, length: usize) -> ssize_t {
    // SAFETY: as in `read`.
    let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), length) };
    let mut rest = bytes;
    while !rest.is_empty() {
        let request = transfer(Op::Write, rest.as_ptr().cast_mut().cast(), rest.len());
        let count = serve(descriptor(cookie), request, |fd| rustix::io::write(fd, rest));
        if count <= 0 {
            break;
        }
        rest = rest.get(count as usize..).unwrap_or(&[]);
    }
    forget_offset(descriptor(cookie));
    (length - rest.len()) as ssize_t
}

extern "C-unwind" fn seek(cookie: *mut c_void, offset: *mut off64_t, whence: c_int) -> c_int {
    // SAFETY: the C library's own.
    let wanted = unsafe { *offset };
    let request = Request::Seek { offset: wanted as off_t, whence };
    let position = serve(descriptor(cookie), request, |fd| {
        let to = match whence {
            libc::SEEK_SET => SeekFrom::Start(wanted as u64),
            libc::SEEK_CUR => SeekFrom::Current(wanted),
            libc::SEEK_END => SeekFrom::End(wanted),
            _ => return Err(Errno::INVAL),
        };
        rustix::fs::seek(fd, to).map(|position| position as usize)
    });
    if position < 0 {
        return -1;
    }
    // SAFETY: as above.
    unsafe { *offset = position as off64_t };
    0
}

/// Goes to the end of a file, if that has one. Returns whether it could; if not, sets `errno`.
pub fn seek_end(fd: c_int) -> bool {
    let mut offset = 0;
    seek(cookie(fd), &raw mut offset, libc::SEEK_END) == 0 || sys::errno() == libc::ESPIPE
}

/// Closes the descriptor, of which the backend hears.
pub extern "C-unwind" fn close(cookie: *mut c_void) -> c_int {
    let fd = descriptor(cookie);
    note(fd, ptr::null_mut());
    backend::close(fd, || {
        // SAFETY: the stream's own, which ends with it.
        unsafe { rustix::io::close(fd) };
        0
    })
}

/// Returns no stream, and sets `errno`.
pub fn fail(error: c_int) -> *mut FILE {
    sys::set_errno(error);
    ptr::null_mut()
}
