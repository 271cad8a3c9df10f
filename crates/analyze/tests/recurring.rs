//! What recurs: jobs that go by the clock on the wall, and targets that are hot for a time.

mod support;

use plimsoll_analyze::{Analysis, Options, Zone};
use plimsoll_history::{ComponentKind, Measure};
use plimsoll_stats::Random;
use support::*;

/// Days from 2026-01-01 on, the first ones unknown; clocks in Berlin are put forward on the 29th of March, the 88th day.
const DAYS: std::ops::Range<u64> = 58..118;

/// A job that runs at 06:30 of a zone for 20 minutes, over load by chance.
fn with_job(zone: &Zone) -> Vec<Option<u64>> {
    let mut random = Random::new(7);
    let load = |minute: u64| {
        let local = zone.local(START + minute);
        let of_day =
            (START + minute).saturating_add_signed(zone.offset_minutes(START + minute)) % 1440;
        assert_eq!(of_day as usize / 60, local.hour());
        let job = if (390..410).contains(&of_day) { 3_000_000 } else { 0 };
        Some(random.below(2_000_000) + job)
    };
    let first = vec![None; DAYS.start as usize * 1440];
    first.into_iter().chain((DAYS.start * 1440..DAYS.end * 1440).map(load)).collect()
}

#[test]
fn a_job_that_goes_by_clocks_on_the_wall_is_found_at_its_hour_over_a_change_of_the_clock() {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let reads = minutes(&with_job(&berlin));
    store(&path, &[(ComponentKind::Ost, "a", Measure::ReadBytes, reads)]);
    let jobs = |zone: &Zone| {
        let options = Options { zone: zone.clone(), ..Options::default() };
        let (frame, whole) = whole(&path, &options, 1, 1);
        let found = Analysis::of(&frame, &whole).daily_jobs;
        found.iter().map(|it| (it.start, it.minutes, it.direction)).collect::<Vec<_>>()
    };
    assert_eq!(jobs(&berlin), [(390, 20, 0)], "one job, at 06:30, in winter and in summer");
    // By a clock that nobody puts forward it is two, an hour apart, or none: at no other time.
    let by_utc = jobs(&Zone::utc());
    assert!(by_utc.iter().all(|it| [(270, 20, 0), (330, 20, 0)].contains(it)), "{by_utc:?}");
}

#[test]
fn a_target_that_is_hot_for_a_time_is_told_with_it() {
    const DAYS: u64 = 90;
    let mut random = Random::new(3);
    let mut series = |hot: std::ops::Range<u64>| -> Vec<Sampled> {
        let hour = |hour: u64| {
            let value = 1_000_000 + random.below(2_000_000);
            Some(if hot.contains(&(hour / 24)) { value * 2 } else { value })
        };
        let hours: Vec<Option<u64>> = (0..DAYS * 24).map(hour).collect();
        // The load of an hour is in each of its minutes.
        let of_minutes = (0..DAYS * 1440).map(|minute| hours[minute as usize / 60]);
        minutes(&of_minutes.collect::<Vec<_>>())
    };
    let names = ["a", "b", "c"];
    let all: Vec<_> = names
        .into_iter()
        .map(|name| {
            let hot = if name == "c" { 40..64 } else { 0..0 };
            (ComponentKind::Ost, name, Measure::WrittenBytes, series(hot))
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    store(&path, &all);
    let (frame, whole) = whole(&path, &Options::default(), 1, 2);
    let found = Analysis::of(&frame, &whole);
    let [period] = &found.hot_periods[..] else { panic!("{:?}", found.hot_periods) };
    assert_eq!((period.name.as_str(), period.direction, period.is_lasting), ("c", 1, false));
    let days = |of: plimsoll_history::Day| of.start() / 86_400_000 - START / 1440;
    assert!(days(period.first).abs_diff(40) <= 3, "{period:?}");
    assert!(days(period.last).abs_diff(63) <= 3, "{period:?}");
    assert!((period.over_median - 2.0).abs() < 0.2, "{period:?}");
    assert!(period.otherwise.is_some_and(|it| (it - 1.0).abs() < 0.1), "{period:?}");
    assert!(found.hot.is_empty(), "{:?}", found.hot);
}
