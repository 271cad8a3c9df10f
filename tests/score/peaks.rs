//! Peaks of targets: proven by bursts that outlast caches, or refused with the reason.

use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Operation, Setting};
use plimsoll_domain::site::{Peak, SiteFile};
use plimsoll_stats::Random;
use tempfile::TempDir;

use super::score;
use crate::support::command::plimsoll;
use crate::support::measured::{Rate, instance, keep};

const MIB: u64 = 1 << 20;

/// A site file with the target t0, of which nothing is known.
fn site_in(folder: &TempDir) -> PathBuf {
    let site = folder.path().join("site.toml");
    std::fs::write(&site, "version = 1\n[[target]]\nname = \"t0\"\npath = \"/t0\"\n").unwrap();
    site
}

fn peak(site: &Path) -> Peak {
    SiteFile::load(site).unwrap().site().targets[0].peak.clone()
}

/// Rates of t0 in MiB/s by burst in MiB, `rounds` times each, with a scatter of 1 %.
fn alone(folder: &TempDir, name: &str, rounds: u64, rates: &[(u64, f64)]) -> PathBuf {
    scattered(folder, (name, 0.01), rounds, rates)
}

fn scattered(
    folder: &TempDir,
    (name, scatter): (&str, f64),
    rounds: u64,
    rates: &[(u64, f64)],
) -> PathBuf {
    let mut random = Random::new(7);
    let each = rates.iter().cycle().take(rates.len() * rounds as usize);
    let instances = (0..).zip(each).map(|(number, (burst, rate))| {
        let rate = rate * MIB as f64 * (scatter * random.normal()).exp();
        let pair = Rate { client: "c0".into(), target: "t0".into(), rate };
        let setting = Setting::pairs(1, 1, Bytes::new(burst * MIB));
        instance(number, setting, &burst.to_string(), &[pair])
    });
    keep(&folder.path().join(name), name, instances)
}

/// `score --write-back`: what it says.
fn write_back(place: &Path, site: &Path) -> String {
    let (place, site) = (place.display(), site.display());
    let outcome = plimsoll(&format!("score {place} --site {site} --write-back"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome.stderr
}

/// As on a throttled target: 914 MB/s was written back where 20 MiB/s is all that it can do.
#[test]
fn bursts_that_fit_a_cache_give_no_peak_and_those_that_outlast_it_do() {
    let folder = TempDir::new().unwrap();
    let site = site_in(&folder);
    let small = [(1, 914.0), (4, 60.0), (8, 30.0)];
    let said = write_back(&alone(&folder, "small", 24, &small), &site);
    assert!(said.contains("0 measured peaks; none of t0: the rate still falls"), "{said}");
    assert!(said.contains("to 30.") && said.contains("at 8 MiB"), "{said}");
    assert!(said.contains("they fit a cache in part; hint: larger ones"), "{said}");
    assert_eq!(peak(&site), Peak::default());
    let large = [(1, 914.0), (4, 60.0), (16, 21.0), (64, 20.0)];
    let said = write_back(&alone(&folder, "large", 24, &large), &site);
    assert!(said.contains("site file: 1 measured peaks"), "{said}");
    let found = peak(&site);
    let rate = found.write.unwrap().get() as f64 / MIB as f64;
    assert!((20.0..20.8).contains(&rate), "{rate}");
    let rests_on = found.write_measured.unwrap();
    assert_eq!((rests_on.instances, rests_on.bytes), (24, Some(Bytes::new(64 * MIB))));
}

#[test]
fn one_burst_size_or_a_rate_that_rises_or_scatters_proves_nothing() {
    let folder = TempDir::new().unwrap();
    let site = site_in(&folder);
    for (name, rates, says) in [
        ("one", &[(64, 90.0)][..], "all bursts move about 64 MiB an instance"),
        ("two", &[(32, 90.0), (64, 90.0)], "all bursts move about 64 MiB an instance"),
        ("rises", &[(16, 60.0), (64, 90.0)], "the rate still rises at the largest bursts"),
    ] {
        let said = write_back(&alone(&folder, name, 24, rates), &site);
        assert!(said.contains("0 measured peaks") && said.contains(says), "{name}: {said}");
    }
    let noisy = scattered(&folder, ("noisy", 0.5), 24, &[(16, 90.0), (64, 90.0)]);
    let said = write_back(&noisy, &site);
    assert!(said.contains("rates scatter too much to tell"), "{said}");
    assert_eq!(peak(&site), Peak::default());
    // Without a peak there is no effective bandwidth, and the reason is told.
    let scores = score(&folder.path().join("rises"), "");
    assert_eq!(scores["bandwidths"][0]["eab_median"], serde_json::Value::Null);
    let notes = scores["notes"].to_string();
    assert!(notes.contains("no peak of t0: the rate still rises"), "{notes}");
}

#[test]
fn peaks_are_kept_when_they_rest_on_enough_and_no_person_gave_them() {
    let folder = TempDir::new().unwrap();
    let site = site_in(&folder);
    let at = |speed: f64| [(16, speed), (64, speed)];
    let said = write_back(&alone(&folder, "few", 19, &at(90.0)), &site);
    assert!(
        said.contains("0 measured peaks; a peak needs 20 instances at saturation, t0 has 19"),
        "{said}"
    );
    assert_eq!(peak(&site), Peak::default());
    for (name, speed) in [("first", 80.0), ("again", 60.0)] {
        let said = write_back(&alone(&folder, name, 24, &at(speed)), &site);
        assert!(said.contains("1 measured peaks"), "{said}");
        let found = peak(&site).write.unwrap().get() as f64 / MIB as f64;
        assert!((found / speed - 1.0).abs() < 0.03, "{found}");
    }
    let written = std::fs::read_to_string(&site).unwrap();
    assert!(written.contains("instances = 24") && written.contains("2026-01-01T"), "{written}");
    // A person's number, also in the place of a measured one, stays.
    let old = written.lines().find(|line| line.starts_with("write = ")).unwrap();
    std::fs::write(&site, written.replace(old, "write = \"7MiB/s\"")).unwrap();
    let said = write_back(&folder.path().join("first"), &site);
    assert!(said.contains("0 measured peaks; 1 are given and stay"), "{said}");
    assert_eq!(peak(&site).write.unwrap().get(), 7 * MIB);
}

/// Files of older versions stay valid, but what they measured is not relied on.
#[test]
fn a_peak_that_was_measured_before_caches_were_looked_at_is_not_used() {
    let folder = TempDir::new().unwrap();
    let site = site_in(&folder);
    let old = "[target.peak]\nwrite = \"914MB/s\"\n\
               write_measured = { rate = \"914MB/s\", instances = 24 }\n";
    let text = std::fs::read_to_string(&site).unwrap() + old;
    std::fs::write(&site, text).unwrap();
    assert_eq!(peak(&site).trusted(Operation::Write), None);
    let place = alone(&folder, "one", 24, &[(64, 20.0)]);
    let scores = score(&place, &format!("--site {}", site.display()));
    assert_eq!(scores["bandwidths"][0]["eab_median"], serde_json::Value::Null);
    let notes = scores["notes"].to_string();
    assert!(notes.contains("measured peaks of t0 are not used"), "{notes}");
}
