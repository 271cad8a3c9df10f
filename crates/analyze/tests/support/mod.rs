//! Stores that are made of plain numbers.

use std::path::Path;

use plimsoll_analyze::{Frame, Options, Whole, summarize};
use plimsoll_history::{Component, ComponentKind, Import, Measure, Row, Series, Store};

/// 2026-01-01T00:00:00Z in minutes.
pub const START: u64 = 1_767_225_600 / 60;

/// A sample of a target: end and length in milliseconds after [`START`], and value.
pub type Sampled = (u64, u32, u64);

/// Makes a store of samples: kind, name and measure of each series.
pub fn store(path: &Path, all: &[(ComponentKind, &str, Measure, Vec<Sampled>)]) {
    let of = |(kind, name, measure, samples): &(ComponentKind, &str, Measure, Vec<Sampled>)| {
        let component = Component::new(*kind, *name).of_file_system("scratch");
        (component, *measure, samples.clone())
    };
    store_of(path, &all.iter().map(of).collect::<Vec<_>>());
}

/// Makes a store of samples of components.
pub fn store_of(path: &Path, all: &[(Component, Measure, Vec<Sampled>)]) {
    let mut import = Import::begin(path, "test").unwrap();
    for (component, measure, samples) in all {
        let component = component.clone();
        let series = Series { measure: *measure, bin: 0, component, server: "server".into() };
        let number = import.series(&series);
        for (end, length, value) in samples {
            let end = START * 60_000 + end;
            import.row(Row { series: number, end, length: *length, value: *value }).unwrap();
        }
    }
    import.finish().unwrap();
}

/// Returns whole minutes as samples; those that are missing have none.
pub fn minutes(values: &[Option<u64>]) -> Vec<Sampled> {
    let sample =
        |(minute, value): (u64, &Option<u64>)| Some(((minute + 1) * 60_000, 60_000, (*value)?));
    (0..).zip(values).filter_map(sample).collect()
}

/// Adds up a store in so many parts, each with so many threads.
pub fn whole(path: &Path, options: &Options, parts: usize, threads: usize) -> (Frame, Whole) {
    let store = Store::open(path).unwrap();
    let frame = Frame::of(&store, options).unwrap();
    let mut all = None;
    for part in 0..parts {
        let next = summarize(&store, &frame, frame.part(part, parts), threads).unwrap();
        all = Some(match all {
            None => next,
            Some(before) => plimsoll_analyze::Partial::join(before, next, &frame),
        });
    }
    let whole = all.unwrap().whole(&frame);
    (frame, whole)
}
