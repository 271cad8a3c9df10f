//! A monitor that is killed, finds no space and has its clock put forward and back: what it appended is there, and each sample is what was
//! counted in its time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use plimsoll_history::{Component, HistoryError, Measure, Selection, Store};
use plimsoll_stats::Random;
use rustix::process::Signal;

use super::Service;
use crate::support::command::binary;
use crate::support::recording::program;
use crate::support::storage::{SmallDisk, Storage};

/// How often the counters grow, by one.
const TICK: Duration = Duration::from_millis(20);
/// From one sample to the next.
const INTERVAL_MILLIS: u64 = 200;
/// What may be missing at a kill, and how late a busy machine is at most.
const MISSING_MILLIS: u64 = INTERVAL_MILLIS + 3000;

/// A captured tree in which a counter grows, and what it was when.
struct Counted {
    root: PathBuf,
    /// Milliseconds since 1970, and the count from then on.
    truth: Arc<Mutex<Vec<(u64, u64)>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

impl Counted {
    fn begin(root: PathBuf) -> Self {
        let device = root.join("sys/block/sda");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("size"), "8\n").unwrap();
        // So many that a sample does not fit into a page that the store has already.
        for other in 0..60 {
            std::os::unix::fs::symlink("sda", device.with_file_name(format!("sd-{other}")))
                .unwrap();
        }
        let (truth, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (noted, asked) = (truth.clone(), is_over.clone());
        let tick = move |count: u64| {
            let new = device.join("new");
            fs::write(&new, format!("{count} 0 {count} 2 3 0 16 4 5 6 7\n")).unwrap();
            noted.lock().unwrap().push((now(), count));
            fs::rename(new, device.join("stat")).unwrap();
        };
        tick(1);
        let thread = std::thread::spawn(move || {
            let mut count = 1;
            while !asked.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                count += 1;
                tick(count);
            }
        });
        Counted { root, truth, is_over, thread: Some(thread) }
    }

    /// Returns what the count was at a moment, as far as a busy machine can tell.
    fn at(truth: &[(u64, u64)], moment: u64) -> u64 {
        let after = truth.partition_point(|it| it.0 <= moment);
        truth[after.saturating_sub(1)].1
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What happens to a monitor before it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    NoSpace,
    /// So many seconds forward, and back again.
    ClockStep(u64),
}

/// A monitor's life, in milliseconds since 1970.
#[derive(Debug)]
struct Life {
    begun: u64,
    killed: u64,
    fate: Fate,
}

fn live(folder: &Path, disk: &Path, root: &Path, random: &mut Random) -> Life {
    let fate = match random.below(8) {
        0 => Fate::NoSpace,
        1 => Fate::ClockStep(5 + random.below(60)),
        _ => Fate::Killed,
    };
    let clock = folder.join("clock");
    fs::write(&clock, "0").unwrap();
    let shim = program("other_clock.c", "cc", &["-shared", "-fPIC", "-ldl"]);
    let mut command = binary();
    command.args(["monitor", "--interval", &format!("{INTERVAL_MILLIS}ms"), "--root"]).arg(root);
    command.arg("--store").arg(disk.join("store"));
    command.env("OTHER_CLOCK", &clock).env("LD_PRELOAD", shim);
    let begun = now();
    let service = Service::start(&mut command);
    let wait = |random: &mut Random| {
        std::thread::sleep(Duration::from_millis(1000 + random.below(2500)));
    };
    wait(random);
    match fate {
        Fate::Killed => {}
        Fate::NoSpace => {
            let _ = fs::write(disk.join("filler"), vec![1; 80 << 20]);
            wait(random);
            wait(random);
            fs::remove_file(disk.join("filler")).unwrap();
            wait(random);
        }
        Fate::ClockStep(seconds) => {
            fs::write(&clock, (seconds * 1000).to_string()).unwrap();
            wait(random);
            fs::write(&clock, "0").unwrap();
            wait(random);
        }
    }
    let killed = now();
    service.signal(Signal::KILL);
    Life { begun, killed, fate }
}

/// Samples of the counter: by their end, the length and the value.
fn samples(store: &Path) -> BTreeMap<u64, (u64, u64)> {
    let store = Store::open(store).unwrap();
    let mut all = BTreeMap::new();
    let is_wanted = |it: &Component| it.name == "sda";
    let measures = &[Measure::ReadOperations];
    let selection = Selection { measures, is_wanted: Some(&is_wanted), ..Selection::default() };
    let read: Result<(), HistoryError> = store.read(&selection, |batch| {
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            assert_eq!(all.insert(*end, (*length, *value)), None, "two end at {end}");
        }
        Ok(())
    });
    read.unwrap();
    all
}

#[test]
fn a_monitor_that_is_killed_loses_no_more_than_it_says() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (seed, seconds) = (number("MONITOR_KILLS_SEED", 1), number("MONITOR_KILLS_SECONDS", 12));
    let storage = Storage::with_targets(1);
    let (folder, disk) = (storage.folder.path(), &storage.targets[0]);
    let Some(_disk) = SmallDisk::mount(disk, "64m") else { return };
    let counted = Counted::begin(folder.join("tree"));
    let mut random = Random::new(seed);
    let (begun, mut lives) = (now(), Vec::new());
    while now() < begun + 1000 * seconds {
        lives.push(live(folder, disk, &counted.root, &mut random));
    }
    let truth = counted.truth.lock().unwrap().clone();
    let all = samples(&disk.join("store"));
    let mut most_missing = 0;
    let (mut steps, mut caught_up) = (0, 0);
    for life in &lives {
        // After a clock was put back, samples are missing until it has caught up, as docs/history.md says.
        let is_behind = life.begun < caught_up;
        if let Fate::ClockStep(step) = life.fate {
            caught_up = caught_up.max(life.killed + 1000 * step);
        }
        if is_behind {
            continue;
        }
        if let Fate::ClockStep(step) = life.fate {
            steps += 1;
            assert_step(&all, life, step);
            continue;
        }
        let of_life = || all.range(life.begun..=life.killed);
        let last = of_life().next_back().map_or(life.begun, |it| *it.0);
        most_missing = most_missing.max(life.killed - last);
        assert!(life.killed - last <= MISSING_MILLIS, "{life:?}: the last one ends at {last}");
        let mut before: Option<u64> = None;
        let mut gaps = 0;
        for (end, (length, value)) in of_life() {
            gaps += u64::from(before.is_some_and(|before| before != end - length));
            before = Some(*end);
            assert_value(&truth, *end, *length, *value);
        }
        // Where there is no space, some samples are missing in the middle.
        let is_as_said = gaps == 0 || life.fate == Fate::NoSpace;
        assert!(is_as_said, "{life:?} has {gaps} gaps");
    }
    println!(
        "seed {seed}: {} lives ({steps} with clock steps), {} samples, at most {most_missing} ms missing at a kill",
        lives.len(),
        all.len()
    );
    assert!(all.len() > lives.len());
}

/// The count grew by as much as is said, but for what happens between the reading and its time on a busy machine.
#[track_caller]
fn assert_value(truth: &[(u64, u64)], end: u64, length: u64, value: u64) {
    let slack = 1500;
    let from = (Counted::at(truth, end - length - slack), Counted::at(truth, end - length + slack));
    let to = (Counted::at(truth, end - slack), Counted::at(truth, end + slack));
    let possible = to.0.saturating_sub(from.1)..=to.1 - from.0;
    assert!(possible.contains(&value), "{value} in {length} ms until {end}, not {possible:?}");
}

/// While the clock is ahead, samples are; when it is put back, they are missing until it has caught up. None is counted twice, and none
/// covers the step.
#[track_caller]
fn assert_step(all: &BTreeMap<u64, (u64, u64)>, life: &Life, step: u64) {
    let grown = |range: std::ops::RangeInclusive<u64>| -> u64 {
        all.range(range).map(|(_, (_, value))| value).sum()
    };
    let most = (life.killed - life.begun + 3000) / u64::try_from(TICK.as_millis()).unwrap();
    let ahead = 1000 * step;
    assert!(grown(life.begun..=life.killed) <= most, "{life:?}");
    assert!(grown(life.begun + ahead..=life.killed + ahead) <= most, "{life:?}");
}
