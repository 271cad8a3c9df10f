//! Peaks on real devices: bursts that outlast the credit of a throttle, and times that follow.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_domain::site::SiteFile;
use serde_json::Value;

use crate::support::busy_machine::measured_until_right;
use crate::support::command::{Outcome, binary};
use crate::testbed::{Base, has_limits, has_loop_devices};

const MIB: f64 = (1 << 20) as f64;

/// A bed whose only target may write 20 MiB/s.
struct SlowBed {
    base: Base,
}

impl SlowBed {
    fn up() -> Option<Self> {
        if !has_loop_devices() || !has_limits() {
            return None;
        }
        let base = Base::new();
        base.fine("up --targets 1 --size 160MiB");
        base.fine("slow t0 20MiB/s");
        Some(SlowBed { base })
    }

    fn target(&self) -> PathBuf {
        self.base.path().join("default/t0")
    }

    fn bench(&self, arguments: &str) -> Command {
        let mut command = binary();
        command.arg("bench").args(arguments.split_whitespace()).arg("--targets").arg(self.target());
        command
    }
}

fn succeeds(command: &mut Command) -> Outcome {
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome
}

fn written_back(results: &[PathBuf], site: &Path) -> (String, Option<f64>) {
    let mut command = binary();
    let outcome =
        succeeds(command.arg("score").args(results).arg("--site").arg(site).arg("--write-back"));
    let peak = SiteFile::load(site).unwrap().site().targets[0].peak.write;
    (outcome.stderr, peak.map(|rate| rate.get() as f64 / MIB))
}

#[test]
fn the_peak_of_a_limited_target_is_its_limit() {
    let Some(bed) = SlowBed::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site.toml");
    let target = bed.target();
    let text = format!("version = 1\n[[target]]\nname = \"t0\"\npath = \"{}\"\n", target.display());
    std::fs::write(&site, &text).unwrap();
    // Bursts that the throttle lets through at once, as far as it has credit.
    let small = folder.path().join("small");
    let tiny = "target --clients 4 --values 4 --transfer 64KiB --burst 256KiB,1MiB --rounds 24";
    succeeds(bed.bench(tiny).arg("-o").arg(&small));
    let (said, peak) = written_back(&[small], &site);
    assert_eq!(peak, None, "{said}");
    assert!(said.contains("site file: 0 measured peaks; none of t0: "), "{said}");
    // Those that the template finds itself. Where others keep the machine busy, rates may scatter too much
    // to tell, or be lower than the limit: then it is tried anew.
    let is_of_steps =
        |it: &Value| it["target"] == "t0" && it["steps"].as_array().unwrap().len() > 2;
    let mut tries = 0;
    measured_until_right(|| {
        std::fs::write(&site, &text).unwrap();
        tries += 1;
        let results = folder.path().join(format!("try{tries}"));
        let (peak, growths) = grown_peak(&bed, &results, &site);
        assert!(growths.iter().all(is_of_steps), "{growths:?}");
        let is_limit = peak.is_some_and(|peak| (19.0..21.8).contains(&peak));
        let is_right = is_limit && growths.iter().any(outlasts);
        if is_right { Ok(()) } else { Err(format!("{peak:?} MiB/s, {growths:?}")) }
    });
}

fn outlasts(growth: &Value) -> bool {
    growth["outlasts_caches"] == true
}

/// Lets the template find bursts, up to twice, until they tell the peak of the target; and how the bursts were grown.
fn grown_peak(bed: &SlowBed, folder: &Path, site: &Path) -> (Option<f64>, Vec<Value>) {
    std::fs::create_dir(folder).unwrap();
    let (mut grown, mut growths, mut peak) = (Vec::new(), Vec::new(), None);
    while (peak.is_none() || !growths.iter().any(outlasts)) && grown.len() < 2 {
        let results = folder.join(format!("grown{}", grown.len()));
        let arguments = "target --clients 4 --values 4 --rounds 20";
        let outcome = succeeds(bed.bench(arguments).arg("-o").arg(&results));
        assert!(
            outcome.stderr.contains("finding bursts that outlast caches"),
            "{}",
            outcome.stderr
        );
        let environment = std::fs::read_to_string(results.join("environment.json")).unwrap();
        growths.push(serde_json::from_str::<Value>(&environment).unwrap()["growth"][0].clone());
        grown.push(results);
        let (said, found) = written_back(&grown, site);
        eprintln!("{}{said}", outcome.stderr);
        peak = found;
    }
    (peak, growths)
}

#[test]
fn a_dry_run_knows_the_limit_of_a_bed_and_the_budget_of_time() {
    let Some(bed) = SlowBed::up() else { return };
    let dry = |arguments: &str| {
        let arguments = format!("{arguments} --dry-run --json");
        let outcome = succeeds(&mut bed.bench(&arguments));
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
    };
    let cost = dry("pipeline --burst 20MiB --rounds 6");
    assert_eq!((cost["seconds"].as_f64(), cost["seconds_most"].as_f64()), (Some(6.0), Some(6.0)));
    // A million rounds are planned, and ten seconds are there.
    let cost = dry("sequences --burst 5MiB --clients 4 --budget-time 10s");
    assert_eq!((&cost["seconds_most"], &cost["instances_most"]), (&10.0.into(), &10.into()));
    bed.base.fine("normal t0");
    let cost = dry("sequences --burst 5MiB --clients 4 --budget-time 10s");
    assert_eq!((&cost["seconds"], &cost["seconds_most"]), (&Value::Null, &10.0.into()));
}
