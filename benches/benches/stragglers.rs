//! Does `score` name the slow target, and only it, on real devices? Four test-bed targets with equal limits, one of
//! them slowed: how often, of how many seeds, is it called a persistent straggler, and is anything
//! else called one. Needs root, loop devices and cgroup v1. Takes about ten minutes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_domain::Bytes;
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};
use serde_json::Value;

const TARGETS: usize = 4;
/// Four of these are far below half of what any disk gives.
const LIMIT_MIB: f64 = 20.0;
const ROUNDS: usize = 12;

fn main() -> Result<()> {
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), "stragglers")?;
    let made = bed.up(&UpOptions::new(TARGETS as u64, Bytes::new(96 << 20)), &mut |_| {})?;
    let result = if made.lacking.is_empty() {
        measure(&bed, base.path())
    } else {
        println!("SKIPPED: stragglers need root, loop devices and cgroup v1");
        Ok(())
    };
    bed.down(DownOptions::default())?;
    result
}

fn measure(bed: &Testbed, base: &Path) -> Result<()> {
    println!(
        "{ROUNDS} rounds of bench many-pairs with 4 pairs, 8 MiB bursts, limits of {LIMIT_MIB} MiB/s"
    );
    println!("slowed to      seeds  right  persistent elsewhere  transient");
    for (share, seeds) in [(0.7, 10), (0.5, 10), (0.25, 10), (1.0, 20)] {
        let mut tally = Tally::default();
        for seed in 0..seeds {
            let slow = seed as usize % TARGETS;
            limit_all(bed, Some((slow, share)))?;
            let verdicts = Experiment { base, bed, seed }.run(|_| Ok(()))?;
            tally.count(&verdicts, (share < 1.0).then_some(slow));
        }
        let name = if share < 1.0 { format!("{:.0} %", share * 100.0) } else { "none".into() };
        tally.print(&name, seeds);
    }
    moving(bed, base)
}

/// Every third round another target is the slow one.
fn moving(bed: &Testbed, base: &Path) -> Result<()> {
    const SEEDS: u64 = 10;
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        limit_all(bed, Some((0, 0.5)))?;
        let verdicts = Experiment { base, bed, seed }
            .run(|round| limit_all(bed, Some((round * TARGETS / ROUNDS % TARGETS, 0.5))))?;
        tally.count(&verdicts, None);
    }
    tally.print("50 %, moving", SEEDS);
    Ok(())
}

fn limit_all(bed: &Testbed, slow: Option<(usize, f64)>) -> Result<()> {
    for index in 0..TARGETS {
        let share = slow.filter(|(target, _)| *target == index).map_or(1.0, |(_, share)| share);
        let limit = format!("{}MiB/s", LIMIT_MIB * share).parse()?;
        bed.slow(format!("t{index}").parse()?, limit, Direction::Both)?;
    }
    Ok(())
}

/// What the verdicts of several seeds came to.
#[derive(Default)]
struct Tally {
    right: u64,
    persistent_elsewhere: u64,
    transient: u64,
}

impl Tally {
    fn count(&mut self, verdicts: &[String], slow: Option<usize>) {
        let is = |target: usize, verdict: &str| verdicts[target].contains(verdict);
        let elsewhere = (0..TARGETS).any(|it| Some(it) != slow && is(it, "persistent"));
        let named = slow.is_none_or(|slow| is(slow, "persistent"));
        self.right += u64::from(named && !elsewhere);
        self.persistent_elsewhere += u64::from(elsewhere);
        self.transient += (0..TARGETS).filter(|target| is(*target, "transient")).count() as u64;
    }

    fn print(&self, name: &str, seeds: u64) {
        let Tally { right, persistent_elsewhere, transient } = self;
        println!("{name:13}  {seeds:5}  {right:5}  {persistent_elsewhere:20}  {transient:9}");
    }
}

struct Experiment<'a> {
    base: &'a Path,
    bed: &'a Testbed,
    seed: u64,
}

impl Experiment<'_> {
    /// The verdicts of the targets, in their order. `before_round` is called between rounds.
    fn run(&self, before_round: impl Fn(usize) -> Result<()>) -> Result<Vec<String>> {
        let results = self.base.join("results");
        if results.exists() {
            std::fs::remove_dir_all(&results)?;
        }
        let mut child = self.start(&results)?;
        let mut done = 0;
        while child.try_wait()?.is_none() {
            let journal = std::fs::read_to_string(results.join("journal.ndjson"));
            let rounds = journal.map_or(0, |text| text.lines().count().saturating_sub(1));
            if rounds > done && rounds < ROUNDS {
                before_round(rounds)?;
                done = rounds;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        ensure!(child.wait()?.success(), "bench failed");
        verdicts(&results)
    }

    fn start(&self, results: &Path) -> Result<Child> {
        let targets = self.bed.list()?.targets;
        let rounds = ROUNDS.to_string();
        let seed = self.seed.to_string();
        let child = Command::new(program())
            .args(["bench", "many-pairs", "--values", "4", "--burst", "8MiB", "--pause", "200ms"])
            .args(["--rounds", &rounds, "--rounds-max", &rounds, "--seed", &seed])
            .arg("-o")
            .arg(results)
            .arg("--targets")
            .args(targets.iter().map(|target| &target.path))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.context("cannot start plimsoll; build it first: make build")
    }
}

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/plimsoll")
}

fn verdicts(results: &Path) -> Result<Vec<String>> {
    let output = Command::new(program()).arg("score").arg(results).arg("--json").output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let targets = document["result"]["targets"].as_array().context("no targets")?;
    let verdict = |index: usize| {
        let target = targets.iter().find(|target| target["name"] == format!("t{index}"))?;
        Some(target["verdict"].as_str()?.to_string())
    };
    (0..TARGETS).map(|index| verdict(index).context("a target without verdict")).collect()
}
