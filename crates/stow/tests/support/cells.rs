//! A container of cells of eight bytes, each of which must be one of several values after a failure.

use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{Container, Id, Placement, Problem, Reader, Writer, check, repair};

use super::targets;

/// How many there are.
pub const CELLS: u64 = 5000;

/// What is started after a failure is another node than the one that failed.
const NODE: [u8; 16] = [0x9A; 16];

/// Compares a container with what its cells may be, before and after it is repaired, and goes on writing to it. Returns how many things were dropped.
#[track_caller]
pub fn verify(path: &Path, folder: &Path, targets_count: usize, possible: &[Vec<u64>]) -> usize {
    let container = Container::open(path, &targets(folder, targets_count)).unwrap();
    let container = Arc::new(container.seen_from(Id::from_bytes(NODE)));
    let reader = Reader::open(container.clone()).unwrap();
    compare(&reader, possible);
    let problems = check(&reader, &mut |_| {}).unwrap();
    let is_dropped = |it: &Problem| matches!(it, Problem::Dropped { .. });
    assert!(problems.iter().all(is_dropped), "{problems:?}");
    repair(&container, reader.troubles()).unwrap();
    let repaired = Reader::open(container.clone()).unwrap();
    compare(&repaired, possible);
    assert_eq!(check(&repaired, &mut |_| {}).unwrap(), []);
    // Whoever goes on writing is later than all that was there.
    let mut writer = Writer::open(container.clone(), Placement::Static).unwrap();
    writer.write_at(&u64::MAX.to_le_bytes().repeat(CELLS as usize), 0).unwrap();
    let all = vec![vec![u64::MAX]; CELLS as usize];
    compare(&Reader::open(container).unwrap(), &all);
    problems.len()
}

#[track_caller]
fn compare(reader: &Reader, possible: &[Vec<u64>]) {
    let mut bytes = vec![0; 8 * CELLS as usize];
    reader.read_verified_at(&mut bytes, 0).unwrap();
    let cells = bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap()));
    for (cell, (value, possible)) in cells.zip(possible).enumerate() {
        assert!(possible.contains(&value), "cell {cell} is {value}, not one of {possible:?}");
    }
}
