//! The power fails: of the pages that were written since each file was last made durable, any may have reached the disk, and
//! others not. What was made durable must be there, what came later may be, and nothing else.

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_stats::Random;
use plimsoll_stow::header::SegmentHeader;
use plimsoll_stow::{Container, Id, Placement, Problem, Reader, Writer, check, repair};
use support::{container, targets};

const PAGE: usize = 4096;
const CELLS: u64 = 5000;

#[test]
fn what_was_made_durable_survives_any_loss_of_later_pages() {
    let rounds = std::env::var("STOW_POWER_ROUNDS").map_or(15, |text| text.parse().unwrap());
    let mut dropped = 0;
    for seed in 0..rounds {
        dropped += fail(&mut Random::new(seed));
    }
    assert!(dropped > 0, "the test loses something");
    println!("{rounds} failures, {dropped} records dropped, nothing durable lost");
}

/// Returns how many things were dropped.
fn fail(random: &mut Random) -> usize {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 3);
    let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut writers = vec![open(), open(), open()];
    // What each cell may be: what is durable, and what was written since.
    let mut possible: Vec<Vec<u64>> = vec![vec![0]; CELLS as usize];
    let mut durable: HashMap<PathBuf, Vec<u8>> = HashMap::new();
    let (steps, last_sync) = (200 + random.below(800), random.below(3) > 0);
    for value in 1..steps {
        let which = random.below(3) as usize;
        if random.below(200) == 0 || (last_sync && value == steps / 2) {
            writers[which].sync().unwrap();
            possible.iter_mut().for_each(|it| drop(it.drain(..it.len() - 1)));
            durable = image(folder.path());
            continue;
        }
        if random.below(150) == 0 {
            // Alone, and makes everything durable on the way.
            writers.drain(..).for_each(|it| it.close().unwrap());
            let mut alone = open();
            alone.reclaim(0.9).unwrap();
            alone.sync().unwrap();
            writers = vec![alone, open(), open()];
            possible.iter_mut().for_each(|it| drop(it.drain(..it.len() - 1)));
            durable = image(folder.path());
            continue;
        }
        if random.below(150) == 0 {
            std::mem::replace(&mut writers[which], open()).close().unwrap();
        }
        let cell = random.below(CELLS);
        let most = if random.below(20) == 0 { 3000 } else { 60 };
        let count = (1 + random.below(most)).min(CELLS - cell);
        let bytes = value.to_le_bytes().repeat(count as usize);
        writers[which].write_at(&bytes, 8 * cell).unwrap();
        possible[cell as usize..(cell + count) as usize].iter_mut().for_each(|it| it.push(value));
    }
    drop(writers);
    lose_pages(folder.path(), &durable, random);
    start_again(folder.path());
    verify(&folder.path().join("it"), folder.path(), &possible)
}

/// Returns the content of all files.
fn image(folder: &Path) -> HashMap<PathBuf, Vec<u8>> {
    let mut image = HashMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            image.extend(self::image(&path));
        } else {
            image.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    image
}

/// Each page is what it was when it was last durable, or what it is now.
fn lose_pages(folder: &Path, durable: &HashMap<PathBuf, Vec<u8>>, random: &mut Random) {
    for (path, now) in image(folder) {
        let before = durable.get(&path).cloned().unwrap_or_default();
        // The marker, the anchor and the lock were durable when the container was made.
        let is_changing = ["manifest", "state"].iter().any(|it| path.ends_with(it))
            || path.to_string_lossy().contains("log-");
        if !is_changing {
            continue;
        }
        let before = match before.is_empty() {
            // As it was made. A log is durable before it is listed.
            true if !path.ends_with("manifest") => now[..PAGE].to_vec(),
            _ => before,
        };
        // A file that shrank since may have either length.
        let mut lost = now.clone();
        let length = match random.below(3) {
            0 => before.len(),
            _ => now.len().max(before.len()),
        };
        lost.resize(length, 0);
        for begin in (0..length).step_by(PAGE) {
            let end = (begin + PAGE).min(length);
            let old = |at: usize| before.get(at).copied().unwrap_or(0);
            if random.below(2) == 0 {
                (begin..end).for_each(|at| lost[at] = old(at));
            }
        }
        fs::write(&path, lost).unwrap();
    }
}

/// What was written before is another node's from now on.
fn start_again(folder: &Path) {
    for (path, mut bytes) in image(folder) {
        if path.to_string_lossy().contains("log-") {
            for begin in (PAGE..bytes.len()).step_by(PAGE) {
                if let Some(header) = SegmentHeader::decode(&bytes[begin..]) {
                    let header = SegmentHeader { node: Id::from_bytes([1; 16]), ..header };
                    let header = header.encode();
                    bytes[begin..begin + header.len()].copy_from_slice(&header);
                }
            }
        } else if path.ends_with("state") {
            bytes[16..32].fill(1);
        }
        fs::write(&path, bytes).unwrap();
    }
}

fn verify(path: &Path, folder: &Path, possible: &[Vec<u64>]) -> usize {
    let container = Arc::new(Container::open(path, &targets(folder, 3)).unwrap());
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
