//! System calls by number, through the C library's `syscall`: those that the C library has no
//! function for, or that a program makes past it. UCX, which many MPI libraries use, patches `mmap`
//! and `munmap` in memory, our own ones too, and ends up here.
//!
//! The stand-in for `syscall` itself has no frame: what it does not know it passes on by a jump, so
//! that a call which comes back on another stack, or twice, works as without us.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::missing_safety_doc)]
#![allow(clippy::unnecessary_cast)] // every row gives a word
#![allow(unused_unsafe)] // and need not know which helpers are safe

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{AT_FDCWD, gid_t, iovec, mode_t, off_t, open_how, timespec, uid_t};
use plimsoll_trace::Op;

use crate::backend::{AttributeRequest, MapRequest, Name, NameRequest, Request, Status};
use crate::hooks::asynchronous::{self, KernelBlock, KernelEvent};
use crate::hooks::data::{self, Side};
use crate::hooks::{descriptor, directory, lock, mapping, name, program};
use crate::inspect::Target;
use crate::{sys, thread};

/// The C library's function.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// What is done around a system call. It gets the six words that follow the number.
type Hook = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> isize;

/// Larger than every number here.
const NUMBERS: usize = 512;

/// Stands in for the function of that name.
///
/// # Safety
/// As that function.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn syscall() {
    naked_asm!(
        "cmp rdi, {numbers}",
        "jae 2f",
        "lea rax, [rip + {hooks}]",
        "mov rax, [rax + rdi * 8]",
        "test rax, rax",
        "jz 2f",
        // The words after the number; the seventh argument is on the stack.
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "jmp rax",
        "2:",
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jz 3f",
        "jmp rax",
        "3:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "call {resolve}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        numbers = const NUMBERS,
        hooks = sym HOOKS,
        real = sym REAL,
        resolve = sym resolve,
    )
}

/// Looks it up. From the constructor, or earlier when a call comes before it.
pub extern "C" fn resolve() -> *mut c_void {
    let before = sys::errno();
    // SAFETY: a C string; every C library has the function.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, c"syscall".as_ptr()) };
    sys::set_errno(before);
    REAL.store(address, Ordering::Relaxed);
    address
}

/// Calls the C library's `syscall`.
unsafe fn real(number: c_long, words: [usize; 6]) -> isize {
    type Real =
        unsafe extern "C-unwind" fn(c_long, usize, usize, usize, usize, usize, usize) -> isize;
    let known = REAL.load(Ordering::Relaxed);
    let address = if known.is_null() { resolve() } else { known };
    let [a, b, c, d, e, f] = words;
    // SAFETY: the address is of that function, and the words are the program's own.
    unsafe { core::mem::transmute::<*mut c_void, Real>(address)(number, a, b, c, d, e, f) }
}

/// Makes the hooks and their table. The words have the names of what they are, and `$call` makes
/// the system call with them.
macro_rules! system_calls {
    ($($number:ident ($($word:ident)*) => |$call:ident| $body:expr;)*) => {
        static HOOKS: [Option<Hook>; NUMBERS] = {
            let mut hooks: [Option<Hook>; NUMBERS] = [None; NUMBERS];
            $(hooks[libc::$number as usize] = Some({
                unsafe extern "C-unwind" fn hook(
                    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
                ) -> isize {
                    // SAFETY: the program's own words, unchanged, for the call that it makes.
                    let $call = || unsafe { real(libc::$number, [a, b, c, d, e, f]) };
                    if thread::is_inside_hook() {
                        // A stand-in for a function that led here has it already.
                        return $call();
                    }
                    let [$($word,)* ..] = [a, b, c, d, e, f];
                    // SAFETY: as in `table`: helpers get the arguments of the call.
                    let result = unsafe { $body };
                    result as isize
                }
                hook as Hook
            });)*
            hooks
        };
    };
}

/// Returns the kernel's failure as libaio tells it: a negative number.
fn negative(result: isize) -> isize {
    if result < 0 { -(sys::errno() as isize) } else { result }
}

/// Returns the failure of libaio as the C library tells it.
fn with_errno(result: isize) -> isize {
    if result < 0 {
        sys::set_errno(-result as c_int);
        return -1;
    }
    result
}

system_calls! {
    SYS_open (path flags mode) => |call| descriptor::open(AT_FDCWD, path as *const c_char, flags as c_int, mode as mode_t, || call() as c_int);
    SYS_openat (at path flags mode) => |call| descriptor::open(at as c_int, path as *const c_char, flags as c_int, mode as mode_t, || call() as c_int);
    SYS_creat (path mode) => |call| descriptor::open(AT_FDCWD, path as *const c_char, descriptor::CREAT_FLAGS, mode as mode_t, || call() as c_int);
    SYS_openat2 (at path how size) => |call| descriptor::open_as(at as c_int, path as *const c_char, (how as *const open_how, size), || call() as c_int);
    SYS_close (fd) => |call| descriptor::close(Op::Close, fd as c_int, || call() as c_int);
    SYS_close_range (first last flags) => |call| descriptor::close_range(first as c_uint, last as c_uint, flags as c_int, |first, last| real(libc::SYS_close_range, [first as usize, last as usize, flags, 0, 0, 0]) as c_int);
    SYS_dup (fd) => |call| descriptor::duplicate(fd as c_int, None, || call() as c_int);
    SYS_dup2 (fd to) => |call| descriptor::duplicate(fd as c_int, Some(to as c_int), || call() as c_int);
    SYS_dup3 (fd to) => |call| descriptor::duplicate(fd as c_int, Some(to as c_int), || call() as c_int);
    SYS_fcntl (fd command argument) => |call| lock::control(fd as c_int, command as c_int, argument, || call() as c_int);
    SYS_read (fd buffer length) => |call| data::sequential(Op::Read, fd as c_int, (buffer as *const c_void, length), call);
    SYS_write (fd buffer length) => |call| data::sequential(Op::Write, fd as c_int, (buffer as *const c_void, length), call);
    SYS_pread64 (fd buffer length offset) => |call| data::positioned(Op::Pread, fd as c_int, (buffer as *const c_void, length), offset as off_t, call);
    SYS_pwrite64 (fd buffer length offset) => |call| data::positioned(Op::Pwrite, fd as c_int, (buffer as *const c_void, length), offset as off_t, call);
    SYS_readv (fd buffers count) => |call| data::vector(Op::Readv, fd as c_int, (buffers as *const iovec, count as c_int), -1, 0, call);
    SYS_writev (fd buffers count) => |call| data::vector(Op::Writev, fd as c_int, (buffers as *const iovec, count as c_int), -1, 0, call);
    SYS_preadv (fd buffers count offset) => |call| data::vector(Op::Preadv, fd as c_int, (buffers as *const iovec, count as c_int), offset as off_t, 0, call);
    SYS_pwritev (fd buffers count offset) => |call| data::vector(Op::Pwritev, fd as c_int, (buffers as *const iovec, count as c_int), offset as off_t, 0, call);
    SYS_preadv2 (fd buffers count offset _high flags) => |call| data::vector(Op::Preadv, fd as c_int, (buffers as *const iovec, count as c_int), offset as off_t, flags as c_int, call);
    SYS_pwritev2 (fd buffers count offset _high flags) => |call| data::vector(Op::Pwritev, fd as c_int, (buffers as *const iovec, count as c_int), offset as off_t, flags as c_int, call);
    SYS_copy_file_range (from from_offset to to_offset length flags) => |call| data::between([Side { op: Op::CopyFileRange, fd: to as c_int, offset: to_offset as *mut off_t }, Side { op: Op::CopyFileRangeRead, fd: from as c_int, offset: from_offset as *mut off_t }], length, flags as c_uint, call);
    SYS_sendfile (to from offset length) => |call| data::between([Side { op: Op::Sendfile, fd: from as c_int, offset: offset as *mut off_t }, Side { op: Op::SendfileWrite, fd: to as c_int, offset: ptr::null_mut() }], length, 0, call);
    SYS_splice (from from_offset to to_offset length flags) => |call| data::between([Side { op: Op::SpliceRead, fd: from as c_int, offset: from_offset as *mut off_t }, Side { op: Op::SpliceWrite, fd: to as c_int, offset: to_offset as *mut off_t }], length, flags as c_uint, call);
    SYS_ioctl (fd request argument) => |call| data::share_blocks(fd as c_int, request as c_ulong, argument, || call() as c_int);
    SYS_lseek (fd offset whence) => |call| descriptor::seek(fd as c_int, offset as i64, whence as c_int, || call() as i64);
    SYS_fsync (fd) => |call| descriptor::sync(Op::Fsync, fd as c_int, 0, call);
    SYS_fdatasync (fd) => |call| descriptor::sync(Op::Fdatasync, fd as c_int, 0, call);
    SYS_sync_file_range (fd _offset length) => |call| descriptor::sync(Op::SyncFileRange, fd as c_int, length as u64, call);
    SYS_ftruncate (fd length) => |call| descriptor::ask(Op::Ftruncate, fd as c_int, length as u64, || Request::Truncate { length: length as off_t }, call);
    SYS_fallocate (fd mode offset length) => |call| descriptor::ask(Op::Fallocate, fd as c_int, length as u64, || Request::Allocate { mode: mode as c_int, offset: offset as off_t, length: length as off_t }, call);
    SYS_statx (at path flags mask status) => |call| name::ask(Op::Stat, at as c_int, path as *const c_char, 0, || NameRequest::Status(Status::Extended { to: status as *mut c_void, flags: flags as c_int, mask: mask as c_uint }), call);
    SYS_newfstatat (at path status flags) => |call| name::ask(Op::Stat, at as c_int, path as *const c_char, 0, || NameRequest::Status(Status::Plain { to: status as *mut c_void, flags: flags as c_int }), call);
    SYS_stat (path status) => |call| name::ask(Op::Stat, AT_FDCWD, path as *const c_char, 0, || NameRequest::Status(Status::Plain { to: status as *mut c_void, flags: 0 }), call);
    SYS_lstat (path status) => |call| name::ask(Op::Stat, AT_FDCWD, path as *const c_char, 0, || NameRequest::Status(Status::Plain { to: status as *mut c_void, flags: libc::AT_SYMLINK_NOFOLLOW }), call);
    SYS_fstat (fd status) => |call| descriptor::ask(Op::Stat, fd as c_int, 0, || Request::Status(Status::Plain { to: status as *mut c_void, flags: 0 }), call);
    SYS_chmod (path mode) => |call| name::ask(Op::Chmod, AT_FDCWD, path as *const c_char, mode as u64, || NameRequest::ChangeMode { mode: mode as mode_t, flags: 0 }, call);
    SYS_fchmod (fd mode) => |call| descriptor::ask(Op::Chmod, fd as c_int, mode as u64, || Request::ChangeMode { mode: mode as mode_t }, call);
    SYS_fchmodat (at path mode) => |call| name::ask(Op::Chmod, at as c_int, path as *const c_char, mode as u64, || NameRequest::ChangeMode { mode: mode as mode_t, flags: 0 }, call);
    SYS_fchmodat2 (at path mode flags) => |call| name::ask(Op::Chmod, at as c_int, path as *const c_char, mode as u64, || NameRequest::ChangeMode { mode: mode as mode_t, flags: flags as c_int }, call);
    SYS_chown (path owner group) => |call| name::change_owner(AT_FDCWD, path as *const c_char, owner as uid_t, group as gid_t, 0, || call() as c_int);
    SYS_lchown (path owner group) => |call| name::change_owner(AT_FDCWD, path as *const c_char, owner as uid_t, group as gid_t, libc::AT_SYMLINK_NOFOLLOW, || call() as c_int);
    SYS_fchownat (at path owner group flags) => |call| name::change_owner(at as c_int, path as *const c_char, owner as uid_t, group as gid_t, flags as c_int, || call() as c_int);
    SYS_utimensat (at path times flags) => |call| name::change_times(at as c_int, path as *const c_char, || name::times(times as *const timespec), flags as c_int, || call() as c_int);
    SYS_setxattr (path name value size flags) => |call| name::attribute(path as *const c_char, 0, || AttributeRequest::Set { name: name as *const c_char, value: value as *const c_void, size, flags: flags as c_int }, call);
    SYS_lsetxattr (path name value size flags) => |call| name::attribute(path as *const c_char, libc::AT_SYMLINK_NOFOLLOW, || AttributeRequest::Set { name: name as *const c_char, value: value as *const c_void, size, flags: flags as c_int }, call);
    SYS_fsetxattr (fd name value size flags) => |call| descriptor::attribute(fd as c_int, || AttributeRequest::Set { name: name as *const c_char, value: value as *const c_void, size, flags: flags as c_int }, call);
    SYS_removexattr (path name) => |call| name::attribute(path as *const c_char, 0, || AttributeRequest::Remove { name: name as *const c_char }, call);
    SYS_lremovexattr (path name) => |call| name::attribute(path as *const c_char, libc::AT_SYMLINK_NOFOLLOW, || AttributeRequest::Remove { name: name as *const c_char }, call);
    SYS_fremovexattr (fd name) => |call| descriptor::attribute(fd as c_int, || AttributeRequest::Remove { name: name as *const c_char }, call);
    SYS_link (path to) => |call| name::ask(Op::Link, AT_FDCWD, path as *const c_char, 0, || NameRequest::Link { to: Name::new(AT_FDCWD, to as *const c_char), flags: 0 }, call);
    SYS_linkat (at path to_at to flags) => |call| name::ask(Op::Link, at as c_int, path as *const c_char, 0, || NameRequest::Link { to: Name::new(to_at as c_int, to as *const c_char), flags: flags as c_int }, call);
    SYS_truncate (path length) => |call| name::ask(Op::Truncate, AT_FDCWD, path as *const c_char, length as u64, || NameRequest::Truncate { length: length as off_t }, call);
    SYS_unlink (path) => |call| name::ask(Op::Unlink, AT_FDCWD, path as *const c_char, 0, || NameRequest::Unlink { flags: 0 }, call);
    SYS_rmdir (path) => |call| name::ask(Op::Rmdir, AT_FDCWD, path as *const c_char, 0, || NameRequest::Unlink { flags: libc::AT_REMOVEDIR }, call);
    SYS_mkdir (path mode) => |call| name::ask(Op::Mkdir, AT_FDCWD, path as *const c_char, mode as u64, || NameRequest::MakeDirectory { mode: mode as mode_t }, call);
    SYS_rename (path to) => |call| name::ask(Op::Rename, AT_FDCWD, path as *const c_char, 0, || NameRequest::Rename { to: Name::new(AT_FDCWD, to as *const c_char), flags: 0 }, call);
    SYS_renameat (at path to_at to) => |call| name::ask(Op::Rename, at as c_int, path as *const c_char, 0, || NameRequest::Rename { to: Name::new(to_at as c_int, to as *const c_char), flags: 0 }, call);
    SYS_access (path mode) => |call| name::ask(Op::Access, AT_FDCWD, path as *const c_char, 0, || NameRequest::Access { mode: mode as c_int, flags: 0 }, call);
    SYS_faccessat (at path mode) => |call| name::ask(Op::Access, at as c_int, path as *const c_char, 0, || NameRequest::Access { mode: mode as c_int, flags: 0 }, call);
    SYS_faccessat2 (at path mode flags) => |call| name::ask(Op::Access, at as c_int, path as *const c_char, 0, || NameRequest::Access { mode: mode as c_int, flags: flags as c_int }, call);
    SYS_unlinkat (at path flags) => |call| name::ask(name::unlinkat_op(flags as c_int), at as c_int, path as *const c_char, 0, || NameRequest::Unlink { flags: flags as c_int }, call);
    SYS_renameat2 (at path to_at to flags) => |call| name::ask(Op::Rename, at as c_int, path as *const c_char, 0, || NameRequest::Rename { to: Name::new(to_at as c_int, to as *const c_char), flags: flags as c_uint }, call);
    SYS_mkdirat (at path mode) => |call| name::ask(Op::Mkdir, at as c_int, path as *const c_char, mode as u64, || NameRequest::MakeDirectory { mode: mode as mode_t }, call);
    SYS_getdents64 (fd buffer) => |call| directory::read_entries(fd as c_int, buffer as *mut u8, call);
    SYS_mmap (address length protection flags fd offset) => |call| mapping::map(fd as c_int, MapRequest { address: address as *mut c_void, length, protection: protection as c_int, flags: flags as c_int, offset: offset as off_t }, || call() as *mut c_void);
    SYS_munmap (address length) => |call| mapping::unmap(address as *mut c_void, length, || call() as c_int);
    SYS_msync (address length) => |call| mapping::sync(address as *mut c_void, length, || call() as c_int);
    SYS_io_submit (context count list) => |call| with_errno(asynchronous::submit(count as c_long, list as *const *mut KernelBlock, |count| negative(real(libc::SYS_io_submit, [context, count as usize, list, 0, 0, 0]))));
    SYS_io_getevents (_context _least _most events) => |call| with_errno(asynchronous::get_events(events as *const KernelEvent, || negative(call())));
    SYS_io_uring_setup () => |call| with_errno(asynchronous::make_ring(|| negative(call()) as c_int) as isize);
    SYS_seccomp (operation) => |call| program::control(libc::PR_SET_SECCOMP, program::mode_of_sandbox(operation), || call() as c_int);
    SYS_prctl (option value) => |call| program::control(option as c_int, value, || call() as c_int);
    SYS_execve (path arguments environment) => |call| program::execute(Target::Path(AT_FDCWD, path as *const c_char), environment as *const *const c_char, |environment| real(libc::SYS_execve, [path, arguments, environment as usize, 0, 0, 0]) as c_int);
    SYS_execveat (at path arguments environment flags) => |call| program::execute(Target::at(at as c_int, path as *const c_char, flags as c_int), environment as *const *const c_char, |environment| real(libc::SYS_execveat, [at, path, arguments, environment as usize, flags, 0]) as c_int);
    SYS_exit_group () => |call| { program::ends(); call() };
}
