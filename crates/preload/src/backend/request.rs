//! What a program asks for, whole: everything that whoever serves a call must know. Addresses are the program's own
//! and may be wrong.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libc::{dirent64, gid_t, iovec, mode_t, off_t, timespec, uid_t};
use plimsoll_trace::Op;

use crate::sys;

/// A call on a descriptor.
#[derive(Clone, Copy)]
pub enum Request {
    /// Data between memory and the file.
    Move(TransferRequest),
    /// Data from one file to another; the descriptor is one of the two.
    Copy {
        /// Which call: `copy_file_range`, `sendfile` or `splice`.
        op: Op,
        /// Where the data comes from.
        from: End,
        /// Where it goes.
        to: End,
        /// Bytes.
        length: usize,
        /// As of that call; none for `sendfile`.
        flags: c_uint,
    },
    /// Set the position.
    Seek {
        /// Bytes from where `whence` says.
        offset: off_t,
        /// As of `lseek`.
        whence: c_int,
    },
    /// Tell what the file is.
    Status(Status),
    /// Make the file this long.
    Truncate {
        /// Bytes.
        length: off_t,
    },
    /// Allocate or free space.
    Allocate {
        /// As of `fallocate`.
        mode: c_int,
        /// First byte.
        offset: off_t,
        /// Bytes.
        length: off_t,
    },
    /// Make durable what was written: `fsync`, `fdatasync`, `aio_fsync`, `syncfs` (with everything else), and
    /// `sync_file_range`, whose range is not told, as more is no error.
    Sync {
        /// Which call.
        op: Op,
    },
    /// Take or give up a lock, or ask about it.
    Lock(LockRequest),
    /// Map the file into memory.
    Map(MapRequest),
    /// Give the file one more name.
    Link,
    /// Change its rights.
    ChangeMode {
        /// As of `fchmod`.
        mode: mode_t,
    },
    /// Tell about the file system.
    FileSystem(FileSystemStatus),
    /// Read or change an extended attribute.
    Attribute(AttributeRequest),
    /// An entry that the kernel has just given of the directory, for `readdir` or `getdents64`: it may be changed,
    /// where its name does not become longer. The answer is `HIDDEN` where the program is not to see it.
    Entry(*mut dirent64),
    /// The process becomes the program that the file is. The answer is another descriptor to execute, which is closed if that fails.
    Execute,
    /// The descriptor is about to be closed, whatever the answer is; an error is what the program is told. Not told where
    /// the process ends or becomes another program.
    Close,
}

/// The answer that leaves an entry out of its directory.
pub const HIDDEN: usize = 0;

/// A transfer between memory and a file.
#[derive(Clone, Copy)]
pub struct TransferRequest {
    /// Which call; its class says in which direction.
    pub op: Op,
    /// Where the data is, or goes.
    pub buffers: Buffers,
    /// Where in the file; `None` is the descriptor's position.
    pub offset: Option<off_t>,
    /// As of `preadv2`.
    pub flags: c_int,
}

/// Memory of the program, or of the library.
#[derive(Clone, Copy)]
pub enum Buffers {
    /// In one piece.
    One {
        /// Where it begins.
        address: *mut c_void,
        /// Bytes.
        length: usize,
    },
    /// In several.
    Many {
        /// The list of pieces.
        list: *const iovec,
        /// How many.
        count: c_int,
    },
    /// The library's, in one piece, which nobody changes meanwhile.
    Own {
        /// Where it begins.
        address: *mut c_void,
        /// Bytes.
        length: usize,
    },
}

impl Buffers {
    /// Returns a buffer that is written to or, whatever its type says, only read from.
    #[inline(always)]
    pub fn one<T>(address: *const T, length: usize) -> Self {
        Buffers::One { address: address.cast_mut().cast(), length }
    }
}

/// One end of a transfer between files.
#[derive(Clone, Copy)]
pub struct End {
    /// The descriptor.
    pub fd: c_int,
    /// Where the offset is kept; null is the descriptor's position.
    pub offset: *mut off_t,
}

/// Where to put what a file is.
#[derive(Clone, Copy)]
pub enum Status {
    /// As of `stat`.
    Plain {
        /// A `struct stat`.
        to: *mut c_void,
        /// As of `fstatat`.
        flags: c_int,
    },
    /// As of `statx`.
    Extended {
        /// A `struct statx`.
        to: *mut c_void,
        /// As of `statx`.
        flags: c_int,
        /// What is wanted.
        mask: c_uint,
    },
}

impl Status {
    /// Returns the flags of the call.
    pub fn flags(&self) -> c_int {
        match *self {
            Status::Plain { flags, .. } | Status::Extended { flags, .. } => flags,
        }
    }
}

/// Where to put what a file system is.
#[derive(Clone, Copy)]
pub enum FileSystemStatus {
    /// A `struct statfs`.
    Statfs(*mut c_void),
    /// A `struct statvfs`.
    Statvfs(*mut c_void),
}

/// What is done with extended attributes.
#[derive(Clone, Copy)]
pub enum AttributeRequest {
    /// Read one.
    Get {
        /// Its name.
        name: *const c_char,
        /// Where the value goes.
        value: *mut c_void,
        /// Room for it; with 0, only the size is asked for.
        size: usize,
    },
    /// Set one.
    Set {
        /// Its name.
        name: *const c_char,
        /// The value.
        value: *const c_void,
        /// Its bytes.
        size: usize,
        /// As of `setxattr`.
        flags: c_int,
    },
    /// List the names.
    List {
        /// Where they go, each with a zero behind it.
        list: *mut c_char,
        /// Room for them; with 0, only the size is asked for.
        size: usize,
    },
    /// Remove one.
    Remove {
        /// Its name.
        name: *const c_char,
    },
}

/// A lock.
#[derive(Clone, Copy)]
pub enum LockRequest {
    /// `fcntl` with one of its commands about locks.
    Range {
        /// The command.
        command: c_int,
        /// A `struct flock`.
        lock: usize,
    },
    /// `flock`.
    Whole {
        /// As of `flock`.
        operation: c_int,
    },
    /// `lockf`.
    Section {
        /// The command.
        command: c_int,
        /// Bytes from the position on.
        length: off_t,
    },
}

/// A mapping.
#[derive(Clone, Copy)]
pub struct MapRequest {
    /// Where the program wants it.
    pub address: *mut c_void,
    /// Bytes.
    pub length: usize,
    /// As of `mmap`.
    pub protection: c_int,
    /// As of `mmap`.
    pub flags: c_int,
    /// Where in the file.
    pub offset: off_t,
}

/// A name, relative to a directory.
#[derive(Clone, Copy)]
pub struct Name {
    /// A directory's descriptor, or `AT_FDCWD`.
    pub directory: c_int,
    path: *const c_char,
}

impl Name {
    /// Returns a name that a program gave to a call.
    #[inline(always)]
    pub fn new(directory: c_int, path: *const c_char) -> Self {
        Name { directory, path }
    }

    /// Returns the name; `None` where the program gave no address, or one at which no program has memory: the kernel says what is wrong with that.
    pub fn path(&self) -> Option<&CStr> {
        // SAFETY: the program says so, as it would to the kernel, which reads it next.
        sys::may_be_memory(self.path).then(|| unsafe { CStr::from_ptr(self.path) })
    }
}

/// A call on a name. Flags are those of the call that has some, such as AT_SYMLINK_NOFOLLOW.
#[derive(Clone, Copy)]
pub enum NameRequest {
    /// Open the file, or a directory to read it; the result is a descriptor.
    Open {
        /// As of `open`.
        flags: c_int,
        /// Rights of a new file.
        mode: mode_t,
    },
    /// Open the file by a name of which the kernel is to bound where it leads (`openat2`).
    OpenWithin,
    /// Tell what the file is.
    Status(Status),
    /// May it be used so?
    Access {
        /// As of `access`.
        mode: c_int,
        /// As of `faccessat`.
        flags: c_int,
    },
    /// Make the file this long.
    Truncate {
        /// Bytes.
        length: off_t,
    },
    /// Remove the name, of a directory with AT_REMOVEDIR.
    Unlink {
        /// As of `unlinkat`.
        flags: c_int,
    },
    /// Give the file another name.
    Rename {
        /// The other name.
        to: Name,
        /// As of `renameat2`.
        flags: c_uint,
    },
    /// Give the file a further name.
    Link {
        /// The further name.
        to: Name,
        /// As of `linkat`.
        flags: c_int,
    },
    /// Make a symbolic link of this name.
    Symlink {
        /// What it says.
        target: *const c_char,
    },
    /// Tell what a symbolic link says.
    ReadLink {
        /// Where that goes, without a zero behind it.
        to: *mut c_char,
        /// Room for it.
        length: usize,
    },
    /// Make a directory.
    MakeDirectory {
        /// Its rights.
        mode: mode_t,
    },
    /// Make the directory the working directory.
    ChangeDirectory,
    /// Execute the file. Without an answer, the kernel does so.
    Execute,
    /// Change its rights.
    ChangeMode {
        /// As of `chmod`.
        mode: mode_t,
        /// As of `fchmodat`.
        flags: c_int,
    },
    /// Change its owner and group; all ones leave the one as it is.
    ChangeOwner {
        /// As of `chown`.
        owner: uid_t,
        /// As of `chown`.
        group: gid_t,
        /// As of `fchownat`.
        flags: c_int,
    },
    /// Change its times.
    ChangeTimes {
        /// As of `utimensat`: of the last access, and of the last change.
        times: [timespec; 2],
        /// As of `utimensat`.
        flags: c_int,
    },
    /// Tell about the file system.
    FileSystem(FileSystemStatus),
    /// Read or change an extended attribute.
    Attribute {
        /// Which, and how.
        request: AttributeRequest,
        /// AT_SYMLINK_NOFOLLOW, or nothing.
        flags: c_int,
    },
}
