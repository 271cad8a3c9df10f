//! Locality: what was planted on where nodes are is found, and nothing else.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::Instance;
use plimsoll_stats::Random;
use serde_json::Value;
use tempfile::TempDir;

use super::score;
use crate::support::command::text;
use crate::support::measured::{Rate, instance, keep};

const MIB: u64 = 1 << 20;
const SIDE: u64 = 12;
const NODES: usize = 8;
const ROUTERS: usize = 24;
const PEAK: f64 = (100 * MIB) as f64;

/// A node in a cube, and its router, which has nothing to do with its place.
fn place(node: usize) -> ([u64; 3], usize) {
    let node = node as u64;
    ([node % SIDE, node / SIDE % SIDE, node / SIDE / SIDE], (node as usize * 7919) % ROUTERS)
}

/// Mean distance over all pairs, as equation 1 has it.
fn distance(nodes: &[usize]) -> f64 {
    let mut sum = 0;
    for (index, a) in nodes.iter().enumerate() {
        for b in &nodes[index + 1..] {
            let (a, b) = (place(*a).0, place(*b).0);
            sum += a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).sum::<u64>();
        }
    }
    sum as f64 / (nodes.len() * (nodes.len() - 1) / 2) as f64
}

fn routers(nodes: &[usize]) -> f64 {
    nodes.iter().map(|node| place(*node).1).collect::<std::collections::BTreeSet<_>>().len() as f64
}

/// Sixty sets of nodes, dense and sparse ones, six instances each, half of them of 16 MiB and half of 256 MiB
/// bursts, whose EAB `eab` gives for burst and nodes, with noise that has a long lower tail.
fn results(folder: &TempDir, eab: impl Fn(u64, &[usize]) -> f64) -> PathBuf {
    let mut random = Random::new(5);
    let mut instances: Vec<Instance> = Vec::new();
    for set in 0..60 {
        // From a part of the cube, which grows with the number of the set.
        let part = NODES * 3 + set * (SIDE.pow(3) as usize - NODES * 3) / 60;
        let mut all: Vec<usize> = (0..part).collect();
        let nodes = random.choose_distinct(&mut all, NODES).to_vec();
        for burst in [256, 16].repeat(3) {
            let noise = 1.0 - 0.1 * (random.normal().abs() + 0.3 * random.normal()).max(0.0);
            let rate = PEAK * eab(burst, &nodes) * noise;
            let pair = |(target, node): (usize, &usize)| Rate {
                client: format!("nid{node}"),
                target: format!("t{target}"),
                rate,
            };
            let setting = Setting::pairs(NODES as u32, 1, Bytes::new(burst * MIB));
            let pairs: Vec<Rate> = nodes.iter().enumerate().map(pair).collect();
            instances.push(instance(instances.len() as u64, setting, "8", &pairs));
        }
    }
    keep(&folder.path().join("results"), "many-pairs", instances)
}

/// Peaks of all targets, and of all nodes but those from `unknown` on their places.
fn site(folder: &TempDir, unknown: usize) -> PathBuf {
    let mut text = "version = 1\n".to_string();
    for target in 0..NODES {
        let _ = write!(
            text,
            "[[target]]\nname = \"t{target}\"\npath = \"/t{target}\"\npeak.write = \"100MiB/s\"\n"
        );
    }
    for node in 0..unknown.min(SIDE.pow(3) as usize) {
        let ([x, y, z], router) = place(node);
        let _ = write!(
            text,
            "[[client]]\nname = \"nid{node}\"\ncoordinates = [{x}, {y}, {z}]\nrouter = \"rtr{router}\"\n"
        );
    }
    let site = folder.path().join("site.toml");
    std::fs::write(&site, text).unwrap();
    site
}

fn with_site(results: &Path, site: &Path) -> Value {
    score(results, &format!("--site {}", site.display()))
}

fn row<'a>(scores: &'a Value, burst: u64, by: &str) -> &'a Value {
    let rows = scores["locality"].as_array().unwrap();
    let is_it = |it: &&Value| it["burst_bytes"] == burst * MIB && it["by"] == by;
    rows.iter().find(is_it).unwrap_or_else(|| panic!("{burst} {by}: {rows:?}"))
}

fn is_found(scores: &Value, burst: u64, by: &str) -> bool {
    row(scores, burst, by)["correlation_p"].as_f64().unwrap() < 0.05
}

/// As on Titan: wide sets of nodes are faster, for large bursts only.
#[test]
fn a_dependence_on_distance_is_found_where_it_was_planted() {
    let folder = TempDir::new().unwrap();
    let planted = |burst, nodes: &[usize]| match burst {
        256 => 0.2 + 0.05 * distance(nodes),
        _ => 0.6,
    };
    let scores = with_site(&results(&folder, planted), &site(&folder, usize::MAX));
    // In the order of their sizes, whichever was measured first.
    let bursts = scores["locality"].as_array().unwrap().iter().map(|it| &it["burst_bytes"]);
    assert_eq!(bursts.collect::<Vec<_>>(), [16, 256, 16, 256].map(|it| it * MIB));
    let found = row(&scores, 256, "distance");
    assert_eq!((&found["node_sets"], &found["instances"]), (&60.into(), &180.into()));
    assert_eq!(found["basis"], "EAB");
    assert!(found["correlation"].as_f64().unwrap() > 0.6, "{found}");
    assert!(found["correlation_low"].as_f64().unwrap() > 0.4, "{found}");
    assert!(is_found(&scores, 256, "distance") && !is_found(&scores, 16, "distance"));
    for burst in [16, 256] {
        assert!(!is_found(&scores, burst, "routers"), "{}", row(&scores, burst, "routers"));
    }
    let said = scores["locality_findings"].to_string();
    assert!(said.contains("write of 256 MiB by 8 clients: bandwidth rises with the distance"));
    assert!(said.contains("write of 16 MiB by 8 clients: no dependence on the distance"), "{said}");
    // Figure 26.
    let (results, site) = (folder.path().join("results"), folder.path().join("site.toml"));
    let page = folder.path().join("page.html");
    let files = format!("--site {} --html {}", site.display(), page.display());
    text(&format!("score {} {files}", results.display()));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<figcaption>Effective aggregate bandwidth (EAB) by distance between nodes")
    );
    assert!(page.contains("write of 256 MiB by 8 clients: bandwidth rises with the distance"));
    // Three ranges, as in the paper's figures 28 and 29, with what was planted in each.
    let ranges = scores["locality_ranges"].as_array().unwrap();
    let large = ranges.iter().filter(|it| it["burst_bytes"] == 256 * MIB && it["by"] == "distance");
    let large: Vec<&Value> = large.collect();
    assert_eq!(large.len(), 3);
    for range in large {
        let number = |key: &str| range[key].as_f64().unwrap();
        let middle = (number("value_from") + number("value_to")) / 2.0;
        let expected = (0.2 + 0.05 * middle) * 0.93;
        assert!((number("set_median") / expected - 1.0).abs() < 0.15, "{range} {expected}");
        assert!(number("median_low") <= number("set_median"), "{range}");
        assert!(number("median_high") >= number("set_median"), "{range}");
    }
}

#[test]
fn a_dependence_on_routers_is_found_by_routers_alone() {
    let folder = TempDir::new().unwrap();
    let planted = |_, nodes: &[usize]| 0.1 * routers(nodes);
    let scores = with_site(&results(&folder, planted), &site(&folder, usize::MAX));
    for burst in [16, 256] {
        assert!(is_found(&scores, burst, "routers"), "{}", row(&scores, burst, "routers"));
        assert!(!is_found(&scores, burst, "distance"), "{}", row(&scores, burst, "distance"));
    }
    let said = scores["locality_findings"].to_string();
    assert!(said.contains("bandwidth rises with the number of I/O routers"), "{said}");
}

#[test]
fn where_nothing_was_planted_nothing_is_found() {
    let folder = TempDir::new().unwrap();
    let scores = with_site(&results(&folder, |_, _| 0.6), &site(&folder, usize::MAX));
    for burst in [16, 256] {
        for by in ["distance", "routers"] {
            assert!(!is_found(&scores, burst, by), "{}", row(&scores, burst, by));
        }
    }
}

#[test]
fn clients_without_a_place_are_named_and_their_instances_left_out() {
    let folder = TempDir::new().unwrap();
    let results = results(&folder, |_, _| 0.6);
    let scores = with_site(&results, &site(&folder, 1200));
    let counted = row(&scores, 16, "distance")["instances"].as_u64().unwrap();
    assert!((1..180).contains(&counted), "{counted}");
    let notes = scores["notes"].to_string();
    assert!(notes.contains("no usable coordinates of nid12"), "{notes}");
    let left_out = 180 - counted;
    assert!(notes.contains(&format!("{} instances do not count", 2 * left_out)), "{notes}");
    assert!(notes.contains("no router of nid12"), "{notes}");
    // A site that places nobody has nothing to say.
    let scores = with_site(&results, &site(&folder, 0));
    assert_eq!(scores["locality"], Value::Array(Vec::new()));
    assert!(!text(&format!("score {}", results.display())).contains("where nodes are"));
}

/// Two nodes at the ends of a line, which are neighbours on a ring.
#[test]
fn distances_wrap_around_a_torus_unless_they_are_not_to() {
    let folder = TempDir::new().unwrap();
    let pairs = [("a", "b"), ("a", "c")];
    let all = pairs.iter().cycle().take(40);
    let instances = (0..).zip(all).map(|(number, (one, other))| {
        let rate = |(client, target): (&str, &str)| Rate {
            client: client.into(),
            target: target.into(),
            rate: PEAK,
        };
        let setting = Setting::pairs(2, 1, Bytes::new(MIB));
        instance(number, setting, "2", &[(*one, "t0"), (*other, "t1")].map(rate))
    });
    let results = keep(&folder.path().join("results"), "ring", instances);
    let site = folder.path().join("site.toml");
    let client = |name, at| format!("[[client]]\nname = \"{name}\"\ncoordinates = [{at}]\n");
    let clients = client("a", 0) + &client("b", 9) + &client("c", 4);
    let table = folder.path().join("pairs.csv");
    let lengths = |torus: &str, more: &str| {
        std::fs::write(&site, format!("version = 1\n{torus}{clients}")).unwrap();
        let files = format!("--site {} --force --csv {}", site.display(), table.display());
        let scores = score(&results, &format!("{files} {more}"));
        let ranges = scores["locality_ranges"].as_array().unwrap().clone();
        // Two sets of nodes, however often they were measured, prove nothing.
        assert_eq!(scores["locality"][0]["correlation"], Value::Null);
        assert_eq!(scores["locality"][0]["basis"], "the median bandwidth");
        let said = scores["locality_findings"].to_string();
        assert!(said.contains("from 2 sets of nodes; hint: more runs"), "{said}");
        // The table of pairs has that of each instance.
        let rows = std::fs::read_to_string(&table).unwrap();
        let of_row = |row: &str| row.rsplit(',').nth(1).unwrap().parse::<f64>().unwrap();
        let instances: Vec<f64> = rows.lines().skip(1).step_by(2).map(of_row).collect();
        assert_eq!(instances.len(), 40);
        let of_range = |it: &Value| it["value_from"].as_f64().unwrap();
        (ranges.iter().map(of_range).collect::<Vec<_>>(), [instances[0], instances[1]])
    };
    assert_eq!(lengths("", ""), (vec![4.0, 9.0], [9.0, 4.0]));
    assert_eq!(lengths("[topology]\ntorus = [10]\n", ""), (vec![1.0, 4.0], [1.0, 4.0]));
    assert_eq!(lengths("[topology]\ntorus = [10]\n", "--no-wrap"), (vec![4.0, 9.0], [9.0, 4.0]));
}

/// Two of eight nodes are slow and sit anywhere: sets that share them do not prove that places matter.
#[test]
fn slow_nodes_that_sit_anywhere_are_no_dependence_on_places() {
    let folder = TempDir::new().unwrap();
    let mut random = Random::new(8);
    let instances: Vec<Instance> = (0..120)
        .map(|number| {
            let mut all: Vec<u32> = (0..8).collect();
            let nodes = random.choose_distinct(&mut all, 3).to_vec();
            let pair = |(target, node): (usize, &u32)| Rate {
                client: format!("c{node}"),
                target: format!("t{target}"),
                rate: PEAK * if *node < 6 { 1.0 } else { 0.1 },
            };
            let mut pairs: Vec<Rate> = nodes.iter().enumerate().map(pair).collect();
            pairs.iter_mut().for_each(|it| it.rate *= 1.0 - 0.2 * random.unit());
            instance(number, Setting::pairs(3, 1, Bytes::new(MIB)), "3", &pairs)
        })
        .collect();
    let results = keep(&folder.path().join("results"), "many-pairs", instances);
    let site = folder.path().join("site.toml");
    let mut found = 0;
    for _ in 0..20 {
        let mut text = "version = 1\n".to_string();
        for node in 0..8 {
            let place = (random.unit() * 30.0) as u32;
            let _ = write!(text, "[[client]]\nname = \"c{node}\"\ncoordinates = [{place}]\n");
        }
        std::fs::write(&site, text).unwrap();
        let scores = with_site(&results, &site);
        let p = scores["locality"][0]["correlation_p"].as_f64().unwrap();
        found += u32::from(p < 0.05);
    }
    assert!(found <= 2, "in {found} of 20 random placements");
}
