//! One test after the other, on measures whose chances can be counted.

use super::*;
use std::collections::BTreeSet;

fn of_ratios(ratios: impl IntoIterator<Item = f64>) -> Component {
    Component::of_logs(&ratios.into_iter().map(f64::ln).collect::<Vec<f64>>())
}

/// Half as fast as the others where the text has an l.
fn low_where(text: &str) -> Component {
    of_ratios(text.bytes().map(|it| if it == b'l' { 0.5 } else { 1.0 }))
}

/// The first component among three that are never low.
fn among_even(first: Component) -> Vec<Component> {
    let even = of_ratios(vec![1.0; first.measures.len()]);
    vec![first, even.clone(), even.clone(), even]
}

fn erring(error: f64) -> Test {
    Test { error, ..Test::default() }
}

/// What one test alone finds the first component to be, if it may err so often.
fn kind<'a>(components: &'a [Component], error: f64, test: fn(&mut Judging<'a>)) -> Option<Kind> {
    let mut judging = Judging::new(components, &erring(error));
    test(&mut judging);
    assert!(judging.verdicts[1..].iter().all(|it| it.kind.is_none()));
    judging.verdicts[0].kind
}

/// Eight heads or more of ten, for the least likely of four, may be half of the error.
#[test]
fn low_throughout_is_named_if_chance_is_less_than_its_part_of_the_error() {
    let eight = among_even(low_where("llnllnllll"));
    let p = 4.0 * 56.0 / 1024.0;
    let kind = |components: &[Component], error| kind(components, error, Judging::find_persistent);
    assert_eq!(kind(&eight, 2.0 * p + 1e-9), Some(Kind::Persistent));
    assert_eq!(kind(&eight, 2.0 * p - 1e-9), None);
    let later = among_even(low_where("nnllllllll"));
    assert_eq!(kind(&later, 0.9), None, "not in the first third");
}

/// All of three, of which two are the least to be compared, and one that has too few measures.
#[test]
fn few_measures_are_not_tested() {
    let mut components = among_even(low_where("lllllllllll"));
    components[2].measures.truncate(9);
    components[3].measures.clear();
    let mut judging = Judging::new(&components, &erring(0.9));
    judging.find_persistent();
    judging.find_stretches();
    judging.find_low_more_than_others();
    judging.find_noisier();
    let tested = |p: fn(&PValues) -> Option<f64>| {
        judging.verdicts.iter().map(|it| p(&it.p).is_some()).collect::<Vec<bool>>()
    };
    assert_eq!(tested(|it| it.persistent), [true, true, false, false]);
    assert_eq!(tested(|it| it.transient), [false, true, false, false], "the first is named");
    assert_eq!(judging.verdicts[0].kind, Some(Kind::Persistent));
    assert!(judging.verdicts[1..].iter().all(|it| it.kind.is_none()));
}

#[test]
fn a_stretch_is_named_if_chance_is_less_than_its_part_of_the_error() {
    // Twice for the two ways to last, for the least likely of four: 8 of the 70 ways to choose 4 of 8, and of 924.
    let kind = |text: &str, error| {
        let components = among_even(low_where(text));
        kind(&components, error, Judging::find_stretches)
    };
    let p = 8.0 / 924.0;
    assert_eq!(kind("nnnnnnllllll", 2.0 * p + 1e-9), Some(Kind::Drifting));
    assert_eq!(kind("nnnnnnllllll", 2.0 * p - 1e-9), None);
    assert_eq!(kind("llllllnnnnnn", 0.9), Some(Kind::Recovered));
    assert_eq!(kind("nnnnllllllnnnnnn", 0.9), Some(Kind::Transient));
}

/// One of four is low alone in four comparisons: a quarter to the fourth power, for the least likely of four.
#[test]
fn low_more_than_others_is_named_if_chance_is_at_most_its_part_of_the_error() {
    let components = among_even(low_where("lnnlnnlnnnln"));
    let kind = |error| kind(&components, error, Judging::find_low_more_than_others);
    let p = 1.0 / 64.0;
    assert_eq!(kind(2.0 * p), Some(Kind::Transient), "at most");
    assert_eq!(kind(2.0 * p - 1e-9), None);
    assert_eq!(kind(2.0 * p + 1e-9), Some(Kind::Transient));
}

#[test]
fn low_more_than_others_in_three_quarters_and_every_third_is_persistent() {
    let kind = |text: &str| {
        let components = among_even(low_where(text));
        kind(&components, 0.9, Judging::find_low_more_than_others)
    };
    assert_eq!(kind("lllnlllnlllnllln"), Some(Kind::Persistent), "just three quarters");
    assert_eq!(kind("llnllnllnllnllnlln"), Some(Kind::Transient), "two thirds");
    let seldom_at_the_end = "l".repeat(80) + &"lnnlnlnn".repeat(5);
    assert_eq!(kind(&seldom_at_the_end), Some(Kind::Transient));
}

#[test]
fn low_measures_that_make_too_few_blocks_need_three_of_them() {
    let components = among_even(low_where("nlllnnnlllnnnn"));
    let mut judging = Judging::new(&components, &Test::default());
    judging.find_low_more_than_others();
    let open = judging.open();
    let found = signs::low_more_than_others(&judging.of(&open), &judging.chronology, judging.limit);
    assert!(found[0].block > 4);
    assert_eq!(judging.verdicts[0].needed, 3 * found[0].block);
    assert_eq!(judging.verdicts[1].needed, LEAST_MEASURES);
}

#[test]
fn scatter_is_named_if_chance_is_less_than_its_part_of_the_error() {
    // Its differences are 0.2 in every second pair, and 0.4 in the others.
    let steps = [0.1, -0.1, -0.2, 0.2, -0.1, 0.1, 0.2, -0.2];
    let mut components = among_even(Component::of_logs(&[steps, steps, steps].concat()));
    let quiet = (0..24).map(|at| if at % 2 == 0 { 0.005 } else { -0.005 }).collect::<Vec<f64>>();
    components[1..].iter_mut().for_each(|it| *it = Component::of_logs(&quiet));
    let mut judging = Judging::new(&components, &Test::default());
    judging.find_noisier();
    let p = judging.verdicts[0].p.noisier.unwrap();
    assert!(p > 0.0 && p < 0.001, "{p}");
    let kind = |error| kind(&components, error, Judging::find_noisier);
    assert_eq!(kind(4.0 * p * 1.000_001), Some(Kind::Noisier));
    assert_eq!(kind(4.0 * p * 0.999_999), None);
    let spread = judging.verdicts[0].spread.unwrap();
    assert!((spread.own - 0.3).abs() < 1e-12 && (spread.usual - 0.01).abs() < 1e-12, "{spread:?}");
}

#[test]
fn settings_explain_what_is_low_and_not_what_scatters() {
    let mut components = among_even(low_where("nlnlnlnlnlnlnlnlnlnl"));
    components[0].measures.iter_mut().for_each(|it| it.setting = it.set % 2);
    let common = Common { name: "odd".into(), settings: BTreeSet::from([1]) };
    for (before, after) in [
        (None, None),
        (Some(Kind::Normal), Some(Kind::Normal)),
        (Some(Kind::Noisier), Some(Kind::Noisier)),
        (Some(Kind::Recovered), Some(Kind::SomeSettings)),
        (Some(Kind::Persistent), Some(Kind::SomeSettings)),
    ] {
        let mut judging = Judging::new(&components, &Test::default());
        judging.verdicts[0].kind = before;
        judging.explain_by_settings(std::slice::from_ref(&common));
        assert_eq!(judging.verdicts[0].kind, after);
        assert_eq!(judging.verdicts[0].settings.is_some(), before != after);
    }
}

#[test]
fn what_is_known_before_any_test() {
    let mut components = among_even(low_where("llllllllllnnnnnnnnnn"));
    components[1] = low_where("lnnnnnnnnnlnnnnnnnnn");
    components[2] = low_where("lnlnlnlnlnnnnnnnnnnn");
    components[3].measures.clear();
    for component in &mut components {
        component.measures.iter_mut().for_each(|it| it.start = 100 + 1_500_000_000 * it.start);
    }
    let judging = Judging::new(&components, &Test::default());
    let [first, second, _, none] = &judging.verdicts[..] else { panic!() };
    assert_eq!((first.n, first.low, first.median, first.lowest), (20, 10, Some(0.75), Some(0.5)));
    // Of the two others that were measured: 0.1 and 0.25.
    assert_eq!((first.usual_low, second.usual_low), (Some(0.175), Some(0.375)));
    assert_eq!((first.span, none.span), (28.5, 0.0));
    assert_eq!((none.n, none.median, none.usual_low), (0, None, Some(0.25)));
    assert!(first.effective_n < 5.0, "ten in a row repeat each other: {}", first.effective_n);
    assert_eq!(second.effective_n, 20.0);
}

#[test]
fn comparisons_are_numbered_in_order_of_time() {
    let mut components = among_even(low_where("nnnn"));
    // The second component was measured before the others, and in a comparison of its own.
    components[1].measures.iter_mut().for_each(|it| it.set += 2);
    let measures = components.iter_mut().flat_map(|it| &mut it.measures);
    measures.for_each(|it| it.start = 100 - u64::from(it.set));
    let chronology = Chronology::new(&components);
    assert_eq!([5, 4, 3, 2, 1, 0].map(|it| chronology.of(it)), [0, 1, 2, 3, 4, 5]);
    assert_eq!(chronology.count, 6);
}
