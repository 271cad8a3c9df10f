//! Calls that move no data.

use core::ffi::c_int;

use plimsoll_trace::encode::UNKNOWN_OFFSET;

use super::real::Words;
use super::{MpiFunction, Recording, What, files, hints, library, path};

/// Records a call with the arguments `(comm, name, mode, info, *file)`. The argument is the mode as MPICH and Open MPI
/// number it.
pub fn open(function: &'static MpiFunction, words: Words) -> c_int {
    let [_, name, mode, info, handle, _] = words;
    let Some(mut recording) = Recording::begin(function.op, || path::file_number(name)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    let mode = library::common_mode(mode as u32);
    recording.end(result, What::argument(u64::from(mode)));
    if result == 0
        && let Some(handle) = read_handle(handle)
    {
        files::insert(handle, recording.file, mode & library::MODE_SEQUENTIAL != 0);
        hints::given(recording.file, info);
        hints::used(recording.file, handle);
    }
    result
}

/// Records a call with the arguments `(*file)`.
pub fn close(function: &'static MpiFunction, words: Words) -> c_int {
    let handle = read_handle(words[0]).unwrap_or(0);
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    files::remove(handle);
    let result = function.real.call(&words);
    recording.end(result, What::NOTHING);
    result
}

/// Records a call with the arguments `(name, info)`.
pub fn delete(function: &'static MpiFunction, words: Words) -> c_int {
    let Some(mut recording) = Recording::begin(function.op, || path::file_number(words[0])) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    recording.end(result, What::NOTHING);
    result
}

/// Records a call with the arguments `(file, displacement, etype, filetype, representation, info)`. The argument is
/// the displacement.
pub fn set_view(function: &'static MpiFunction, words: Words) -> c_int {
    let [handle, displacement, etype, filetype, _, info] = words;
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    recording.end(result, What::argument(displacement as u64));
    if result == 0 {
        let step_bytes = if library::is_contiguous(filetype) {
            library::type_bytes(etype).unwrap_or(0)
        } else {
            0
        };
        files::set_view(handle, displacement as i64, step_bytes);
        hints::given(recording.file, info);
    }
    result
}

/// Records a call with the arguments `(file, offset, whence)`. The argument is the new position in bytes, if it is
/// known.
pub fn seek(function: &'static MpiFunction, words: Words) -> c_int {
    let handle = words[0];
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    let position = match result {
        0 => files::find(handle).map(|file| file.position(handle)),
        _ => None,
    };
    recording.end(result, What::argument(position.unwrap_or(UNKNOWN_OFFSET)));
    result
}

/// Records a call with the arguments `(file, offset, whence)`. The argument is as for `seek`, but to ask where the
/// common pointer is would be I/O of its own.
pub fn seek_shared(function: &'static MpiFunction, words: Words) -> c_int {
    let [handle, offset, whence, ..] = words;
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    let file = files::find(handle).filter(|_| library::is_seek_set(whence));
    let position = file.map_or(UNKNOWN_OFFSET, |file| file.byte_offset(offset as i64));
    recording.end(result, What::argument(position));
    result
}

/// Records a call with the arguments `(file, size)`. The argument is the size.
pub fn set_size(function: &'static MpiFunction, words: Words) -> c_int {
    let [handle, size, ..] = words;
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    recording.end(result, What::argument(size as u64));
    result
}

/// Records a call with the arguments `(file, ...)`: nothing else is worth keeping.
pub fn plain(function: &'static MpiFunction, words: Words) -> c_int {
    let Some(mut recording) = Recording::begin(function.op, || files::number(words[0])) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    recording.end(result, What::NOTHING);
    result
}

/// Records a call with the arguments `(file, info)`.
pub fn set_info(function: &'static MpiFunction, words: Words) -> c_int {
    let [handle, info, ..] = words;
    let Some(mut recording) = Recording::begin(function.op, || files::number(handle)) else {
        return function.real.call(&words);
    };
    let result = function.real.call(&words);
    recording.end(result, What::NOTHING);
    if result == 0 {
        hints::given(recording.file, info);
        hints::used(recording.file, handle);
    }
    result
}

/// Returns the handle that a pointer points to: a pointer or an address-sized number in every library.
fn read_handle(pointer: usize) -> Option<usize> {
    let pointer = pointer as *const usize;
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the program gave the pointer as one to a file handle, and the MPI library reads or
    // has written it too.
    Some(unsafe { pointer.read_unaligned() })
}
