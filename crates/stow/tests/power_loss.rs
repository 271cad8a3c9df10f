//! The power fails: of the pages that were written since each file was last made durable, any may have reached the disk, and
//! others not. What was made durable must be there, what came later may be, and nothing else. tests/block_loss.rs does the same to the blocks of disks.

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_stats::Random;
use plimsoll_stow::{Placement, Writer};
use support::cells::{CELLS, verify};
use support::container;

const PAGE: usize = 4096;

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
    verify(&folder.path().join("it"), folder.path(), 3, &possible)
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
