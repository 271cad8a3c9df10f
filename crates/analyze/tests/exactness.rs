//! Results do not depend on how days are divided, and are what a plain computation gives.

mod support;

use plimsoll_analyze::{Analysis, Options, WINDOWS, Zone};
use plimsoll_history::{ComponentKind, Measure};
use plimsoll_stats::correlation::cross_correlation;
use plimsoll_stats::{Random, Sample};
use support::*;

const DAYS: usize = 11;
const MINUTES: usize = DAYS * 1440;

/// Bursts with pauses, minutes and one day that are missing, and outages, one of them over midnight.
fn activity(targets: usize, seed: u64) -> Vec<[Vec<Option<u64>>; 2]> {
    let mut random = Random::new(seed);
    let is_outage = |minute: usize| {
        (4 * 1440 - 6..4 * 1440 + 5).contains(&minute) || (2000..2030).contains(&minute)
    };
    let is_missing =
        |minute: usize| (7 * 1440..8 * 1440).contains(&minute) || (3000..3100).contains(&minute);
    let mut series = |target: usize| -> Vec<Option<u64>> {
        let mut is_busy = false;
        let value = |minute: usize| {
            is_busy ^= random.below(7) == 0;
            let value = if is_busy { random.below(1 << 34) } else { random.below(3) << 20 };
            let is_lost = random.below(400) == 0 && target > 0;
            if is_missing(minute) || is_lost {
                return None;
            }
            Some(if is_outage(minute) { 0 } else { value + 1 })
        };
        (0..MINUTES).map(value).collect()
    };
    (0..targets).map(|target| [series(target), series(target)]).collect()
}

fn make(path: &std::path::Path, activity: &[[Vec<Option<u64>>; 2]]) {
    let names: Vec<String> = (0..activity.len()).map(|it| format!("OST{it:04}")).collect();
    let mut all = Vec::new();
    for (name, [reads, writes]) in names.iter().zip(activity) {
        all.push((ComponentKind::Ost, name.as_str(), Measure::ReadBytes, minutes(reads)));
        all.push((ComponentKind::Ost, name.as_str(), Measure::WrittenBytes, minutes(writes)));
    }
    store(path, &all);
}

#[test]
fn any_division_gives_equal_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    make(&path, &activity(3, 1));
    for zone in ["UTC", "Asia/Kolkata"] {
        let options = Options { zone: Zone::named(zone).unwrap(), ..Options::default() };
        let (_, one) = whole(&path, &options, 1, 1);
        for (parts, threads) in [(2, 1), (4, 1), (7, 1), (3, 3)] {
            let (_, divided) = whole(&path, &options, parts, threads);
            assert!(divided == one, "{parts} parts, {threads} threads, {zone}");
        }
    }
}

/// Samples that are not aligned with minutes and days: some of each day's last minute comes with the next day.
#[test]
fn samples_over_midnight_are_in_the_right_minutes_however_days_are_divided() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut random = Random::new(5);
    let mut samples = |step: u64| -> Vec<Sampled> {
        let count = 3 * 86_400_000 / step;
        (1..=count).map(|it| (it * step + 1700, step as u32, 1 + random.below(1 << 30))).collect()
    };
    let all: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .flat_map(|name| {
            [(Measure::ReadBytes, 50_000), (Measure::WrittenBytes, 60_000)]
                .map(|(measure, step)| (ComponentKind::Ost, name, measure, samples(step)))
        })
        .collect();
    store(&path, &all);
    let (frame, one) = whole(&path, &Options::default(), 1, 1);
    assert_eq!(frame.days.len(), 4, "the last sample ends on the fourth day");
    for parts in [2, 3, 4, 9] {
        assert!(whole(&path, &Options::default(), parts, 1).1 == one, "{parts} parts");
    }
    let bytes = |direction: usize| -> u64 {
        let days = one.days.iter().flat_map(|day| &day.minutes).map(|it| &it.1);
        days.map(|minute| minute.bytes[direction]).sum()
    };
    for direction in 0..2 {
        let counted: u128 = one.counted.iter().map(|it| it[direction].total).sum();
        let placed = u128::from(bytes(direction));
        // The first minute lacks 1.7 s and is scaled; of the last one too little is known.
        let difference = placed.abs_diff(counted) as f64 / counted as f64;
        assert!(difference < 1e-3, "{difference}");
    }
    let known = one
        .days
        .iter()
        .flat_map(|day| &day.minutes)
        .map(|it| &it.1)
        .filter(|it| it.known == [3, 3]);
    assert_eq!(known.count(), 3 * 1440);
}

#[test]
fn totals_correlations_and_clusters_are_those_of_a_plain_computation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let activity = activity(6, 3);
    make(&path, &activity);
    let (frame, whole) = whole(&path, &Options::default(), 3, 2);
    let analysis = Analysis::of(&frame, &whole);
    let outage = |minute: usize| {
        let moves = |it: &[Vec<Option<u64>>; 2]| it.iter().any(|of| of[minute].unwrap_or(0) > 0);
        !activity.iter().any(moves)
    };
    let quiet: Vec<bool> = (0..MINUTES).map(outage).collect();
    let is_out = |minute: usize| {
        let before = (0..=minute).rev().take_while(|it| quiet[*it]).count();
        let after = (minute..MINUTES).take_while(|it| quiet[*it]).count();
        quiet[minute] && before + after > 10
    };
    let is_out: Vec<bool> = (0..MINUTES).map(is_out).collect();
    let without_outages = |of: &[Option<u64>]| -> Vec<Option<f64>> {
        let value = |(minute, it): (usize, &Option<u64>)| {
            it.filter(|_| !is_out[minute]).map(|it| it as f64)
        };
        of.iter().enumerate().map(value).collect()
    };
    // Targets: totals and correlations.
    for (target, series) in analysis.space.targets.iter().zip(&activity) {
        for (series, bytes) in series.iter().zip(target.bytes) {
            let total: u64 = series.iter().flatten().sum();
            assert_eq!(bytes, u128::from(total));
        }
        let clean = [without_outages(&series[0]), without_outages(&series[1])];
        for (window, width) in WINDOWS.into_iter().enumerate() {
            let wide = clean.each_ref().map(|it| windows(it, width));
            for (which, (x, y)) in [(0, 0), (1, 1), (0, 1)].into_iter().enumerate() {
                for lag in 0..6 {
                    let expected = cross_correlation(&wide[x], &wide[y], lag as isize).unwrap();
                    let sums = target.lags[which].at(window, lag);
                    assert_eq!(sums.pairs, expected.pairs as u64, "{width} {lag}");
                    close(sums.correlation(), expected.r);
                }
            }
        }
    }
    // The whole.
    for direction in 0..2 {
        let whole: Vec<Option<f64>> = (0..MINUTES)
            .map(|minute| {
                let known: Vec<u64> =
                    activity.iter().filter_map(|it| it[direction][minute]).collect();
                let is_enough = known.len() * 6 >= activity.len() * 5;
                (is_enough && !is_out[minute]).then(|| known.iter().sum::<u64>() as f64)
            })
            .collect();
        let sample = Sample::new(whole.iter().flatten().copied().collect()).unwrap();
        let transfer = &analysis.system.directions[direction];
        assert_eq!(transfer.minutes.as_ref().unwrap().n(), sample.n());
        close(transfer.mean.map(|it| it.value), Some(sample.mean()));
        close(transfer.cov.map(|it| it.value), sample.cov());
        let below = sample.values().iter().filter(|it| **it < sample.mean()).count();
        close(transfer.below_mean.map(|it| it.value), Some(below as f64 / sample.n() as f64));
        for (window, width) in WINDOWS.into_iter().enumerate() {
            let wide = windows(&whole, width);
            for lag in 0..13 {
                let expected = cross_correlation(&wide, &wide, lag).unwrap();
                let found = analysis.correlations[direction].by_window[window][lag as usize];
                assert_eq!(found.map_or(0, |it| it.pairs), expected.pairs as u64, "{width} {lag}");
                close(found.map(|it| it.r.value), expected.r);
            }
        }
        clusters_are_plain(&analysis, &activity, direction);
    }
    assert_eq!(analysis.cleaning.outage, 30 + 11 + 1440 + 100);
    assert_eq!(analysis.cleaning.flat, 30 + 11);
    assert_eq!(analysis.timeline.outages.len(), 4);
}

fn clusters_are_plain(analysis: &Analysis, activity: &[[Vec<Option<u64>>; 2]], direction: usize) {
    let mut sizes = vec![0u64; activity.len() + 1];
    for minute in 0..MINUTES {
        let mut active: Vec<u64> =
            activity.iter().filter_map(|it| it[direction][minute]).filter(|it| *it > 0).collect();
        active.sort_unstable();
        while let Some(least) = active.first().copied() {
            let inside = active.iter().take_while(|it| (**it as f64) < least as f64 * 1.05).count();
            sizes[inside.max(1)] += 1;
            active.drain(..inside.max(1));
        }
    }
    let degrees = &analysis.space.parallelism[direction].degrees[0];
    let counts = degrees.counts.iter().copied().chain(std::iter::repeat(0));
    assert_eq!(counts.take(sizes.len()).collect::<Vec<_>>(), sizes);
}

fn windows(series: &[Option<f64>], width: usize) -> Vec<Option<f64>> {
    let into = START as usize % width;
    let skipped = (width - into) % width;
    series[skipped..].chunks_exact(width).map(|some| some.iter().copied().sum()).collect()
}

#[track_caller]
fn close(found: Option<f64>, expected: Option<f64>) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!(
                (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
                "{found} {expected}"
            );
        }
        (found, expected) => assert_eq!(found, expected),
    }
}
