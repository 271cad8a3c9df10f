//! The rule that ends a run: what it claims, it must keep.

use plimsoll_bench::stopping::{Stopping, earliest};
use plimsoll_bench::warm_up::warm_up_rounds;
use plimsoll_stats::Random;

/// A bandwidth around 100 whose logarithm has the standard deviation `spread`.
fn measure(random: &mut Random, spread: f64) -> f64 {
    100.0 * (spread * random.normal()).exp()
}

#[test]
fn nineteen_measures_have_no_interval_and_equal_ones_are_enough_at_thirty() {
    let mut stopping = Stopping::new(0.1, 0.95);
    let observe = |stopping: &mut Stopping<_>, count| {
        (0..count).for_each(|_| stopping.observe(&"a", 100.0));
        (stopping.verdict(1), stopping.shortfall(1))
    };
    let (verdict, missing) = observe(&mut stopping, 19);
    let known = verdict.settings[0].1;
    assert!(!verdict.reached && known.interval.is_none());
    assert_eq!((known.more, verdict.more_rounds), (11, 11));
    let missing = missing.unwrap();
    assert_eq!((missing.settings, missing.half_width, missing.rounds), (1, None, 30));
    // Narrow at once, and narrow for a third of 30 measures.
    let (verdict, missing) = observe(&mut stopping, 10);
    assert!(!verdict.reached && verdict.settings[0].1.interval == Some((100.0, 100.0)));
    assert_eq!((verdict.more_rounds, missing.unwrap().rounds), (1, 30));
    let (verdict, missing) = observe(&mut stopping, 1);
    assert!(verdict.reached && missing.is_none());
    assert_eq!(earliest(0.95), 30);
    assert!(!stopping.verdict(2).reached, "of one setting nothing is known yet");
    assert_eq!(stopping.shortfall(2).unwrap().settings, 1);
    assert!(!Stopping::<u8>::new(0.1, 0.95).verdict(0).reached);
}

/// Fast for thirty measures and slow from then on: the narrow interval does not last.
#[test]
fn a_median_that_moves_is_not_known() {
    let mut stopping = Stopping::new(0.1, 0.95);
    let mut reached_at = None;
    for round in 0..200 {
        stopping.observe(&0, if round / 24 % 2 == 0 { 100.0 } else { 50.0 });
        reached_at = reached_at.or(stopping.verdict(1).reached.then_some(round));
    }
    assert_eq!(reached_at, None);
}

#[test]
fn a_failed_instance_counts_for_nothing() {
    let mut stopping = Stopping::new(0.1, 0.95);
    for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        stopping.observe(&1, bandwidth);
    }
    assert!(stopping.verdict(1).settings.is_empty());
}

#[test]
fn the_slowest_to_settle_decides() {
    let mut random = Random::new(1);
    let mut stopping = Stopping::new(0.02, 0.95);
    for _ in 0..30 {
        stopping.observe(&"steady", measure(&mut random, 0.005));
        stopping.observe(&"noisy", measure(&mut random, 0.3));
    }
    let verdict = stopping.verdict(2);
    assert!(!verdict.reached);
    let more: Vec<u64> = verdict.settings.iter().map(|(_, known)| known.more).collect();
    assert_eq!(more[1], 0, "steady");
    assert!(more[0] > 100 && verdict.more_rounds == more[0], "noisy: {more:?}");
    let missing = stopping.shortfall(2).unwrap();
    assert_eq!((missing.settings, missing.of, missing.rounds), (1, 2, 30 + more[0]));
    assert!(missing.half_width.unwrap() > 0.02, "{missing:?}");
}

#[test]
fn correlated_measures_widen_the_interval() {
    let mut random = Random::new(2);
    let mut slow = 0.0;
    let (mut correlated, mut independent) = (Stopping::new(0.1, 0.95), Stopping::new(0.1, 0.95));
    for _ in 0..200 {
        slow = 0.9 * slow + (1.0 - 0.81_f64).sqrt() * random.normal();
        correlated.observe(&0, 100.0 + 10.0 * slow);
        independent.observe(&0, 100.0 + 10.0 * random.normal());
    }
    let width = |stopping: &Stopping<i32>| {
        let known = stopping.verdict(1).settings[0].1;
        (known.effective_n, known.relative_half_width.unwrap())
    };
    let ((worth, wide), (all, narrow)) = (width(&correlated), width(&independent));
    assert!(worth < 30.0 && all > 100.0, "{worth} {all}");
    assert!(wide > 2.0 * narrow, "{wide} {narrow}");
}

/// Looking after each round and stopping at the first narrow interval picks intervals that are
/// narrow by luck. `cargo bench --bench coverage` has the figures of a longer simulation.
#[test]
fn intervals_cover_at_the_moment_of_stopping() {
    let (mut random, trials) = (Random::new(3), 100);
    for rho in [0.0, 0.7] {
        let covers = |_: &i32| {
            let mut stopping = Stopping::new(0.1, 0.95);
            let mut value = random.normal();
            while !stopping.verdict(1).reached {
                value = rho * value + (1.0 - rho * rho).sqrt() * random.normal();
                stopping.observe(&0, 100.0 * (0.1 * value).exp());
            }
            let (low, high) = stopping.verdict(1).settings[0].1.interval.unwrap();
            low <= 100.0 && 100.0 <= high
        };
        let covered = (0..trials).filter(covers).count();
        // Three standard deviations below 94 %.
        assert!(covered >= 87, "{rho}: {covered} of {trials}");
    }
}

#[test]
fn slow_first_rounds_are_told() {
    let mut random = Random::new(4);
    let mut series: Vec<Vec<f64>> = vec![Vec::new(); 5];
    for round in 0..20 {
        for series in &mut series {
            let warm = if round < 2 { 0.5 } else { 1.0 };
            series.push(warm * measure(&mut random, 0.05));
        }
    }
    let views: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
    assert_eq!(warm_up_rounds(&views), 2);
    let late: Vec<&[f64]> = series.iter().map(|series| &series[2..]).collect();
    assert_eq!(warm_up_rounds(&late), 0);
    assert_eq!(warm_up_rounds(&[]), 0);
    assert_eq!(warm_up_rounds(&[&[1.0; 7]]), 0);
    assert_eq!(warm_up_rounds(&[&[1.0; 70]]), 0, "equal measures do not differ");
}

#[test]
fn a_warm_up_is_rarely_seen_where_there_is_none() {
    let mut random = Random::new(5);
    for settings in [1, 4, 16] {
        let mut alarms = 0;
        for _ in 0..2000 {
            let series: Vec<Vec<f64>> = (0..settings)
                .map(|_| (0..20).map(|_| measure(&mut random, 0.2)).collect())
                .collect();
            let views: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
            alarms += u32::from(warm_up_rounds(&views) > 0);
        }
        println!("{settings} settings: {alarms} of 2000");
        // 20 are expected at most; four standard deviations above.
        assert!(alarms <= 38, "{settings} settings: {alarms} of 2000");
    }
}

#[test]
fn each_run_has_its_own_warm_up() {
    let mut random = Random::new(6);
    let mut stopping = Stopping::new(0.01, 0.95);
    for run in 0..2 {
        stopping.begin_run();
        for round in 0..16 {
            let cold = run == 1 && round < 2;
            for key in 0..4 {
                stopping
                    .observe(&key, if cold { 50.0 } else { 100.0 } * measure(&mut random, 0.05));
            }
        }
        assert_eq!(stopping.verdict(4).warm_up_rounds, if run == 1 { 2 } else { 0 });
    }
}
