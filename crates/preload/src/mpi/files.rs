//! The files that are open through MPI-IO, by handle: their numbers and views.
//!
//! A fixed table without locks. MPI forbids closing a file while another thread uses it, so an
//! entry never changes hands under a reader.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use plimsoll_trace::encode::{NO_FILE, UNKNOWN_OFFSET};

use super::library;

/// What is known of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// Its number in the recording.
    pub number: u32,
    /// Opened for sequential access only: there are no positions.
    is_sequential: bool,
    /// Where its first byte of data is.
    displacement: u64,
    /// Bytes that a step of one in offsets means; 0 if the view has holes.
    step_bytes: u64,
}

impl OpenFile {
    /// Returns the byte in the file that an offset in the view means, if the view has no holes.
    pub fn byte_offset(&self, offset: i64) -> u64 {
        let bytes =
            u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(self.step_bytes));
        match bytes.and_then(|bytes| bytes.checked_add(self.displacement)) {
            Some(offset) if self.step_bytes > 0 => offset,
            _ => UNKNOWN_OFFSET,
        }
    }

    /// Returns the byte in the file that the individual file pointer is at, if that is known.
    pub fn position(&self, handle: usize) -> u64 {
        let has_position = self.step_bytes > 0 && !self.is_sequential;
        let position = if has_position { library::position(handle) } else { None };
        position.map_or(UNKNOWN_OFFSET, |position| self.byte_offset(position))
    }
}

/// More files than this at once are recorded without number and offset.
const FILES_MAX: usize = 1024;
/// How far from its place an entry may be.
const PROBES: usize = 32;

struct FileEntry {
    /// The handle; 0 if the slot is free.
    handle: AtomicUsize,
    number: AtomicU32,
    is_sequential: AtomicU32,
    displacement: AtomicU64,
    step_bytes: AtomicU64,
}

static FILES: [FileEntry; FILES_MAX] = [const {
    FileEntry {
        handle: AtomicUsize::new(0),
        number: AtomicU32::new(0),
        is_sequential: AtomicU32::new(0),
        displacement: AtomicU64::new(0),
        step_bytes: AtomicU64::new(0),
    }
}; FILES_MAX];

/// Marks a slot that is being filled. No file's handle: they are addresses, or small and even.
const BEING_FILLED: usize = usize::MAX;

/// Adds a file that was opened. Its view is bytes from the beginning (MPI 5.0, 14.3).
pub fn insert(handle: usize, number: u32, is_sequential: bool) {
    // A handle that is still here was closed where we did not see it.
    remove(handle);
    for slot in probes(handle) {
        let claim =
            slot.handle.compare_exchange(0, BEING_FILLED, Ordering::Acquire, Ordering::Relaxed);
        if claim.is_ok() {
            slot.number.store(number, Ordering::Relaxed);
            slot.is_sequential.store(u32::from(is_sequential), Ordering::Relaxed);
            slot.displacement.store(0, Ordering::Relaxed);
            slot.step_bytes.store(1, Ordering::Relaxed);
            slot.handle.store(handle, Ordering::Release);
            return;
        }
    }
}

/// Returns the number of the file of a handle.
pub fn number(handle: usize) -> u32 {
    find(handle).map_or(NO_FILE, |file| file.number)
}

/// Returns the file of a handle.
pub fn find(handle: usize) -> Option<OpenFile> {
    let slot = slot_of(handle)?;
    Some(OpenFile {
        number: slot.number.load(Ordering::Relaxed),
        is_sequential: slot.is_sequential.load(Ordering::Relaxed) != 0,
        displacement: slot.displacement.load(Ordering::Relaxed),
        step_bytes: slot.step_bytes.load(Ordering::Relaxed),
    })
}

/// Sets the view of a file; `step_bytes` is 0 if it has holes.
pub fn set_view(handle: usize, displacement: i64, step_bytes: u64) {
    if let Some(slot) = slot_of(handle) {
        // MPI_DISPLACEMENT_CURRENT is negative in every library.
        let displacement = u64::try_from(displacement);
        let step_bytes = if displacement.is_ok() { step_bytes } else { 0 };
        slot.displacement.store(displacement.unwrap_or(0), Ordering::Relaxed);
        slot.step_bytes.store(step_bytes, Ordering::Relaxed);
    }
}

/// Removes a file that is being closed. To be called before the library closes it, since another thread may
/// then get the same handle.
pub fn remove(handle: usize) {
    if let Some(slot) = slot_of(handle) {
        slot.handle.store(0, Ordering::Release);
    }
}

fn slot_of(handle: usize) -> Option<&'static FileEntry> {
    if handle == 0 || handle == BEING_FILLED {
        return None;
    }
    probes(handle).find(|slot| slot.handle.load(Ordering::Acquire) == handle)
}

/// Returns the slots that a handle may be in.
fn probes(handle: usize) -> impl Iterator<Item = &'static FileEntry> {
    // Fibonacci hashing: handles are addresses with zeros at the end.
    let first = ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize;
    (first..first + PROBES).filter_map(|place| FILES.get(place % FILES_MAX))
}
