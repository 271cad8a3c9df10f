//! Targets that are followed while they work.

use plimsoll_history::{
    Component, ComponentKind, Measure, Reading, Settings, Store, Value, Writer,
};
use plimsoll_utilization::{By, FixedCost, Lately, Options, Recent, Scope, TargetCosts, survey};

/// 2026-01-01T01:00:00Z in milliseconds.
const START: u64 = 1_767_229_200_000;
const SCOPE: Scope = Scope { windows: 60, jobs: true };

fn grace(_: &Component) -> TargetCosts {
    let read = FixedCost::new(8.02e-4, 1.23e-9).unwrap();
    TargetCosts { read, write: FixedCost::new(1.04e-3, 1.73e-9).unwrap() }
}

fn ost(name: &str) -> Component {
    Component::new(ComponentKind::Ost, name).of_file_system("scratch")
}

fn reading(component: Component, second: u64, values: Vec<Value>) -> Reading {
    let time = (START + second * 1000) * 1_000_000;
    Reading { component, server: "oss1".into(), time, epoch: 0, values }
}

/// So many writes of 4 KiB until then, of a target whose sizes are known.
fn sized(name: &str, second: u64, writes: u64) -> Reading {
    let values = vec![
        Value::new(Measure::WrittenBytes, writes * 4096),
        Value::new(Measure::WriteOperations, writes),
        Value::of_bin(Measure::WriteSizes, 4096, writes),
    ];
    reading(ost(name), second, values)
}

fn device(second: u64, reads: u64, bytes: u64) -> Reading {
    let values = vec![
        Value::new(Measure::ReadBytes, bytes),
        Value::new(Measure::ReadOperations, reads),
        Value::new(Measure::WrittenBytes, 0),
        Value::new(Measure::WriteOperations, 0),
    ];
    reading(Component::new(ComponentKind::BlockDevice, "sda"), second, values)
}

fn take(recent: &mut Recent, second: u64, readings: &[Reading]) {
    recent.take(readings, START + second * 1000, &grace);
}

fn named(all: &[Lately], name: &str) -> Lately {
    all.iter().find(|it| it.name == name).unwrap().clone()
}

#[track_caller]
fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("known");
    assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1e-9), "{value} {expected}");
}

#[test]
fn rates_are_known_after_two_readings_and_utilization_after_a_window() {
    let mut recent = Recent::new(SCOPE);
    take(&mut recent, 0, &[sized("OST0", 0, 0), device(0, 0, 0)]);
    let first = named(&recent.groups(By::Target), "OST0");
    assert_eq!((first.fsu, first.written_bytes, first.known), (None, None, 0));
    for second in 1..=6 {
        let readings = [sized("OST0", second, 500 * second), device(second, 0, 0)];
        take(&mut recent, second, &readings);
        let target = named(&recent.groups(By::Target), "OST0");
        near(target.written_bytes, 500.0 * 4096.0);
        near(target.write_size(), 4096.0);
        assert_eq!(target.read_bytes, None, "nobody counts reads");
        near(target.operation_size(), 4096.0);
        let bytes_only = Lately { write_operations: None, ..target.clone() };
        assert_eq!(bytes_only.operation_size(), None);
        assert_eq!(target.fsu.is_some(), second >= 4);
    }
    let busy = 100.0 * 500.0 * (1.04e-3 + 1.73e-9 * 4096.0);
    let targets = recent.groups(By::Target);
    near(named(&targets, "OST0").fsu, busy);
    near(named(&targets, "sda").fsu, 0.0);
    near(named(&recent.groups(By::Server), "oss1").fsu, busy / 2.0);
    near(named(&recent.groups(By::FileSystem), "scratch").fsu, busy);
    assert_eq!(named(&targets, "OST0").sizes.unwrap()[&4096], (0, 3000));
    assert_eq!(named(&targets, "sda").sizes, None);
    let mut seen = Vec::new();
    recent.each_utilization(|component, fsu| seen.push((component.name.clone(), fsu > 0.0)));
    assert_eq!(seen, [("OST0".to_owned(), true), ("sda".to_owned(), false)]);
}

#[test]
fn what_is_followed_agrees_with_the_survey_of_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    let mut recent = Recent::new(SCOPE);
    let mut stored = Recent::new(SCOPE);
    let mut writes = 0;
    for second in 0..=100 {
        let readings = [sized("OST0", second, writes), device(second, 40 * second, second << 20)];
        take(&mut recent, second, &readings);
        writer.append(&readings).unwrap();
        writes += 100 * (second / 5 % 4);
        if second % 30 == 7 {
            let store = Store::open(&path).unwrap();
            stored.take_store(&store, START + second * 1000, &grace).unwrap();
        }
    }
    let whole = Store::open(&path).unwrap();
    stored.take_store(&whole, START + 100_000, &grace).unwrap();
    assert_eq!(stored.now(), recent.now());
    let mut late = Recent::new(SCOPE);
    late.take_store(&whole, START + 1_000_000_000, &grace).unwrap();
    for (one, other) in recent.groups(By::Target).iter().zip(late.groups(By::Target)) {
        assert_eq!(
            (one.fsu, one.bytes(), &one.history),
            (other.fsu, other.bytes(), &other.history)
        );
    }
    let surveyed = survey(&whole, &Options { bucket_millis: 5000, ..Options::default() }, &grace);
    for summary in surveyed.unwrap().groups {
        for (from, lately) in [("readings", &recent), ("store", &stored)] {
            let followed = named(&lately.groups(By::Target), &summary.name);
            for (place, window) in summary.over_time.values().rev().enumerate() {
                let at = followed.history.len() - 1 - place;
                let fsu = followed.history[at];
                let is_equal = fsu.is_some_and(|it| (it - window.fsu.value()).abs() < 1e-9);
                assert!(
                    is_equal,
                    "{from}: {} {place}: {fsu:?} {}",
                    summary.name,
                    window.fsu.value()
                );
            }
        }
    }
}

#[test]
fn resets_gaps_and_absence_are_missing_and_not_zero() {
    let mut recent = Recent::new(SCOPE);
    (0..=6).for_each(|second| take(&mut recent, second, &[device(second, 10 * second, 0)]));
    let now = |recent: &Recent| named(&recent.groups(By::Target), "sda");
    near(now(&recent).read_operations, 10.0);
    take(&mut recent, 7, &[device(7, 3, 0)]);
    near(now(&recent).read_operations, 10.0);
    take(&mut recent, 8, &[device(8, 103, 0)]);
    near(now(&recent).read_operations, 100.0);
    assert_eq!(now(&recent).fsu, None, "one second is known since the reset");
    let other = sized("OST0", 20, 0);
    take(&mut recent, 20, &[other]);
    assert_eq!((now(&recent).read_operations, now(&recent).known), (None, 0), "silent for 12 s");
    let mut gone = device(21, 0, 0);
    gone.values = vec![Value::new(Measure::IsPresent, 0)];
    take(&mut recent, 21, &[gone]);
    assert!(!now(&recent).is_present && now(&recent).fsu.is_none());
    take(&mut recent, 700, &[sized("OST0", 700, 0)]);
    assert_eq!(recent.groups(By::Target).len(), 1, "gone for ten minutes");
}

#[test]
fn a_clock_that_stands_still_gives_nothing() {
    let mut recent = Recent::new(SCOPE);
    (0..=6).for_each(|second| take(&mut recent, second, &[sized("OST0", 0, 10 * second)]));
    let target = named(&recent.groups(By::Target), "OST0");
    assert_eq!((target.written_bytes, target.fsu), (None, None));
    assert!(target.history.iter().all(Option::is_none));
}

#[test]
fn jobs_are_added_up_over_targets_and_counted_in_no_target() {
    let mut recent = Recent::new(SCOPE);
    for second in 0..=5 {
        let of_job = |name: &str, each: u64| {
            let whole = sized(name, second, each * second);
            Reading { component: whole.component.clone().of_job("cook.17"), ..whole }
        };
        let readings = [sized("OST0", second, 0), of_job("OST0", 100), of_job("OST1", 50)];
        take(&mut recent, second, &readings);
    }
    let jobs = recent.jobs();
    assert_eq!((jobs.len(), jobs[0].name.as_str(), jobs[0].targets), (1, "cook.17", 2));
    near(jobs[0].write_operations, 150.0);
    assert_eq!(jobs[0].fsu, None);
    near(named(&recent.groups(By::Target), "OST0").written_bytes, 0.0);
    assert_eq!(recent.groups(By::Target).len(), 1);
    let mut without = Recent::new(Scope { jobs: false, ..SCOPE });
    let job = sized("OST0", 0, 1);
    without.take(&[Reading { component: ost("OST0").of_job("a"), ..job }], START, &grace);
    assert!(without.jobs().is_empty());
}

/// A clock that was years ahead leaves samples of the future, and one that is put back shows a time again.
#[test]
fn what_is_done_now_is_known_after_a_clock_was_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    let mut stored = Recent::new(SCOPE);
    let mut recent = Recent::new(SCOPE);
    let mut follow = |seconds: std::ops::Range<u64>, ahead: u64, each: u64| {
        writer.begin_anew();
        recent.begin_anew();
        for second in seconds {
            let mut reading = sized("OST0", second, each * second);
            reading.time += ahead * 1_000_000_000;
            let now = START + (second + ahead) * 1000;
            recent.take(std::slice::from_ref(&reading), now, &grace);
            writer.append(&[reading]).unwrap();
            stored.take_store(&Store::open(&path).unwrap(), now, &grace).unwrap();
        }
        let from_store = named(&stored.groups(By::Target), "OST0");
        let from_readings = named(&recent.groups(By::Target), "OST0");
        for lately in [from_readings, from_store] {
            near(lately.written_bytes, each as f64 * 4096.0);
            near(lately.fsu, 100.0 * each as f64 * (1.04e-3 + 1.73e-9 * 4096.0));
        }
    };
    follow(0..10, 30, 100);
    follow(10..20, 70 * 365 * 86_400, 200);
    // The seconds from 30 on come again.
    follow(20..40, 0, 300);
    follow(40..50, 70 * 365 * 86_400, 400);
    follow(50..60, 50, 500);
}

#[test]
fn operations_of_metadata_are_followed_and_a_store_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut store = Writer::open(&path, Settings::default()).unwrap();
    let mut recent = Recent::new(SCOPE);
    let mdt = || Component::new(ComponentKind::Mdt, "scratch-MDT0000").of_file_system("scratch");
    for second in 0..=20 {
        let counters = vec![
            Value::new(Measure::Opens, second * 30),
            Value::new(Measure::Renames, second * 4),
            Value::new(Measure::RenamesCrossDirectory, second * 4),
            Value::new(Measure::FreeInodes, 7),
        ];
        let readings = [reading(mdt(), second, counters)];
        store.append(&readings).unwrap();
        take(&mut recent, second, &readings);
    }
    let mut of_store = Recent::new(SCOPE);
    let opened = Store::open(&path).unwrap();
    of_store.take_store(&opened, START + 21_000, &grace).unwrap();
    for recent in [recent, of_store] {
        let latest = recent.latest();
        assert!(latest.targets.is_empty() && latest.servers.is_empty(), "no data is theirs");
        let [mdt] = latest.metadata.try_into().expect("one");
        near(mdt.operations(), 34.0);
        let rates = mdt.metadata.expect("known");
        near(rates.get(&Measure::Opens).copied(), 30.0);
        near(rates.get(&Measure::RenamesCrossDirectory).copied(), 4.0);
        assert_eq!(rates.len(), 3, "levels are no operations");
        near(mdt.history.last().copied().flatten(), 34.0);
        assert_eq!((mdt.fsu, mdt.known), (None, 1));
    }
}

/// Symptom: `top` on a client called a target idle that others kept busy.
#[test]
fn a_target_as_a_client_sees_it_has_rates_and_no_utilization() {
    let mut recent = Recent::new(SCOPE);
    for second in 0..=10 {
        let seen = Component::new(ComponentKind::SeenTarget, "OST0").of_file_system("scratch");
        let values = vec![
            Value::new(Measure::WrittenBytes, second * 4096),
            Value::new(Measure::WriteOperations, second),
        ];
        take(&mut recent, second, &[reading(seen, second, values)]);
    }
    let seen = named(&recent.groups(By::Target), "OST0");
    near(seen.written_bytes, 4096.0);
    assert_eq!((seen.fsu, seen.bandwidth_only), (None, None));
    assert!(seen.history.is_empty());
}
