//! Clients and targets of results that are made up, each against its like.

mod made;

use made::SECOND;
use plimsoll_score::verdict::{Compared, Component, Measure};
use plimsoll_stats::Random;

/// Two pairs an instance: what one of them lacks, the other seems to have more, until the client's part is found.
#[test]
fn what_a_slow_client_costs_is_taken_out_of_its_targets_whole() {
    let mut random = Random::new(4);
    let instance = |number: u64| {
        let mut choose = || random.choose_distinct(&mut (0..6).collect::<Vec<u32>>(), 2).to_vec();
        let pairs: Vec<(u32, u32)> = choose().into_iter().zip(choose()).collect();
        let nanos = |client| if client == 0 { 2 * SECOND } else { SECOND };
        let pair = |(client, target)| (format!("c{client}"), format!("t{target}"), nanos(client));
        made::instance(number, pairs.into_iter().map(pair))
    };
    let columns = made::columns("many-pairs", (0..90).map(instance).collect::<Vec<_>>());
    let compared = Compared::new(&columns);
    let far = |it: &&Measure| it.log_ratio.abs() > 0.01;
    let left: Vec<&Measure> =
        compared.targets.iter().flat_map(|it| &it.measures).filter(far).collect();
    assert!(left.is_empty(), "{left:?}");
    let slow = columns.clients.find("c0").unwrap() as usize;
    for measure in &compared.clients[slow].measures {
        assert!((measure.log_ratio.exp() - 0.5).abs() < 0.01, "{measure:?}");
    }
}

/// Targets one after the other, each twice before the next.
#[test]
fn targets_in_turn_are_compared_by_the_number_of_their_measure() {
    let instance = |number: u64| {
        let (round, target) = (number / 6 * 2 + number % 2, number % 6 / 2);
        // The first takes longer by a second in each round.
        let nanos = SECOND * if target == 0 { 2 + round } else { 1 };
        made::instance(number, [("c0".to_string(), format!("t{target}"), nanos)])
    };
    let columns = made::columns("target", (0..12).map(instance));
    let compared = Compared::new(&columns);
    assert_eq!(compared.matched, 4);
    let first = columns.targets.find("t0").unwrap() as usize;
    for (number, target) in compared.targets.iter().enumerate() {
        let ratios: Vec<f64> =
            target.measures.iter().map(|it| (it.log_ratio.exp() * 100.0).round()).collect();
        let sets: Vec<u32> = target.measures.iter().map(|it| it.set).collect();
        assert_eq!((sets, target.others), (vec![0, 1, 2, 3], 2));
        if number == first {
            assert_eq!(ratios, [50.0, 33.0, 25.0, 20.0]);
        }
    }
}

/// Experiments whose targets are measured in turn are compared across instances; all others are not.
#[test]
fn targets_are_matched_only_where_each_instance_has_one_and_not_always_the_same() {
    let one = |target: u64| vec![("c0".to_string(), format!("t{target}"), SECOND)];
    let two = [one(0), one(1)].concat();
    let matched = |targets: &[Vec<(String, String, u64)>]| {
        let instances =
            (0..).zip(targets).map(|(number, pairs)| made::instance(number, pairs.clone()));
        Compared::new(&made::columns("target", instances)).matched
    };
    assert_eq!(matched(&[one(0), one(1), one(0), one(1)]), 2);
    assert_eq!(matched(&[one(0), one(0), one(0)]), 0, "always the same");
    assert_eq!(matched(&[one(0), one(1), two.clone()]), 0, "beside each other at last");
    assert_eq!(matched(&[two.clone(), one(0), one(1)]), 0, "beside each other at first");
    assert_eq!(matched(&[one(0), two, one(1), one(1)]), 0);
}

/// What two clients share gives each of them less: only targets with the same number of pairs are compared.
#[test]
fn targets_with_as_many_pairs_as_most_are_compared_by_their_means() {
    let ratios = |pairs: &[(u32, u32, u64)]| {
        let pair =
            |it: &(u32, u32, u64)| (format!("c{}", it.0), format!("t{}", it.1), it.2 * SECOND);
        let columns = made::columns("many-pairs", [made::instance(0, pairs.iter().map(pair))]);
        let compared = Compared::new(&columns);
        let ratio =
            |it: &Component| it.measures.first().map(|it| (it.log_ratio.exp() * 100.0).round());
        compared.targets.iter().map(ratio).collect::<Vec<_>>()
    };
    // t3 has two pairs, the others one each.
    let shared = [(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 3, 4), (4, 3, 4)];
    assert_eq!(ratios(&shared), [Some(141.0), Some(141.0), Some(50.0), None]);
    // Two pairs each: of t1 one takes 2 s and one 8 s, which is 4 s in the middle of logarithms.
    let two = [(0, 0, 1), (1, 0, 1), (2, 1, 2), (3, 1, 8), (4, 2, 1), (5, 2, 1)];
    assert_eq!(ratios(&two), [Some(200.0), Some(25.0), Some(200.0)]);
}
