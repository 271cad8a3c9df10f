//! The table of calls of which nothing is recorded, and which backends or the recorder of streams must know of. They are looked up when they are first called.
#![allow(unused_unsafe)] // a row need not know which helpers are safe

use core::ffi::{c_char, c_int, c_uint, c_void};

use libc::{AT_FDCWD, DIR, FILE, dirent64, mmsghdr, msghdr, size_t, ssize_t, timespec};

use crate::hooks::listed::{self, Filter, Glob, Order};
use crate::hooks::{inlined, mapping, received};

crate::intercept! {
    served {
        scandir [scandir64] (path: *const c_char, list: *mut *mut *mut dirent64, filter: Filter, order: Order) -> c_int
            => |real| listed::scan(AT_FDCWD, path, list, filter, order, || real(path, list, filter, order));
        scandirat [scandirat64] (directory: c_int, path: *const c_char, list: *mut *mut *mut dirent64, filter: Filter, order: Order) -> c_int
            => |real| listed::scan(directory, path, list, filter, order, || real(directory, path, list, filter, order));
        readdir_r [readdir64_r] (stream: *mut DIR, entry: *mut dirent64, result: *mut *mut dirent64) -> c_int
            => |real| listed::read_into(stream, result, || real(stream, entry, result));
        glob [glob64] (pattern: *const c_char, flags: c_int, failed: *const c_void, to: *mut Glob) -> c_int
            => |real| listed::glob(flags, to, |flags| real(pattern, flags, failed, to));
        mremap [] (address: *mut c_void, length: size_t, new_length: size_t, flags: c_int, new_address: *mut c_void) -> *mut c_void
            => |real| mapping::resize(address, length, new_length, || real(address, length, new_length, flags, new_address));
        recvmsg [] (socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t
            => |real| received::message(message, || real(socket, message, flags));
        recvmmsg [] (socket: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, patience: *mut timespec) -> c_int
            => |real| received::messages(messages, || real(socket, messages, count, flags, patience));
        pidfd_getfd [] (process: c_int, fd: c_int, flags: c_uint) -> c_int
            => |real| received::descriptor(|| real(process, fd, flags));
        open_by_handle_at [] (mount: c_int, handle: *mut c_void, flags: c_int) -> c_int
            => |real| received::descriptor(|| real(mount, handle, flags));
        pclose [] (stream: *mut FILE) -> c_int
            => |real| received::end_stream(stream, || real(stream));
        endmntent [] (stream: *mut FILE) -> c_int
            => |real| received::end_stream(stream, || real(stream));
        ungetc [] (byte: c_int, stream: *mut FILE) -> c_int
            => |real| inlined::around_giving_back(stream, || real(byte, stream));
        setvbuf [] (stream: *mut FILE, buffer: *mut c_char, kind: c_int, length: size_t) -> c_int
            => |real| inlined::around_if_on(stream, || real(stream, buffer, kind, length));
        setbuffer [] (stream: *mut FILE, buffer: *mut c_char, length: size_t) -> ()
            => |real| inlined::around_if_on(stream, || real(stream, buffer, length));
        setbuf [] (stream: *mut FILE, buffer: *mut c_char) -> ()
            => |real| inlined::around_if_on(stream, || real(stream, buffer));
        setlinebuf [] (stream: *mut FILE) -> ()
            => |real| inlined::around_if_on(stream, || real(stream));
        fcloseall [] () -> c_int
            => |real| { inlined::settle_all(); real() };
    }
}
