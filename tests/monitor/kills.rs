//! A monitor that is killed, finds no space and has its clock put forward and back: what it appended is there, and each sample is what was
//! counted in its time.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plimsoll_history::{Component, HistoryError, Measure, Selection, Store};
use plimsoll_stats::Random;
use rustix::process::Signal;

use super::Service;
use super::counted::{Chain, Counted, CountedSample, Era, LATE_MILLIS, chains, now};
use crate::support::command::binary;
use crate::support::recording::program;
use crate::support::storage::{SmallDisk, Storage};

/// From one sample to the next.
const INTERVAL_MILLIS: u64 = 200;
/// What may be missing at a start, a kill, a step of the clock and either end of a full disk, and how late a busy machine is at most. What the one before
/// it left makes no monitor late.
const MISSING_MILLIS: u64 = INTERVAL_MILLIS + LATE_MILLIS;

/// What happens to a monitor before it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    NoSpace,
    /// So many seconds forward, or back, and to the right time again.
    ClockStep(i64),
}

const TEN_YEARS: i64 = 10 * 365 * 86_400;

/// Each of them happens at least once.
const FIRST: [Fate; 5] =
    [Fate::Killed, Fate::ClockStep(-5), Fate::ClockStep(TEN_YEARS), Fate::NoSpace, Fate::Killed];

fn fate(random: &mut Random) -> Fate {
    let some_seconds = 5 + random.below(60).cast_signed();
    match random.below(12) {
        0 => Fate::NoSpace,
        1 => Fate::ClockStep(some_seconds),
        2 => Fate::ClockStep(-some_seconds),
        3 => Fate::ClockStep(TEN_YEARS),
        _ => Fate::Killed,
    }
}

struct Place<'a> {
    folder: &'a Path,
    disk: &'a Path,
    root: &'a Path,
    disk_mebibytes: usize,
}

fn monitor(place: &Place<'_>, clock: &Path) -> Command {
    let shim = program("other_clock.c", "cc", &["-shared", "-fPIC", "-ldl"]);
    // With so few descriptors it keeps no files open, and finds those that others were renamed to.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(binary().get_program());
    command.args(["monitor", "--interval", &format!("{INTERVAL_MILLIS}ms"), "--root"]);
    command.arg(place.root).arg("--store").arg(place.disk.join("store"));
    command.env("OTHER_CLOCK", clock).env("LD_PRELOAD", shim);
    command
}

/// Lets a monitor live, and returns the times during which nobody set its clock.
fn live(place: &Place<'_>, fate: Fate, random: &mut Random) -> Vec<Era> {
    let clock = place.folder.join("clock");
    let mut eras: Vec<Era> = Vec::new();
    let mut set_clock = |seconds: i64| {
        let begun = now();
        fs::write(&clock, (seconds * 1000).to_string()).unwrap();
        eras.iter_mut().next_back().into_iter().for_each(|last| last.ended = now());
        eras.push(Era { begun, ended: u64::MAX, ahead: seconds * 1000, full: None });
    };
    set_clock(0);
    let service = Service::start(&mut monitor(place, &clock));
    let mut wait = || std::thread::sleep(Duration::from_millis(1000 + random.below(2500)));
    wait();
    let mut full = None;
    match fate {
        Fate::Killed => {}
        Fate::NoSpace => {
            let (begun, filler) = (now(), place.disk.join("filler"));
            fill(&filler, place.disk_mebibytes + 16);
            wait();
            wait();
            fs::remove_file(filler).unwrap();
            full = Some(begun..now());
            wait();
        }
        Fate::ClockStep(seconds) => {
            set_clock(seconds);
            wait();
            set_clock(0);
            wait();
        }
    }
    let killed = now();
    service.signal(Signal::KILL);
    let told: Vec<String> =
        service.lines.try_iter().filter(|it| it.contains("the clock")).collect();
    drop(service);
    let is_set = matches!(fate, Fate::ClockStep(_));
    assert!(is_set || told.is_empty(), "nobody set its clock, and it says: {told:?}");
    let last = eras.last_mut().unwrap();
    (last.ended, last.full) = (killed, full);
    eras
}

/// Takes all the space that there is.
fn fill(file: &Path, mebibytes: usize) {
    let (mut file, piece) = (fs::File::create(file).unwrap(), vec![1; 1 << 20]);
    let _ = (0..mebibytes).try_for_each(|_| file.write_all(&piece));
}

/// Samples of the counters, in the order of their time.
fn samples(store: &Path) -> Vec<CountedSample> {
    let store = Store::open(store).unwrap();
    let mut all: BTreeMap<(u64, u64), [Option<u64>; 2]> = BTreeMap::new();
    let is_wanted = |it: &Component| it.name == "sda";
    let measures = &[Measure::ReadOperations, Measure::ReadBytes];
    let selection = Selection { measures, is_wanted: Some(&is_wanted), ..Selection::default() };
    let read: Result<(), HistoryError> = store.read(&selection, |batch| {
        let place = usize::from(batch.series.measure == Measure::ReadBytes);
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            let sample = &mut all.entry((*end, *length)).or_default()[place];
            assert_eq!(sample.replace(*value), None, "two end at {end}");
        }
        Ok(())
    });
    read.unwrap();
    let sample = |((end, length), values): ((u64, u64), [Option<u64>; 2])| {
        let [Some(ticks), Some(bytes)] = values else { panic!("a half at {end}: {values:?}") };
        assert_eq!(bytes % 512, 0);
        CountedSample { end, length, ticks: usize::try_from(ticks).unwrap(), millis: bytes / 512 }
    };
    all.into_iter().map(sample).collect()
}

/// Some time that a clock showed, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Shown {
    start: u64,
    end: u64,
}

impl Shown {
    fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns what of it the clock did not show again in eras after the first of these, which it is of.
    fn not_again(self, eras: &[Era]) -> Vec<Shown> {
        let whole = |era: &Era| Shown { start: era.shown(era.begun), end: era.shown(era.ended) };
        let own = whole(&eras[0]);
        let mut left = vec![self];
        let is_again = |it: &Shown| it.start < own.end && it.end > own.start;
        for again in eras[1..].iter().map(whole).filter(is_again) {
            // A sample that is covered in part goes as a whole.
            let (start, end) = (again.start - MISSING_MILLIS, again.end + MISSING_MILLIS);
            left = left
                .into_iter()
                .flat_map(|it| {
                    let before = Shown { end: it.end.min(start), ..it };
                    [before, Shown { start: it.start.max(end), ..it }]
                })
                .filter(|it| it.length() > 0)
                .collect();
        }
        left
    }
}

/// Checks that nothing is missing of an era but at its ends, and what its clock showed again later. Returns what is missing at the begin, and at the end.
#[track_caller]
fn assert_whole(number: usize, eras: &[Era], chains: &[Chain]) -> [u64; 2] {
    let era = &eras[number];
    let missing = |start: u64, end: u64| -> u64 {
        Shown { start, end }.not_again(&eras[number..]).into_iter().map(Shown::length).sum()
    };
    let (begun, ended) = (era.shown(era.begun), era.shown(era.ended));
    let own: Vec<&Chain> = chains.iter().filter(|it| it.era(eras) == number).collect();
    let first = own.first().map_or(ended, |it| it.start);
    // On a busy machine a monitor may be killed before it has two readings.
    let last = own.last().map_or(first, |it| it.end);
    let at_ends = [missing(begun, first), missing(last, ended)];
    assert!(at_ends[0] <= MISSING_MILLIS, "{era:?}: the first begins at {first}");
    assert!(at_ends[1] <= MISSING_MILLIS, "{era:?}: the last one ends at {last}");
    for pair in own.windows(2) {
        let (end, start) = (pair[0].end, pair[1].start);
        let is_full = |full: &Range<u64>| {
            end >= full.start - MISSING_MILLIS && start <= full.end + MISSING_MILLIS
        };
        let gap = if era.full.as_ref().is_some_and(is_full) { 0 } else { missing(end, start) };
        assert_eq!(gap, 0, "{era:?}: between {:?} and {:?}", pair[0], pair[1]);
    }
    at_ends
}

#[test]
fn a_monitor_that_is_killed_loses_no_more_than_it_says() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
    };
    let (seed, seconds) = (number("MONITOR_KILLS_SEED", 1), number("MONITOR_KILLS_SECONDS", 12));
    let storage = Storage::with_targets(1);
    let (folder, disk) = (storage.folder.path(), &storage.targets[0]);
    let disk_mebibytes = 64 + usize::try_from(seconds / 20).unwrap();
    let Some(_disk) = SmallDisk::mount(disk, &format!("{disk_mebibytes}m")) else { return };
    let counted = Counted::begin(folder.join("tree"));
    let place = Place { folder, disk, root: &counted.root, disk_mebibytes };
    let mut random = Random::new(seed);
    let (begun, mut lives, mut eras) = (now(), 0, Vec::new());
    while lives < FIRST.len() || now() < begun + 1000 * seconds {
        let fate = FIRST.get(lives).copied().unwrap_or_else(|| fate(&mut random));
        eras.extend(live(&place, fate, &mut random));
        lives += 1;
    }
    let samples = samples(&disk.join("store"));
    let chains = chains(&samples, &eras, &counted.truth());
    let mut at_ends: [Vec<u64>; 2] = Default::default();
    let mut silent = 0;
    for number in 0..eras.len() {
        let missing = assert_whole(number, &eras, &chains);
        silent += usize::from(missing[0] >= eras[number].ended - eras[number].begun);
        at_ends.iter_mut().zip(missing).for_each(|(all, it)| all.push(it));
    }
    // Of the shortest, on a busy machine.
    assert!(silent <= 1 + eras.len() / 50, "{silent} of {} have no sample", eras.len());
    let compared: usize = chains.iter().map(|it| it.samples).sum();
    assert!(compared == samples.len() && compared > 2 * eras.len(), "{compared}");
    let in_words = |mut all: Vec<u64>| {
        all.sort_unstable();
        format!("{} ms in the median, {} at most", all[all.len() / 2], all[all.len() - 1])
    };
    let [begins, ends] = at_ends.map(in_words);
    println!(
        "seed {seed}: {lives} lives with {} settings of the clock; {compared} samples in {} chains, each exactly what was counted; \
         missing until the first: {begins}; after the last: {ends}; {silent} without a sample",
        eras.len() - lives,
        chains.len()
    );
}
