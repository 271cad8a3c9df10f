//! Several processes write to one container at random and are killed at random; what they were told is written must be there.
//!
//! Each process notes in a journal of its own when a change begins and when it has ended. Every eight bytes of the file must then
//! be those of a change that no later one has certainly covered: a later one began after it had ended, and ended itself.
//! In every other round no reader stays open, so that room is given back meanwhile. `STOW_TORTURE_ROUNDS`, `STOW_TORTURE_SECONDS` and
//! `STOW_TORTURE_SEED` make longer and other runs.

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stats::Random;
use plimsoll_stow::{Container, Placement, Reader, StowError, Writer, check};
use rustix::time::{ClockId, clock_gettime};
use support::targets;

/// Cells of eight bytes that are written to.
const CELLS: u64 = 6000;
/// Processes at a time.
const PROCESSES: u64 = 4;
/// Changes after which a process only waits for its end: whoever reads must be able to keep up.
const CHANGES_MAX: usize = 1500;
/// Words of a line in a journal: begin, first cell, cells, value, end.
const LINE_WORDS: usize = 5;

const ROLE: &str = "STOW_TORTURE_WRITER";

#[test]
fn what_was_written_is_there_after_any_kill() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (rounds, seed) = (number("STOW_TORTURE_ROUNDS", 4), number("STOW_TORTURE_SEED", 1));
    let (seconds, start) = (number("STOW_TORTURE_SECONDS", 0), now());
    let (mut kills, mut round) = (0, 0);
    while round < rounds || now() - start < seconds * 1_000_000_000 {
        kills += torture(&mut Random::new(seed ^ round << 32), round % 2 == 0);
        round += 1;
    }
    println!("seed {seed}: {round} rounds, {kills} kills, nothing lost");
}

/// The writer process: this test program again, told by a variable what to do.
#[test]
fn be_a_writer_if_asked() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let [path, journal, seed, count] = words[..] else { panic!("{role}") };
    let seed = seed.parse().unwrap();
    write_until_killed(Path::new(path), Path::new(journal), seed, count.parse().unwrap());
}

/// One container, three generations of processes. Returns how many were killed.
fn torture(random: &mut Random, is_read: bool) -> u64 {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("it");
    let container = Arc::new(Container::create(&path, &targets(folder.path(), 3)).unwrap());
    let mut changes = vec![Change { begin: 0, cells: 0..CELLS, value: 0, end: 0 }];
    let (mut kills, mut value) = (0, 1);
    let mut early = is_read.then(|| Reader::open(container.clone()).unwrap());
    for generation in 0..3 {
        let journal = |process: u64| folder.path().join(format!("journal-{generation}-{process}"));
        let start = |process| {
            let role = format!(
                "{} {} {} {}",
                path.display(),
                journal(process).display(),
                random.bits(),
                value + process * 1_000_000
            );
            spawn(&role)
        };
        let mut children: Vec<Child> = (0..PROCESSES).map(start).collect();
        value += PROCESSES * 1_000_000;
        for (process, child) in (0..).zip(&mut children) {
            std::thread::sleep(Duration::from_micros(random.below(25_000)));
            if let Some(early) = &mut early {
                early.refresh().unwrap();
                read(early);
            }
            child.kill().unwrap();
            kills += u64::from(!child.wait().unwrap().success());
            changes.extend(read_journal(&journal(process), now()));
        }
        if let Some(early) = &mut early {
            early.refresh().unwrap();
            verify(&read(early), &changes, "by a reader that saw it grow");
        }
        let late = Reader::open(container.clone()).unwrap();
        verify(&read(&late), &changes, "by a new reader");
        assert_eq!(check(&late, &mut |_| {}).unwrap(), []);
    }
    kills
}

struct Change {
    begin: u64,
    cells: std::ops::Range<u64>,
    value: u64,
    end: u64,
}

fn spawn(role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "be_a_writer_if_asked", "--nocapture"]).env(ROLE, role);
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

fn write_until_killed(path: &Path, journal: &Path, seed: u64, first_value: u64) {
    let mut random = Random::new(seed);
    let container = Arc::new(Container::open(path, &[]).unwrap());
    let kind = random.below(3);
    let targets = support::targets(path.parent().unwrap(), 3);
    let container = match container.targets().unwrap().is_empty() {
        true => Arc::new(Container::open(path, &targets).unwrap()),
        false => container,
    };
    let mut writer = open(container, kind);
    let journal = File::create(journal).unwrap();
    let mut line = 0;
    for value in first_value.. {
        if line >= CHANGES_MAX {
            std::thread::sleep(Duration::from_secs(60));
        }
        let kind = random.below(40);
        let cell = random.below(CELLS);
        let count = 1 + random.below(if kind < 4 { CELLS } else { 40 }).min(CELLS - cell - 1);
        let (stride, times) =
            if kind == 5 { (count + random.below(9), 1 + random.below(200)) } else { (0, 1) };
        for time in 0..times {
            let begin = cell + time * stride;
            let cells = match kind {
                6 => begin..CELLS,
                _ => begin.min(CELLS)..(begin + count).min(CELLS),
            };
            if cells.is_empty() {
                break;
            }
            let value = if (6..8).contains(&kind) { 0 } else { value };
            let words = [now(), cells.start, cells.end - cells.start, value, 0];
            put(&journal, line, 0, &words);
            let offset = 8 * cells.start;
            match kind {
                6 => writer.truncate(offset).unwrap(),
                7 => writer.punch(offset, 8 * (cells.end - cells.start)).unwrap(),
                _ => {
                    let bytes = value.to_le_bytes().repeat((cells.end - cells.start) as usize);
                    writer.write_at(&bytes, offset).unwrap();
                }
            }
            put(&journal, line, LINE_WORDS - 1, &[now()]);
            line += 1;
        }
        match random.below(2000) {
            0 => writer.sync().unwrap(),
            2..6 => match writer.reclaim(0.9) {
                Ok(_) | Err(StowError::BeingRead { .. } | StowError::Busy { .. }) => {}
                Err(error) => panic!("{error}"),
            },
            1 => {
                // A writer that goes on where it left.
                let container = Arc::new(Container::open(path, &targets).unwrap());
                std::mem::replace(&mut writer, open(container, kind)).close().unwrap();
            }
            _ => {}
        }
    }
}

/// Opens a writer of one of three kinds.
fn open(container: Arc<Container>, kind: u64) -> Writer {
    let placement = match kind {
        0 => Placement::Striped,
        1 => Placement::Static,
        _ => Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE).unwrap())),
    };
    Writer::open(container, placement).unwrap()
}

fn put(journal: &File, line: usize, word: usize, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
    journal.write_all_at(&bytes, 8 * (line * LINE_WORDS + word) as u64).unwrap();
}

/// A change that was going on when its process was killed may have ended until then.
fn read_journal(path: &PathBuf, killed: u64) -> Vec<Change> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect();
    let change = |line: &[u64]| Change {
        begin: line[0],
        cells: line[1]..line[1] + line[2],
        value: line[3],
        end: if line[4] == 0 { killed | UNFINISHED } else { line[4] },
    };
    words.chunks_exact(LINE_WORDS).map(change).collect()
}

/// The highest bit of an end says that nobody was told of it.
const UNFINISHED: u64 = 1 << 63;

fn read(reader: &Reader) -> Vec<u64> {
    let mut bytes = vec![0; 8 * CELLS as usize];
    let count = reader.read_verified_at(&mut bytes, 0).unwrap();
    assert_eq!(count as u64, reader.size());
    bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect()
}

#[track_caller]
fn verify(cells: &[u64], changes: &[Change], by: &str) {
    let mut of_cell: Vec<Vec<&Change>> = vec![Vec::new(); CELLS as usize];
    for change in changes {
        of_cell[change.cells.start as usize..change.cells.end as usize]
            .iter_mut()
            .for_each(|it| it.push(change));
    }
    for (cell, (value, changes)) in cells.iter().zip(&of_cell).enumerate() {
        let last_begin = changes.iter().filter(|it| it.end < UNFINISHED).map(|it| it.begin).max();
        let is_possible =
            |it: &&&Change| it.value == *value && it.end & !UNFINISHED >= last_begin.unwrap_or(0);
        assert!(
            changes.iter().any(|it| is_possible(&it)),
            "cell {cell} is {value}, {by}: {} changes, the last began at {last_begin:?}",
            changes.len()
        );
    }
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
