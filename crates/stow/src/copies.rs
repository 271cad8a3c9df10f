//! Writes the bytes of a record to its log, and tells their checksum.
//!
//! A program may change its memory while it is written, by another thread or as memory that it shares. What is stored must be what the checksum is of, whatever
//! mixture of old and new that is; so where this may be, bytes are copied first, by pieces that stay in the processor's caches.

use rustix::io::Errno;

use crate::log::Log;
use crate::word::{append_checksum, place_checksum};

/// Bytes of a piece.
const PIECE_BYTES: usize = 128 << 10;

/// Replaces what a vector has by a copy of some bytes, or says why they cannot be read.
pub type Copy = fn(&[u8], &mut Vec<u8>) -> Result<(), Errno>;

/// Copies bytes that can be read.
///
/// # Errors
/// If there is no room in memory.
pub fn copied(bytes: &[u8], to: &mut Vec<u8>) -> Result<(), Errno> {
    to.clear();
    to.try_reserve(bytes.len()).map_err(|_| Errno::NOMEM)?;
    to.extend_from_slice(bytes);
    Ok(())
}

/// Where bytes are copied to before they are written; nothing if they cannot change meanwhile.
#[derive(Debug, Default)]
pub struct Copies(Option<(Copy, Vec<u8>)>);

impl Copies {
    /// Copies what is written.
    pub fn by(copy: Copy) -> Self {
        Copies(Some((copy, Vec::new())))
    }

    /// Returns whether this says of a write that its bytes cannot be read, so that no target refused it.
    pub fn is_of_memory(&self, errno: Errno) -> bool {
        self.0.is_some() && matches!(errno, Errno::FAULT | Errno::NOMEM)
    }

    /// Writes the bytes of a record to a position of its log; returns the record's checksum.
    ///
    /// # Errors
    /// If the target does not take them, or they cannot be read.
    pub fn write_record(
        &mut self,
        log: &Log,
        position: u64,
        bytes: &[u8],
        (offset, stamp): (u64, u64),
    ) -> Result<u32, Errno> {
        let mut checksum = place_checksum(offset, stamp, bytes.len() as u64);
        let Some((copied, copy)) = &mut self.0 else {
            // First: the kernel says if the memory is not there.
            log.write_all(bytes, position)?;
            return Ok(append_checksum(checksum, bytes));
        };
        let mut position = position;
        for piece in bytes.chunks(PIECE_BYTES) {
            copied(piece, copy)?;
            checksum = append_checksum(checksum, copy);
            log.write_all(copy, position)?;
            position += copy.len() as u64;
        }
        Ok(checksum)
    }
}
