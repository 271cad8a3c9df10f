//! Stretches by hand.

use super::super::Measure;
use super::*;

#[test]
fn arrangements_are_counted() {
    // Five low ones of ten, all at the end: 1 of 252; all together somewhere: 6 of 252.
    assert!((share_of_arrangements(10, 5, 0, true) - 1.0 / 252.0).abs() < 1e-12);
    assert!((share_of_arrangements(10, 5, 0, false) - 6.0 / 252.0).abs() < 1e-12);
    // One error: four inside and one outside of the last four, or five of the last six.
    let one = share_of_arrangements(10, 5, 1, true);
    assert!((one - (1.0 + 6.0 + 6.0) / 252.0).abs() < 1e-12, "{}", one * 252.0);
    assert_eq!(share_of_arrangements(5, 5, 0, true), 1.0);
    assert!(share_of_arrangements(1000, 500, 400, false) <= 1.0);
}

#[test]
fn arrangements_with_errors_are_counted() {
    for low in 1..8 {
        for (errors, at_the_end) in (0..4).flat_map(|it| [(it, true), (it, false)]) {
            let found = share_of_arrangements(8, low, errors, at_the_end);
            let counted = one_by_one(8, low, errors, at_the_end).min(1.0);
            let of = (low, errors, at_the_end);
            assert!((found - counted).abs() < 1e-9, "{of:?}: {found}, not {counted}");
        }
    }
}

#[test]
fn outliers_are_drawn_in() {
    assert!((scatter(&[1.0, -1.0, 1.0, -1.0]) - 1.4826).abs() < 1e-12);
    // Four of size 1, and one that counts for three times 1.4826.
    let with_outlier = scatter(&[1.0, -1.0, 1.0, -1.0, 100.0]);
    let expected = ((4.0 + (3.0f64 * 1.4826).powi(2)) / 5.0).sqrt();
    assert!((with_outlier - expected).abs() < 1e-12, "{with_outlier}");
    assert_eq!(scatter(&[]), 0.0);
}

#[test]
fn slowness_that_many_others_have_at_other_times_moves() {
    let of = |low: std::ops::Range<u32>| {
        let log_ratio = |at: u32| if low.contains(&at) { -1.0 } else { 0.0 };
        let measure =
            |at| Measure { start: u64::from(at), set: at, setting: 0, log_ratio: log_ratio(at) };
        Component { measures: (0..20).map(measure).collect(), ..Component::default() }
    };
    let own = of(10..20);
    let stretch = candidate(&own, -0.5).unwrap().stretch;
    assert_eq!((stretch.since, stretch.until), (10, None));
    for (low, is_elsewhere) in [
        (2..6, true),
        (12..16, false),
        // Half of them, and less than half, lie outside.
        (8..12, true),
        (8..13, false),
        (3..4, false),
        (0..0, false),
    ] {
        let found = is_low_elsewhere(&of(low.clone()), &stretch, -0.5);
        assert_eq!(found, is_elsewhere, "{low:?}");
    }
    // What is over ends before the first measure behind it.
    let over = candidate(&of(6..12), -0.5).unwrap().stretch;
    assert_eq!((over.since, over.until), (6, Some(12)));
    for (low, is_elsewhere) in
        [(12..16, true), (10..14, true), (9..14, false), (4..8, true), (4..9, false)]
    {
        let found = is_low_elsewhere(&of(low.clone()), &over, -0.5);
        assert_eq!(found, is_elsewhere, "{low:?}");
    }
    let (elsewhere, quiet) = (of(2..6), of(0..0));
    let moves = |others: [&Component; 3]| {
        let all: Vec<&Component> = std::iter::once(&own).chain(others).collect();
        moves(&all, 0, &stretch, -0.5)
    };
    assert!(moves([&elsewhere; 3]) && moves([&elsewhere, &quiet, &elsewhere]));
    assert!(!moves([&quiet, &elsewhere, &quiet]), "one of three is not more than a third");
    assert!(!moves([&quiet; 3]));
    // One of two is.
    assert!(super::moves(&[&own, &elsewhere, &quiet], 0, &stretch, -0.5));
}

/// At the limit is not under it, and two low measures that are apart are not in a row.
#[test]
fn low_elsewhere_is_low_twice_in_a_row() {
    let of = |logs: &[f64]| {
        let stretch = Stretch {
            first: 6,
            end: 8,
            since: 6,
            until: None,
            inside: 0.5,
            outside: 1.0,
            is_gradual: false,
        };
        is_low_elsewhere(&Component::of_logs(logs), &stretch, -0.5)
    };
    assert!(of(&[0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert!(!of(&[0.0, -1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert!(!of(&[0.0, -1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0]));
    assert!(of(&[0.0, -1.0, -1.0, 0.0, 0.0, 0.0, -0.5, -0.5]));
    assert!(!of(&[0.0, -1.0, -1.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0]));
}

#[test]
fn measures_that_repeat_each_other_prove_less() {
    let logs = |at: u32| if at < 20 { 0.0 } else { -1.0 };
    let measure =
        |at: u32| Measure { start: u64::from(at), set: at, setting: 0, log_ratio: logs(at) };
    let component = Component { measures: (0..40).map(measure).collect(), ..Component::default() };
    let found = candidate(&component, -0.5).unwrap();
    let p_values = [1.0, 2.0, 4.0, 10.0].map(|time| found.p_value(40, time));
    assert!(p_values[0] < 1e-6, "{p_values:?}");
    assert!(p_values.windows(2).all(|pair| pair[0] < pair[1]), "{p_values:?}");
    // Four that are left, two of them low, at the end: twice 1 of 6.
    assert!((p_values[3] - 2.0 / 6.0).abs() < 1e-9, "{p_values:?}");
    // Errors repeat each other as well: of two low ones outside, one is left of each two measures.
    let mut logs: Vec<f64> = component.logs();
    logs[2..4].fill(-1.0);
    let with_errors = candidate(&Component::of_logs(&logs), -0.5).unwrap();
    assert_eq!((with_errors.low, with_errors.errors), (22, 2));
    let by_hand = 2.0 * share_of_arrangements(20, 11, 1, true);
    assert!((with_errors.p_value(40, 2.0) / by_hand - 1.0).abs() < 1e-9);
    // A long series is thinned out to a thousand.
    let long: Vec<f64> = (0..4000).map(|it| if it < 3996 { 0.0 } else { -1.0 }).collect();
    let long = candidate(&Component::of_logs(&long), -0.5).unwrap();
    assert!((long.p_value(4000, 1.0) - 2.0 / 1000.0).abs() < 1e-9);
}

/// Each arrangement with each part of it.
fn one_by_one(n: usize, low: usize, errors: usize, at_the_end: bool) -> f64 {
    let (mut all, mut with) = (0.0, 0.0);
    for arrangement in (0..1u32 << n).filter(|it| it.count_ones() as usize == low) {
        all += 1.0;
        for end in if at_the_end { n..=n } else { 1..=n } {
            for first in 0..end {
                let inside = (first..end).filter(|it| arrangement >> it & 1 == 1).count();
                let wrong = low - inside + (end - first - inside);
                with += f64::from(u8::from(wrong <= errors));
            }
        }
    }
    with / all
}

#[test]
fn orders_are_counted() {
    // Spearman's table: 0.587 of 12 and 0.447 of 20 are significant at 5 %.
    assert!((share_of_orders(0.587, 12.0) - 0.05).abs() < 0.006);
    assert!((share_of_orders(-0.447, 20.0) - 0.05).abs() < 0.003);
    assert_eq!(share_of_orders(0.99, 11.0), 1.0);
    assert_eq!(share_of_orders(-1.0, 20.0), 0.0);
}

#[test]
fn the_part_that_is_low() {
    let logs = |text: &str| {
        text.bytes().map(|it| if it == b'l' { -1.0 } else { 0.0 }).collect::<Vec<f64>>()
    };
    let part = |text| lowest_part(&logs(text), -0.1);
    assert_eq!(part("nnnlllnn"), Some((3, 6, 3)));
    assert_eq!(part("nnllnlll"), Some((2, 8, 4)));
    assert_eq!(part("lllnnnlll"), Some((6, 9, 3)), "of equal ones the last");
    assert_eq!(part("llnnnllnn"), Some((0, 2, 2)), "unless none lasts to the end: then the first");
    assert_eq!(
        lowest_part(&[0.0, -0.1, -1.0, -1.0, -0.1], -0.1),
        Some((2, 4, 2)),
        "the limit itself"
    );
    assert_eq!(part("nnn"), None);
}

/// Ratios of a loop device whose limit fell from 20 to 6 MiB/s.
const FALLING: [f64; 20] = [
    1.10, 1.24, 0.81, 0.78, 0.76, 0.90, 0.86, 0.78, 0.62, 0.64, 0.63, 0.78, 0.63, 0.56, 0.51, 0.39,
    0.38, 0.28, 0.31, 0.26,
];

fn found(ratios: &[f64]) -> Option<(Candidate, f64)> {
    let measure = |(at, ratio): (usize, &f64)| Measure {
        start: at as u64,
        set: at as u32,
        setting: 0,
        log_ratio: ratio.ln(),
    };
    let component = |ratios: &[f64]| Component {
        measures: ratios.iter().enumerate().map(measure).collect(),
        ..Component::default()
    };
    let (first, even) = (component(ratios), component(&vec![1.0; ratios.len()]));
    stretches(&[&first, &even, &even], 0.85f64.ln()).remove(0)
}

#[test]
fn what_falls_is_found_though_it_is_low_nearly_always() {
    let (falling, p) = found(&FALLING).expect("falls");
    assert!(falling.stretch.is_gradual && p < 1e-4, "{p}");
    assert_eq!((falling.stretch.first, falling.stretch.until), (2, None));
    // The same measures in another order do not fall, and neither do a few.
    let shuffled: [f64; 20] = std::array::from_fn(|it| FALLING[it * 7 % 20]);
    assert!(found(&shuffled).is_none_or(|it| it.1 > 0.01));
    assert!(found(&FALLING[..11]).is_none_or(|it| it.1 > 0.01));
}

#[test]
fn a_decline_falls_from_its_first_measure_to_its_last() {
    let measure = |set: u32| Measure {
        start: u64::from(set),
        set,
        setting: 0,
        log_ratio: -0.1 * f64::from(set),
    };
    let component = Component { measures: (0..11).map(measure).collect(), ..Component::default() };
    let found = candidate(&component, -0.45).unwrap();
    assert!(found.stretch.is_gradual && (found.drop - 1.0).abs() < 1e-9, "{}", found.drop);
    assert!(found.scatter < 1e-9);
    assert_eq!((found.stretch.first, found.stretch.end, found.stretch.until), (5, 11, None));
}

#[test]
fn a_line_has_its_slope() {
    let logs: Vec<f64> = (0..500).map(|it| 3.0 - 0.01 * f64::from(it)).collect();
    let (slope, around) = line(&logs);
    assert!((slope + 0.01).abs() < 1e-12 && around.iter().all(|it| it.abs() < 1e-9));
    // The median over all pairs: 1, 1, 2, 2.5, 2.5 and 4.
    assert_eq!(line(&[0.0, 1.0, 5.0, 6.0]).0, 2.25);
}

fn of_text(text: &str) -> Component {
    let logs = text.bytes().map(|it| if it == b'l' { -1.0 } else { 0.0 });
    Component::of_logs(&logs.collect::<Vec<f64>>())
}

#[test]
fn three_times_as_often_as_the_typical_other_is_more_often() {
    let (own, often, seldom) =
        (of_text("nnnlllllll"), of_text("nlnnlnnlnn"), of_text("nnlnnnlnnn"));
    let more = |others: [&Component; 3]| {
        let all: Vec<&Component> = std::iter::once(&own).chain(others).collect();
        is_low_more_often(&all, 0, -0.5)
    };
    assert!(more([&seldom; 3]), "seven times and twice");
    assert!(!more([&often; 3]), "seven times and three times");
    assert!(more([&often, &seldom, &seldom]) && !more([&often, &often, &seldom]));
    assert!(is_low_more_often(&[&own], 0, -0.5), "there are no others");
}

#[test]
fn a_stretch_has_three_measures_in_it_and_three_outside() {
    let found =
        |text: &str| candidate(&of_text(text), -0.5).map(|it| (it.stretch.first, it.stretch.end));
    assert_eq!(found("nnnnnnnlll"), Some((7, 10)));
    assert_eq!(found("nnnnnnnnll"), None);
    assert_eq!(found("nnnlllllll"), Some((3, 10)));
    assert_eq!(found("nnllllllll"), None);
    assert_eq!(found("nlllllllln"), None);
}

/// The limit is a half, as a logarithm.
#[test]
fn a_step_ends_under_the_limit_begins_above_it_and_is_as_large() {
    let is_step = |outside: f64, inside: f64| {
        let logs = [[outside; 6], [inside; 6]].concat();
        candidate(&Component::of_logs(&logs), -0.5).is_some()
    };
    assert!(is_step(0.0, -0.6) && is_step(-0.1, -0.6) && is_step(-0.5, -1.1));
    assert!(!is_step(-0.2, -0.6), "smaller");
    assert!(!is_step(-0.6, -1.2), "low before");
    assert!(!is_step(0.3, -0.4), "never low");
}

/// Others that are low by less than a quarter of what it falls by are not like it.
#[test]
fn others_that_fall_by_little_do_not_hide_what_falls_by_much() {
    let step = |at: usize, low: f64| -> Vec<f64> {
        (0..24).map(|it| if it < at { 0.0 } else { low }).collect()
    };
    let p = |others: f64| {
        let own = Component::of_logs(&step(12, -2.0));
        // Each is low at another time, before it.
        let other = |from: usize| {
            let log = |it: usize| if (from..from + 4).contains(&it) { others } else { 0.0 };
            Component::of_logs(&(0..24).map(log).collect::<Vec<f64>>())
        };
        let others = [other(0), other(4), other(8)];
        let all = [&own, &others[0], &others[1], &others[2]];
        stretches(&all, 0.85f64.ln()).remove(0).unwrap().1
    };
    assert_eq!(p(-0.6), 1.0, "slowness moves");
    assert!(p(-0.4) < 0.01, "{}", p(-0.4));
}

/// What scatters by as much as it falls does not fall, though nobody else is ever low.
#[test]
fn a_drop_must_stand_out_of_its_own_scatter() {
    let p = |scatter: f64| {
        let log = |it: u32| {
            let level = if it < 12 { 0.0 } else { -0.5 };
            level + if it.is_multiple_of(2) { scatter } else { -scatter }
        };
        let own = Component::of_logs(&(0..24).map(log).collect::<Vec<f64>>());
        let even = Component::of_logs(&[0.0; 24]);
        stretches(&[&own, &even, &even, &even], 0.85f64.ln()).remove(0).map_or(1.0, |it| it.1)
    };
    assert!(p(0.05) < 1e-3);
    assert_eq!(p(0.12), 1.0);
}

/// A few measures that fall are judged by the stretch, many by their order as well; each look costs its half.
#[test]
fn of_two_ways_to_look_the_better_one_counts_twice() {
    let (falling, p) = found(&FALLING).expect("falls");
    let rho = falling.trend.expect("clear");
    let time = 1.0;
    let by_order = 2.0 * share_of_orders(rho, 20.0);
    assert!((falling.p_value(20, time) - by_order).abs() < 1e-12 && p >= by_order);
    // Where the order says little, the stretch counts: twice as much as it would alone.
    let unordered = Candidate { trend: Some(0.0), ..falling };
    let alone = Candidate { trend: None, ..unordered };
    let by_stretch = alone.p_value(20, time);
    assert!(by_stretch < 0.5);
    let unordered = Candidate { trend: Some(0.0), ..alone };
    assert!((unordered.p_value(20, time) - 2.0 * by_stretch).abs() < 1e-12);
}
