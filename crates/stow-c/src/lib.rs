//! Containers for programs in C: include/plimsoll_stow.h says what each function does.
//!
//! A call never unwinds into C: a panic is a failed call with EIO. What a caller hands over is checked as far as it can be; that a
//! pointer leads to as many bytes as is said is the caller's promise.

mod failure;
mod handle;
mod open;

use std::ffi::{CStr, c_char, c_int, c_void};

use failure::{Failure, answer, answer_pointer};
pub use handle::Handle;

/// Changes when a program that was built before would not run any more.
pub const API: c_int = 1;

/// Returns which API this is.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_stow_api() -> c_int {
    API
}

/// Opens a container.
///
/// # Safety
/// The path is a C string, and targets are `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_open(
    path: *const c_char,
    flags: c_int,
    targets: *const *const c_char,
    count: usize,
) -> *mut Handle {
    answer_pointer(|| {
        if path.is_null() || (targets.is_null() && count > 0) {
            return Err(Failure::invalid("a pointer is NULL"));
        }
        // SAFETY: the caller's promise.
        let path = unsafe { CStr::from_ptr(path) };
        let pointers = match count {
            0 => &[],
            // SAFETY: the caller's promise; it is not NULL.
            _ => unsafe { std::slice::from_raw_parts(targets, count) },
        };
        let mut targets = Vec::with_capacity(pointers.len());
        for &pointer in pointers {
            if pointer.is_null() {
                return Err(Failure::invalid("a target is NULL"));
            }
            // SAFETY: the caller's promise.
            targets.push(unsafe { CStr::from_ptr(pointer) });
        }
        open::open(path, flags, &targets)
    })
}

/// Writes at an offset.
///
/// # Safety
/// The handle is open, and there are `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_write_at(
    container: *mut Handle,
    bytes: *const c_void,
    count: usize,
    offset: u64,
) -> isize {
    answer(|| {
        // SAFETY: the caller's promise.
        let (handle, bytes) = unsafe { (handle_at(container)?, bytes_at(bytes, count)?) };
        handle.write_at(bytes, offset)?;
        Ok(count as isize)
    })
}

/// Writes at the end.
///
/// # Safety
/// As [`plimsoll_stow_write_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_append(
    container: *mut Handle,
    bytes: *const c_void,
    count: usize,
) -> i64 {
    answer(|| {
        // SAFETY: the caller's promise.
        let (handle, bytes) = unsafe { (handle_at(container)?, bytes_at(bytes, count)?) };
        Ok(handle.append(bytes)?.cast_signed())
    })
}

/// Reads from an offset on.
///
/// # Safety
/// The handle is open, and there is room for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_read_at(
    container: *mut Handle,
    bytes: *mut c_void,
    count: usize,
    offset: u64,
) -> isize {
    answer(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle_at(container)? };
        require_size(bytes.is_null(), count)?;
        let room = match count {
            0 => &mut [],
            // SAFETY: the caller's promise; it is not NULL, and not too large.
            _ => unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), count) },
        };
        Ok(handle.read_at(room, offset)? as isize)
    })
}

/// Looks for what others wrote.
///
/// # Safety
/// The handle is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_refresh(container: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { handle_at(container)? }.refresh().map(|()| 0))
}

/// Returns the size of the file.
///
/// # Safety
/// The handle is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_size(container: *mut Handle) -> i64 {
    // SAFETY: the caller's promise.
    answer(|| unsafe { handle_at(container)? }.size().map(u64::cast_signed))
}

/// Gives the file another size.
///
/// # Safety
/// The handle is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_truncate(container: *mut Handle, size: u64) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { handle_at(container)? }.truncate(size).map(|()| 0))
}

/// Makes durable what the node wrote.
///
/// # Safety
/// The handle is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_sync(container: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { handle_at(container)? }.sync().map(|()| 0))
}

/// Closes a container.
///
/// # Safety
/// The handle is open, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_stow_close(container: *mut Handle) -> c_int {
    answer(|| {
        if container.is_null() {
            return Ok(0);
        }
        // SAFETY: the caller's promise; it was made by `plimsoll_stow_open`.
        let handle = unsafe { Box::from_raw(container) };
        handle.close().map(|()| 0)
    })
}

/// Returns why the last call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_stow_error() -> *const c_char {
    failure::text()
}

/// # Safety
/// It is NULL or open.
unsafe fn handle_at<'a>(container: *mut Handle) -> Result<&'a Handle, Failure> {
    // SAFETY: the caller's promise.
    unsafe { container.as_ref() }.ok_or_else(|| Failure::invalid("the container is NULL"))
}

/// # Safety
/// There are `count` bytes.
unsafe fn bytes_at<'a>(bytes: *const c_void, count: usize) -> Result<&'a [u8], Failure> {
    require_size(bytes.is_null(), count)?;
    match count {
        0 => Ok(&[]),
        // SAFETY: the caller's promise; it is not NULL, and not too large.
        _ => Ok(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }),
    }
}

fn require_size(is_null: bool, count: usize) -> Result<(), Failure> {
    match count {
        _ if is_null && count > 0 => Err(Failure::invalid("the bytes are NULL")),
        _ if count > isize::MAX as usize => Err(Failure::invalid("more bytes than there can be")),
        _ => Ok(()),
    }
}
