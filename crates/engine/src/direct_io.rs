//! What O_DIRECT demands of a file's transfers.

use std::fs::File;
use std::path::Path;

use plimsoll_domain::Bytes;
use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::{Burst, EngineError};

/// The smallest block of any disk. Where a file system tells nothing, only its EINVAL can.
const SMALLEST_BLOCK: u32 = 512;

/// Holds the sizes of a burst against the blocks of a file that was opened with O_DIRECT.
pub(crate) fn check_alignment(burst: &Burst, file: &File, path: &Path) -> Result<(), EngineError> {
    let block = u64::from(block_of(file).unwrap_or(SMALLEST_BLOCK));
    let parts = [
        ("the transfer size", burst.transfer),
        ("the burst", burst.bytes),
        ("the offset", burst.offset),
    ];
    for (what, value) in parts {
        if !value.get().is_multiple_of(block) {
            let path = path.to_path_buf();
            return Err(EngineError::Alignment { path, what, value, block: Bytes::new(block) });
        }
    }
    Ok(())
}

/// Returns the block that offsets, lengths and memory have to be multiples of; `None` where the kernel
/// (before 6.1) or the file system does not tell.
fn block_of(file: &File) -> Option<u32> {
    let facts = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
    let block = facts.stx_dio_offset_align.max(facts.stx_dio_mem_align);
    (told && block.is_power_of_two()).then_some(block)
}
