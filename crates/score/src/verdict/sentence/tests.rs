//! Sentences, word by word.

use super::super::{ByPeaks, Component, Test, Verdicts, verdicts};
use super::*;

const WORDING: Wording = Wording { one: "target", many: "targets", below: 0.15, utc_offset: 0 };

/// Measures every ten seconds.
fn component(logs: impl Iterator<Item = f64>) -> Component {
    let mut component = Component::of_logs(&logs.collect::<Vec<f64>>());
    component.measures.iter_mut().for_each(|it| it.start *= 10_000_000_000);
    Component { others: 5, ..component }
}

fn judged(components: &[Component]) -> Verdicts {
    verdicts(components, &[], &Test::default())
}

fn said(verdicts: &Verdicts, number: usize) -> String {
    sentence("it", &verdicts.verdicts[number], &WORDING, None)
}

#[test]
fn spans_have_units_that_people_use() {
    let spans = [0.0, 0.0005, 0.001, 0.5, 1.0, 119.0, 120.0, 7199.0, 7200.0, 172_000.0, 172_800.0];
    let said = [
        "0 s",
        "500.0 \u{b5}s",
        "1.0 ms",
        "500.0 ms",
        "1.0 s",
        "119.0 s",
        "2.0 min",
        "120.0 min",
        "2.0 h",
        "47.8 h",
        "2.0 d",
    ];
    assert_eq!(spans.map(span), said);
}

#[test]
fn long_lists_end_with_how_many_more_there_are() {
    let names = |count: usize| listed((0..count).map(|it| it.to_string()).collect());
    assert_eq!((names(0).as_str(), names(2).as_str()), ("", "0, 1"));
    assert_eq!(names(8), "0, 1, 2, 3, 4, 5, 6, 7");
    assert_eq!(names(11), "0, 1, 2, 3, 4, 5, 6, 7 and 3 more");
}

#[test]
fn the_smaller_of_two_p_values_is_told() {
    assert_eq!(smallest([Some(0.2), Some(0.1)]), Some(0.1));
    assert_eq!((smallest([None, Some(0.3)]), smallest([None, None])), (Some(0.3), None));
}

#[test]
fn small_p_values_are_rounded_to_their_power() {
    assert_eq!(p(Some(0.0004)), "p = 4e-4");
    assert_eq!([p(Some(0.001)), p(Some(0.04)), p(None)], ["p = 0.001", "p = 0.040", "p = -"]);
}

#[test]
fn each_kind_is_told_with_its_evidence() {
    let level = |number: usize, round: usize| match number {
        0 => 0.5f64.ln(),
        1 => [0.1, -0.1, -0.1, 0.1][round % 4],
        _ => 0.0,
    };
    let mut components: Vec<Component> =
        (0..6).map(|number| component((0..20).map(|round| level(number, round)))).collect();
    components[5].measures.truncate(7);
    components[4].measures.clear();
    let found = judged(&components);
    let persistent = said(&found, 0);
    let expected = "it is a persistent straggler: 50.0 % of the median of other targets (95 % interval \
        50.0 to 50.0 %), under 85.0 % in 20 of 20 measures and in every third of the 3.2 min watched (p = ";
    let p = persistent.strip_prefix(expected).expect(&persistent);
    assert!(p.ends_with("e-6)") || p.ends_with("e-5)"), "{p}");
    let noisier = said(&found, 1);
    let expected = "it is noisier than others: its measures scatter by 20.0 %, those of other targets by 0.0 % (p = ";
    assert!(noisier.starts_with(expected), "{noisier}");
    assert!(noisier.ends_with("; 100.5 % of the median of other targets"), "{noisier}");
    assert_eq!(
        said(&found, 2),
        "it is normal: 100.0 % of the median of other targets (95 % interval 100.0 to 100.0 %)"
    );
    let none = "it has no verdict: no instance compares it with others; 10 are needed";
    assert_eq!(said(&found, 4), none);
    assert_eq!(said(&found, 5), "it has no verdict: 7 measures; 10 are needed");
    components[2].measures.truncate(15);
    let without_interval = judged(&components);
    assert_eq!(said(&without_interval, 2), "it is normal: 100.0 % of the median of other targets");
    let with_partner =
        |number: usize| sentence("it", &found.verdicts[number], &WORDING, Some("c7"));
    assert!(with_partner(0).ends_with("; it was always together with c7, so either may be slow"));
    assert!(!with_partner(2).contains("c7"), "nothing is slow");
}

#[test]
fn groups_and_moving_slowness_are_told_in_a_sentence() {
    let names = ["t0", "t1", "t2", "t3", "t4", "t5"];
    let name = |number: u32| names[number as usize];
    let groups = |fast: &[u32], slow: &[u32], by_peaks| {
        let groups = Groups { fast: fast.to_vec(), slow: slow.to_vec(), ratio: 2.0, by_peaks };
        group_sentence(&groups, &WORDING, name)
    };
    assert_eq!(
        groups(&[4, 5], &[0, 1], None),
        "two groups of targets: t4, t5 have 200.0 % of the bandwidth of t0, t1; which is right cannot be told by \
         comparison, known peaks in a site file could tell"
    );
    assert_eq!(
        groups(&[5], &[0, 1, 2, 3, 4], None),
        "t5 has 200.0 % of the bandwidth of t0, t1, t2, t3, t4: unusually fast, or all others are slow; which is \
         right cannot be told by comparison, known peaks in a site file could tell"
    );
    assert_eq!(
        groups(&[5], &[4], Some(ByPeaks { fast: 0.9, slow: 0.45 })),
        "two groups of targets: t5 has 200.0 % of the bandwidth of t4; by their known peaks the slower ones are \
         slow: the faster reach 90.0 % of them, the slower 45.0 %"
    );
    let alike = groups(&[5], &[4], Some(ByPeaks { fast: 0.9, slow: 0.9 }));
    assert!(alike.contains("; the two differ as their known peaks do: "), "{alike}");
    let moving =
        Moving { sets: 30, low_sets: 3, components: vec![(1, 1, 30), (2, 2, 30)], lowest: 0.4 };
    assert_eq!(
        moving_sentence(&moving, &WORDING, name),
        "slowness moves: in 3 of 30 comparisons some target was under 85.0 % of the median of other targets, down \
         to 40.0 %, no target more than others: t1 in 1 of 30, t2 in 2 of 30"
    );
}
