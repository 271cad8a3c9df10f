//! Where the first record of a segment begins.
//!
//! What a program writes and reads at once lies in few large pages of the kernel's cache if it begins at a multiple of their size, in its file and so in the log: a log of
//! records of 128 KiB that begin 4 KiB behind such a multiple takes a fifth more time to write and to read.

use std::ops::Range;

use crate::word::PAGE_BYTES;

/// A large record is at the same place of so many bytes in its log as in the file.
const ALIGNMENT_MAX: u32 = 64 << 10;

/// A segment is so many times as large at least as what may be left free in it.
const PART: u32 = 64;

/// Returns of how many bytes the first record is at the same place as in the file, in a segment that holds so many.
pub fn alignment(payload: u32, first: &Range<u64>) -> u32 {
    let most = (payload / PART).clamp(PAGE_BYTES as u32, ALIGNMENT_MAX);
    let alignment = 1 << most.ilog2();
    if first.end - first.start < u64::from(alignment) { PAGE_BYTES as u32 } else { alignment }
}

/// Returns how many bytes of the log are left free from a position on, so that the first record is there.
pub fn gap(position: u64, payload: u32, first: &Range<u64>) -> u32 {
    let ahead = first.start.wrapping_sub(position) % u64::from(alignment(payload, first));
    (ahead - ahead % PAGE_BYTES) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_records_are_at_the_same_place_of_64_kib_as_in_the_file() {
        let large = 128 << 10;
        for (position, start) in [(4096, 0), (8192, 1 << 20), (4096, 20_480), (1 << 22, 4096)] {
            let gap = gap(position, 4 << 20, &(start..start + large));
            assert_eq!((position + u64::from(gap)) % (64 << 10), start % (64 << 10));
            assert!(gap < 64 << 10);
        }
        // What begins anywhere in a page, begins at the page.
        assert_eq!(gap(4096, 4 << 20, &(100..100 + large)), 60 << 10);
    }

    #[test]
    fn small_records_and_small_segments_leave_nothing_free() {
        assert_eq!(gap(4096, 4 << 20, &(0..4096)), 0);
        assert_eq!(gap(4096, 4 << 20, &(0..0)), 0);
        assert_eq!(gap(4096, 256 << 10, &(0..1 << 20)), 0);
        assert_eq!(gap(4096, 0, &(0..1 << 20)), 0);
        assert_eq!(gap(4096, 1 << 20, &(0..1 << 20)), 12 << 10);
    }
}
