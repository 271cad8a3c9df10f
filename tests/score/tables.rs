//! What the tables of `plimsoll score` show: every setting, in order, and what they leave out.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use serde_json::Value;
use tempfile::TempDir;

use super::{noise, results, score};
use crate::support::command::{plimsoll, text};
use crate::support::measured::{Rate, instance, keep};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bursts of 4, 64 and 256 MiB in calls of 64 KiB and 1 MiB, by 2 and 10 pairs, six times.
fn many_settings(folder: &TempDir) -> String {
    let mut settings = Vec::new();
    for pairs in [10, 2] {
        for (burst, transfer) in [(64, MIB), (256, MIB), (4, 64 * KIB), (64, 64 * KIB)] {
            let setting = Setting::pairs(pairs, 1, Bytes::new(burst * MIB));
            settings.push(Setting { transfer: Bytes::new(transfer), ..setting });
        }
    }
    let all = settings.iter().cycle().take(settings.len() * 6);
    let instances = (0..).zip(all).map(|(number, setting)| {
        let pair = |it: u32| Rate {
            client: format!("c{it}"),
            target: format!("t{it}"),
            rate: (100.0 + f64::from(it)) * MIB as f64,
        };
        let pairs: Vec<Rate> = (0..setting.clients).map(pair).collect();
        instance(number, setting.clone(), &setting.clients.to_string(), &pairs)
    });
    keep(&folder.path().join("results"), "many-pairs", instances).display().to_string()
}

#[test]
fn every_row_tells_its_burst_and_transfer_and_rows_are_sorted() {
    let folder = TempDir::new().unwrap();
    let scores = score(many_settings(&folder).as_ref(), "");
    let of_row = |row: &Value| {
        let number = |key: &str| row[key].as_u64().unwrap();
        let varied: u64 = row["varied"].as_str().unwrap().parse().unwrap();
        (number("burst_bytes"), number("transfer_bytes"), varied)
    };
    let rows: Vec<_> = scores["bandwidths"].as_array().unwrap().iter().map(of_row).collect();
    let mut expected = Vec::new();
    for (burst, transfer) in [(4, 64 * KIB), (64, 64 * KIB), (64, MIB), (256, MIB)] {
        expected.extend([2, 10].map(|pairs| (burst * MIB, transfer, pairs)));
    }
    assert_eq!(rows, expected);
}

#[test]
fn what_a_table_leaves_out_is_counted() {
    let folder = TempDir::new().unwrap();
    let place = many_settings(&folder);
    let shown = text(&format!("score {place} --top 3"));
    for (what, all) in [("bandwidths, medians", 8), ("targets", 10), ("clients", 10)] {
        let line = format!("3 of {all} rows of {what:?}; --top {all} shows all of them");
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    assert!(!text(&format!("score {place} --top 10")).contains("rows of"));
}

#[test]
fn a_slow_target_is_one_piece_of_advice() {
    let folder = TempDir::new().unwrap();
    let slow = |_, target, random: &mut plimsoll_stats::Random| {
        noise(random) * if target == 2 { 0.5 } else { 1.0 }
    };
    let place = results(folder.path(), "many-pairs", 15, 8, slow);
    let scores = score(&place, "");
    assert_eq!(scores["advice"], "Do without t2 until it is repaired.");
    // Most measures are of targets that are fine: nothing may be said about those as well.
    let said = plimsoll(&format!("score {}", place.display())).stdout;
    for other in ["gain little", "gain nothing", "It pays", "is not known"] {
        assert!(!said.contains(other), "{other}: {said}");
    }
}

/// Two settings of which one is ten times as fast: under one quantile of all measures the fast one
/// is never low, and exactly a share t of all is.
#[test]
fn low_measures_are_a_share_of_all_measures() {
    let folder = TempDir::new().unwrap();
    let instances = (0..40u64).map(|number| {
        let burst = if number.is_multiple_of(2) { 4 } else { 64 };
        let setting = Setting::pairs(1, 1, Bytes::new(burst * MIB));
        let rate = (burst * 10 + number) as f64 * MIB as f64;
        let pair = Rate { client: "c0".into(), target: "t0".into(), rate };
        instance(number, setting, &burst.to_string(), &[pair])
    });
    let place = keep(&folder.path().join("results"), "sizes", instances);
    let scores = score(&place, "--threshold 0.1");
    let sequences = &scores["sequences"][0];
    assert_eq!((&sequences["measures"], &sequences["low"]), (&40.into(), &4.into()));
    assert_eq!(sequences["settings"], 2);
    // Only the slow setting is low, the first four of its measures: each for one measure.
    assert_eq!(sequences["low_sequences"], 4);
    let notes = scores["notes"].to_string();
    assert!(notes.contains("measures of 2 settings"), "{notes}");
}
