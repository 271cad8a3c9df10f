//! Small things that need the system: never through a function that we intercept, and never
//! with the C library's `errno` as a side effect.

use core::ffi::{CStr, c_char, c_int, c_long};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::open_file;

// SAFETY: the C library defines it for every program, as a list of strings.
unsafe extern "C" {
    /// The program's environment. Not `getenv`: bash has its own function of that name.
    static environ: *const *const c_char;
}

/// Returns the calling thread's number.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Returns the program's environment as it is now.
pub fn environment() -> *const *const c_char {
    // SAFETY: a plain read of the C library's variable.
    unsafe { environ }
}

/// Returns true in a program that has rights which whoever started it may not have (AT_SECURE in getauxval(3)).
pub fn is_secure() -> bool {
    // SAFETY: it reads what the kernel gave the program at its start, and AT_SECURE is always there.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the strings of a list that ends with a null pointer.
///
/// # Safety
/// `list` is null or such a list, and it stays unchanged while it is walked.
pub unsafe fn strings<'a>(list: *const *const c_char) -> impl Iterator<Item = &'a CStr> {
    let mut next = list;
    core::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: not past the end, which the caller's promise says is marked by null.
        let text = unsafe { *next };
        if text.is_null() {
            return None;
        }
        // SAFETY: the next entry exists, and the text is a C string.
        unsafe {
            next = next.add(1);
            Some(CStr::from_ptr(text))
        }
    })
}

/// Value of a variable of the environment.
pub fn variable(name: &str) -> Option<&'static [u8]> {
    // SAFETY: the C library keeps its environment as such a list. The program may change it at
    // the same time as for any reader of it; we read it when the program starts.
    unsafe { strings(environment()) }.find_map(|entry| {
        entry.to_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })
}

/// Puts another entry into the place of a variable, for this program and those that it executes.
///
/// # Safety
/// Nobody else uses the environment meanwhile, and the entry stays as it is for ever.
pub unsafe fn replace_variable(name: &str, entry: &CStr) {
    let mut next = environment().cast_mut();
    // SAFETY: the C library keeps its environment as a list that ends with a null pointer, which it lets programs
    // change (environ(7)).
    unsafe {
        while !next.is_null() && !(*next).is_null() {
            let bytes = CStr::from_ptr(*next).to_bytes();
            if bytes.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")) {
                *next = entry.as_ptr();
            }
            next = next.add(1);
        }
    }
}

/// Returns the system error number that the last call left.
#[inline]
pub fn errno() -> c_int {
    // SAFETY: the address is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the system error number.
#[inline]
pub fn set_errno(number: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number };
}

/// Returns a descriptor of the program, for a call of our own. `None` for numbers that cannot be one.
#[inline]
pub fn borrow(fd: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: not negative. Whether it is open is the kernel's to say; we never close it.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Closes the descriptors from the one number to the other. Rustix has no such call, and the C library's is one that
/// we stand in for.
pub fn close_range(first: u32, last: u32) {
    // SAFETY: the system call takes these words and changes no memory; what it closes is the program's wish.
    unsafe { raw_call(libc::SYS_close_range, [first as usize, last as usize, 0, 0]) };
}

/// Does what `fcntl` does with a lock, by number: the C library's function is one that we stand in for.
///
/// # Errors
/// With the kernel's number.
pub fn control(fd: c_int, command: c_int, lock: *mut libc::flock) -> Result<c_int, c_int> {
    // SAFETY: a command about locks, which reads and writes the one that is given.
    let result = unsafe {
        raw_call(libc::SYS_fcntl, [fd as usize, command as usize, lock.expose_provenance(), 0])
    };
    if result < 0 { Err(-result as c_int) } else { Ok(result as c_int) }
}

/// Has the kernel write one byte somewhere.
///
/// # Errors
/// EFAULT if it cannot be written to there.
pub fn random_byte_at(address: usize) -> Result<(), Errno> {
    // SAFETY: memory that a program gave to be written to, or nothing at all, which the kernel tells.
    let result =
        unsafe { raw_call(libc::SYS_getrandom, [address, 1, libc::GRND_NONBLOCK as usize, 0]) };
    if result < 0 { Err(Errno::from_raw_os_error(-result as c_int)) } else { Ok(()) }
}

/// Blocks signals of this thread, and returns those that were blocked before; `None` if the system refuses. By number: the C library's function may be one that the
/// program replaced.
pub fn block_signals(signals: u64) -> Option<u64> {
    let mut before = 0u64;
    let words = [
        libc::SIG_BLOCK as usize,
        (&raw const signals).expose_provenance(),
        (&raw mut before).expose_provenance(),
        size_of::<u64>(),
    ];
    // SAFETY: the kernel reads the one set and writes the other.
    (unsafe { raw_call(libc::SYS_rt_sigprocmask, words) } == 0).then_some(before)
}

/// Blocks these signals of this thread, and no others.
pub fn set_signals(signals: u64) {
    let set = (&raw const signals).expose_provenance();
    let words = [libc::SIG_SETMASK as usize, set, 0, size_of::<u64>()];
    // SAFETY: the kernel reads the set.
    unsafe { raw_call(libc::SYS_rt_sigprocmask, words) };
}

/// Has the kernel read eight bytes, and do nothing with them: a set of signals that nobody says what to do with.
pub fn read_at(address: usize) -> Result<(), Errno> {
    const NOTHING: usize = usize::MAX;
    // SAFETY: the kernel tells whether there is memory.
    let result = unsafe { raw_call(libc::SYS_rt_sigprocmask, [NOTHING, address, 0, 8]) };
    if result < 0 { Err(Errno::from_raw_os_error(-result as c_int)) } else { Ok(()) }
}

/// Returns whether a program can have memory there: not in the first page, and not where the kernel is, as behind -1.
#[inline]
pub fn may_be_memory<T>(place: *const T) -> bool {
    const FIRST_PAGE: usize = 4096;
    (FIRST_PAGE..=isize::MAX as usize).contains(&place.addr())
}

/// Returns whether there is memory that can be read: before it is read here, where that would be the program's end.
pub fn is_memory_at<T>(place: *const T) -> bool {
    // Eight bytes of one page.
    read_at(place.addr() & !7) != Err(Errno::FAULT)
}

/// Returns a string of the program's; `None` where it has none.
///
/// # Safety
/// If there is memory, it is a C string.
pub unsafe fn string_at<'a>(place: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller says.
    (!place.is_null() && is_memory_at(place)).then(|| unsafe { CStr::from_ptr(place) })
}

/// Returns the first bytes of a small file; empty when it cannot be read.
pub fn read_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> &'a [u8] {
    // Others may have put a pipe there, in a root directory of theirs.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(file) = open_file::openat(CWD, path, flags, Mode::empty()) else { return &[] };
    let mut length = 0;
    while let Some(room) = buffer.get_mut(length..).filter(|room| !room.is_empty()) {
        match rustix::io::read(&file, room) {
            Ok(0) | Err(_) => break,
            Ok(count) => length += count,
        }
    }
    buffer.get(..length).unwrap_or(&[])
}

/// Returns false when nothing can be opened by this path, in the root directory that the process has now.
pub fn is_reachable(path: &CStr) -> bool {
    let found = rustix::fs::accessat(CWD, path, Access::EXISTS, AtFlags::empty());
    !matches!(found, Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS))
}

/// Returns false when this process may not create files in a directory.
pub fn is_writable(from: impl AsFd, directory: &CStr) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    let allowed = rustix::fs::accessat(from, directory, wanted, AtFlags::empty());
    !matches!(allowed, Err(Errno::ACCESS | Errno::ROFS))
}

/// Returns true when a thread of this process does not exist any more.
pub fn is_gone(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread exists.
    let result = unsafe { raw_call(libc::SYS_tgkill, [process as usize, thread as usize, 0, 0]) };
    result == -(libc::ESRCH as isize)
}

/// Makes a system call by its number, past our own stand-in for `syscall`. Returns the negative number of an error.
///
/// # Safety
/// That of the call.
unsafe fn raw_call(number: c_long, arguments: [usize; 4]) -> isize {
    let [first, second, third, fourth] = arguments;
    #[cfg(target_arch = "x86_64")]
    {
        let mut result = number as isize;
        // SAFETY: as the caller says; the kernel keeps all registers but the ones named here.
        unsafe {
            core::arch::asm!(
                "syscall",
                inout("rax") result,
                in("rdi") first,
                in("rsi") second,
                in("rdx") third,
                in("r10") fourth,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let before = errno();
        // SAFETY: as the caller says; on this machine we do not stand in for `syscall`.
        let result = unsafe { libc::syscall(number, first, second, third, fourth) } as isize;
        let result = if result < 0 { -(errno() as isize) } else { result };
        set_errno(before);
        result
    }
}
