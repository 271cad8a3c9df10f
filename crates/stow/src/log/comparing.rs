//! Comparing what a log holds with what its words say, without reading holes: some kilobytes can claim any number of zeros.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::Log;
use crate::findings::Record;
use crate::word::{PAGE_BYTES, append_checksum, append_zeros, place_checksum};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Bytes that are read for a short record and its neighbours.
const WINDOW_BYTES: usize = 64 << 10;

/// What was read of a log for a short record: its neighbours are compared with it, too.
#[derive(Default)]
pub(crate) struct RecordWindow {
    start: u64,
    bytes: Vec<u8>,
}

impl RecordWindow {
    /// Returns the bytes of a record; nothing if not all are in it.
    fn of(&self, record: &Record) -> Option<&[u8]> {
        let start = usize::try_from(record.position.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(record.length as usize)?)
    }
}

impl Log {
    /// Does as [`Log::holds`] for one of many records, in order of their positions.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn holds_among(
        &self,
        record: &Record,
        window: &mut RecordWindow,
    ) -> Result<bool, Errno> {
        if u64::from(record.length) >= PAGE_BYTES {
            return self.holds(record);
        }
        if window.of(record).is_none() {
            window.start = record.position;
            window.bytes.resize(WINDOW_BYTES, 0);
            let got = self.read(&mut window.bytes, record.position)?;
            window.bytes.truncate(got);
        }
        Ok(window.of(record).is_some_and(|bytes| record.is_of(bytes)))
    }

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
    fn short_records_are_compared_with_their_neighbours() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (log, whole) = with_bytes_at(&folder, &[]);
        let record = |number: u64| {
            let (position, byte) = (PAGE_BYTES + 3 * number, number as u8);
            log.write_all(&[byte; 3], position).unwrap();
            let checksum = record_checksum(number, 9, &[byte; 3]);
            Record { position, offset: number, length: 3, checksum, ..whole }
        };
        let records: Vec<Record> = (0..50_000).map(record).collect();
        log.write_all(b"x", records[40_000].position).unwrap();
        let mut window = RecordWindow::default();
        let held = records.iter().map(|it| log.holds_among(it, &mut window).unwrap());
        let lost: Vec<usize> =
            held.enumerate().filter(|(_, is_held)| !is_held).map(|(number, _)| number).collect();
        assert_eq!(lost, [40_000]);
        assert_eq!(log.holds_among(&records[1], &mut window), Ok(true), "one of before");
        ftruncate(&log.file, records[49_999].position + 2).unwrap();
        let last = &records[49_999];
        assert_eq!(
            log.holds_among(last, &mut RecordWindow::default()),
            Ok(false),
            "it ends before"
        );
        let long = with_bytes_at(&tempfile::tempdir_in("/var/tmp").unwrap(), &[5000]);
        assert_eq!(long.0.holds_among(&long.1, &mut window), Ok(true));
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
