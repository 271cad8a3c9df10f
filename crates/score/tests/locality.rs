//! Whether bandwidth goes with where nodes are, on instances that are made up.

mod made;

use plimsoll_domain::site::{Client, Site, Topology};
use plimsoll_score::locality::{ByTrait, Locality, Places, Trait, locality};
use plimsoll_score::sequence::Basis;
use plimsoll_score::{Columns, Peaks};

const SETS: u64 = 24;

/// Sets of two nodes that share none, which take this many milliseconds each.
fn columns(millis: impl Fn(u64) -> u64) -> Columns {
    let node = |set, node| (format!("n{set}-{node}"), format!("t{node}"), millis(set) * 1_000_000);
    let instance = |set| made::instance(set, [node(set, 0), node(set, 1)]);
    made::columns("many-pairs", (0..SETS).map(instance))
}

/// The first `known` sets on a ring of as many places as there are sets: the nodes of set s are s apart, and have two
/// routers where s is odd, else one.
fn site(known: u64) -> Site {
    let client = |(set, node): (u64, u64)| Client {
        name: format!("n{set}-{node}"),
        coordinates: vec![(set * node) as i64],
        router: Some(format!("r{}", set % 2 * node)),
    };
    let nodes = (0..known).flat_map(|set| [(set, 0), (set, 1)]);
    let topology = Topology { torus: vec![SETS] };
    Site { clients: nodes.map(client).collect(), topology, ..Site::empty() }
}

fn found(columns: &Columns, site: &Site, wraps: bool) -> Locality {
    locality(columns, &Peaks::default(), &Places::of(columns, site, wraps), 1)
}

fn by(locality: &Locality, of: Trait) -> &ByTrait {
    locality.by_trait.iter().find(|it| it.of == of).unwrap()
}

fn distances(locality: &Locality) -> Vec<f64> {
    by(locality, Trait::Distance).sets.iter().map(|it| it.value).collect()
}

#[test]
fn bandwidth_that_rises_or_falls_with_the_distance_is_told_which_way() {
    let site = site(SETS);
    let rises = found(&columns(|set| 1000 - 10 * set), &site, false);
    assert_eq!(by(&rises, Trait::Distance).rises(), Some(true));
    let falls = found(&columns(|set| 1000 + 10 * set), &site, false);
    assert_eq!(by(&falls, Trait::Distance).rises(), Some(false));
    let neither = found(&columns(|set| 1000 + set * 7 % 24), &site, false);
    assert_eq!(by(&neither, Trait::Distance).rises(), None);
    assert_eq!(by(&falls, Trait::Routers).rises(), None);
}

#[test]
fn places_are_those_of_the_site_around_its_torus_or_not() {
    let columns = columns(|_| 1000);
    let straight = found(&columns, &site(SETS), false);
    assert_eq!(distances(&straight), (0..SETS).map(|it| it as f64).collect::<Vec<f64>>());
    let around = distances(&found(&columns, &site(SETS), true));
    assert_eq!((around[0], around[1], around[23]), (0.0, 1.0, 12.0));
    let routers = by(&straight, Trait::Routers);
    let values: Vec<f64> = routers.sets.iter().map(|it| it.value).collect();
    assert_eq!((&values[..12], &values[12..]), (&[1.0; 12][..], &[2.0; 12][..]));
    assert_eq!(routers.instances(), 24);
}

#[test]
fn bandwidths_without_peaks_are_those_over_their_median() {
    let falls = found(&columns(|set| 1000 + 10 * set), &site(SETS), false);
    let by_distance = by(&falls, Trait::Distance);
    let mut medians: Vec<f64> = by_distance.sets.iter().map(|it| it.median).collect();
    assert!(medians.is_sorted_by(|a, b| a > b), "{medians:?}");
    medians.sort_by(f64::total_cmp);
    assert!(((medians[11] + medians[12]) / 2.0 - 1.0).abs() < 1e-9, "{medians:?}");
    assert_eq!(by_distance.basis, Basis::Bandwidth);
    assert_eq!([Trait::Distance, Trait::Routers].map(Trait::name), ["distance", "routers"]);
}

/// Several tests find something by chance more often than one.
#[test]
fn each_of_two_tests_is_corrected_for_both() {
    let columns = columns(|set| 1000 + 3 * set + set * set * 31 % 97);
    let p =
        |site: &Site, of: Trait| by(&found(&columns, site, false), of).correlation.unwrap().p_value;
    let both = site(SETS);
    let mut without_routers = site(SETS);
    without_routers.clients.iter_mut().for_each(|it| it.router = None);
    let mut without_places = site(SETS);
    without_places.clients.iter_mut().for_each(|it| it.coordinates.clear());
    let alone = [p(&without_routers, Trait::Distance), p(&without_places, Trait::Routers)];
    let together = [p(&both, Trait::Distance), p(&both, Trait::Routers)];
    let smaller = usize::from(alone[1] < alone[0]);
    assert!(alone[smaller] < 0.5, "{alone:?}");
    assert!((together[smaller] - 2.0 * alone[smaller]).abs() < 1e-12, "{together:?} {alone:?}");
}

/// One slow node at the end of a row is far from most others, and all of its sets are slow: that is one node and not
/// the distance.
#[test]
fn one_slow_node_is_no_dependence_on_places() {
    let site = Site {
        clients: (0..9)
            .map(|node| Client { name: format!("n{node}"), coordinates: vec![node], router: None })
            .collect(),
        ..Site::empty()
    };
    let sets = |slow: &dyn Fn(u64, u64) -> bool| {
        let pairs = (0..9u64).flat_map(|a| (a + 1..9).map(move |b| (a, b)));
        let instance = |(number, (a, b)): (u64, (u64, u64))| {
            let millis = if slow(a, b) { 1000 + a + b } else { 500 + (a * 7 + b * 5) % 11 };
            let of = |node: u64| (format!("n{node}"), format!("t{node}"), millis * 1_000_000);
            made::instance(number, [of(a), of(b)])
        };
        let columns = made::columns("many-pairs", (0..).zip(pairs).map(instance));
        let found = found(&columns, &site, false);
        by(&found, Trait::Distance).clone()
    };
    let one_node = sets(&|a, _| a == 0);
    assert!(one_node.correlation.unwrap().rho < -0.2, "{:?}", one_node.correlation);
    assert_eq!(one_node.rises(), None, "{:?}", one_node.correlation);
    let far = sets(&|a, b| b - a > 3);
    assert_eq!(far.rises(), Some(false), "{:?}", far.correlation);
}

#[test]
fn instances_of_one_node_have_no_distance() {
    let mut all: Vec<plimsoll_measures::Instance> = Vec::new();
    for set in 0..SETS {
        let node = |node| (format!("n{set}-{node}"), format!("t{node}"), (1000 + set) * 1_000_000);
        all.push(made::instance(2 * set, [node(0), node(1)]));
        let mut alone = made::instance(2 * set + 1, [node(0)]);
        alone.setting = all[0].setting.clone();
        all.push(alone);
    }
    let with_some = found(&made::columns("many-pairs", all), &site(SETS), false);
    let without = found(&columns(|set| 1000 + set), &site(SETS), false);
    assert_eq!(distances(&with_some), distances(&without));
}

#[test]
fn an_instance_has_the_distance_of_its_nodes() {
    let columns = columns(|_| 1000);
    let places = Places::of(&columns, &site(20), false);
    let of = |set: usize, trait_| places.of_instance(trait_, &columns, &columns.instances()[set]);
    assert_eq!((of(0, Trait::Distance), of(7, Trait::Distance)), (Some(0.0), Some(7.0)));
    assert_eq!((of(6, Trait::Routers), of(7, Trait::Routers)), (Some(1.0), Some(2.0)));
    assert_eq!(of(22, Trait::Distance), None, "not on the site's list");
    let alone = [("n3-1".to_string(), "t".to_string(), 1_000_000)];
    let columns = made::columns("many-pairs", [made::instance(0, alone)]);
    let places = Places::of(&columns, &site(20), false);
    assert_eq!(places.of_instance(Trait::Routers, &columns, &columns.instances()[0]), None);
}

#[test]
fn nodes_without_a_place_are_named_and_their_instances_counted() {
    let columns = columns(|_| 1000);
    let some = found(&columns, &site(20), false);
    assert_eq!(by(&some, Trait::Distance).instances(), 20);
    assert_eq!((some.left_out[&Trait::Distance], some.unknown[&Trait::Distance].len()), (4, 8));
    assert_eq!((some.left_out[&Trait::Routers], some.unknown[&Trait::Routers].len()), (4, 8));
    let none = found(&columns, &site(0), false);
    assert!(none.by_trait.is_empty() && none.left_out.is_empty());
}
