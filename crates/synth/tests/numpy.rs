//! Figures equal those of a computation with numpy that shares no code with ours, on a store that is as untidy as real ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_analyze::{Analysis, Frame, Options, Server, summarize};
use plimsoll_history::{
    Batch, ComponentKind, Day, HistoryError, Import, Row, Selection, Series, Store,
};
use plimsoll_stats::Random;
use plimsoll_synth::{Plan, synthesize};
use serde_json::Value;

/// Samples of one series: end and length in milliseconds, and value.
type Samples = Vec<(u64, u64, u64)>;

fn read(path: &Path) -> Vec<(Series, Samples)> {
    let store = Store::open(path).unwrap();
    let mut all: Vec<(Series, Samples)> = Vec::new();
    for day in store.days(&Selection::default()).unwrap() {
        let take = |batch: Batch<'_>| -> Result<(), HistoryError> {
            let place = all.iter().position(|it| it.0 == *batch.series).unwrap_or_else(|| {
                all.push((batch.series.clone(), Vec::new()));
                all.len() - 1
            });
            let times = batch.ends.iter().zip(batch.lengths);
            all[place].1.extend(
                times.zip(batch.values).map(|((end, length), value)| (*end, *length, *value)),
            );
            Ok(())
        };
        store.read_day(day, &Selection::default(), take).unwrap();
    }
    all
}

/// Drops samples, alone and in runs; puts some together, over the ends of minutes and to gaps of more than a minute; shifts all of some series; and lets a target come late
/// and another one go.
fn untidy(all: &mut [(Series, Samples)], random: &mut Random) {
    for (number, (series, samples)) in all.iter_mut().enumerate() {
        let (first, last) = (samples[0].0, samples[samples.len() - 1].0);
        let shift = if number % 3 == 1 { 3700 } else { 0 };
        let mut kept: Samples = Vec::new();
        let mut left = std::mem::take(samples).into_iter();
        while let Some((mut end, mut length, mut value)) = left.next() {
            let drop = match random.below(2000) {
                0 => 40,
                it if it < 60 => 1,
                _ => 0,
            };
            if drop > 0 {
                left.by_ref().take(drop - 1).for_each(drop_it);
                continue;
            }
            let together = match random.below(1000) {
                0 => 7,
                it if it < 30 => 2,
                _ => 0,
            };
            for (next, more, counted) in left.by_ref().take(together) {
                // Only what follows without a hole.
                if next == end + more {
                    (end, length, value) = (next, length + more, value.saturating_add(counted));
                }
            }
            kept.push((end + shift, length, value));
        }
        if series.component.kind == ComponentKind::Ost {
            let is_there = |end: u64| match series.component.name.as_str() {
                "synth-OST0001" => end > first + (last - first) / 3,
                "synth-OST0002" => end < first + (last - first) / 2,
                _ => true,
            };
            kept.retain(|it| is_there(it.0));
        }
        *samples = kept;
    }
}

fn drop_it(_: (u64, u64, u64)) {}

fn write(path: &Path, all: &[(Series, Samples)]) {
    let mut import = Import::begin(path, "test").unwrap();
    for (series, samples) in all {
        let number = import.series(series);
        for (end, length, value) in samples {
            let length = u32::try_from(*length).unwrap();
            import.row(Row { series: number, end: *end, length, value: *value }).unwrap();
        }
    }
    import.finish().unwrap();
}

/// Returns a Python that has numpy: that of the system, or the first one there is.
fn python() -> Option<&'static str> {
    ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let outcome = Command::new(python).args(["-c", "import numpy"]).output();
        outcome.is_ok_and(|it| it.status.success())
    })
}

fn computed(python: &str, folder: &Path, all: &[(Series, Samples)]) -> Value {
    let mut text = String::new();
    for (series, samples) in all {
        let (kind, name, measure) =
            (series.component.kind.name(), &series.component.name, series.measure.name());
        for (end, length, value) in samples {
            writeln!(text, "{kind} {name} {measure} {end} {length} {value}").unwrap();
        }
    }
    let samples = folder.join("samples");
    std::fs::write(&samples, text).unwrap();
    let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numpy/plain.py"));
    let outcome = Command::new(python).arg(script).arg(samples).output().unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    serde_json::from_slice(&outcome.stdout).unwrap()
}

#[test]
fn figures_are_those_of_numpy() {
    let Some(python) = python() else {
        eprintln!("skipped: there is no python3 with numpy");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (tidy, odd) = (folder.path().join("tidy"), folder.path().join("odd"));
    let first_day = Day::ending_at(1_735_689_600_001);
    let plan =
        Plan { seed: 11, first_day, days: 4, targets: 9, step_seconds: 10, is_planted: true };
    synthesize(&tidy, &plan, |_| {}).unwrap();
    let mut all = read(&tidy);
    untidy(&mut all, &mut Random::new(7));
    write(&odd, &all);
    let store = Store::open(&odd).unwrap();
    let frame = Frame::of(&store, &Options::default()).unwrap();
    let whole = summarize(&store, &frame, &frame.days, 2).unwrap().whole(&frame);
    let found = Analysis::of(&frame, &whole);
    let expected = computed(python, folder.path(), &all);
    assert_eq!(found.cleaning.outage, expected["outage_minutes"].as_u64().unwrap());
    assert!(found.cleaning.gaps > 10 && found.cleaning.partial > 100, "{:?}", found.cleaning);
    for target in &found.space.targets {
        let expected = &expected["targets"][&target.name];
        for direction in 0..2 {
            let bytes = expected["bytes"][direction].as_u64().unwrap();
            assert_eq!(target.bytes[direction], u128::from(bytes), "{}", target.name);
        }
        for (which, lags) in target.lags.iter().enumerate() {
            for window in 0..3 {
                for lag in 0..6 {
                    let what = format!("{} {which} {window} {lag}", target.name);
                    let r = lags.at(window, lag).correlation();
                    close(&what, r, &expected["correlations"][which][window][lag]);
                }
            }
        }
    }
    for (direction, name) in ["read_bytes", "written_bytes"].into_iter().enumerate() {
        of_direction(&found, direction, &expected["system"][name]);
    }
    for (which, correlations) in found.correlations.iter().enumerate() {
        for (window, lags) in correlations.by_window.iter().enumerate() {
            for (lag, correlated) in lags.iter().enumerate() {
                let what = format!("whole {which} {window} {lag}");
                let expected = &expected["correlations"][which][window][lag];
                close(&what, correlated.map(|it| it.r.value), expected);
            }
        }
    }
    let metadata = found.metadata.as_ref().unwrap();
    let opens = &metadata.operations[0];
    for (place, figure) in [opens.mean, opens.cov, metadata.closes_per_open].into_iter().enumerate()
    {
        close("metadata", figure.map(|it| it.value), &expected["metadata"][place]);
    }
    assert_eq!(found.servers.len(), 3);
    for Server { name, sums: server, .. } in &found.servers {
        let expected = &expected["servers"][name];
        assert_eq!(Some(server.known), expected[0].as_u64(), "{name}");
        close(name, Some(server.sum as f64 / server.known as f64), &expected[1]);
        assert_eq!(Some(server.most), expected[2].as_u64(), "{name}");
    }
}

fn of_direction(found: &Analysis, direction: usize, expected: &Value) {
    let transfer = &found.system.directions[direction];
    let bytes = expected["bytes"].as_u64().unwrap();
    assert_eq!(transfer.bytes, u128::from(bytes));
    let sample = transfer.minutes.as_ref().unwrap();
    assert_eq!(sample.n() as u64, expected["minutes"].as_u64().unwrap());
    close("mean", transfer.mean.map(|it| it.value), &expected["mean"]);
    close("cov", transfer.cov.map(|it| it.value), &expected["cov"]);
    close("below mean", transfer.below_mean.map(|it| it.value), &expected["below_mean"]);
    for (place, quantile) in transfer.quantiles.iter().enumerate() {
        close("quantile", quantile.map(|it| it.value), &expected["quantiles"][place]);
    }
    for (level, phases) in found.phases.iter().enumerate() {
        let length = phases[direction].mean_length.map(|it| it.value);
        close("phases", length, &expected["phases"][level]);
    }
    for (place, degrees) in found.space.parallelism[direction].degrees.iter().enumerate() {
        let counts = expected["clusters"][place].as_array().unwrap();
        let own = degrees.counts.iter().copied().chain(std::iter::repeat(0));
        for (size, (own, count)) in own.zip(counts).enumerate() {
            assert_eq!(Some(own), count.as_u64(), "clusters {place} of {size}");
        }
    }
    for (hour, recurring) in found.times.hours.iter().enumerate() {
        let (own, expected) = (&recurring[direction], &expected["hours"][hour]);
        assert_eq!(own.count as u64, expected[0].as_u64().unwrap(), "hour {hour}");
        close("hour", own.mean.map(|it| it.value), &expected[1]);
        close("hour's variation", own.cov.map(|it| it.value), &expected[2]);
    }
    let (_, day) = found.space.imbalance[1];
    close("imbalance", day[direction].most_over_mean.map(|it| it.value), &expected["over_mean"]);
}

#[track_caller]
fn close(what: &str, found: Option<f64>, expected: &Value) {
    match (found, expected.as_f64()) {
        (Some(found), Some(expected)) => {
            let difference = (found - expected).abs();
            assert!(difference <= 1e-9 * expected.abs().max(1e-3), "{what}: {found} {expected}");
        }
        (found, expected) => assert_eq!(found, expected, "{what}"),
    }
}
