//! Chunks of HDF5 that DEFLATE packed, unpacked whole.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hdf5_reader::FilterRegistry;
use hdf5_reader::error::Error;
use hdf5_reader::filters::FILTER_DEFLATE;
use libdeflater::{DecompressionError, Decompressor};

/// DEFLATE makes no more than this of a byte (RFC 1951: 258 bytes in two bits).
pub(crate) const EXPANSION_MAX: u64 = 1032;

/// What the first chunk is taken to have.
const FIRST_BYTES: usize = 1 << 16;

/// Returns the filters of an HDF5 file, of which DEFLATE unpacks no chunk that has more bytes than these, and all chunks together,
/// each as often as it is read, only to so many: a filter behind it may need few of them.
pub(crate) fn filters(bytes_max: usize, bytes_of_all_max: u64) -> FilterRegistry {
    // Nobody tells how large a chunk is, but most are as large as the one before.
    let expected = AtomicUsize::new(FIRST_BYTES);
    let mut filters = FilterRegistry::new();
    let of_all = AtomicU64::new(0);
    let unpack = move |_: &_, packed: &[u8], _| {
        let unpacked = unpack(packed, expected.load(Ordering::Relaxed), bytes_max)?;
        if add(&of_all, unpacked.len() as u64) > bytes_of_all_max {
            let reason = "DEFLATE: chunks have far more bytes than are taken of them";
            return Err(Error::DecompressionError(reason.into()));
        }
        expected.store(unpacked.len(), Ordering::Relaxed);
        Ok(unpacked)
    };
    filters.register(FILTER_DEFLATE, Box::new(unpack));
    filters
}

/// Adds, and returns the sum.
pub(crate) fn add(sum: &AtomicU64, more: u64) -> u64 {
    let added = |sum: u64| Some(sum.saturating_add(more));
    let before = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added);
    before.unwrap_or_else(|before| before).saturating_add(more)
}

/// Unpacks a whole stream of zlib's format, whose checksum is compared.
fn unpack(packed: &[u8], expected: usize, bytes_max: usize) -> Result<Vec<u8>, Error> {
    let damaged = |reason: &str| Error::DecompressionError(format!("DEFLATE: {reason}"));
    let possible = packed.len().saturating_mul(EXPANSION_MAX as usize).saturating_add(64);
    let most = possible.min(bytes_max);
    let mut room = expected.clamp(1, most.max(1));
    let mut unpacker = Decompressor::new();
    loop {
        let mut unpacked = Vec::new();
        unpacked.try_reserve_exact(room).map_err(|_| damaged("a chunk has no room in memory"))?;
        unpacked.resize(room, 0);
        match unpacker.zlib_decompress(packed, &mut unpacked) {
            Ok(bytes) => {
                unpacked.truncate(bytes);
                // Whoever keeps it counts what it holds, not what it could.
                if bytes < room / 2 {
                    unpacked.shrink_to_fit();
                }
                return Ok(unpacked);
            }
            Err(DecompressionError::InsufficientSpace) if room < most => {
                room = room.saturating_mul(4).min(most);
            }
            Err(DecompressionError::InsufficientSpace) => {
                return Err(damaged("a chunk has more bytes than is possible"));
            }
            Err(DecompressionError::BadData) => return Err(damaged("a chunk is damaged")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use hdf5_reader::messages::filter_pipeline::FilterDescription;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn chunks_come_back_whatever_was_expected() {
        for bytes in [0, 1, 300, 70_000, 3_000_000] {
            let chunk: Vec<u8> = (0..bytes).map(|it| (it / 1000 % 7) as u8).collect();
            for expected in [0, 1, bytes, bytes + 1, 1 << 16] {
                assert_eq!(unpack(&packed(&chunk), expected, 1 << 22).unwrap(), chunk);
            }
        }
    }

    /// The attack: a filter behind DEFLATE that takes 21 bytes of half a gigabyte, for each of many chunks.
    #[test]
    fn all_chunks_together_have_a_bound() {
        let packed = packed(&[7; 1000]);
        let filters = filters(1 << 20, 3000);
        let description =
            FilterDescription { id: FILTER_DEFLATE, name: None, client_data: vec![6] };
        let unpack = || filters.apply(&description, &packed, 1);
        assert!((0..3).all(|_| unpack().is_ok()));
        assert!(unpack().is_err());
    }

    #[test]
    fn what_is_too_large_damaged_or_cut_is_an_error() {
        let whole = packed(&[7; 100_000]);
        assert!(unpack(&whole, 1, 99_999).is_err());
        assert!(unpack(&whole, 1, 100_000).is_ok());
        for cut in 0..whole.len() {
            assert!(unpack(&whole[..cut], 1, 1 << 20).is_err(), "{cut}");
        }
        let mut wrong = whole.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert!(unpack(&wrong, 1, 1 << 20).is_err(), "a checksum that is another");
    }
}
