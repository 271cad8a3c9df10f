//! The kernel's counters of block devices.

use plimsoll_domain::{Bytes, Change, Counter};

use crate::{DeviceNumber, Machine, MachineError};

const DISKSTATS: &str = "/proc/diskstats";

/// The counters count sectors of 512 bytes whatever the disk's own sector size
/// (Documentation/admin-guide/iostats.rst).
const COUNTED_SECTOR: u64 = 512;

/// What one block device has done since it appeared. Fields as in
/// Documentation/admin-guide/iostats.rst; later kernels append further ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Sectors read.
    pub sectors_read: u64,
    /// Milliseconds that reads took, added over all reads.
    pub read_milliseconds: u64,
    /// Writes completed.
    pub writes: u64,
    /// Sectors written.
    pub sectors_written: u64,
    /// Milliseconds that writes took, added over all writes.
    pub write_milliseconds: u64,
    /// Operations under way now.
    pub in_flight: u64,
    /// Milliseconds in which at least one operation was under way.
    pub busy_milliseconds: u64,
    /// Reads that were merged into others.
    pub read_merges: u64,
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// Milliseconds added up over all operations under way.
    pub queue_milliseconds: Option<u64>,
    /// Discards completed (Linux 4.18 and later).
    pub discards: Option<u64>,
    /// Sectors discarded (Linux 4.18 and later).
    pub sectors_discarded: Option<u64>,
    /// Flushes completed (Linux 5.5 and later).
    pub flushes: Option<u64>,
    /// Milliseconds that flushes took (Linux 5.5 and later).
    pub flush_milliseconds: Option<u64>,
}

impl DiskCounters {
    /// Returns the bytes read; stays at the largest value when it would not fit.
    pub fn bytes_read(&self) -> Bytes {
        Bytes::new(self.sectors_read.saturating_mul(COUNTED_SECTOR))
    }

    /// Returns the bytes written; stays at the largest value when it would not fit.
    pub fn bytes_written(&self) -> Bytes {
        Bytes::new(self.sectors_written.saturating_mul(COUNTED_SECTOR))
    }

    /// Returns the bytes discarded; stays at the largest value when it would not fit.
    pub fn bytes_discarded(&self) -> Option<Bytes> {
        let sectors = self.sectors_discarded?;
        Some(Bytes::new(sectors.saturating_mul(COUNTED_SECTOR)))
    }

    /// Returns what the device did from this reading to a later one.
    pub fn until(&self, after: &DiskCounters) -> DiskChange {
        let change = |counter: Counter, of: fn(&DiskCounters) -> u64| {
            counter.change(Some(of(self)), Some(of(after)))
        };
        // Counts are unsigned long, times unsigned int.
        let (wide, narrow) = (Counter::WIDE, Counter::NARROW);
        DiskChange {
            reads: change(wide, |it| it.reads),
            bytes_read: change(wide, |it| it.sectors_read).times(COUNTED_SECTOR),
            read_milliseconds: change(narrow, |it| it.read_milliseconds),
            writes: change(wide, |it| it.writes),
            bytes_written: change(wide, |it| it.sectors_written).times(COUNTED_SECTOR),
            write_milliseconds: change(narrow, |it| it.write_milliseconds),
            busy_milliseconds: change(narrow, |it| it.busy_milliseconds),
        }
    }
}

/// What a block device did between two readings of its counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskChange {
    /// Reads completed.
    pub reads: Change,
    /// Bytes read.
    pub bytes_read: Change,
    /// Milliseconds that reads took, added over all reads.
    pub read_milliseconds: Change,
    /// Writes completed.
    pub writes: Change,
    /// Bytes written.
    pub bytes_written: Change,
    /// Milliseconds that writes took, added over all writes.
    pub write_milliseconds: Change,
    /// Milliseconds in which at least one operation was under way.
    pub busy_milliseconds: Change,
}

impl Machine {
    /// Returns the counters of all block devices, by number and name.
    pub fn disk_counters(&self) -> Result<Vec<(DeviceNumber, String, DiskCounters)>, MachineError> {
        Ok(parse_diskstats(&self.read("the block device counters", DISKSTATS)?))
    }
}

/// Reads the text of `/proc/diskstats`. Lines that are not counters are skipped.
pub fn parse_diskstats(text: &str) -> Vec<(DeviceNumber, String, DiskCounters)> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let major = fields.next()?.parse().ok()?;
            let minor = fields.next()?.parse().ok()?;
            let name = fields.next()?.to_owned();
            Some((DeviceNumber { major, minor }, name, counters(fields)?))
        })
        .collect()
}

/// Reads the text of `/sys/block/NAME/stat`; `None` when it is not that
/// (Documentation/block/stat.rst).
pub fn parse_block_stat(text: &str) -> Option<DiskCounters> {
    counters(text.split_whitespace())
}

fn counters<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<DiskCounters> {
    let mut next = || fields.next()?.parse().ok();
    let mut counters = DiskCounters {
        reads: next()?,
        read_merges: next()?,
        sectors_read: next()?,
        read_milliseconds: next()?,
        writes: next()?,
        write_merges: next()?,
        sectors_written: next()?,
        write_milliseconds: next()?,
        in_flight: next()?,
        busy_milliseconds: next()?,
        ..DiskCounters::default()
    };
    // Later kernels have these in addition.
    counters.queue_milliseconds = next();
    counters.discards = next();
    let _discard_merges = next();
    counters.sectors_discarded = next();
    let _discard_milliseconds = next();
    counters.flushes = next();
    counters.flush_milliseconds = next();
    Some(counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_old_and_new_kernels() {
        let text = " 254  0 vda 6663 4214 1964344 18475 2827 17000 1744758 2843 0 10540 21497 3686 51\n\
                    7 0 loop0 1 0 8 2 3 0 16 4 5 6 7\n\
                    junk\n  8 0 sda 1 2 3\n";
        let disks = parse_diskstats(text);
        assert_eq!(disks.len(), 2);
        assert_eq!(disks[0].1, "vda");
        assert_eq!(disks[1].2.bytes_read(), Bytes::new(4096));
        assert_eq!(disks[1].2.bytes_written(), Bytes::new(8192));
        assert_eq!(disks[1].2.in_flight, 5);
        assert_eq!(parse_block_stat("1 0 8 2 3 0 16 4 5 6 7").unwrap(), disks[1].2);
        let newest = parse_block_stat("1 7 8 2 3 9 16 4 5 6 7 11 0 2 1 13 14\n").unwrap();
        assert_eq!((newest.read_merges, newest.write_merges), (7, 9));
        assert_eq!((newest.queue_milliseconds, newest.discards), (Some(7), Some(11)));
        assert_eq!(newest.bytes_discarded(), Some(Bytes::new(1024)));
        assert_eq!((newest.flushes, newest.flush_milliseconds), (Some(13), Some(14)));
        assert_eq!(disks[1].2.flushes, None);
    }

    #[test]
    fn times_that_are_full_go_on_and_a_device_that_comes_back_begins_anew() {
        let before = DiskCounters {
            writes: 9,
            sectors_written: 16,
            write_milliseconds: u64::from(u32::MAX),
            ..Default::default()
        };
        let after = DiskCounters {
            writes: 10,
            sectors_written: 24,
            write_milliseconds: 4,
            ..Default::default()
        };
        let done = before.until(&after);
        assert_eq!((done.writes, done.bytes_written), (Change::Grew(1), Change::Grew(4096)));
        assert_eq!(done.write_milliseconds, Change::Grew(5));
        let again = DiskCounters { sectors_written: 8, ..Default::default() };
        let done = after.until(&again);
        assert_eq!((done.writes, done.bytes_written.grown()), (Change::BeganAnew(0), None));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9 \n]|.){0,120}") {
            parse_diskstats(&text);
            parse_block_stat(&text);
        }
    }
}
