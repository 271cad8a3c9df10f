//! Comparing what a log holds with what its words say, without reading holes: some kilobytes can claim any number of zeros.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::Log;
use crate::findings::Record;
use crate::word::{PAGE_BYTES, append_checksum, append_zeros, place_checksum};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

impl Log {
    /// Returns whether the bytes of a record are those that were written.
    ///
    /// # Errors
    /// If the target does not answer.
    pub(crate) fn holds(&self, record: &Record) -> Result<bool, Errno> {
        let mut sum =
            place_checksum(record.offset, record.stamp.sequence, u64::from(record.length));
        let (mut at, end) = (record.position, record.position + u64::from(record.length));
        // A shorter one is at most some hundred times as long as the word that tells of it.
        let may_be_hole = u64::from(record.length) >= PAGE_BYTES;
        if may_be_hole && self.size()? < end {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        while at < end {
            let data = if may_be_hole { self.data_from(at)?.unwrap_or(end).min(end) } else { at };
            sum = append_zeros(sum, data - at);
            let hole = if may_be_hole { self.hole_from(data).min(end) } else { end };
            at = data;
            while at < hole {
                bytes.resize((hole - at).min(PIECE_BYTES) as usize, 0);
                if self.read(&mut bytes, at)? < bytes.len() {
                    return Ok(false);
                }
                sum = append_checksum(sum, &bytes);
                at += bytes.len() as u64;
            }
        }
        Ok(sum == record.checksum)
    }

    /// Returns where the next hole begins, from this position on, where data is; where nobody knows, all is data.
    fn hole_from(&self, position: u64) -> u64 {
        match seek(&self.file, SeekFrom::Hole(position)) {
            Ok(hole) if hole > position => hole,
            // It may have come meanwhile.
            Ok(_) => position + PAGE_BYTES,
            Err(_) => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Id;
    use crate::pieces::Stamp;
    use crate::word::record_checksum;
    use plimsoll_guarded::Directory;
    use rustix::fs::ftruncate;

    const LENGTH: u64 = 3 << 20;

    /// Returns a log with bytes at some places of a hole, and the record of all of it.
    fn with_bytes_at(folder: &tempfile::TempDir, places: &[u64]) -> (Log, Record) {
        let directory = Directory::open(folder.path()).unwrap();
        let log = Log::create(&directory, Id::from_bytes([1; 16]), 3, "t0").unwrap();
        ftruncate(&log.file, PAGE_BYTES + LENGTH).unwrap();
        let mut bytes = vec![0; LENGTH as usize];
        for place in places {
            bytes[*place as usize] = 7;
            log.write_all(&[7], PAGE_BYTES + place).unwrap();
        }
        let record = Record {
            log: 3,
            position: PAGE_BYTES,
            offset: 5,
            length: LENGTH as u32,
            stamp: Stamp { sequence: 9, seat: 1 },
            checksum: record_checksum(5, 9, &bytes),
            word_at: 0,
        };
        (log, record)
    }

    #[test]
    fn bytes_are_compared_wherever_they_lie_in_a_hole() {
        for places in
            [&[][..], &[0], &[LENGTH - 1], &[5000, 70_000, 70_001, 2 << 20], &[LENGTH / 2]]
        {
            let folder = tempfile::tempdir_in("/var/tmp").unwrap();
            let (log, record) = with_bytes_at(&folder, places);
            assert_eq!(log.holds(&record), Ok(true), "{places:?}");
            assert_eq!(log.holds(&Record { checksum: record.checksum ^ 1, ..record }), Ok(false));
            assert_eq!(log.holds(&Record { offset: 6, ..record }), Ok(false));
            log.write_all(&[8], PAGE_BYTES + 1_000_000).unwrap();
            assert_eq!(log.holds(&record), Ok(false), "another byte");
        }
    }

    #[test]
    fn what_ends_before_is_none() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (log, record) = with_bytes_at(&folder, &[5000]);
        ftruncate(&log.file, PAGE_BYTES + LENGTH - 1).unwrap();
        assert_eq!(log.holds(&record), Ok(false));
        let short = Record { length: 4, checksum: record_checksum(5, 9, &[0; 4]), ..record };
        assert_eq!(log.holds(&short), Ok(true));
        ftruncate(&log.file, PAGE_BYTES + 3).unwrap();
        assert_eq!(log.holds(&short), Ok(false));
    }
}
