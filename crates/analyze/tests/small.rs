//! Little, odd and large: what is not known is missing, and nothing fails.

mod support;

use plimsoll_analyze::{Analysis, Options, Server, Zone};
use plimsoll_history::{ComponentKind, Measure};
use support::*;

fn analysis(options: &Options, all: &[(ComponentKind, &str, Measure, Vec<Sampled>)]) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    store(&path, all);
    let (frame, whole) = whole(&path, options, 1, 1);
    Analysis::of(&frame, &whole)
}

#[test]
fn one_sample_is_a_total_and_no_distribution() {
    let one = [(ComponentKind::Ost, "a", Measure::ReadBytes, vec![(5_000, 5_000, 7)])];
    let result = analysis(&Options::default(), &one);
    assert_eq!(result.system.directions[0].bytes, 7);
    assert!(result.system.directions[0].minutes.is_none() && result.system.ratio.is_none());
    assert_eq!((result.cleaning.observed, result.cleaning.partial), (0, 1));
    assert!(result.metadata.is_none() && result.servers.is_empty());
}

#[test]
fn one_target_of_one_day_has_no_imbalance_and_no_intervals() {
    let reads: Vec<Option<u64>> = (0..1440).map(|it| Some(it % 7 + 1)).collect();
    let one = [(ComponentKind::BlockDevice, "sda", Measure::ReadBytes, minutes(&reads))];
    let result = analysis(&Options::default(), &one);
    let reads = &result.system.directions[0];
    assert_eq!(reads.minutes.as_ref().unwrap().n(), 1440);
    assert_eq!(reads.mean.unwrap().interval, None);
    assert_eq!(result.space.most_over_least, [None, None]);
    assert_eq!(result.space.imbalance[0].1[0].periods, 0);
    assert_eq!(result.times.hours[3][0].count, 1);
    assert_eq!(result.space.parallelism[0].degrees[0].mean(), Some(1.0));
    assert_eq!(result.cleaning.outage, 0);
}

#[test]
fn days_of_23_and_25_hours_are_whole_days() {
    // 2026-03-28 to 2026-03-30 and 2026-10-24 to 2026-10-26 in Berlin.
    for (first_day, hours) in [(86, [24, 23, 24]), (296, [24, 25, 24])] {
        let mut reads = vec![None; (first_day + 5) * 1440];
        reads[first_day * 1440 - 1440..].fill(Some(60));
        let options = Options { zone: Zone::named("Europe/Berlin").unwrap(), ..Options::default() };
        let one = [(ComponentKind::Ost, "a", Measure::ReadBytes, minutes(&reads))];
        let result = analysis(&options, &one);
        // Saturday, Sunday, Monday.
        for (weekday, hours) in [5, 6, 0].into_iter().zip(hours) {
            let total = result.times.weekdays[weekday][0].mean.unwrap().value;
            assert_eq!(total, f64::from(hours) * 3600.0, "day {weekday} from day {first_day} on");
        }
        let counts: Vec<usize> = result.times.hours.iter().map(|it| it[0].count).collect();
        let change = hours[1] - 24;
        assert_eq!(counts[2], (counts[4] as i32 + change) as usize, "{counts:?}");
    }
}

#[test]
fn numbers_that_nothing_reaches_are_dropped_and_limits_hold() {
    let reads = [Some(1), Some(u64::MAX), Some(2), Some(600), Some(3)];
    let one = [(ComponentKind::Ost, "a", Measure::ReadBytes, minutes(&reads))];
    let result = analysis(&Options::default(), &one);
    assert_eq!(result.cleaning.over_limit, 1);
    assert_eq!(result.system.directions[0].minutes.as_ref().unwrap().max(), 600.0);
    let limited = analysis(&Options { limit: Some(5), ..Options::default() }, &one);
    assert_eq!(limited.cleaning.over_limit, 2);
    assert_eq!(limited.system.directions[0].minutes.as_ref().unwrap().max(), 3.0);
}

#[test]
fn metadata_and_processors_are_worked_out_beside_data() {
    let counter =
        |step: u64| -> Vec<Option<u64>> { (0..1440).map(|it| Some(it * step % 97 + 5)).collect() };
    let busy: Vec<Option<u64>> = (0..1440).map(|it| Some(it % 60 * 100)).collect();
    let all = [
        (ComponentKind::Ost, "a", Measure::ReadBytes, minutes(&counter(3))),
        (ComponentKind::Mdt, "m", Measure::Opens, minutes(&counter(5))),
        (ComponentKind::Mdt, "m", Measure::Closes, minutes(&counter(5))),
        (ComponentKind::Server, "s", Measure::CpuBusyTime, minutes(&busy)),
        (ComponentKind::Server, "s", Measure::CpuTime, minutes(&[Some(240_000); 1440])),
    ];
    let result = analysis(&Options::default(), &all);
    let metadata = result.metadata.unwrap();
    assert_eq!(metadata.closes_per_open.map(|it| it.value), Some(1.0));
    assert_eq!(metadata.operations[0].minutes, 1440);
    let Server { name, sums: server, mean } = &result.servers[0];
    assert_eq!((name.as_str(), server.known), ("s", 1440));
    assert_eq!(server.most, 5900 * 1_000_000 / 240_000);
    assert!(server.lags.at(0, 1).correlation().unwrap() > 0.8);
    assert!((mean.value * 1e6 - server.sum as f64 / 1440.0).abs() < 1e-6);
    assert_eq!(mean.interval, None, "a day says nothing of other days");
}

#[test]
fn a_server_of_many_days_has_an_interval_of_days_that_are_known() {
    // From the third day on: 2 % and 4 % in turn.
    let share =
        |minute: usize| Some(if (minute / 1440).is_multiple_of(2) { 20_000 } else { 40_000 });
    let mut load: Vec<Option<u64>> = (0..22 * 1440).map(share).collect();
    load[..2 * 1440].fill(None);
    let all = [
        (ComponentKind::Ost, "a", Measure::ReadBytes, minutes(&vec![Some(1); 22 * 1440])),
        (ComponentKind::Server, "s", Measure::CpuLoad, minutes(&load)),
        (ComponentKind::Server, "late", Measure::CpuLoad, minutes(&load)[19 * 1440..].to_vec()),
    ];
    let result = analysis(&Options::default(), &all);
    let server = |name: &str| result.servers.iter().find(|it| it.name == name).unwrap();
    let mean = server("s").mean;
    let interval = mean.interval.unwrap();
    assert!((mean.value - 0.03).abs() < 1e-12, "{mean:?}");
    assert!(interval.low > 0.02 && interval.low < 0.03 && interval.high < 0.04, "{mean:?}");
    assert_eq!(server("late").mean.interval, None, "one day");
}

#[test]
fn an_empty_store_has_no_days_and_nothing_fails() {
    let result = analysis(&Options::default(), &[]);
    assert_eq!((result.cleaning.samples, result.cleaning.observed), (0, 0));
    assert!(result.timeline.is_empty() && result.system.ratio.is_none());
    assert!(result.space.targets.is_empty() && result.hot.is_empty());
}

#[test]
fn leap_days_are_days_of_their_month() {
    // 2028-02-28 to 2028-03-01: 788 to 790 days after the beginning of 2026.
    let mut reads = vec![None; 791 * 1440];
    reads[788 * 1440..].fill(Some(1));
    let one = [(ComponentKind::Ost, "a", Measure::ReadBytes, minutes(&reads))];
    let result = analysis(&Options::default(), &one);
    let months: Vec<_> = result.system.months.iter().map(|it| (*it.0, it.1[0])).collect();
    assert_eq!(months, [((2028, 2), 2 * 1440), ((2028, 3), 1440)]);
    // Monday, Tuesday (the leap day), Wednesday.
    let counts: Vec<usize> = result.times.weekdays.iter().map(|it| it[0].count).collect();
    assert_eq!(counts, [1, 1, 1, 0, 0, 0, 0]);
}
