//! Utilization worked out from stores.

use std::path::Path;

use plimsoll_history::{
    Component, ComponentKind, Day, Measure, Reading, Selection, Settings, Store, Value, Writer,
};
use plimsoll_stored::{Reader, Stored};
use plimsoll_utilization::{
    Asked, By, FixedCost, Options, Summary, Survey, SurveyPart, TargetCosts, sharing, survey,
    survey_days,
};

/// 2026-01-01T01:00:00Z in milliseconds.
const START: u64 = 1_767_229_200_000;

/// Table I of the paper.
fn grace(_: &Component) -> TargetCosts {
    let read = FixedCost::new(8.02e-4, 1.23e-9).unwrap();
    TargetCosts { read, write: FixedCost::new(1.04e-3, 1.73e-9).unwrap() }
}

/// Counters of a target that writes so many small and large blocks a second.
fn target(name: &str, server: &str, second: u64, small: u64, large: u64) -> Reading {
    let count = |each: u64| each * second;
    Reading {
        component: Component::new(ComponentKind::Ost, name).of_file_system("scratch"),
        server: server.into(),
        time: (START + second * 1000) * 1_000_000,
        epoch: 0,
        values: vec![
            Value::new(Measure::ReadBytes, 0),
            Value::new(Measure::WrittenBytes, count(small * 4096 + (large << 20))),
            Value::of_bin(Measure::ReadSizes, 4096, 0),
            Value::of_bin(Measure::WriteSizes, 4096, count(small)),
            Value::of_bin(Measure::WriteSizes, 1 << 20, count(large)),
        ],
    }
}

fn of(path: &Path, options: &Options) -> Survey {
    survey(&Store::open(path).unwrap(), options, &grace).unwrap()
}

fn group<'a>(survey: &'a Survey, name: &str) -> &'a Summary {
    survey.groups.iter().find(|it| it.name == name).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1e-9), "{value} {expected}");
}

/// One target does small writes, one large ones, one nothing; every third 5 s of the first is quiet.
fn write(path: &Path, seconds: u64) -> Writer {
    let mut writer = Writer::open(path, Settings::default()).unwrap();
    let mut small = 0;
    for second in 0..=seconds {
        let mut first = target("OST0", "oss1", second, 0, 0);
        first.values[1].value = small * 4096;
        first.values[3].value = small;
        let second_target = target("OST1", "oss1", second, 0, 100);
        writer.append(&[first, second_target, target("OST2", "oss2", second, 0, 0)]).unwrap();
        small += if second / 5 % 3 == 2 { 0 } else { 500 };
    }
    writer.seal().unwrap();
    writer
}

#[test]
fn small_writes_keep_a_target_busy_that_bandwidth_calls_idle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    write(&path, 900);
    let found = of(&path, &Options::default());
    let names: Vec<&str> = found.groups.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["OST0", "OST1", "OST2"]);
    let small = group(&found, "OST0");
    assert_eq!((small.windows, small.targets), (180, 1));
    // 500 writes of 4 KiB a second, in two of three windows.
    let busy = 100.0 * 500.0 * (1.04e-3 + 1.73e-9 * 4096.0);
    near(small.fsu_mean().unwrap(), busy * 2.0 / 3.0);
    near(small.fsu_max, busy);
    let [idle, moderate, of_busy] = small.shares().unwrap();
    assert_eq!(idle + moderate + of_busy, 1.0);
    near(of_busy, 2.0 / 3.0);
    near(idle, 1.0 / 3.0);
    assert_eq!(small.histogram[(busy / 2.0) as usize], 120);
    let class = small.classes[2];
    assert_eq!((class.operations, class.optimal), (120 * 2500, 0));
    near(small.understated().unwrap(), (1.04e-3 + 1.73e-9 * 4096.0) / (1.73e-9 * 4096.0));
    assert_eq!(small.busy_unseen_share(), Some(1.0));
    near(small.achievable().unwrap(), 4096.0 / (1.04e-3 + 1.73e-9 * 4096.0));
    let large = group(&found, "OST1");
    let fsu = 100.0 * 100.0 * (1.04e-3 + 1.73e-9 * f64::from(1 << 20));
    near(large.fsu_mean().unwrap(), fsu);
    near(large.bytes_per_second().unwrap(), 100.0 * f64::from(1 << 20));
    assert_eq!((large.classes[1].operations, large.classes[1].optimal), (90_000, 90_000));
    assert_eq!(large.sizes[&(1 << 20)], (0, 90_000));
    let none = group(&found, "OST2");
    assert_eq!((none.fsu_mean(), none.shares()), (Some(0.0), Some([1.0, 0.0, 0.0])));
    // A file system's is the mean over its targets, window by window.
    let whole = of(&path, &Options { by: By::FileSystem, ..Options::default() });
    let whole = group(&whole, "scratch");
    assert_eq!((whole.targets, whole.windows), (3, 180));
    near(whole.fsu_mean().unwrap(), (busy * 2.0 / 3.0 + fsu) / 3.0);
    let servers = of(&path, &Options { by: By::Server, ..Options::default() });
    assert_eq!(group(&servers, "oss1").targets, 2);
    near(group(&servers, "oss1").fsu_mean().unwrap(), (busy * 2.0 / 3.0 + fsu) / 2.0);
    let part =
        Options { since: Some(START + 60_000), until: Some(START + 90_000), ..Options::default() };
    assert_eq!(group(&of(&path, &part), "OST1").windows, 6);
}

#[test]
fn tables_do_not_change_with_age() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = write(&path, 900);
    let options = Options::default();
    let fresh = of(&path, &options);
    let by_file_system = Options { by: By::FileSystem, ..options };
    let whole = of(&path, &by_file_system);
    // It is old once there are two later days.
    for day in 1..=2 {
        let mut reading = target("oss1", "oss1", day * 86_400, 0, 0);
        reading.component = Component::new(ComponentKind::Server, "oss1");
        reading.values = vec![Value::new(Measure::Threads, 7)];
        writer.append(&[reading]).unwrap();
    }
    writer.seal().unwrap();
    for _ in 0..4 {
        writer.maintain(START + 3 * Day::MILLIS).unwrap();
    }
    assert!(path.join("day=2026-01-01/aged-0-0.parquet").exists());
    assert_eq!(of(&path, &options), fresh);
    assert_eq!(of(&path, &by_file_system), whole);
}

/// Five days with gaps, one of them longer than a day: samples of 47 s that reach over midnight, a target that changes its server, one that comes late, and one of bytes alone.
fn days_of_samples(path: &Path) {
    let mut writer = Writer::open(path, Settings::default()).unwrap();
    let is_gap = |second: u64| (100_000..190_000).contains(&second) || second / 5000 == 7;
    for second in (0..5 * 86_400).step_by(47).filter(|it| !is_gap(*it)) {
        let server = if second < 250_000 { "oss1" } else { "oss2" };
        let mut readings = vec![
            target("OST0", server, second, 3, 1 + second / 90_000),
            target("OST1", "oss2", second + 11, 0, 2),
        ];
        readings[0].values[1].value = second * second;
        if second > 300_000 {
            readings.push(target("late", "oss3", second, 100, 0));
        }
        let mut bytes = target("bytes", "oss4", second, 5, 0);
        bytes.component.file_system = "other".into();
        bytes.values.truncate(2);
        readings.push(bytes);
        writer.append(&readings).unwrap();
    }
    writer.seal().unwrap();
}

#[test]
fn any_division_of_days_gives_the_whole_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    days_of_samples(&path);
    let store = Store::open(&path).unwrap();
    let all = Selection { since: None, until: None, measures: &[], is_wanted: None };
    let days = store.days(&all).unwrap();
    assert!(days.len() >= 5, "{days:?}");
    for by in [By::Target, By::Server, By::FileSystem] {
        let options = Options { by, bucket_millis: 3_600_000, ..Options::default() };
        let whole = of(&path, &options);
        assert!(whole.groups.iter().any(|it| it.windows > 20_000), "{by:?}");
        let part = |days: &[Day]| {
            let asked = Asked { is_wanted: &|_| true, costs: &grace };
            let part = survey_days(&store, days, &options, &asked).unwrap();
            let mut bytes = Vec::new();
            part.put(&mut bytes);
            let read = SurveyPart::get(&mut Reader::new(&bytes, 1 << 26)).unwrap();
            assert_eq!(read, part, "what is stored reads back");
            read
        };
        for length in 1..=days.len() {
            let parts: Vec<SurveyPart> = days.chunks(length).map(part).collect();
            // From the left, and from the right.
            let left = parts.iter().cloned().reduce(|all, next| all.join(next, &options).unwrap());
            let right = parts.into_iter().rev().reduce(|all, it| it.join(all, &options).unwrap());
            assert_eq!(left.unwrap().whole(&options), whole, "{by:?}, {length} days each");
            assert_eq!(right.unwrap().whole(&options), whole, "{by:?}, {length} days each");
        }
    }
    let options = Options { by: By::FileSystem, only_operations: true, ..Options::default() };
    let names: Vec<String> = of(&path, &options).groups.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["scratch"], "where only bytes are known nothing is said");
}

#[test]
fn gaps_are_missing_and_midnight_is_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    let midnight = (Day::MILLIS - 3_600_000) / 1000;
    let seconds = (midnight - 30..=midnight + 30).chain(midnight + 200..=midnight + 220);
    // Samples of 3 s reach from one day into the next.
    for second in seconds.step_by(3) {
        writer.append(&[target("OST0", "oss1", second + 2, 0, 10)]).unwrap();
    }
    writer.seal().unwrap();
    let found = of(&path, &Options::default());
    let one = group(&found, "OST0");
    let fsu = 100.0 * 10.0 * (1.04e-3 + 1.73e-9 * f64::from(1 << 20));
    near(one.fsu_mean().unwrap(), fsu);
    near(one.fsu_max, fsu);
    assert_eq!(one.windows, 14, "11 around midnight, 3 after the gap");
    assert!(found.unplaced_bytes > 170 * (10 << 20), "{}", found.unplaced_bytes);
}

/// What a target did before a midnight stays there, also where others go on for days before it comes back.
#[test]
fn a_target_that_is_away_for_days_has_its_windows_where_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    for day in 0..4 {
        let midnight = day * 86_400 + (Day::MILLIS - 3_600_000) / 1000;
        // The first one is there before the first midnight and after the last one.
        let name = if day == 0 { "OST0" } else { "OST1" };
        for second in (midnight - 60..=midnight).step_by(5) {
            writer.append(&[target(name, "oss1", second, 0, 10)]).unwrap();
        }
    }
    let last = 4 * 86_400;
    for second in (last..=last + 60).step_by(5) {
        writer.append(&[target("OST0", "oss1", second, 0, 10)]).unwrap();
    }
    writer.seal().unwrap();
    let found = of(&path, &Options { bucket_millis: Day::MILLIS, ..Options::default() });
    let windows = |name: &str| -> Vec<(u64, u64)> {
        let over_time = &group(&found, name).over_time;
        over_time.iter().map(|(start, it)| (start / Day::MILLIS, it.windows)).collect()
    };
    let first = START / Day::MILLIS;
    assert_eq!(windows("OST0"), [(first, 12), (first + 4, 12)]);
    assert_eq!(windows("OST1"), [(first + 1, 12), (first + 2, 12), (first + 3, 12)]);
}

#[test]
fn targets_without_operations_are_named_and_have_bandwidth_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    for second in 0..20 {
        let mut reading = target("OST0", "oss1", second, 0, 10);
        reading.values.truncate(2);
        writer.append(&[reading]).unwrap();
    }
    let found = of(&path, &Options::default());
    assert_eq!(found.without_operations, ["OST0"]);
    let one = &found.groups[0];
    assert_eq!((one.fsu_mean(), one.shares(), one.achievable()), (None, None, None));
    // Of the first second nothing is known.
    near(one.bytes_per_second().unwrap(), 19.0 / 20.0 * f64::from(10 << 20));
    // Who asks for utilization alone gets nothing of it, and is told why.
    let only = Options { only_operations: true, ..Options::default() };
    let found = of(&path, &only);
    assert_eq!((found.groups.len(), found.without_operations.len()), (0, 1));
    // Where others of the group have operations, those speak for it.
    for second in 20..40 {
        let mut without = target("OST0", "oss1", second, 0, 10);
        without.values.truncate(2);
        writer.append(&[without, target("OST1", "oss1", second, 0, 10)]).unwrap();
    }
    let found = of(&path, &Options { by: By::Server, ..Options::default() });
    assert_eq!((found.groups.len(), found.groups[0].targets), (1, 1));
    assert!(found.groups[0].fsu_mean().is_some());
    assert_eq!(of(&path, &Options { by: By::Server, ..only }), found);
}

#[test]
fn a_store_without_samples_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(Writer::open(&path, Settings::default()).unwrap());
    assert_eq!(of(&path, &Options::default()).groups, []);
}

/// A clock that was put back by half a minute: what it shows twice is there once, and the rest as it was.
#[test]
fn a_time_that_a_clock_showed_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open(&path, Settings::default()).unwrap();
    let shown = |second: u64, back: u64| {
        let reading = target("OST0", "oss1", second, 500, 0);
        Reading { time: reading.time - back * 1_000_000_000, ..reading }
    };
    for second in 0..=60 {
        writer.append(&[shown(second, 0)]).unwrap();
    }
    let once = of(&path, &Options::default());
    writer.begin_anew();
    for second in 61..=121 {
        writer.append(&[shown(second, 31)]).unwrap();
    }
    let check = || {
        let found = of(&path, &Options::default());
        let (found, once) = (group(&found, "OST0"), group(&once, "OST0"));
        assert_eq!((once.windows, found.windows), (12, 18));
        near(found.fsu_mean().unwrap(), once.fsu_mean().unwrap());
        assert_eq!(found.sizes[&4096], (0, 500 * 90));
    };
    check();
    writer.seal().unwrap();
    check();
}

/// Two jobs on two targets each, one of which they share; a third job does nothing, and a fourth target has no job.
#[test]
fn jobs_share_targets_more_or_less_than_chance_would_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = write(&path, 0);
    let job = |target: &str, job: &str, second: u64, each: u64| {
        let mut reading = target_of(target, second, each);
        reading.component = reading.component.of_job(job);
        reading
    };
    assert_eq!(sharing(&Store::open(&path).unwrap(), &Options::default()).unwrap(), []);
    for second in 1..=600 {
        let quiet = target_of("OST3", second, 0);
        // Only the first five minutes of the second job have anything.
        let late = second.min(299);
        let mut more = vec![quiet];
        for (target, name, at, each) in [
            ("OST0", "one", second, 7),
            ("OST1", "one", second, 7),
            ("OST1", "two", late, 9),
            ("OST2", "two", late, 9),
            ("OST2", "idle", second, 0),
        ] {
            let mut reading = job(target, name, at, each);
            reading.time = (START + second * 1000) * 1_000_000;
            more.push(reading);
        }
        writer.append(&more).unwrap();
    }
    writer.seal().unwrap();
    let found = sharing(&Store::open(&path).unwrap(), &Options::default()).unwrap();
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.file_system.as_str(), found.targets, found.jobs), ("scratch", 4, 2));
    assert_eq!((found.minutes, found.active_jobs), (10, 15));
    assert_eq!((found.requested, found.in_use), (5 * 4 + 5 * 2, 5 * 3 + 5 * 2));
    // Two jobs of two of four targets each: 4 (1 - (1/2)^2) = 3 are expected; one job has 2.
    near(found.expected_in_use, 25.0);
    near(found.load().unwrap(), 1.2);
    near(found.expected_load().unwrap(), 1.2);
    near(found.jobs_at_a_time().unwrap(), 1.5);
    near(found.targets_per_job().unwrap(), 2.0);
    let shared = found.of_targets["OST1"];
    assert_eq!((shared.minutes, shared.jobs, shared.most), (10, 15, 2));
    assert_eq!(found.of_targets["OST0"].most, 1);
    let later = Options { since: Some(START + 300_000), ..Options::default() };
    let later = &sharing(&Store::open(&path).unwrap(), &later).unwrap()[0];
    assert_eq!((later.jobs, later.minutes, later.in_use), (1, 5, 10));
}

fn target_of(name: &str, second: u64, each: u64) -> Reading {
    let mut reading = target(name, "oss1", second, each, 0);
    reading.values.retain(|it| it.measure == Measure::WrittenBytes);
    reading
}
