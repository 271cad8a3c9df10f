//! Ranks of an MPI program whose file is a container are killed at random points: whatever they were told is written is there.
//!
//! `STOW_KILL_POINTS` and `STOW_KILL_SEED` make longer and other runs:
//! `STOW_KILL_POINTS=1000 cargo test -p plimsoll --test plimsoll -- killed_at_any_point --nocapture`.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_stats::Random;

use super::{AS_ROOT, Run, compiled, in_time, libraries, mpirun};
use crate::support::command::binary;
use crate::support::recording::library;

const RANKS: u32 = 4;
/// Records that each rank writes at most.
const RECORDS: u64 = 400;
/// Bytes of a record, of which a run has one: entries of small files, those that become large ones, parts of segments, whole segments.
const SIZES: [u64; 5] = [64, 1000, 4096, 48_128, 262_144];
/// Bytes that all ranks write at most.
const BYTES_MAX: u64 = 24 << 20;
/// Where the numbers of processes begin in the file of counts, and its length.
const PROCESSES_FROM: usize = 32;
const COUNTS_BYTES: usize = 4096;

#[test]
fn ranks_that_are_killed_at_any_point_lose_nothing_that_returned() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (points, seed) = (number("STOW_KILL_POINTS", 4), number("STOW_KILL_SEED", 1));
    let there: Vec<&str> = libraries("mpicc").collect();
    for point in 0..if there.is_empty() { 0 } else { points } {
        let mut random = Random::for_stream(seed, point);
        let told = kill_once(&mut random, there[point as usize % there.len()]);
        println!("seed {seed}, point {point}: {told}");
    }
}

/// Starts a program, kills some of its ranks at some point, and compares what the file has with what they counted.
fn kill_once(random: &mut Random, mpi: &str) -> String {
    let run = Run::new();
    for name in ["mount", "ost0", "ost1", "ost2"] {
        fs::create_dir(run.at(name)).unwrap();
    }
    let bytes = SIZES[random.index(SIZES.len())];
    let records = RECORDS.min(BYTES_MAX / bytes / u64::from(RANKS));
    let by_mpi = random.below(2) == 1;
    let counts = Counts { path: run.at("counts") };
    fs::write(&counts.path, vec![0; COUNTS_BYTES]).unwrap();
    let program = compiled("mpi_counted.c", "mpicc", mpi, &[]);
    let mut command = binary();
    command.args(["stow", "run", "--quiet", "--mount", &run.at("mount"), "--targets"]);
    command.arg(["ost0", "ost1", "ost2"].map(|it| run.at(it)).join(",")).arg("--");
    command.args(mpirun(mpi, RANKS)).args([&program, &run.at("mount/x"), &counts.path]);
    command.args([bytes.to_string(), records.to_string()]).args(by_mpi.then_some("-m"));
    command.envs(AS_ROOT).env("PLIMSOLL_LIBRARY", library());
    let mut running = Running(in_time(&command).stderr(Stdio::null()).spawn().unwrap());

    let point = 1 + random.below(records * u64::from(RANKS) * 3 / 4);
    counts.wait_for(point, &mut running.0);
    // Anywhere within a write.
    let until = Instant::now() + Duration::from_micros(random.below(3000));
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    // One, which the launcher ends the others for, or all of them one after the other.
    let first = random.index(RANKS as usize);
    let victims = if random.below(2) == 0 { 1 } else { RANKS as usize };
    let processes = counts.processes();
    (0..victims).for_each(|it| kill(processes[(first + it) % RANKS as usize]));
    running.0.wait().unwrap();
    for process in processes {
        // Launchers end the others, and do not wait for all of them.
        kill(process);
        while is_there(process) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    let written = counts.written();
    let held = binary().args(["stow", "cat", &run.at("mount/x")]).output().unwrap();
    assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    let what = format!(
        "{mpi}, records of {bytes} B{}, {victims} killed after {written:?} records",
        if by_mpi { " by MPI-IO" } else { "" }
    );
    for (rank, count) in (0..).zip(&written) {
        for index in 0..*count {
            let at = (bytes * (index * u64::from(RANKS) + rank)) as usize;
            let record = held.stdout.get(at..at + bytes as usize);
            let right = ((rank + 1) << 32 | (index + 1)).to_le_bytes();
            let is_right = record.is_some_and(|it| it.chunks(8).all(|word| word == right));
            assert!(is_right, "{what}: record {index} of rank {rank} is lost");
        }
    }
    let checked = binary().args(["stow", "check", &run.at("mount/x")]).output().unwrap();
    assert!(checked.status.success(), "{what}: {}", String::from_utf8_lossy(&checked.stdout));
    // Whoever comes next can remove it. A log that somebody had just begun when it was killed may stay on a target: nothing of it was ever listed.
    let removed = binary().args(["stow", "rm", &run.at("mount/x")]).output().unwrap();
    assert!(removed.status.success(), "{what}: {}", String::from_utf8_lossy(&removed.stderr));
    let left: Vec<_> = fs::read_dir(run.at("mount")).unwrap().collect();
    assert!(left.is_empty(), "{what}: {left:?}");
    what
}

/// Kills a process, which may have ended by then.
fn kill(process: u64) {
    assert!(process > 1, "{process} is no rank");
    let mut command = Command::new("kill");
    command.args(["-9", &process.to_string()]).stderr(Stdio::null()).status().unwrap();
}

fn is_there(process: u64) -> bool {
    let told = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Nobody may have waited for it.
    told.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The launcher, which is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the ranks have counted.
struct Counts {
    path: String,
}

impl Counts {
    fn words(&self) -> Vec<u64> {
        let bytes = fs::read(&self.path).unwrap();
        bytes.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect()
    }

    fn written(&self) -> Vec<u64> {
        self.words()[..RANKS as usize].to_vec()
    }

    fn processes(&self) -> Vec<u64> {
        self.words()[PROCESSES_FROM..][..RANKS as usize].to_vec()
    }

    /// Waits until all ranks together have counted so many records.
    #[track_caller]
    fn wait_for(&self, records: u64, running: &mut Child) {
        while self.written().iter().sum::<u64>() < records {
            let ended = running.try_wait().unwrap();
            assert_eq!(ended, None, "the program has ended before it was killed");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
