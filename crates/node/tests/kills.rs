//! Real processes that share a node are killed at random moments, and others go on.
//!
//! `PLIMSOLL_KILLS=5000 cargo test --release -p plimsoll-node --test kills` kills more of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_node::{Member, NodePlan, SharedNode};
use plimsoll_route::lease::{Ended, Place, SealedLease, Seen};
use plimsoll_stats::Random;

/// Where a process that is to be killed works, and its number.
const FOLDER: &str = "PLIMSOLL_NODE_TEST_FOLDER";
const NUMBER: &str = "PLIMSOLL_NODE_TEST_NUMBER";
const PROCESSES: usize = 4;

fn join(folder: &Path) -> Member {
    let plan = NodePlan { members: 8, leases: 32, ..NodePlan::new(3, 1) };
    SharedNode::open(folder, "node", plan).unwrap().join().unwrap()
}

fn kills() -> u64 {
    std::env::var("PLIMSOLL_KILLS").map_or(50, |text| text.parse().unwrap())
}

/// What a log holds at an offset.
fn pattern(log: u64, offset: u64) -> u8 {
    (log.wrapping_mul(31) ^ offset.wrapping_mul(7) ^ offset >> 8) as u8
}

/// A file to which records of three numbers are appended, each by one write: a process may be killed after it.
struct Records(File);

impl Records {
    fn create(folder: &Path, kind: &str, number: u64) -> Self {
        let path = folder.join(format!("{kind}.{number}"));
        Records(File::options().append(true).create(true).open(path).unwrap())
    }

    fn add(&mut self, numbers: [u64; 3]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.0.write_all(&bytes).unwrap();
    }

    fn read_all(folder: &Path, kind: &str) -> Vec<[u64; 3]> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let of_kind = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == kind);
        let bytes = files.filter(of_kind).flat_map(|path| fs::read(path).unwrap());
        let bytes: Vec<u8> = bytes.collect();
        let number = |chunk: &[u8], at: usize| {
            u64::from_le_bytes(std::array::from_fn(|byte| chunk[at * 8 + byte]))
        };
        let record = |chunk: &[u8]| std::array::from_fn(|at| number(chunk, at));
        bytes.chunks_exact(24).map(record).collect()
    }
}

/// A process that writes until it is killed or told to stop. Not a test: it is started by one.
#[test]
fn process_to_be_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let number: u64 = std::env::var(NUMBER).unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let mut random = Random::new(number);
    let log = File::create(folder.join(format!("log.{number}"))).unwrap();
    let [mut published, mut seen, mut ended] =
        ["published", "seen", "ended"].map(|kind| Records::create(folder, kind, number));
    let mut member = join(folder);
    let mut end = 0;
    while !folder.join("stop").exists() {
        let most = 1 + random.index(64) as u64 * 1024;
        let lease = member.lease(most, 1, |lease| look(lease, &mut seen)).unwrap();
        assert!(member.set_place(lease.id, Place { log: number, offset_bytes: end }));
        let mut filled = 0;
        while filled < lease.length_bytes {
            let piece = (1 + random.index(32 * 1024) as u32).min(lease.length_bytes - filled);
            if !member.begin_fill(lease.id) {
                break;
            }
            let from = end + u64::from(filled);
            let bytes: Vec<u8> =
                (from..from + u64::from(piece)).map(|at| pattern(number, at)).collect();
            log.write_all_at(&bytes, from).unwrap();
            assert!(member.publish(lease.id, filled + piece), "it is alive");
            filled += piece;
            published.add([number, end, u64::from(filled)]);
        }
        end += u64::from(lease.length_bytes);
        member.seal(lease.id).unwrap();
        let ends = member.look(|lease| look(lease, &mut seen)).unwrap();
        ends.iter().for_each(|end| note(end, &mut ended));
    }
}

/// Every other lease is durable; who says so writes it down before.
fn look(lease: &SealedLease, seen: &mut Records) -> Option<Seen> {
    if lease.id.to_bits().is_multiple_of(2) && lease.started_ns.is_multiple_of(2) {
        return Some(Seen::Pending);
    }
    say_durable(lease, seen)
}

fn say_durable(lease: &SealedLease, seen: &mut Records) -> Option<Seen> {
    seen.add([lease.place.log, lease.place.offset_bytes, u64::from(lease.length_bytes)]);
    Some(Seen::Durable)
}

fn note(end: &Ended, ended: &mut Records) {
    ended.add([end.id.to_bits(), end.lease.place.log, end.lease.place.offset_bytes]);
}

fn start(folder: &Path, number: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process_to_be_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn what_was_published_is_found_whole_whenever_processes_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut random = Random::new(kills());
    let mut processes: Vec<Child> = (0..PROCESSES).map(|it| start(at, it as u64)).collect();
    let mut next = PROCESSES as u64;
    for _ in 0..kills() {
        std::thread::sleep(Duration::from_micros(random.index(20_000) as u64));
        let victim = &mut processes[random.index(PROCESSES)];
        victim.kill().unwrap();
        assert!(!victim.wait().unwrap().success());
        *victim = start(at, next);
        next += 1;
    }
    fs::write(at.join("stop"), "").unwrap();
    for process in &mut processes {
        assert!(process.wait().unwrap().success(), "nobody hangs or fails");
    }
    settle(at, next);
    check(at);
}

/// Ends what is on its way, until nothing is, also of those that were killed last.
fn settle(folder: &Path, number: u64) {
    let [mut seen, mut ended] = ["seen", "ended"].map(|kind| Records::create(folder, kind, number));
    let mut member = join(folder);
    for _ in 0..200 {
        let ends = member.look(|lease| say_durable(lease, &mut seen)).unwrap();
        ends.iter().for_each(|end| note(end, &mut ended));
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut left = 0;
    member
        .look(|_| {
            left += 1;
            None
        })
        .unwrap();
    assert_eq!(left, 0, "the leases of the dead are sealed and end");
    let others: Vec<Member> = (0..7).map(|_| join(folder)).collect();
    assert_eq!(others.len(), 7, "the dead have made room");
}

fn check(folder: &Path) {
    let mut sealed = BTreeMap::new();
    for [log, offset, length] in Records::read_all(folder, "seen") {
        let known = sealed.entry((log, offset)).or_insert(length);
        assert_eq!(*known, length, "it is sealed once");
    }
    let ended = Records::read_all(folder, "ended");
    let once: BTreeSet<_> = ended.iter().collect();
    assert_eq!(once.len(), ended.len(), "nothing ends twice");
    let published = Records::read_all(folder, "published");
    for [log, offset, length] in &published {
        let found = sealed.get(&(*log, *offset)).copied().unwrap_or(0);
        assert!(found >= *length, "log {log} at {offset}: {length} published, {found} sealed");
    }
    for ((log, offset), length) in &sealed {
        let mut bytes = vec![0; *length as usize];
        let file = File::open(folder.join(format!("log.{log}"))).unwrap();
        file.read_exact_at(&mut bytes, *offset).unwrap();
        let is_right = |(at, byte): (u64, &u8)| *byte == pattern(*log, at);
        assert!((*offset..).zip(&bytes).all(is_right), "log {log} at {offset}");
    }
    println!(
        "{} kills, {} leases, {} publications, {} ends noted",
        kills(),
        sealed.len(),
        published.len(),
        ended.len()
    );
}
