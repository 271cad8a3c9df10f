//! What tests of stores share.
#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_history::{
    Batch, Component, ComponentKind, HistoryError, Measure, Reading, Selection, Settings, Store,
    Value, Writer,
};

/// 2026-01-01T01:00:00Z in milliseconds.
pub const START: u64 = 1_767_229_200_000;

pub fn component(number: u64) -> Component {
    Component::new(ComponentKind::Ost, format!("scratch-OST{number:04x}"))
        .of_cluster("edison")
        .of_file_system("scratch")
}

/// Counters that grow by a number that depends on target and second, and a level.
pub fn reading(target: u64, second: u64) -> Reading {
    let counted = |factor: u64| (0..=second).map(|it| it % 7 * factor + target).sum::<u64>();
    Reading {
        component: component(target),
        server: "oss1".into(),
        time: (START + second * 1000) * 1_000_000,
        epoch: 0,
        values: vec![
            Value::new(Measure::ReadBytes, counted(4096)),
            Value::new(Measure::WriteOperations, counted(1)),
            Value::of_bin(Measure::WriteSizes, 4096, counted(2)),
            Value::of_bin(Measure::WriteSizes, 1 << 20, counted(3)),
            Value::new(Measure::Opens, counted(5)),
            Value::new(Measure::InFlight, second % 3),
        ],
    }
}

pub fn scrape(targets: u64, second: u64) -> Vec<Reading> {
    (0..targets).map(|target| reading(target, second)).collect()
}

/// Appends so many seconds from one on, and seals as often as said.
pub fn fill(writer: &mut Writer, targets: u64, seconds: std::ops::Range<u64>, seal_every: u64) {
    for second in seconds {
        writer.append(&scrape(targets, second)).unwrap();
        if second % seal_every == seal_every - 1 {
            writer.seal().unwrap();
        }
    }
}

/// Appends something on each of the two days that follow, so that the first one is old.
pub fn live_on(writer: &mut Writer) {
    for day in 1..=2 {
        let component = Component::new(ComponentKind::Server, "oss1");
        let values = vec![Value::new(Measure::Threads, 7)];
        let time = (START + day * 86_400_000) * 1_000_000;
        writer.append(&[Reading { component, values, time, ..reading(0, 0) }]).unwrap();
    }
    writer.seal().unwrap();
}

pub fn open(path: &Path) -> Writer {
    Writer::open(path, Settings::default()).unwrap()
}

/// Everything: by measure, bin, target and end, the length and the value. Fails if a sample comes twice.
pub type Samples = BTreeMap<(&'static str, u64, String, u64), (u64, u64)>;

pub fn read(path: &Path) -> Samples {
    read_selected(path, &Selection::default())
}

pub fn read_selected(path: &Path, selection: &Selection<'_>) -> Samples {
    let mut all = Samples::new();
    let store = Store::open(path).unwrap();
    let outcome: Result<(), HistoryError> = store.read(selection, |batch| {
        add_to(&mut all, batch);
        Ok(())
    });
    outcome.unwrap();
    all
}

pub fn add_to(all: &mut Samples, batch: Batch<'_>) {
    for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
        let series = batch.series;
        let key = (series.measure.name(), series.bin, series.component.name.clone(), *end);
        assert_eq!(all.insert(key.clone(), (*length, *value)), None, "{key:?} came twice");
    }
}

/// Sums by measure, bin and target: what no merging and aging may change. Levels are left out.
pub fn sums(samples: &Samples) -> BTreeMap<(&'static str, u64, String), u64> {
    let mut sums = BTreeMap::new();
    for ((measure, bin, target, _), (length, value)) in samples {
        if *length > 0 {
            *sums.entry((*measure, *bin, target.clone())).or_default() += value;
        }
    }
    sums
}

/// Names of the files of the first day.
pub fn first_day(path: &Path) -> Vec<String> {
    let first = globbed(path).into_iter().filter(|it| it.starts_with(path.join("day=2026-01-01")));
    first.map(|it| it.file_name().unwrap().to_str().unwrap().to_string()).collect()
}

/// Files that other programs find by the documented pattern.
pub fn globbed(path: &Path) -> Vec<PathBuf> {
    let list = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
    let days = list(path).into_iter().filter(|it| name(it).starts_with("day="));
    let mut files: Vec<PathBuf> = days
        .flat_map(|day| list(&day))
        .filter(|file| name(file).ends_with(".parquet") && !name(file).starts_with('.'))
        .collect();
    files.sort();
    files
}
