//! The table of intercepted calls. A row: name, aliases in brackets, arguments, result, and what
//! is done around the real call. Exports, real functions and the list of names are made from it;
//! functions with variable arguments lead here from `hooks::variadic`.
#![allow(clippy::too_many_arguments)]
#![allow(unused_unsafe)] // a row need not know which helpers are safe

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr;

use libc::{
    AT_EACCESS, AT_FDCWD, AT_REMOVEDIR, AT_SYMLINK_NOFOLLOW, DIR, FILE, gid_t, iovec, mode_t,
    off_t, pid_t, size_t, ssize_t, timespec, timeval, uid_t, utimbuf,
};
use plimsoll_trace::Op;

use crate::backend::{
    self, AttributeRequest, FileSystemStatus, MapRequest, Name, NameRequest, Request, Status,
};
use crate::hooks::data::{self, Side};
use crate::hooks::printed::{self, __vasprintf_chk, vasprintf};
use crate::hooks::{
    descriptor, directory, inlined, lock, mapping, name, program, standard_streams, stream,
};
use crate::inspect::Target;
use crate::{guard, sys};

/// How `mkstemp` opens.
const TEMPORARY_FLAGS: c_int = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;

/// Returns a request of the `stat` family.
fn plain(to: *mut c_void, flags: c_int) -> NameRequest {
    NameRequest::Status(Status::Plain { to, flags })
}

crate::intercept! {
    posix {
        // Opening and closing.
        open [open64] (path: *const c_char, flags: c_int, mode: mode_t) -> c_int
            => |real| descriptor::open(AT_FDCWD, path, flags, mode, || real(path, flags, mode));
        openat [openat64] (directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int
            => |real| descriptor::open(directory, path, flags, mode, || real(directory, path, flags, mode));
        __open_2 [__open64_2] (path: *const c_char, flags: c_int) -> c_int
            => |real| descriptor::open(AT_FDCWD, path, flags, 0, || real(path, flags));
        __openat_2 [__openat64_2] (directory: c_int, path: *const c_char, flags: c_int) -> c_int
            => |real| descriptor::open(directory, path, flags, 0, || real(directory, path, flags));
        creat [creat64] (path: *const c_char, mode: mode_t) -> c_int
            => |real| descriptor::open(AT_FDCWD, path, descriptor::CREAT_FLAGS, mode, || real(path, mode));
        mkstemp [mkstemp64] (template: *mut c_char) -> c_int
            => |real| descriptor::made(template, 0, TEMPORARY_FLAGS, || real(template));
        mkostemp [mkostemp64] (template: *mut c_char, flags: c_int) -> c_int
            => |real| descriptor::made(template, 0, TEMPORARY_FLAGS | flags, || real(template, flags));
        mkstemps [mkstemps64] (template: *mut c_char, suffix: c_int) -> c_int
            => |real| descriptor::made(template, suffix, TEMPORARY_FLAGS, || real(template, suffix));
        mkostemps [mkostemps64] (template: *mut c_char, suffix: c_int, flags: c_int) -> c_int
            => |real| descriptor::made(template, suffix, TEMPORARY_FLAGS | flags, || real(template, suffix, flags));
        close [] (fd: c_int) -> c_int
            => |real| descriptor::close(Op::Close, fd, || real(fd));
        close_range [] (first: c_uint, last: c_uint, flags: c_int) -> c_int
            => |real| descriptor::close_range(first, last, flags, |first, last| real(first, last, flags));
        closefrom [] (first: c_int) -> ()
            => |real| descriptor::close_from(first, || real(first));
        dup [] (fd: c_int) -> c_int
            => |real| descriptor::duplicate(fd, None, || real(fd));
        dup2 [] (fd: c_int, to: c_int) -> c_int
            => |real| descriptor::duplicate(fd, Some(to), || real(fd, to));
        dup3 [] (fd: c_int, to: c_int, flags: c_int) -> c_int
            => |real| descriptor::duplicate(fd, Some(to), || real(fd, to, flags));
        // Data.
        read [] (fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t
            => |real| data::sequential(Op::Read, fd, (buffer, length), || real(fd, buffer, length));
        __read_chk [] (fd: c_int, buffer: *mut c_void, length: size_t, room: size_t) -> ssize_t
            => |real| data::sequential(Op::Read, fd, (buffer, length), || real(fd, buffer, length, room));
        write [] (fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t
            => |real| data::sequential(Op::Write, fd, (buffer, length), || real(fd, buffer, length));
        pread [pread64] (fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t) -> ssize_t
            => |real| data::positioned(Op::Pread, fd, (buffer, length), offset, || real(fd, buffer, length, offset));
        __pread_chk [__pread64_chk] (fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t, room: size_t) -> ssize_t
            => |real| data::positioned(Op::Pread, fd, (buffer, length), offset, || real(fd, buffer, length, offset, room));
        pwrite [pwrite64] (fd: c_int, buffer: *const c_void, length: size_t, offset: off_t) -> ssize_t
            => |real| data::positioned(Op::Pwrite, fd, (buffer, length), offset, || real(fd, buffer, length, offset));
        readv [] (fd: c_int, buffers: *const iovec, count: c_int) -> ssize_t
            => |real| data::vector(Op::Readv, fd, (buffers, count), -1, 0, || real(fd, buffers, count));
        writev [] (fd: c_int, buffers: *const iovec, count: c_int) -> ssize_t
            => |real| data::vector(Op::Writev, fd, (buffers, count), -1, 0, || real(fd, buffers, count));
        preadv [preadv64] (fd: c_int, buffers: *const iovec, count: c_int, offset: off_t) -> ssize_t
            => |real| data::vector(Op::Preadv, fd, (buffers, count), offset, 0, || real(fd, buffers, count, offset));
        pwritev [pwritev64] (fd: c_int, buffers: *const iovec, count: c_int, offset: off_t) -> ssize_t
            => |real| data::vector(Op::Pwritev, fd, (buffers, count), offset, 0, || real(fd, buffers, count, offset));
        preadv2 [preadv64v2] (fd: c_int, buffers: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
            => |real| data::vector(Op::Preadv, fd, (buffers, count), offset, flags, || real(fd, buffers, count, offset, flags));
        pwritev2 [pwritev64v2] (fd: c_int, buffers: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
            => |real| data::vector(Op::Pwritev, fd, (buffers, count), offset, flags, || real(fd, buffers, count, offset, flags));
        copy_file_range [] (from: c_int, from_offset: *mut off_t, to: c_int, to_offset: *mut off_t, length: size_t, flags: c_uint) -> ssize_t
            => |real| data::between([Side { op: Op::CopyFileRange, fd: to, offset: to_offset }, Side { op: Op::CopyFileRangeRead, fd: from, offset: from_offset }], length, flags, || real(from, from_offset, to, to_offset, length, flags));
        sendfile [sendfile64] (to: c_int, from: c_int, offset: *mut off_t, length: size_t) -> ssize_t
            => |real| data::between([Side { op: Op::Sendfile, fd: from, offset }, Side { op: Op::SendfileWrite, fd: to, offset: ptr::null_mut() }], length, 0, || real(to, from, offset, length));
        splice [] (from: c_int, from_offset: *mut off_t, to: c_int, to_offset: *mut off_t, length: size_t, flags: c_uint) -> ssize_t
            => |real| data::between([Side { op: Op::SpliceRead, fd: from, offset: from_offset }, Side { op: Op::SpliceWrite, fd: to, offset: to_offset }], length, flags, || real(from, from_offset, to, to_offset, length, flags));
        lseek [lseek64] (fd: c_int, offset: off_t, whence: c_int) -> off_t
            => |real| descriptor::seek(fd, offset, whence, || real(fd, offset, whence));
        // Durability and space.
        fsync [] (fd: c_int) -> c_int
            => |real| descriptor::sync(Op::Fsync, fd, 0, || real(fd));
        fdatasync [] (fd: c_int) -> c_int
            => |real| descriptor::sync(Op::Fdatasync, fd, 0, || real(fd));
        sync_file_range [] (fd: c_int, offset: off_t, length: off_t, flags: c_uint) -> c_int
            => |real| descriptor::sync(Op::SyncFileRange, fd, length as u64, || real(fd, offset, length, flags));
        syncfs [] (fd: c_int) -> c_int
            => |real| descriptor::sync(Op::Sync, fd, 0, || real(fd));
        sync [] () -> ()
            => |real| descriptor::on_none(Op::Sync, 0, || real());
        ftruncate [ftruncate64] (fd: c_int, length: off_t) -> c_int
            => |real| descriptor::ask(Op::Ftruncate, fd, length as u64, || Request::Truncate { length }, || real(fd, length));
        truncate [truncate64] (path: *const c_char, length: off_t) -> c_int
            => |real| name::ask(Op::Truncate, AT_FDCWD, path, length as u64, || NameRequest::Truncate { length }, || real(path, length));
        fallocate [fallocate64] (fd: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int
            => |real| descriptor::ask(Op::Fallocate, fd, length as u64, || Request::Allocate { mode, offset, length }, || real(fd, mode, offset, length));
        posix_fallocate [posix_fallocate64] (fd: c_int, offset: off_t, length: off_t) -> c_int
            => |real| descriptor::ask_code(Op::Fallocate, fd, length as u64, || Request::Allocate { mode: 0, offset, length }, || real(fd, offset, length));
        // Locks.
        fcntl [fcntl64] (fd: c_int, command: c_int, argument: usize) -> c_int
            => |real| lock::control(fd, command, argument, || real(fd, command, argument));
        flock [] (fd: c_int, operation: c_int) -> c_int
            => |real| lock::whole_file(fd, operation, || real(fd, operation));
        lockf [lockf64] (fd: c_int, command: c_int, length: off_t) -> c_int
            => |real| lock::section(fd, command, length, || real(fd, command, length));
        // Attributes.
        stat [stat64] (path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Stat, AT_FDCWD, path, 0, || plain(status, 0), || real(path, status));
        lstat [lstat64] (path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Stat, AT_FDCWD, path, 0, || plain(status, AT_SYMLINK_NOFOLLOW), || real(path, status));
        fstat [fstat64] (fd: c_int, status: *mut c_void) -> c_int
            => |real| descriptor::ask(Op::Stat, fd, 0, || Request::Status(Status::Plain { to: status, flags: 0 }), || real(fd, status));
        fstatat [fstatat64] (directory: c_int, path: *const c_char, status: *mut c_void, flags: c_int) -> c_int
            => |real| name::ask(Op::Stat, directory, path, 0, || plain(status, flags), || real(directory, path, status, flags));
        statx [] (directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Stat, directory, path, 0, || NameRequest::Status(Status::Extended { to: status, flags, mask }), || real(directory, path, flags, mask, status));
        __xstat [__xstat64] (version: c_int, path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Stat, AT_FDCWD, path, 0, || plain(status, 0), || real(version, path, status));
        __lxstat [__lxstat64] (version: c_int, path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Stat, AT_FDCWD, path, 0, || plain(status, AT_SYMLINK_NOFOLLOW), || real(version, path, status));
        __fxstat [__fxstat64] (version: c_int, fd: c_int, status: *mut c_void) -> c_int
            => |real| descriptor::ask(Op::Stat, fd, 0, || Request::Status(Status::Plain { to: status, flags: 0 }), || real(version, fd, status));
        __fxstatat [__fxstatat64] (version: c_int, directory: c_int, path: *const c_char, status: *mut c_void, flags: c_int) -> c_int
            => |real| name::ask(Op::Stat, directory, path, 0, || plain(status, flags), || real(version, directory, path, status, flags));
        access [] (path: *const c_char, mode: c_int) -> c_int
            => |real| name::ask(Op::Access, AT_FDCWD, path, 0, || NameRequest::Access { mode, flags: 0 }, || real(path, mode));
        euidaccess [eaccess] (path: *const c_char, mode: c_int) -> c_int
            => |real| name::ask(Op::Access, AT_FDCWD, path, 0, || NameRequest::Access { mode, flags: AT_EACCESS }, || real(path, mode));
        faccessat [] (directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int
            => |real| name::ask(Op::Access, directory, path, 0, || NameRequest::Access { mode, flags }, || real(directory, path, mode, flags));
        chmod [] (path: *const c_char, mode: mode_t) -> c_int
            => |real| name::ask(Op::Chmod, AT_FDCWD, path, u64::from(mode), || NameRequest::ChangeMode { mode, flags: 0 }, || real(path, mode));
        fchmod [] (fd: c_int, mode: mode_t) -> c_int
            => |real| descriptor::ask(Op::Chmod, fd, u64::from(mode), || Request::ChangeMode { mode }, || real(fd, mode));
        fchmodat [] (directory: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int
            => |real| name::ask(Op::Chmod, directory, path, u64::from(mode), || NameRequest::ChangeMode { mode, flags }, || real(directory, path, mode, flags));
        statfs [statfs64] (path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Statfs, AT_FDCWD, path, 0, || NameRequest::FileSystem(FileSystemStatus::Statfs(status)), || real(path, status));
        statvfs [statvfs64] (path: *const c_char, status: *mut c_void) -> c_int
            => |real| name::ask(Op::Statfs, AT_FDCWD, path, 0, || NameRequest::FileSystem(FileSystemStatus::Statvfs(status)), || real(path, status));
        fstatfs [fstatfs64] (fd: c_int, status: *mut c_void) -> c_int
            => |real| descriptor::ask(Op::Statfs, fd, 0, || Request::FileSystem(FileSystemStatus::Statfs(status)), || real(fd, status));
        fstatvfs [fstatvfs64] (fd: c_int, status: *mut c_void) -> c_int
            => |real| descriptor::ask(Op::Statfs, fd, 0, || Request::FileSystem(FileSystemStatus::Statvfs(status)), || real(fd, status));
        getxattr [] (path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t
            => |real| name::attribute(path, 0, || AttributeRequest::Get { name, value, size }, || real(path, name, value, size));
        lgetxattr [] (path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t
            => |real| name::attribute(path, AT_SYMLINK_NOFOLLOW, || AttributeRequest::Get { name, value, size }, || real(path, name, value, size));
        fgetxattr [] (fd: c_int, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t
            => |real| descriptor::attribute(fd, || AttributeRequest::Get { name, value, size }, || real(fd, name, value, size));
        setxattr [] (path: *const c_char, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int
            => |real| name::attribute(path, 0, || AttributeRequest::Set { name, value, size, flags }, || real(path, name, value, size, flags));
        lsetxattr [] (path: *const c_char, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int
            => |real| name::attribute(path, AT_SYMLINK_NOFOLLOW, || AttributeRequest::Set { name, value, size, flags }, || real(path, name, value, size, flags));
        fsetxattr [] (fd: c_int, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int
            => |real| descriptor::attribute(fd, || AttributeRequest::Set { name, value, size, flags }, || real(fd, name, value, size, flags));
        listxattr [] (path: *const c_char, list: *mut c_char, size: size_t) -> ssize_t
            => |real| name::attribute(path, 0, || AttributeRequest::List { list, size }, || real(path, list, size));
        llistxattr [] (path: *const c_char, list: *mut c_char, size: size_t) -> ssize_t
            => |real| name::attribute(path, AT_SYMLINK_NOFOLLOW, || AttributeRequest::List { list, size }, || real(path, list, size));
        flistxattr [] (fd: c_int, list: *mut c_char, size: size_t) -> ssize_t
            => |real| descriptor::attribute(fd, || AttributeRequest::List { list, size }, || real(fd, list, size));
        removexattr [] (path: *const c_char, name: *const c_char) -> c_int
            => |real| name::attribute(path, 0, || AttributeRequest::Remove { name }, || real(path, name));
        lremovexattr [] (path: *const c_char, name: *const c_char) -> c_int
            => |real| name::attribute(path, AT_SYMLINK_NOFOLLOW, || AttributeRequest::Remove { name }, || real(path, name));
        fremovexattr [] (fd: c_int, name: *const c_char) -> c_int
            => |real| descriptor::attribute(fd, || AttributeRequest::Remove { name }, || real(fd, name));
        // Names.
        unlink [] (path: *const c_char) -> c_int
            => |real| name::ask(Op::Unlink, AT_FDCWD, path, 0, || NameRequest::Unlink { flags: 0 }, || real(path));
        remove [] (path: *const c_char) -> c_int
            => |real| name::remove(path, || real(path));
        unlinkat [] (directory: c_int, path: *const c_char, flags: c_int) -> c_int
            => |real| name::ask(name::unlinkat_op(flags), directory, path, 0, || NameRequest::Unlink { flags }, || real(directory, path, flags));
        rename [] (path: *const c_char, to: *const c_char) -> c_int
            => |real| name::ask(Op::Rename, AT_FDCWD, path, 0, || NameRequest::Rename { to: Name::new(AT_FDCWD, to), flags: 0 }, || real(path, to));
        renameat [] (directory: c_int, path: *const c_char, to_directory: c_int, to: *const c_char) -> c_int
            => |real| name::ask(Op::Rename, directory, path, 0, || NameRequest::Rename { to: Name::new(to_directory, to), flags: 0 }, || real(directory, path, to_directory, to));
        renameat2 [] (directory: c_int, path: *const c_char, to_directory: c_int, to: *const c_char, flags: c_uint) -> c_int
            => |real| name::ask(Op::Rename, directory, path, 0, || NameRequest::Rename { to: Name::new(to_directory, to), flags }, || real(directory, path, to_directory, to, flags));
        link [] (path: *const c_char, to: *const c_char) -> c_int
            => |real| name::ask(Op::Link, AT_FDCWD, path, 0, || NameRequest::Link { to: Name::new(AT_FDCWD, to), flags: 0 }, || real(path, to));
        linkat [] (directory: c_int, path: *const c_char, to_directory: c_int, to: *const c_char, flags: c_int) -> c_int
            => |real| name::ask(Op::Link, directory, path, 0, || NameRequest::Link { to: Name::new(to_directory, to), flags }, || real(directory, path, to_directory, to, flags));
        symlink [] (target: *const c_char, path: *const c_char) -> c_int
            => |real| name::ask(Op::Symlink, AT_FDCWD, path, 0, || NameRequest::Symlink { target }, || real(target, path));
        symlinkat [] (target: *const c_char, directory: c_int, path: *const c_char) -> c_int
            => |real| name::ask(Op::Symlink, directory, path, 0, || NameRequest::Symlink { target }, || real(target, directory, path));
        readlink [] (path: *const c_char, buffer: *mut c_char, length: size_t) -> ssize_t
            => |real| name::ask(Op::Readlink, AT_FDCWD, path, 0, || NameRequest::ReadLink { to: buffer, length }, || real(path, buffer, length));
        __readlink_chk [] (path: *const c_char, buffer: *mut c_char, length: size_t, room: size_t) -> ssize_t
            => |real| name::ask(Op::Readlink, AT_FDCWD, path, 0, || NameRequest::ReadLink { to: buffer, length }, || real(path, buffer, length, room));
        readlinkat [] (directory: c_int, path: *const c_char, buffer: *mut c_char, length: size_t) -> ssize_t
            => |real| name::ask(Op::Readlink, directory, path, 0, || NameRequest::ReadLink { to: buffer, length }, || real(directory, path, buffer, length));
        __readlinkat_chk [] (directory: c_int, path: *const c_char, buffer: *mut c_char, length: size_t, room: size_t) -> ssize_t
            => |real| name::ask(Op::Readlink, directory, path, 0, || NameRequest::ReadLink { to: buffer, length }, || real(directory, path, buffer, length, room));
        mkdir [] (path: *const c_char, mode: mode_t) -> c_int
            => |real| name::ask(Op::Mkdir, AT_FDCWD, path, u64::from(mode), || NameRequest::MakeDirectory { mode }, || real(path, mode));
        mkdirat [] (directory: c_int, path: *const c_char, mode: mode_t) -> c_int
            => |real| name::ask(Op::Mkdir, directory, path, u64::from(mode), || NameRequest::MakeDirectory { mode }, || real(directory, path, mode));
        mkdtemp [] (template: *mut c_char) -> *mut c_char
            => |real| name::made(template, || real(template));
        rmdir [] (path: *const c_char) -> c_int
            => |real| name::ask(Op::Rmdir, AT_FDCWD, path, 0, || NameRequest::Unlink { flags: AT_REMOVEDIR }, || real(path));
        // Directories.
        opendir [] (path: *const c_char) -> *mut DIR
            => |real| directory::open(path, || real(path));
        fdopendir [] (fd: c_int) -> *mut DIR
            => |real| directory::open_descriptor(fd, || real(fd));
        readdir [readdir64] (stream: *mut DIR) -> *mut c_void
            => |real| directory::read(stream, || real(stream));
        getdents64 [] (fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t
            => |real| directory::read_entries(fd, buffer.cast(), || real(fd, buffer, length));
        closedir [] (stream: *mut DIR) -> c_int
            => |real| directory::close(stream, || real(stream));
        // Mappings.
        mmap [mmap64] (address: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void
            => |real| mapping::map(fd, MapRequest { address, length, protection, flags, offset }, || real(address, length, protection, flags, fd, offset));
        munmap [] (address: *mut c_void, length: size_t) -> c_int
            => |real| mapping::unmap(address, length, || real(address, length));
        msync [] (address: *mut c_void, length: size_t, flags: c_int) -> c_int
            => |real| mapping::sync(address, length, || real(address, length, flags));
    }
    stdio {
        fopen [fopen64] (path: *const c_char, mode: *const c_char) -> *mut FILE
            => |real| stream::open(path, mode, || real(path, mode));
        freopen [freopen64] (path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE
            => |real| stream::reopen(path, mode, stream, |path| real(path, mode, stream));
        fdopen [] (fd: c_int, mode: *const c_char) -> *mut FILE
            => |real| stream::open_descriptor(fd, mode, || real(fd, mode));
        tmpfile [tmpfile64] () -> *mut FILE
            => |real| descriptor::on_none(Op::Fopen, 0, || real());
        fclose [] (stream: *mut FILE) -> c_int
            => |real| stream::close(stream, || real(stream));
        fread [fread_unlocked] (buffer: *mut c_void, size: size_t, items: size_t, stream: *mut FILE) -> size_t
            => |real| stream::read(stream, (size, items), || real(buffer, size, items, stream));
        __fread_chk [__fread_unlocked_chk] (buffer: *mut c_void, room: size_t, size: size_t, items: size_t, stream: *mut FILE) -> size_t
            => |real| stream::read(stream, (size, items), || real(buffer, room, size, items, stream));
        fwrite [fwrite_unlocked] (buffer: *const c_void, size: size_t, items: size_t, stream: *mut FILE) -> size_t
            => |real| stream::data(Op::Fwrite, stream, || real(buffer, size, items, stream), stream::items(size, items));
        fgets [fgets_unlocked] (buffer: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char
            => |real| stream::data(Op::Fgets, stream, || real(buffer, size, stream), |line| stream::line(line));
        __fgets_chk [__fgets_unlocked_chk] (buffer: *mut c_char, room: size_t, size: c_int, stream: *mut FILE) -> *mut c_char
            => |real| stream::data(Op::Fgets, stream, || real(buffer, room, size, stream), |line| stream::line(line));
        fputs [fputs_unlocked] (text: *const c_char, stream: *mut FILE) -> c_int
            => |real| stream::data(Op::Fputs, stream, || real(text, stream), stream::text(text, 0));
        puts [] (text: *const c_char) -> c_int
            => |real| stream::data(Op::Fputs, standard_streams::output(), || real(text), stream::text(text, 1));
        fgetc [getc fgetc_unlocked getc_unlocked _IO_getc] (stream: *mut FILE) -> c_int
            => |real| stream::data(Op::Fgetc, stream, || real(stream), stream::byte_read);
        getchar [getchar_unlocked] () -> c_int
            => |real| stream::data(Op::Fgetc, standard_streams::input(), || real(), stream::byte_read);
        fputc [putc fputc_unlocked putc_unlocked _IO_putc] (byte: c_int, stream: *mut FILE) -> c_int
            => |real| stream::data(Op::Fputc, stream, || real(byte, stream), stream::byte_written);
        putchar [putchar_unlocked] (byte: c_int) -> c_int
            => |real| stream::data(Op::Fputc, standard_streams::output(), || real(byte), stream::byte_written);
        __uflow [] (stream: *mut FILE) -> c_int
            => |real| inlined::call(Op::Fgetc, stream, || real(stream), stream::byte_read);
        __overflow [] (stream: *mut FILE, byte: c_int) -> c_int
            => |real| inlined::call(Op::Fputc, stream, || real(stream, byte), stream::byte_written);
        getdelim [__getdelim] (line: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE) -> ssize_t
            => |real| stream::data(Op::Getline, stream, || real(line, room, delimiter, stream), stream::count);
        getline [] (line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> ssize_t
            => |real| stream::data(Op::Getline, stream, || real(line, room, stream), stream::count);
        vfprintf [] (stream: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::data(Op::Fprintf, stream, || real(stream, format, list), stream::count_or_failure);
        vprintf [] (format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::data(Op::Fprintf, standard_streams::output(), || real(format, list), stream::count_or_failure);
        __vfprintf_chk [] (stream: *mut FILE, flag: c_int, format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::data(Op::Fprintf, stream, || real(stream, flag, format, list), stream::count_or_failure);
        __vprintf_chk [] (flag: c_int, format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::data(Op::Fprintf, standard_streams::output(), || real(flag, format, list), stream::count_or_failure);
        vdprintf [] (fd: c_int, format: *const c_char, list: *mut c_void) -> c_int
            => |_| printed::print(fd, |text| vasprintf(text, format, list));
        __vdprintf_chk [] (fd: c_int, flag: c_int, format: *const c_char, list: *mut c_void) -> c_int
            => |_| printed::print(fd, |text| __vasprintf_chk(text, flag, format, list));
        vfscanf [__isoc99_vfscanf __isoc23_vfscanf] (stream: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::scan(stream, || real(stream, format, list));
        vscanf [__isoc99_vscanf __isoc23_vscanf] (format: *const c_char, list: *mut c_void) -> c_int
            => |real| stream::scan(standard_streams::input(), || real(format, list));
        fseek [] (stream: *mut FILE, offset: c_long, whence: c_int) -> c_int
            => |real| stream::seek(stream, || real(stream, offset, whence));
        fseeko [fseeko64] (stream: *mut FILE, offset: off_t, whence: c_int) -> c_int
            => |real| stream::seek(stream, || real(stream, offset, whence));
        fsetpos [fsetpos64] (stream: *mut FILE, position: *const c_void) -> c_int
            => |real| stream::seek(stream, || real(stream, position));
        rewind [] (stream: *mut FILE) -> ()
            => |real| stream::seek(stream, || real(stream));
        fflush [fflush_unlocked] (stream: *mut FILE) -> c_int
            => |real| stream::flush(stream, || real(stream));
    }
    program {
        // Vfork shares memory with its child, whose calls would then be the parent's, and a child that is recorded needs memory of its own: fork does the same for a program.
        vfork [] () -> pid_t
            => |_| libc::fork();
        _exit [_Exit quick_exit] (status: c_int) -> !
            => |real| { program::ends(); real(status) };
        execve [] (path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
            => |real| program::execute(Target::Path(AT_FDCWD, path), environment, |environment| real(path, arguments, environment));
        execv [] (path: *const c_char, arguments: *const *const c_char) -> c_int
            => |_| execve(path, arguments, sys::environment());
        execvpe [] (name: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
            => |real| program::execute(Target::Name(name), environment, |environment| real(name, arguments, environment));
        execvp [] (name: *const c_char, arguments: *const *const c_char) -> c_int
            => |_| execvpe(name, arguments, sys::environment());
        fexecve [] (fd: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
            => |real| program::execute_at(Target::Descriptor(fd), fd, environment, |fd, environment| real(fd, arguments, environment));
        execveat [] (directory: c_int, path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char, flags: c_int) -> c_int
            => |real| program::execute_at(Target::at(directory, path, flags), directory, environment, |directory, environment| real(directory, path, arguments, environment, flags));
        posix_spawn [] (pid: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
            => |real| program::spawn(pid, Target::Path(AT_FDCWD, path), environment, |pid, environment| real(pid, path, actions, attributes, arguments, environment));
        posix_spawnp [] (pid: *mut pid_t, name: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
            => |real| program::spawn(pid, Target::Name(name), environment, |pid, environment| real(pid, name, actions, attributes, arguments, environment));
        chdir [] (path: *const c_char) -> c_int
            => |real| program::change_directory(|| backend::serve_name(|| Name::new(AT_FDCWD, path), || NameRequest::ChangeDirectory, || real(path)));
        fchdir [] (fd: c_int) -> c_int
            => |real| program::change_directory(|| real(fd));
        chroot [] (path: *const c_char) -> c_int
            => |real| program::change_root(|| real(path));
        unshare [] (flags: c_int) -> c_int
            => |real| program::change_root(|| real(flags));
        setns [] (fd: c_int, kind: c_int) -> c_int
            => |real| program::change_root(|| real(fd, kind));
        setuid [] (user: uid_t) -> c_int
            => |real| program::change_user(|| real(user));
        seteuid [] (user: uid_t) -> c_int
            => |real| program::change_user(|| real(user));
        setreuid [] (real_user: uid_t, user: uid_t) -> c_int
            => |real| program::change_user(|| real(real_user, user));
        setresuid [] (real_user: uid_t, user: uid_t, saved: uid_t) -> c_int
            => |real| program::change_user(|| real(real_user, user, saved));
        sigaction [] (signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int
            => |real| guard::action(signal, new, old, |new| real(signal, new, old));
        signal [] (signal: c_int, handler: usize) -> usize
            => |real| guard::handler(signal, handler, || real(signal, handler));
        // Not for its own sake: nothing is recorded, and a backend's blocks are its own.
        ioctl [] (fd: c_int, request: c_ulong, argument: usize) -> c_int
            => |real| data::share_blocks(fd, request, argument, || real(fd, request, argument));
        // Nothing is recorded: they are the rest of what a backend must know of names.
        chown [] (path: *const c_char, owner: uid_t, group: gid_t) -> c_int
            => |real| name::change_owner(AT_FDCWD, path, owner, group, 0, || real(path, owner, group));
        lchown [] (path: *const c_char, owner: uid_t, group: gid_t) -> c_int
            => |real| name::change_owner(AT_FDCWD, path, owner, group, AT_SYMLINK_NOFOLLOW, || real(path, owner, group));
        fchownat [] (directory: c_int, path: *const c_char, owner: uid_t, group: gid_t, flags: c_int) -> c_int
            => |real| name::change_owner(directory, path, owner, group, flags, || real(directory, path, owner, group, flags));
        utimensat [] (directory: c_int, path: *const c_char, times: *const timespec, flags: c_int) -> c_int
            => |real| name::change_times(directory, path, || name::times(times), flags, || real(directory, path, times, flags));
        utimes [] (path: *const c_char, times: *const timeval) -> c_int
            => |real| name::change_times(AT_FDCWD, path, || name::exact_times(times), 0, || real(path, times));
        lutimes [] (path: *const c_char, times: *const timeval) -> c_int
            => |real| name::change_times(AT_FDCWD, path, || name::exact_times(times), AT_SYMLINK_NOFOLLOW, || real(path, times));
        futimesat [] (directory: c_int, path: *const c_char, times: *const timeval) -> c_int
            => |real| name::change_times(directory, path, || name::exact_times(times), 0, || real(directory, path, times));
        utime [] (path: *const c_char, times: *const utimbuf) -> c_int
            => |real| name::change_times(AT_FDCWD, path, || name::whole_times(times), 0, || real(path, times));
        prctl [] (option: c_int, one: usize, two: usize, three: usize, four: usize) -> c_int
            => |real| program::control(option, one, || real(option, one, two, three, four));
    }
}
