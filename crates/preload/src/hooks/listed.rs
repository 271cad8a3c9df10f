//! Functions of the C library that read directories inside of it. Where a backend may own the entries, they are made of the calls that are served.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use libc::{DIR, dirent64, size_t};

use crate::backend;
use crate::hooks::directory;
use crate::{sys, table};

/// Which entries `scandir` takes.
pub type Filter = Option<unsafe extern "C-unwind" fn(*const dirent64) -> c_int>;
/// In which order.
pub type Order = Option<unsafe extern "C" fn(*const c_void, *const c_void) -> c_int>;

const DIRECTORY_FLAGS: c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// Stands in for `scandir` and `scandirat`.
///
/// # Safety
/// The arguments are what a program gave to such a function.
pub unsafe fn scan(
    at: c_int,
    path: *const c_char,
    list: *mut *mut *mut dirent64,
    filter: Filter,
    order: Order,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !backend::is_active() {
        return real();
    }
    // SAFETY: as the caller says.
    unsafe {
        let fd = table::openat(at, path, DIRECTORY_FLAGS, 0);
        if fd < 0 {
            return -1;
        }
        let directory = table::fdopendir(fd);
        if directory.is_null() {
            let error = sys::errno();
            table::close(fd);
            sys::set_errno(error);
            return -1;
        }
        let before = sys::errno();
        let mut entries = Entries { first: ptr::null_mut(), count: 0, room: 0 };
        let taken = entries.take(directory, filter);
        table::closedir(directory);
        if let Err(error) = taken {
            entries.give_back();
            sys::set_errno(error);
            return -1;
        }
        if let Some(order) = order {
            let size = size_of::<*mut dirent64>();
            libc::qsort(entries.first.cast(), entries.count, size, Some(order));
        }
        *list = entries.first;
        sys::set_errno(before);
        entries.count as c_int
    }
}

/// Entries as `scandir` gives them: each in memory of its own that the program frees.
struct Entries {
    first: *mut *mut dirent64,
    count: usize,
    /// As many fit.
    room: usize,
}

impl Entries {
    /// # Safety
    /// An open directory.
    unsafe fn take(&mut self, directory: *mut DIR, filter: Filter) -> Result<(), c_int> {
        loop {
            sys::set_errno(0);
            // SAFETY: an open directory.
            let entry = unsafe { table::readdir(directory) }.cast::<dirent64>();
            if entry.is_null() {
                let error = sys::errno();
                // A program gets a list that it can free, however short it is.
                return if error != 0 { Err(error) } else { self.make_room() };
            }
            // SAFETY: an entry, which the program may look at.
            if filter.is_none_or(|takes| unsafe { takes(entry) } != 0) {
                self.make_room()?;
                // SAFETY: there is room for one more, and the entry is as long as it says.
                unsafe { self.push(entry) }?;
            }
        }
    }

    /// Makes room for one more.
    fn make_room(&mut self) -> Result<(), c_int> {
        if self.count < self.room {
            return Ok(());
        }
        let room = (self.room * 2).max(16);
        // SAFETY: null, or memory that came from there.
        let first = unsafe { libc::realloc(self.first.cast(), room * size_of::<*mut dirent64>()) };
        if first.is_null() {
            return Err(libc::ENOMEM);
        }
        (self.first, self.room) = (first.cast(), room);
        Ok(())
    }

    /// # Safety
    /// There is room, and an entry.
    unsafe fn push(&mut self, entry: *const dirent64) -> Result<(), c_int> {
        // SAFETY: as the caller says.
        unsafe {
            let size: size_t = (&raw const (*entry).d_reclen).read_unaligned().into();
            let copy = libc::malloc(size.max(1));
            if copy.is_null() {
                return Err(libc::ENOMEM);
            }
            ptr::copy_nonoverlapping(entry.cast::<u8>(), copy.cast(), size);
            self.first.add(self.count).write(copy.cast());
        }
        self.count += 1;
        Ok(())
    }

    fn give_back(self) {
        // SAFETY: all of it came from there.
        unsafe {
            (0..self.count).for_each(|place| libc::free((*self.first.add(place)).cast()));
            libc::free(self.first.cast());
        }
    }
}

/// Stands in for `readdir_r`.
///
/// # Safety
/// An open directory, and room for a pointer to its entry.
pub unsafe fn read_into(
    directory: *mut DIR,
    result: *mut *mut dirent64,
    mut real: impl FnMut() -> c_int,
) -> c_int {
    loop {
        let error = real();
        // SAFETY: as the caller says: the function has written there.
        let entry = if error == 0 { unsafe { *result } } else { ptr::null_mut() };
        // SAFETY: an open directory and its entry.
        if entry.is_null() || unsafe { directory::shows(directory, entry) } {
            return error;
        }
    }
}

/// A `glob_t` (glob(3)); with GLOB_ALTDIRFUNC the C library reads directories by the functions in it.
#[repr(C)]
pub struct Glob {
    count: size_t,
    paths: *mut *mut c_char,
    offset: size_t,
    flags: c_int,
    close: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
    read: Option<unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void>,
    open: Option<unsafe extern "C-unwind" fn(*const c_char) -> *mut c_void>,
    link_status: Option<unsafe extern "C-unwind" fn(*const c_char, *mut c_void) -> c_int>,
    status: Option<unsafe extern "C-unwind" fn(*const c_char, *mut c_void) -> c_int>,
}

const GLOB_ALTDIRFUNC: c_int = 1 << 9;

/// Stands in for `glob`.
///
/// # Safety
/// What a program gave to it.
pub unsafe fn glob(flags: c_int, to: *mut Glob, real: impl FnOnce(c_int) -> c_int) -> c_int {
    if !backend::is_active() || flags & GLOB_ALTDIRFUNC != 0 || to.is_null() {
        return real(flags);
    }
    // SAFETY: the program's own, which has room for them.
    unsafe {
        (*to).close = Some(close_directory);
        (*to).read = Some(read_directory);
        (*to).open = Some(open_directory);
        (*to).link_status = Some(table::lstat);
        (*to).status = Some(table::stat);
        let result = real(flags | GLOB_ALTDIRFUNC);
        (*to).flags &= !GLOB_ALTDIRFUNC;
        result
    }
}

unsafe extern "C-unwind" fn open_directory(path: *const c_char) -> *mut c_void {
    // SAFETY: the C library's arguments.
    unsafe { table::opendir(path).cast() }
}

unsafe extern "C-unwind" fn read_directory(directory: *mut c_void) -> *mut c_void {
    // SAFETY: the C library's arguments.
    unsafe { table::readdir(directory.cast()) }
}

unsafe extern "C-unwind" fn close_directory(directory: *mut c_void) {
    // SAFETY: the C library's arguments.
    unsafe { table::closedir(directory.cast()) };
}
