//! Calls that move data.

use core::ffi::c_int;

use plimsoll_trace::Class;
use plimsoll_trace::encode::{NO_FILE, UNKNOWN_OFFSET};

use super::files::{self, OpenFile};
use super::library;
use super::real::Words;
use super::{Last, MpiFunction, Position, Recording, Shape, What};

/// Room for a status of any library; the largest has 32 bytes.
type AnyStatus = [u64; 8];

/// Reads and writes in all forms; of split ones the first half.
pub fn transfer(function: &'static MpiFunction, mut words: Words) -> c_int {
    let Shape::Data { position, last, is_large } = function.shape else {
        return function.real.call(&words);
    };
    let handle = words[0];
    let mut file = None;
    let find_file = || {
        file = files::find(handle);
        file.map_or(NO_FILE, |file| file.number)
    };
    let Some(mut recording) = Recording::begin(function.op, find_file) else {
        return function.real.call(&words);
    };
    let count_at = function.shape.count_at();
    let (count, datatype) = (words[count_at], words[count_at + 1]);
    let count = if is_large { count as i64 } else { i64::from(count as i32) };
    let offset = match (file, position) {
        (Some(file), Position::Explicit) => file.byte_offset(words[1] as i64),
        (Some(file), Position::Individual) => file.position(handle),
        (_, Position::Shared) | (None, _) => UNKNOWN_OFFSET,
    };

    // Less than was asked for is only ever read, at the end of the file, and only a status tells.
    let mut own_status: AnyStatus = [0; 8];
    let mut status = None;
    if last == Last::Status && function.op.class() == Class::Read {
        let given = &mut words[count_at + 2];
        if library::status_ignore() == Some(*given) {
            *given = (&raw mut own_status) as usize;
        }
        status = Some(*given);
    }
    let result = function.real.call(&words);

    let length =
        if is_type_good(result, file) { library::type_bytes(datatype).unwrap_or(0) } else { 0 };
    let length = u64::try_from(count).unwrap_or(0).saturating_mul(length);
    let moved = status.filter(|_| result == 0).and_then(library::moved_bytes);
    let moved = moved.filter(|moved| *moved <= length).unwrap_or(length);
    recording.end(result, What { offset, length, moved, argument: 0 });
    result
}

/// Returns whether the datatype can be asked about. After a failure it may be the reason, and asking the library about
/// a wrong one ends the program. Classes from 20 on are about files, in all libraries.
fn is_type_good(result: c_int, file: Option<OpenFile>) -> bool {
    const FIRST_CLASS_ABOUT_FILES: u32 = 20;
    result == 0 || file.is_some() && library::error_class(result) >= FIRST_CLASS_ABOUT_FILES
}
