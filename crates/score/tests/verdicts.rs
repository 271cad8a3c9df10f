//! Verdicts on components whose measures are made up: each kind is named for what it is, and nobody else is.

mod made;

use std::ops::Range;

use made::SECOND;
use plimsoll_domain::burst::Setting;
use plimsoll_domain::site::{Site, Target};
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_score::verdict::{Component, Measure, Test, Value, Verdicts, Wording};
use plimsoll_score::verdict::{in_common, sentence, verdicts};
use plimsoll_score::{Kind, Options, Peaks, score};
use plimsoll_stats::Random;

/// Measures every ten seconds, as logarithms of the ratio to the others.
fn component(logs: impl IntoIterator<Item = f64>) -> Component {
    let measure = |(set, log_ratio): (u32, f64)| {
        let start = (1_700_000_000 + 10 * u64::from(set)) * SECOND;
        Measure { start, set, setting: 0, log_ratio }
    };
    Component { measures: (0..).zip(logs).map(measure).collect(), others: 3, inseparable: None }
}

/// Components with a little noise around what `level` says of a component in a round.
fn components(count: usize, rounds: usize, level: impl Fn(usize, usize) -> f64) -> Vec<Component> {
    let mut random = Random::new(7);
    let mut of =
        |number| component((0..rounds).map(|it| level(number, it) + 0.01 * random.normal()));
    (0..count).map(&mut of).collect()
}

fn judged(components: &[Component]) -> Verdicts {
    verdicts(components, &[], &Test::default())
}

fn kinds(verdicts: &Verdicts) -> Vec<Option<Kind>> {
    verdicts.verdicts.iter().map(|it| it.kind).collect()
}

fn said(verdicts: &Verdicts, number: usize) -> String {
    let wording = Wording { one: "target", many: "targets", below: 0.15, utc_offset: 0 };
    sentence("it", &verdicts.verdicts[number], &wording, None)
}

const NORMAL: Option<Kind> = Some(Kind::Normal);

#[test]
fn low_at_times_is_told_with_the_limit_and_what_is_usual() {
    // The others are low in one, two and three rounds.
    let level = |number: usize, round: usize| match number {
        0 if round.is_multiple_of(3) => 0.4f64.ln(),
        number if number > 0 && round < number => 0.8f64.ln(),
        _ => 0.0,
    };
    let found = judged(&components(4, 30, level));
    assert_eq!(found.verdicts[0].kind, Some(Kind::Transient));
    assert_eq!(found.verdicts[0].usual_low, Some(2.0 / 30.0));
    let said = said(&found, 0);
    let expected = "it is a transient straggler: under 85.0 % of the median of other targets in 10 of 30 measures";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("where the typical other is in 6.7 % of its own"), "{said}");
}

#[test]
fn one_that_scatters_is_noisier_by_as_much_as_it_is() {
    let level = |number: usize, round: usize| match number {
        1 => [0.1, -0.1, -0.1, 0.1][round % 4],
        _ => 0.0,
    };
    let found = judged(&components(5, 40, level));
    assert_eq!(kinds(&found), [NORMAL, Some(Kind::Noisier), NORMAL, NORMAL, NORMAL]);
    let spread = found.verdicts[1].spread.unwrap();
    assert!((spread.own - 0.2).abs() < 0.02, "{spread:?}");
    assert!((0.003..0.03).contains(&spread.usual), "{spread:?}");
    assert!(found.verdicts[0].p.noisier == Some(1.0) && found.verdicts[0].spread.is_none());
}

#[test]
fn a_step_of_less_than_the_limit_is_no_drift() {
    // By ten percent at first, and then by twenty: the second half is low, but not by much more than the first.
    let level = |number: usize, round: usize| match number {
        0 if round < 10 => 0.9f64.ln(),
        0 => 0.8f64.ln(),
        _ => 0.0,
    };
    assert_eq!(kinds(&judged(&components(4, 20, level))), [NORMAL; 4]);
    let halved = |number: usize, round: usize| if round < 10 { 0.0 } else { level(number, round) };
    let found = judged(&components(4, 20, halved));
    assert_eq!(found.verdicts[0].kind, Some(Kind::Drifting), "{}", said(&found, 0));
}

#[test]
fn a_stretch_is_told_with_its_moments_and_both_levels() {
    let said = |low: Range<usize>| {
        let level = |round| if low.contains(&round) { 0.5f64.ln() } else { 0.0 };
        let mut components = vec![component([0.0; 24]); 3];
        components.push(component((0..24).map(level)));
        let found = judged(&components);
        let stretch = found.verdicts[3].stretch.unwrap();
        assert_eq!((stretch.first, stretch.end), (low.start, low.end));
        said(&found, 3)
    };
    // Twice for the two ways to last, and for the least likely of four: 8 of the ways to choose 12 of 24.
    assert_eq!(
        said(12..24),
        "it is drifting: slow since 22:15:20 UTC, 50.0 % of before (50.0 % of the median of other \
         targets in 12 measures, 100.0 % in 12 before; p = 3e-6)"
    );
    let until = "it has recovered: slow until 22:15:00 UTC, 50.0 % of afterwards (";
    assert!(said(0..10).starts_with(until), "{}", said(0..10));
    let a_while = "it is a transient straggler: slow from 22:14:20 UTC to 22:15:20 UTC, 50.0 % of otherwise (";
    assert!(said(6..12).starts_with(a_while), "{}", said(6..12));
}

#[test]
fn slow_in_some_settings_is_told_with_both_sides() {
    let bursts = [1, 4].map(|mebibytes| Setting::pairs(4, 1, Bytes::new(mebibytes << 20)));
    let mut components = vec![component([0.0; 24]); 3];
    components.push(component((0..24).map(|it| if it % 2 == 1 { 0.5f64.ln() } else { 0.0 })));
    for measure in components.iter_mut().flat_map(|it| &mut it.measures) {
        measure.setting = measure.set % 2;
    }
    let found = verdicts(&components, &in_common(&bursts), &Test::default());
    assert_eq!(kinds(&found), [NORMAL, NORMAL, NORMAL, Some(Kind::SomeSettings)]);
    let said = said(&found, 3);
    let expected = "it is slow in some settings: slow at bursts of 4MiB only, 50.0 % of the median of other \
        targets there and 100.0 % otherwise (under 85.0 % in 12 of 12 measures there, in 0 of 12 otherwise; p = ";
    let p = said.strip_prefix(expected).and_then(|it| it.strip_suffix(')')).expect(&said);
    assert!(p.parse::<f64>().expect(&said) < 0.02, "{said}");
    let alone = verdicts(&components, &[], &Test::default());
    assert_eq!(alone.verdicts[3].kind, Some(Kind::Transient), "nothing is known of settings");
}

/// Three are the least that can be one.
#[test]
fn two_low_measures_at_the_end_are_no_drift() {
    let last = |low: usize| {
        let level = move |number: usize, round: usize| match number {
            0 if round >= 30 - low => 0.5f64.ln(),
            _ => 0.0,
        };
        judged(&components(4, 30, level)).verdicts[0].kind
    };
    assert_eq!([last(2), last(3)], [NORMAL, Some(Kind::Drifting)]);
}

#[test]
fn low_in_eight_of_ten_is_as_likely_as_with_coins() {
    let level = |number: usize, round: usize| match (number, round) {
        (0, 3 | 7) => 0.0,
        (0, _) => 0.7f64.ln(),
        _ => 0.0,
    };
    let found = judged(&components(4, 10, level));
    assert_eq!(found.verdicts[0].effective_n, 10.0);
    // Eight heads or more of ten, for the least likely of four.
    let p = found.verdicts[0].p.persistent.unwrap();
    assert!((p - 4.0 * 56.0 / 1024.0).abs() < 1e-12, "{p}");
}

#[test]
fn two_groups_are_held_against_the_peaks_of_the_site() {
    let nanos = |round: u64, target: u64| {
        (if target < 3 { 2 * SECOND } else { SECOND })
            + (round * 7919 + target * 104_729) % 97 * 100_000
    };
    let pairs = |round: u64| {
        (0..6).map(move |it| (format!("c{}", (it + round) % 6), format!("t{it}"), nanos(round, it)))
    };
    let columns = made::columns("many-pairs", (0..20).map(|it| made::instance(it, pairs(it))));
    let by_peaks = |known: u64| {
        let target = |it: u64| {
            let mut target = Target::named(format!("t{it}"));
            target.peak.write = Some(BytesPerSec::new(if it < 3 { 1 << 19 } else { 1 << 20 }));
            target
        };
        let site = Site { targets: (0..known).map(target).collect(), ..Site::empty() };
        let peaks = Peaks::new(&columns, Some(&site));
        score(&columns, &peaks, &Options::default()).target_verdicts.groups.unwrap().by_peaks
    };
    let known = by_peaks(6).unwrap();
    assert!((known.fast - 1.0).abs() < 0.02 && (known.slow - 1.0).abs() < 0.02, "{known:?}");
    assert_eq!(by_peaks(5), None, "one is not known");
}

/// What is slow beside most of the others is slow whichever group is right.
#[test]
fn two_that_are_slow_in_different_ways_hide_nothing_behind_groups() {
    let said = |speeds: &[f64], falls: Option<usize>| {
        // A row is compared as a benchmark compares it: each with the median of its others.
        let mut random = Random::new(3);
        let mut values = Vec::new();
        for set in 0..20u32 {
            for (component, speed) in (0..).zip(speeds) {
                let lost = if falls == Some(component as usize) {
                    0.7 * f64::from(set) / 19.0
                } else {
                    0.0
                };
                let value = speed * (1.0 - lost) * (0.03 * random.normal()).exp();
                values.push(Value {
                    component,
                    start: u64::from(set) * SECOND,
                    set,
                    setting: 0,
                    value,
                });
            }
        }
        let found = judged(&Component::compared(&values));
        (kinds(&found).into_iter().flatten().collect::<Vec<Kind>>(), found.groups)
    };
    use Kind::{Drifting, Normal, Persistent, Undecided};
    let (kinds, groups) = said(&[0.25, 0.6, 1.0, 1.0], None);
    assert_eq!((kinds, groups), (vec![Persistent, Persistent, Normal, Normal], None));
    let (kinds, groups) = said(&[0.25, 1.0, 1.0, 1.0], Some(1));
    assert_eq!((kinds, groups), (vec![Persistent, Drifting, Normal, Normal], None));
    let (kinds, groups) = said(&[0.5, 1.0, 1.0], None);
    assert_eq!((kinds, groups), (vec![Persistent, Normal, Normal], None));
    // Two that are equally slow, and two that are not, cannot be told apart.
    let (kinds, groups) = said(&[0.25, 0.25, 1.0, 1.0], None);
    assert_eq!((kinds, groups.unwrap().slow), (vec![Undecided; 4], vec![0, 1]));
    let (kinds, groups) = said(&[0.2, 0.5, 0.5, 0.5, 1.0, 1.0], None);
    assert_eq!(kinds, [&[Persistent][..], &[Undecided; 5]].concat());
    let groups = groups.unwrap();
    assert_eq!((groups.slow, groups.fast), (vec![1, 2, 3], vec![4, 5]));
}

/// The limit itself is not under it.
#[test]
fn slowness_that_visits_several_moves_if_it_does_so_often_enough() {
    let moving = |rounds: usize, visits: &[(usize, usize)]| {
        let log = |number: usize, round: usize| {
            let is_low = visits.contains(&(number, round));
            if is_low { 0.5f64.ln() } else { f64::from(u8::from(round == 1)) * 0.85f64.ln() }
        };
        let of = |number: usize| component((0..rounds).map(|round| log(number, round)));
        let found = judged(&(0..4).map(of).collect::<Vec<_>>());
        assert_eq!(kinds(&found), [NORMAL; 4]);
        found.moving
    };
    let visits = [(1, 3), (2, 10), (2, 20)];
    let found = moving(30, &visits).unwrap();
    assert_eq!((found.sets, found.low_sets, found.lowest), (30, 3, 0.5));
    assert_eq!(found.components, [(1, 1, 30), (2, 2, 30)]);
    assert_eq!(moving(31, &visits), None, "less than a tenth");
    assert_eq!(moving(20, &visits[..2]), None, "twice is a coincidence");
    assert_eq!(moving(30, &[(2, 3), (2, 10), (2, 20)]), None, "always the same");
    let at_once = [(1, 3), (2, 3), (1, 9), (2, 9), (2, 15)];
    assert_eq!(moving(20, &at_once).unwrap().low_sets, 3);
}

/// Of two, the faster is fast because the other is slow.
#[test]
fn the_slower_of_two_is_named_with_how_few_it_was_compared_with() {
    let value = |set: u32, component: u32| Value {
        component,
        start: u64::from(set) * SECOND,
        set,
        setting: 0,
        value: f64::from(1 + component),
    };
    let values: Vec<Value> = (0..20).flat_map(|set| [value(set, 0), value(set, 1)]).collect();
    let found = judged(&Component::compared(&values));
    assert_eq!((kinds(&found), &found.groups), (vec![Some(Kind::Persistent), NORMAL], &None));
    assert!(said(&found, 0).ends_with("; compared with one other only"), "{}", said(&found, 0));
    assert_eq!(
        said(&found, 1),
        "it is normal: 200.0 % of the median of other targets (95 % interval 200.0 to 200.0 %)"
    );
}

#[test]
fn one_of_three_others_that_is_low_at_other_times_hides_no_drift() {
    let low_before = |others: usize| {
        move |number: usize, round: usize| match number {
            0 if round >= 12 => 0.5f64.ln(),
            number if (1..=others).contains(&number) && (2..4).contains(&round) => 0.7f64.ln(),
            _ => 0.0,
        }
    };
    let kind = |others| judged(&components(4, 24, low_before(others))).verdicts[0].kind;
    assert_eq!([kind(0), kind(1)], [Some(Kind::Drifting); 2]);
    assert_ne!(kind(2), Some(Kind::Drifting), "slowness moves");
}

/// Others stay low for four measures as well, within its stretch: what lasts is noise here.
#[test]
fn where_others_have_stretches_of_their_own_a_longer_one_is_no_drift() {
    let level = |visits: bool| {
        move |number: usize, round: usize| match (number, round / 4) {
            (0, 4..) => 0.5f64.ln(),
            // Each in another part of the second half.
            (1..=3, part) if visits && part == number + 3 => 0.4f64.ln(),
            _ => 0.0,
        }
    };
    let kind = |visits| judged(&components(4, 32, level(visits))).verdicts[0].kind;
    assert_eq!(kind(false), Some(Kind::Drifting));
    assert_ne!(kind(true), Some(Kind::Drifting));
}

#[test]
fn one_that_is_high_nearly_as_often_as_low_is_no_straggler() {
    let kind = |high: usize| {
        let level = |number: usize, round: usize| match (number, round % 4) {
            (0, 0) if round < 36 => -0.4,
            (0, 2) if round < 4 * high => 0.4,
            _ => 0.0,
        };
        judged(&components(4, 40, level)).verdicts[0].kind
    };
    // Nine low and six high ones of fifteen are what coins do, nine and two are not.
    assert_eq!(kind(2), Some(Kind::Transient));
    assert!(kind(6).is_none_or(|it| it <= Kind::Noisier), "{:?}", kind(6));
}

/// 5 % for some and 9 % for others: all are like others.
#[test]
fn components_that_scatter_by_somewhat_more_are_not_noisier() {
    let mut named = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut of = |number: usize| {
            let scatter = 0.05 + 0.01 * (number % 5) as f64;
            component((0..20).map(|_| scatter * random.normal()))
        };
        let found = judged(&(0..64).map(&mut of).collect::<Vec<_>>());
        named += kinds(&found).iter().filter(|it| **it == Some(Kind::Noisier)).count();
    }
    assert!(named <= 1, "{named} of 6400");
}

#[test]
fn low_measures_that_repeat_each_other_have_no_verdict_before_there_are_enough() {
    // Low in two visits of four rounds each.
    let level = |number: usize, round: usize| match (number, round) {
        (0, 1..5 | 8..12) => 0.5f64.ln(),
        _ => 0.0,
    };
    let found = judged(&components(4, 14, level));
    let verdict = &found.verdicts[0];
    assert_eq!((verdict.kind, verdict.n), (None, 14), "{}", said(&found, 0));
    assert!(verdict.needed > 14, "{verdict:?}");
    assert!(said(&found, 0).contains("14 measures, 8 of them low, which repeat each other"));
    assert_eq!(kinds(&found)[1..], [NORMAL; 3]);
}
