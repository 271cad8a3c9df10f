//! The power of a machine fails: of the blocks that were written to each disk since its last flush, any may be there, and others not. The file
//! systems on the disks are the kernel's, and start again as they do. What was synced must be there, what came later may be, and nothing else.

#[path = "support/disks.rs"]
mod disks;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use disks::Disks;
use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stats::Random;
use plimsoll_stow::{Container, Placement, Reader, StowError, TornContainer, Writer, check};
use rustix::fs::{Mode, OFlags};
use support::cells::{CELLS, verify};
use support::{create_unsynced, targets};

/// The first disk has the container, the others are its targets.
const NAMES: [&str; 4] = ["home", "t0", "t1", "t2"];
const TARGETS: usize = NAMES.len() - 1;
const DISK_BYTES: usize = 96 << 20;

/// Set where this program is to be the machine.
const ROLE: &str = "STOW_BLOCK_LOSS_FOLDER";

#[test]
fn what_was_synced_survives_any_loss_of_later_blocks() {
    let is_root = rustix::process::geteuid().is_root();
    let is_there = |path: &&str| Path::new(path).exists();
    if !is_root || !["/dev/fuse", "/dev/loop-control"].iter().all(is_there) {
        return println!("skipped: it needs root, FUSE and loop devices");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // Mounts and loop devices go with the last process in their name space, whatever ends it.
    let mut machine = Command::new("unshare");
    machine.args(["--mount", "--propagation", "private", "--"]);
    machine.arg(std::env::current_exe().unwrap());
    machine.args(["--exact", "be_the_machine_if_asked", "--nocapture"]).env(ROLE, folder.path());
    assert!(machine.status().unwrap().success());
}

#[test]
fn be_the_machine_if_asked() {
    let Some(folder) = std::env::var_os(ROLE) else { return };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (seed, runs) = (number("STOW_BLOCK_SEED", 1), number("STOW_BLOCK_RUNS", 2));
    let failures = number("STOW_BLOCK_FAILURES", 8);
    let mut dropped = 0;
    for run in 0..runs {
        let folder = PathBuf::from(&folder).join(run.to_string());
        dropped += Machine::new(folder, seed + run).run(failures);
    }
    println!("{} failures, {dropped} records dropped, nothing synced lost", runs * failures);
}

/// A machine whose power will have failed.
struct Machine {
    folder: PathBuf,
    disks: Disks,
    random: Random,
    is_durable: bool,
    written: Vec<Written>,
    synced: Vec<Synced>,
}

/// Cells that got a value.
struct Written {
    begun: usize,
    cells: std::ops::Range<usize>,
    value: u64,
}

/// So many of those were synced at a moment.
struct Synced {
    ended: usize,
    written: usize,
}

impl Machine {
    fn new(folder: PathBuf, seed: u64) -> Self {
        println!("seed {seed}");
        for name in NAMES.iter().chain(&["disks", "images"]) {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let disks = Disks::serve(NAMES.len(), DISK_BYTES, &folder.join("disks")).unwrap();
        let random = Random::new(seed);
        let is_durable = seed.is_multiple_of(2);
        Self { folder, disks, random, is_durable, written: Vec::new(), synced: Vec::new() }
    }

    /// Works, and has its power fail at so many moments. Returns how many things were dropped.
    fn run(mut self, failures: u64) -> usize {
        for (disk, name) in NAMES.iter().enumerate() {
            let device = self.folder.join("disks").join(disk.to_string());
            let options = ["-q", "-F", "-b", "4096", "-J", "size=8", "-E", "nodiscard"];
            tool(Command::new("mkfs.ext4").args(options).arg(&device));
            // As often as it can, the kernel writes by itself.
            self.mount(&device, name, "commit=1");
        }
        let begun = self.disks.now();
        self.work();
        self.unmount();
        let (ended, flushes) = (self.disks.now(), self.disks.flushes());
        println!("{} orders, {flushes} flushes, {} syncs", ended - begun, self.synced.len());
        assert!(self.synced.len() > 3 && flushes > self.synced.len());
        (0..failures).map(|failure| self.fail(begun, ended, failure)).sum()
    }

    fn mount(&self, device: &Path, name: &str, options: &str) {
        let options = format!("loop,{options}");
        let mut mount = Command::new("mount");
        tool(mount.args(["-t", "ext4", "-o", &options]).arg(device).arg(self.folder.join(name)));
    }

    fn unmount(&self) {
        NAMES.iter().for_each(|name| tool(Command::new("umount").arg(self.folder.join(name))));
    }

    fn container(&self) -> PathBuf {
        self.folder.join("home/it")
    }

    /// Several writers change cells, and one of them syncs now and then.
    fn work(&mut self) {
        let targets = targets(&self.folder, TARGETS);
        // Both kinds, in turn: one is durable when it is made, and one with its first sync.
        let container = if self.is_durable {
            Container::create(&self.container(), &targets)
        } else {
            create_unsynced(&self.container(), &targets)
        };
        let container = Arc::new(container.unwrap());
        let open = |kind: u64| {
            let placement = match kind {
                0 => Placement::Striped,
                1 => Placement::Static,
                _ => Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE).unwrap())),
            };
            Writer::open(container.clone(), placement).unwrap()
        };
        let mut writers = vec![open(0), open(1), open(2)];
        for value in 1..1500 {
            let which = self.random.below(3) as usize;
            match self.random.below(106) {
                // Some soon after each other: what was written ahead, or made durable by another writer, is not lost either.
                0 | 1 | 100.. => {
                    let written = self.written.len();
                    writers[which].sync().unwrap();
                    self.synced.push(Synced { ended: self.disks.now(), written });
                }
                // The kernel writes out what nobody asked for.
                2 => self.write_out(),
                3 => {
                    let kind = self.random.below(3);
                    std::mem::replace(&mut writers[which], open(kind)).close().unwrap();
                }
                4 if self.random.below(4) == 0 => {
                    writers.drain(..).for_each(|it| it.close().unwrap());
                    let mut alone = open(0);
                    alone.reclaim(0.9).unwrap();
                    writers = vec![alone, open(1), open(2)];
                }
                5 => self.change(&mut writers[which], 0),
                _ => self.change(&mut writers[which], value),
            }
        }
    }

    fn write_out(&mut self) {
        let name = NAMES[self.random.below(NAMES.len() as u64) as usize];
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let root = rustix::fs::open(self.folder.join(name), flags, Mode::empty()).unwrap();
        rustix::fs::syncfs(root).unwrap();
    }

    /// Gives some cells a value; zero by a hole or by another end of the file.
    fn change(&mut self, writer: &mut Writer, value: u64) {
        let cell = self.random.below(CELLS);
        let most = if self.random.below(20) == 0 { 3000 } else { 60 };
        let count = (1 + self.random.below(most)).min(CELLS - cell);
        let is_end = value == 0 && self.random.below(3) == 0;
        let end = if is_end { CELLS } else { cell + count };
        let cells = cell as usize..end as usize;
        self.written.push(Written { begun: self.disks.now(), cells, value });
        match (value, is_end) {
            (0, true) => writer.truncate(8 * cell).unwrap(),
            (0, false) => writer.punch(8 * cell, 8 * count).unwrap(),
            _ => {
                let bytes = value.to_le_bytes().repeat(count as usize);
                writer.write_at(&bytes, 8 * cell).unwrap();
            }
        }
    }

    /// The power fails between two moments; the machine is started again.
    fn fail(&mut self, begun: usize, ended: usize, failure: u64) -> usize {
        // Every other time just after a sync was told.
        let moment = match failure % 2 {
            0 => self.synced[self.random.below(self.synced.len() as u64) as usize].ended,
            _ => begun + self.random.below((ended - begun) as u64) as usize,
        };
        for (disk, name) in NAMES.iter().enumerate() {
            let image = self.folder.join("images").join(name);
            self.disks.after_failure(disk, moment, &mut self.random, &image).unwrap();
            self.mount(&image, name, "errors=remount-ro");
        }
        let synced = self.synced.iter().rfind(|it| it.ended <= moment).map(|it| it.written);
        let dropped = match synced {
            Some(synced) => {
                println!("failure {failure} at {moment}: {synced} changes were synced");
                verify(&self.container(), &self.folder, TARGETS, &self.possible(moment, synced))
            }
            None => {
                self.require_told_or_gone();
                0
            }
        };
        self.unmount();
        dropped
    }

    /// Nobody was told that there is a container: it may be there, or a part of it that is told as such. It can be removed.
    fn require_told_or_gone(&self) {
        let (path, targets) = (self.container(), targets(&self.folder, TARGETS));
        match Container::open(&path, &targets) {
            Ok(container) => {
                let told = Reader::open(Arc::new(container)).and_then(|it| check(&it, &mut |_| {}));
                println!("not synced: {told:?}");
                drop(Container::open(&path, &targets).unwrap().remove().unwrap());
            }
            Err(StowError::Torn { .. }) => {
                println!("torn");
                TornContainer::open(&path).unwrap().remove().unwrap();
            }
            Err(error) => assert!(!path.exists(), "{error}"),
        }
        assert!(!path.exists());
    }

    /// Returns what each cell may be: what it was when so many changes were synced, and what it became since.
    fn possible(&self, moment: usize, synced: usize) -> Vec<Vec<u64>> {
        let mut possible: Vec<Vec<u64>> = vec![vec![0]; CELLS as usize];
        for (at, change) in self.written.iter().enumerate() {
            for cell in &mut possible[change.cells.clone()] {
                if at < synced {
                    cell.clear();
                }
                if at < synced || change.begun <= moment {
                    cell.push(change.value);
                }
            }
        }
        possible
    }
}

#[track_caller]
fn tool(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
