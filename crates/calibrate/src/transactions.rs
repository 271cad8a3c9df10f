//! Who counts a target's transactions, and what they counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_domain::Counter;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::CountedBy;
use plimsoll_guarded::Directory;
use plimsoll_machine::{BrwSizes, DiskCounters, Machine, MachineError};

/// A target's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counters {
    /// The kernel's, of the block device of this name.
    Device(String),
    /// The Lustre server's, of the target of this name.
    Lustre(String),
    /// There are none that can be read, for this reason.
    None(String),
}

/// What the counters said at some moment.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// Of a block device.
    Device(DiskCounters),
    /// Of a Lustre target.
    Lustre(BrwSizes),
    /// Of nothing.
    None,
}

/// What was done between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Transactions in the direction asked about.
    pub transactions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in the other direction.
    pub opposite_bytes: u64,
}

impl Counters {
    /// Returns the counters of the target that holds a directory's files; `ost` is the index of the
    /// Lustre target that files are put on.
    ///
    /// # Errors
    /// If the directory or the block devices cannot be looked at.
    pub fn below(
        machine: &Machine,
        directory: &Directory,
        ost: Option<u32>,
    ) -> Result<Self, MachineError> {
        let space = machine.space_of_open(directory, directory.path())?;
        if space.fs_type == "lustre" {
            return Ok(lustre(machine, &space.mounted_at, ost));
        }
        Ok(match machine.device_below_open(directory, directory.path())? {
            Some(device) if machine.block_stat(&device.name).is_some() => {
                Counters::Device(device.name)
            }
            Some(device) => Counters::None(format!("{} has no counters", device.path().display())),
            None => Counters::None(format!("{} lies on no block device", space.fs_type)),
        })
    }

    /// Returns who counts.
    pub fn counted_by(&self) -> CountedBy {
        match self {
            Counters::Device(_) => CountedBy::Device,
            Counters::Lustre(_) => CountedBy::Lustre,
            Counters::None(_) => CountedBy::Requested,
        }
    }

    /// Returns what the counters say now; nothing when they can no longer be read.
    pub fn read(&self, machine: &Machine) -> Snapshot {
        match self {
            Counters::Device(name) => {
                machine.block_stat(name).map_or(Snapshot::None, Snapshot::Device)
            }
            Counters::Lustre(name) => {
                machine.brw_sizes(name).map_or(Snapshot::None, Snapshot::Lustre)
            }
            Counters::None(_) => Snapshot::None,
        }
    }
}

fn lustre(machine: &Machine, mount: &Path, ost: Option<u32>) -> Counters {
    let file_systems = machine.lustre_file_systems().unwrap_or_default();
    let Some(file_system) = file_systems.into_iter().find(|it| it.mount == mount) else {
        return Counters::None("the name of the Lustre file system is not known".into());
    };
    let Some(ost) = ost else {
        return Counters::None("files go to any of the Lustre targets".into());
    };
    let name = format!("{}-OST{ost:04x}", file_system.name);
    match machine.brw_sizes(&name) {
        Some(_) => Counters::Lustre(name),
        None => Counters::None(format!(
            "brw_stats of {name} cannot be read here; they are on its server, for root"
        )),
    }
}

impl Snapshot {
    /// Returns what was done until `after`; `None` when there are no counters or they went back.
    pub fn until(&self, after: &Snapshot, operation: Operation) -> Option<Done> {
        match (self, after) {
            (Snapshot::Device(before), Snapshot::Device(after)) => disk(before, after, operation),
            (Snapshot::Lustre(before), Snapshot::Lustre(after)) => brw(before, after, operation),
            _ => None,
        }
    }
}

fn disk(before: &DiskCounters, after: &DiskCounters, operation: Operation) -> Option<Done> {
    let done = before.until(after);
    let reads = (done.reads.grown()?, done.bytes_read.grown()?);
    let writes = (done.writes.grown()?, done.bytes_written.grown()?);
    Some(in_direction(operation, reads, writes))
}

fn brw(before: &BrwSizes, after: &BrwSizes, operation: Operation) -> Option<Done> {
    let reads = more_in_bins(&before.reads, &after.reads)?;
    let writes = more_in_bins(&before.writes, &after.writes)?;
    Some(in_direction(operation, reads, writes))
}

/// Transactions and bytes of both directions as seen from one.
fn in_direction(operation: Operation, reads: (u64, u64), writes: (u64, u64)) -> Done {
    let (own, opposite) = match operation {
        Operation::Read => (reads, writes),
        Operation::Write => (writes, reads),
    };
    Done { transactions: own.0, bytes: own.1, opposite_bytes: opposite.1 }
}

/// Operations and bytes that were added. A bin counts by its largest size, which is exact for
/// transfers that are powers of two. A bin that is not listed has counted nothing.
fn more_in_bins(before: &BTreeMap<u64, u64>, after: &BTreeMap<u64, u64>) -> Option<(u64, u64)> {
    let mut sum = (0u64, 0u64);
    let sizes: BTreeSet<&u64> = before.keys().chain(after.keys()).collect();
    for size in sizes {
        let [before, after] = [before, after].map(|bins| bins.get(size).copied().or(Some(0)));
        let more = Counter::WIDE.change(before, after).grown()?;
        sum.0 = sum.0.checked_add(more)?;
        sum.1 = sum.1.checked_add(more.checked_mul(*size)?)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_of_one_direction() {
        let before =
            DiskCounters { reads: 1, writes: 5, sectors_written: 80, ..Default::default() };
        let after = DiskCounters {
            reads: 3,
            sectors_read: 16,
            writes: 15,
            sectors_written: 240,
            ..Default::default()
        };
        let [before, after] = [before, after].map(Snapshot::Device);
        let written = before.until(&after, Operation::Write).unwrap();
        assert_eq!(written, Done { transactions: 10, bytes: 81_920, opposite_bytes: 8192 });
        let read = before.until(&after, Operation::Read).unwrap();
        assert_eq!(read, Done { transactions: 2, bytes: 8192, opposite_bytes: 81_920 });
        assert_eq!(after.until(&before, Operation::Read), None, "counters that went back");
        assert_eq!(after.until(&Snapshot::None, Operation::Read), None);
    }

    #[test]
    fn lustre_counts_by_bins() {
        let sizes = |small, large| {
            let reads = BTreeMap::from([(4096, small), (1 << 20, large)]);
            Snapshot::Lustre(BrwSizes { reads, writes: BTreeMap::from([(4096, 7)]) })
        };
        let done = sizes(1, 0).until(&sizes(4, 2), Operation::Read).unwrap();
        assert_eq!((done.transactions, done.bytes), (5, 3 * 4096 + (2 << 20)));
        assert_eq!(done.opposite_bytes, 0);
        let cleared = Snapshot::Lustre(BrwSizes::default());
        assert_eq!(sizes(1, 0).until(&cleared, Operation::Read), None, "counters that went back");
    }

    #[test]
    fn memory_has_no_counters_and_says_so() {
        let machine = Machine::host();
        let memory = Path::new("/dev/shm");
        if !machine.space(memory).is_ok_and(|space| space.is_memory()) {
            eprintln!("SKIPPED: /dev/shm is not memory here");
            return;
        }
        let memory = Directory::open(memory).unwrap();
        let counters = Counters::below(&machine, &memory, None).unwrap();
        assert!(matches!(&counters, Counters::None(why) if why.contains("tmpfs")), "{counters:?}");
        assert_eq!(counters.counted_by(), CountedBy::Requested);
    }
}
