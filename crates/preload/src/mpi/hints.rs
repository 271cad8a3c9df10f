//! Hints: what the program asked for ("key=value") and what the library uses
//! ("used:key=value").

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use plimsoll_trace::definition::DefinitionKind;

use super::library::{self, KEY_BYTES, VALUE_BYTES};
use crate::files::EXCLUDED;
use crate::recorder;

/// Hints of one info object that are kept. ROMIO has about 30.
const KEYS_MAX: usize = 64;

/// Records the hints that the program gave for a file. To be called after the library has
/// accepted the info object.
pub fn given(file: u32, info: usize) {
    if library::is_info(info) {
        define_all(file, b"", info);
    }
}

/// Records the hints that the library uses for an open file.
pub fn used(file: u32, handle: usize) {
    library::file_info(handle, |info| define_all(file, b"used:", info));
}

const PREFIX_BYTES: usize = 8;

fn define_all(file: u32, prefix: &[u8], info: usize) {
    if file == EXCLUDED {
        return;
    }
    let mut key = [0u8; KEY_BYTES];
    let mut value = [0u8; VALUE_BYTES];
    for place in 0..library::info_count(info).min(KEYS_MAX) {
        if library::info_entry(info, place, &mut key, &mut value).is_none() {
            continue;
        }
        let mut text = [0u8; PREFIX_BYTES + KEY_BYTES + VALUE_BYTES];
        let mut length = 0;
        for part in [prefix, until_zero(&key), b"=", until_zero(&value)] {
            if let Some(room) = text.get_mut(length..length + part.len()) {
                room.copy_from_slice(part);
                length += part.len();
            }
        }
        let text = text.get(..length).unwrap_or_default();
        if is_new(file, text) {
            recorder::define(DefinitionKind::Hint, file, 0, text);
        }
    }
}

fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Different hints that are kept in a process: a program that opens files over and over, always
/// with new names, stops filling the recording with them.
const HINTS_MAX: usize = 4096;
/// Power of two, twice as many as can be in use, so that searches stay short.
const SLOTS: usize = 2 * HINTS_MAX;

static SEEN: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static SEEN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns true the first time that a hint of a file is seen, until there were too many.
fn is_new(file: u32, text: &[u8]) -> bool {
    let hash = fnv1a(file, text).max(1);
    for step in 0..SLOTS {
        let Some(slot) = SEEN.get((hash as usize).wrapping_add(step) % SLOTS) else { return false };
        let seen = slot.load(Ordering::Relaxed);
        if seen == hash {
            return false;
        }
        if seen != 0 {
            continue;
        }
        if SEEN_COUNT.load(Ordering::Relaxed) >= HINTS_MAX {
            return false;
        }
        match slot.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                SEEN_COUNT.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            Err(other) if other == hash => return false,
            Err(_) => {}
        }
    }
    false
}

/// Returns the hash FNV-1a, of 64 bits.
fn fnv1a(file: u32, text: &[u8]) -> u64 {
    let number = file.to_le_bytes();
    number.iter().chain(text).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
