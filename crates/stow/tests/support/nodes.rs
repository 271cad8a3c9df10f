//! Processes on several nodes write to one container at random and are killed; what a reader on any node finds is compared with what
//! they noted.
//!
//! Each process notes in a journal of its own when a change began and ended, and when it opened the container or synced. A change is later than
//! another one if it began after that had ended on the same node, or if its node opened or synced in between. Every eight bytes of the
//! file must be those of a change that no later one has covered, and the same on all nodes.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_stats::Random;
use plimsoll_stow::{Container, Id, Placement, Reader, StowError, Writer, check};
use rustix::time::{ClockId, clock_gettime};

use super::targets;

/// Cells of eight bytes that are written to.
const CELLS: u64 = 3000;
/// Processes of a node.
const PROCESSES: usize = 2;
const TARGETS: usize = 3;
/// Words of a line in a journal: begin, first cell, cells, value, end.
const LINE_WORDS: usize = 5;
/// The value of a line that says that the process knows of all that others had ended when it began.
const CAUGHT_UP: u64 = u64::MAX;
/// The highest bit of an end says that nobody was told of it.
const UNFINISHED: u64 = 1 << 63;

/// What tells a process that it is a writer, and which.
pub const ROLE: &str = "STOW_NODES_WRITER";

/// A container and its targets, as one node has them.
#[derive(Clone)]
pub struct Place {
    /// The directory that all of them are in.
    pub folder: PathBuf,
    /// What the node is known by, where the system does not tell nodes apart.
    pub node: Option<Id>,
}

impl Place {
    fn path(&self) -> PathBuf {
        self.folder.join("it")
    }

    /// Makes the container.
    pub fn create(&self) {
        Container::create(&self.path(), &targets(&self.folder, TARGETS)).unwrap();
    }

    /// Opens it as this node.
    pub fn open(&self) -> Arc<Container> {
        let container = Container::open(&self.path(), &targets(&self.folder, TARGETS)).unwrap();
        Arc::new(match self.node {
            Some(node) => container.seen_from(node),
            None => container,
        })
    }

    pub fn writer(&self) -> Writer {
        Writer::open(self.open(), Placement::Striped).unwrap()
    }

    pub fn reader(&self) -> Reader {
        Reader::open(self.open()).unwrap()
    }
}

/// A writer process, which ends at the latest with this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How much is done.
pub struct Measure {
    pub generations: usize,
    /// Changes of a process that is not killed before.
    pub changes: u64,
    /// Longest time after which one is killed.
    pub life: Duration,
}

struct Change {
    node: usize,
    begin: u64,
    cells: Range<u64>,
    value: u64,
    end: u64,
    /// All that had ended by then is earlier.
    knows: u64,
}

/// Writes on all nodes at once, for some generations; in each of them, all processes of one node are killed. Returns how many were.
pub fn torment(
    places: &[Place],
    journals: &Path,
    random: &mut Random,
    measure: &Measure,
    spawn: impl Fn(usize, &str) -> Child,
) -> usize {
    let mut changes =
        vec![Change { node: 0, begin: 0, cells: 0..CELLS, value: 0, end: 0, knows: 0 }];
    let (mut value, mut kills) = (1, 0);
    let mut early: Vec<Reader> = places.iter().map(Place::reader).collect();
    for generation in 0..measure.generations {
        let doomed = generation % (places.len() + 1);
        let mut children = Vec::new();
        for (node, place) in places.iter().enumerate() {
            for process in 0..PROCESSES {
                let journal = journals.join(format!("{generation}-{node}-{process}"));
                let known = place.node.map_or("-".into(), |it| it.to_string());
                // Whoever is to be killed has enough to do until then.
                let changes = if node == doomed { u64::MAX >> 32 } else { measure.changes };
                let role = format!(
                    "{} {known} {} {} {value} {}",
                    place.folder.display(),
                    journal.display(),
                    random.bits(),
                    changes
                );
                value += 1_000_000;
                children.push((node, journal, Process(spawn(node, &role))));
            }
        }
        let life = Duration::from_micros(random.below(measure.life.as_micros() as u64));
        std::thread::sleep(life);
        for reader in &mut early {
            reader.refresh().unwrap();
            reader.read_verified_at(&mut vec![0; 8 * CELLS as usize], 0).unwrap();
        }
        let mut of_nodes: Vec<Vec<Change>> = places.iter().map(|_| Vec::new()).collect();
        for (node, _, child) in &mut children {
            if *node == doomed {
                child.0.kill().unwrap();
            }
        }
        for (node, journal, mut child) in children {
            let is_killed = !child.0.wait().unwrap().success();
            assert!(node == doomed || !is_killed, "a writer failed: {}", journal.display());
            kills += usize::from(is_killed);
            of_nodes[node].extend(read_journal(&journal, node, now()));
        }
        for mut of_node in of_nodes {
            know(&mut of_node);
            changes.extend(of_node.into_iter().filter(|it| it.value != CAUGHT_UP));
        }
        compare(places, &mut early, &changes);
        if generation % 2 == 1 {
            drop(std::mem::take(&mut early));
            places[random.below(places.len() as u64) as usize].writer().reclaim(0.9).unwrap();
            early = places.iter().map(Place::reader).collect();
            compare(places, &mut early, &changes);
        }
    }
    kills
}

/// Readers of all nodes must find the same, and what is possible.
fn compare(places: &[Place], early: &mut [Reader], changes: &[Change]) {
    let found = cells_of(&places[0].reader());
    verify(&found, changes);
    for (place, early) in places.iter().zip(early) {
        early.refresh().unwrap();
        assert_eq!(first_difference(&cells_of(early), &found), None, "by who saw it grow");
        let late = place.reader();
        assert_eq!(first_difference(&cells_of(&late), &found), None, "by who opens it now");
        assert_eq!(check(&late, &mut |_| {}).unwrap(), []);
    }
}

fn first_difference(one: &[u64], other: &[u64]) -> Option<(usize, u64, u64)> {
    assert_eq!(one.len(), other.len(), "they have different sizes");
    let mut pairs = one.iter().zip(other).enumerate();
    pairs.find_map(|(cell, (one, other))| (one != other).then_some((cell, *one, *other)))
}

/// Notes for each change of a node what was earlier on other nodes.
fn know(changes: &mut [Change]) {
    let caught_up: Vec<(u64, u64)> = changes
        .iter()
        .filter(|it| it.value == CAUGHT_UP && it.end < UNFINISHED)
        .map(|it| (it.begin, it.end))
        .collect();
    for change in changes {
        let before = caught_up.iter().filter(|(_, end)| *end <= change.begin);
        change.knows = before.map(|(begin, _)| *begin).max().unwrap_or(0);
    }
}

#[track_caller]
fn verify(cells: &[u64], changes: &[Change]) {
    let mut of_cell: Vec<Vec<&Change>> = vec![Vec::new(); CELLS as usize];
    for change in changes {
        of_cell[change.cells.start as usize..change.cells.end as usize]
            .iter_mut()
            .for_each(|it| it.push(change));
    }
    for (cell, (value, changes)) in cells.iter().zip(&of_cell).enumerate() {
        let is_covered = |it: &Change| {
            let end = it.end & !UNFINISHED;
            changes.iter().any(|later| {
                let is_later = later.knows > end || later.node == it.node && later.begin > end;
                later.end < UNFINISHED && is_later
            })
        };
        assert!(
            changes.iter().any(|it| it.value == *value && !is_covered(it)),
            "cell {cell} is {value}, of {} changes",
            changes.len()
        );
    }
}

/// All cells, with checksums compared.
fn cells_of(reader: &Reader) -> Vec<u64> {
    let mut bytes = vec![0; 8 * CELLS as usize];
    let count = reader.read_verified_at(&mut bytes, 0).unwrap();
    assert_eq!(count as u64, reader.size());
    bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect()
}

/// Writes as the role says, until it is killed or all is done.
pub fn be_a_writer(role: &str) {
    let words: Vec<&str> = role.split(' ').collect();
    let [folder, node, journal, seed, first_value, changes] = words[..] else { panic!("{role}") };
    let place = Place { folder: folder.into(), node: Id::parse(node) };
    let mut random = Random::new(seed.parse().unwrap());
    let mut journal = Journal { file: File::create(journal).unwrap(), line: 0 };
    let mut writer = journal.caught_up(|| place.writer());
    let first_value: u64 = first_value.parse().unwrap();
    for value in first_value..first_value + changes.parse::<u64>().unwrap() {
        change(&mut writer, &mut journal, &mut random, value);
        match random.below(60) {
            0 => journal.caught_up(|| writer.sync().unwrap()),
            1 => {
                writer.close().unwrap();
                writer = journal.caught_up(|| place.writer());
            }
            2 => match writer.reclaim(0.9) {
                Ok(_) | Err(StowError::BeingRead { .. } | StowError::Busy { .. }) => {}
                Err(error) => panic!("{error}"),
            },
            _ => {}
        }
    }
    writer.close().unwrap();
}

/// One write, row of writes at a stride, hole or truncation.
fn change(writer: &mut Writer, journal: &mut Journal, random: &mut Random, value: u64) {
    let kind = random.below(30);
    let cell = random.below(CELLS);
    let count = 1 + random.below(if kind == 0 { CELLS } else { 40 }).min(CELLS - cell - 1);
    let (stride, times) =
        if kind < 4 { (count + random.below(9), 1 + random.below(30)) } else { (0, 1) };
    for time in 0..times {
        let begin = (cell + time * stride).min(CELLS);
        let end = if kind == 4 { CELLS } else { (begin + count).min(CELLS) };
        if begin == end {
            break;
        }
        let value = if (4..6).contains(&kind) { 0 } else { value };
        journal.note(begin..end, value, || match kind {
            4 => writer.truncate(8 * begin).unwrap(),
            5 => writer.punch(8 * begin, 8 * (end - begin)).unwrap(),
            _ => {
                let bytes = value.to_le_bytes().repeat((end - begin) as usize);
                writer.write_at(&bytes, 8 * begin).unwrap();
            }
        });
    }
}

struct Journal {
    file: File,
    line: usize,
}

impl Journal {
    fn note<T>(&mut self, cells: Range<u64>, value: u64, work: impl FnOnce() -> T) -> T {
        self.put(0, &[now(), cells.start, cells.end - cells.start, value, 0]);
        let done = work();
        self.put(LINE_WORDS - 1, &[now()]);
        self.line += 1;
        done
    }

    fn caught_up<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.note(0..0, CAUGHT_UP, work)
    }

    fn put(&self, word: usize, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, 8 * (self.line * LINE_WORDS + word) as u64).unwrap();
    }
}

/// A change that was going on when its process was killed may have ended until then.
fn read_journal(path: &Path, node: usize, killed: u64) -> Vec<Change> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect();
    let change = |line: &[u64]| Change {
        node,
        begin: line[0],
        cells: line[1]..line[1] + line[2],
        value: line[3],
        end: if line[4] == 0 { killed | UNFINISHED } else { line[4] },
        knows: 0,
    };
    words.chunks_exact(LINE_WORDS).map(change).collect()
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
