//! The figures of the page: what was planted is where the paper has it.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_stats::Random;
use serde_json::Value;
use tempfile::TempDir;

use super::page;
use crate::support::command::text;
use crate::support::measured::{Rate, instance, keep};

const MIB: u64 = 1 << 20;
const RATE: f64 = (100 * MIB) as f64;

/// The data of the first figure whose title begins so.
fn figure(page: &str, title: &str) -> Value {
    let (_, rest) = page.split_once(&format!("<figcaption>{title}")).expect(title);
    let (_, rest) = rest.split_once("<script type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The points of a series of a figure.
fn points(figure: &Value, name: &str) -> Vec<(f64, f64)> {
    let all = figure["series"].as_array().unwrap();
    let series =
        all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {all:?}"));
    serde_json::from_value(series["points"].clone()).unwrap()
}

fn names(figure: &Value) -> Vec<String> {
    let all = figure["series"].as_array().unwrap();
    all.iter().map(|it| it["name"].as_str().unwrap().to_string()).collect()
}

fn pair(client: u32, target: u32, rate: f64) -> Rate {
    Rate { client: format!("nid{client}"), target: format!("OST{target}"), rate }
}

/// Pairs of as many clients and targets, with the rate that a target has in an instance.
fn pairs(
    folder: &Path,
    instances: u64,
    count: u32,
    rate: impl Fn(u64, u32, &mut Random) -> f64,
) -> std::path::PathBuf {
    let mut random = Random::new(3);
    let setting = Setting::pairs(count, 1, Bytes::new(64 * MIB));
    let mut all = Vec::new();
    for number in 0..instances {
        // Targets are met in another order than that of their numbers.
        let targets = (0..count).map(|it| (it * 37 + 11) % count);
        let each: Vec<Rate> =
            targets.map(|it| pair(it, it, rate(number, it, &mut random))).collect();
        all.push(instance(number, setting.clone(), &count.to_string(), &each));
    }
    keep(&folder.join("results"), "many-pairs", all)
}

/// Xie's figure 22: blocks of 48 targets of sequential numbers, every second one slower.
#[test]
fn targets_stand_in_the_order_of_their_numbers_and_have_no_lines_between_them() {
    let folder = TempDir::new().unwrap();
    let block = |_, target: u32, random: &mut Random| {
        let share = if (target / 48).is_multiple_of(2) { 0.6 } else { 0.9 };
        RATE * share * (1.0 - 0.1 * random.unit())
    };
    let page = page(&pairs(folder.path(), 12, 337, block));
    for score in ["LEB", "PEB"] {
        let figure = figure(&page, &format!("{score} of targets"));
        assert_eq!(figure["kind"], "scatter");
        let named: Vec<String> = serde_json::from_value(figure["x"]["names"].clone()).unwrap();
        assert_eq!(named, (0..337).map(|it| format!("OST{it}")).collect::<Vec<_>>());
        let medians = points(&figure, "median");
        assert_eq!(medians.len(), 337);
        for (at, median) in medians {
            let is_slow = (at as u32 / 48).is_multiple_of(2);
            assert_eq!(is_slow, median < 0.8, "{score} of {at}: {median}");
        }
    }
    let rows = page.split("All targets by name").nth(1).unwrap();
    let at = |name: &str| rows.find(&format!(">{name}<")).unwrap();
    assert!(at("OST2") < at("OST10") && at("OST10") < at("OST100") && at("OST100") < at("OST336"));
}

#[test]
fn who_is_slow_comes_first() {
    let folder = TempDir::new().unwrap();
    let slow = |_, target: u32, random: &mut Random| {
        RATE * if target == 2 { 0.4 } else { 1.0 } * (1.0 - 0.1 * random.unit())
    };
    let results = pairs(folder.path(), 60, 5, slow);
    let page = page(&results);
    let first = page.find("<h2").unwrap();
    let verdict = page.find("OST2 is a persistent straggler").expect("the verdict");
    let glance = page.find("At a glance</h2>").unwrap();
    assert!(
        page[first..].starts_with("<h2>Verdict") || page[first..glance].contains("Verdict</h2>")
    );
    assert!(first < verdict && verdict < glance);
    let said =
        page[..glance].split_once("<p>OST2 is a persistent straggler").expect("a sentence").1;
    let (sentence, rest) = said.split_once("</p>").unwrap();
    assert!(
        sentence.contains("either may be slow. Do without OST2 or nid2"),
        "what to do: {sentence}"
    );
    assert!(rest.contains("All verdicts</summary>"), "and then the others");
    // It is that of the scores, which make the same page.
    let shown = text(&format!("score {}", results.display()));
    assert!(shown.contains("OST2 is a persistent straggler"), "{shown}");
    let file = folder.path().join("scores.html");
    text(&format!("score {} --html {}", results.display(), file.display()));
    let scores = std::fs::read_to_string(file).unwrap();
    assert!(scores.contains("OST2 is a persistent straggler"));
    figure(&scores, "PEB of targets");
}

/// Ten settings of 2 to 11 clients, of whom the last one is ten times as slow.
fn growing(folder: &Path) -> std::path::PathBuf {
    let instances = (0..60).map(|number| {
        let clients = 2 + (number % 10) as u32;
        let rate = |it: u32| RATE * if it + 1 == clients { 0.1 } else { 1.0 };
        let each: Vec<Rate> = (0..clients).map(|it| pair(it, it, rate(it))).collect();
        let setting = Setting::pairs(clients, 1, Bytes::new(64 * MIB));
        instance(number, setting, &clients.to_string(), &each)
    });
    keep(&folder.join("results"), "many-pairs", instances)
}

/// Xie's figure 19.
#[test]
fn completion_of_pairs_keeps_the_largest_settings() {
    let folder = TempDir::new().unwrap();
    let page = page(&growing(folder.path()));
    let figure = figure(&page, "Time to completion of pairs");
    let drawn: Vec<String> = (4..=11).map(|it| format!("clients {it}")).collect();
    assert_eq!(names(&figure), drawn);
    assert!(page.contains("of the 8 largest of 10 settings"));
}

/// A line of 336 pairs of which the slowest ten are apart has all ten of them.
#[test]
fn completion_of_pairs_draws_every_straggler() {
    let folder = TempDir::new().unwrap();
    let tail = |_, target: u32, _: &mut Random| {
        RATE / if target < 10 { f64::from(target) + 2.0 } else { 1.0 }
    };
    let page = page(&pairs(folder.path(), 1, 336, tail));
    let figure = figure(&page, "Time to completion of pairs");
    let line = points(&figure, &names(&figure)[0]);
    let late = line.iter().filter(|point| point.0 > 0.7).count();
    assert_eq!(late, 10, "{line:?}");
    assert!(line.len() < 100);
}

/// Xie's figure 10.
#[test]
fn bandwidths_of_single_clients_are_a_distribution_for_each_setting() {
    let folder = TempDir::new().unwrap();
    let page = page(&growing(folder.path()));
    let figure = figure(&page, "Bandwidth of single clients");
    assert_eq!(names(&figure).len(), 8);
    // Of two clients one is slow, of eleven one.
    for clients in [2, 11] {
        let line = points(&figure, &format!("clients {clients}"));
        let is_near = |it: f64, rate: f64| (it / rate - 1.0).abs() < 1e-6;
        let slow = line.iter().filter(|it| is_near(it.0, RATE / 10.0));
        let share = slow.map(|it| it.1).fold(0.0, f64::max);
        assert!((share - 100.0 / f64::from(clients)).abs() < 1e-9, "{clients}: {share}");
        assert!(
            line.iter().all(|it| is_near(it.0, RATE / 10.0) || is_near(it.0, RATE)),
            "{line:?}"
        );
    }
    // One client alone tells no more than its instances.
    let folder = TempDir::new().unwrap();
    let alone = super::page(&pairs(folder.path(), 9, 1, |_, _, _: &mut Random| RATE));
    assert!(!alone.contains("Bandwidth of single clients"));
}

/// Xie's figures 23 to 25: t1 is slow in 3 of 30 measures, in a stretch that lasts a minute.
#[test]
fn how_long_targets_are_slow_is_drawn() {
    let folder = TempDir::new().unwrap();
    let slow = |number: u64, target: u32, random: &mut Random| {
        let is_slow = target == 1 && (12..15).contains(&number);
        RATE * if is_slow { 0.2 } else { 1.0 } * (1.0 - 0.01 * random.unit())
    };
    let results = pairs(folder.path(), 30, 2, slow);
    let file = folder.path().join("page.html");
    let command = format!("score {} --threshold 0.05 --html {}", results.display(), file.display());
    text(&command);
    let page = std::fs::read_to_string(file).unwrap();
    let measures = points(&figure(&page, "Bandwidth of targets, as a peak is missing"), "measures");
    let low = measures.iter().filter(|it| it.0 < RATE / 2.0).map(|it| it.1).fold(0.0, f64::max);
    assert!((low - 5.0).abs() < 1e-9, "3 of 60 measures: {low} %");
    let between = points(&figure(&page, "Time between measures of a target"), "series");
    assert!(between.iter().all(|it| it.0 == 20.0), "{between:?}");
    let spans = points(&figure(&page, "Length of the series of a target"), "series");
    assert!(spans.iter().all(|it| it.0 == 29.0 * 20.0), "{spans:?}");
    let low = points(&figure(&page, "Low sequences"), "t = 0.05");
    assert_eq!(low.last(), Some(&(60.0, 100.0)), "all ended within a minute");
    // Of the three normal sequences, that of t0 and two of t1, one was seen to end, after 240 s.
    let normal = points(&figure(&page, "Normal sequences"), "t = 0.05");
    let (at, share) = normal[1];
    assert!(at == 240.0 && (share - 100.0 / 3.0).abs() < 1e-9, "{normal:?}");
    // The picture has a row for each target, and the low minute.
    assert!(page.contains("Low and normal sequences of targets, t = 0.05"));
    assert!(page.contains("OST1: low"));
    assert!(page.contains("3 measures"), "of the low sequence");
    assert!(!page.contains("OST0: low"));
}
