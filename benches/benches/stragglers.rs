//! Does `score` say on real devices what is so? Test-bed targets with equal limits, slowed in one way or another, or not at
//! all, on a quiet client and on one that is busy: how often, of how many seeds, is the right thing said and nothing else named.
//! Needs root, loop devices and cgroup v1.
//!
//! `cargo bench --package plimsoll-benches --bench stragglers [-- SEEDS [PART…]]`, where a part is the beginning of a row's name

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_domain::Bytes;
use plimsoll_stats::Random;
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};
use serde_json::Value;

const TARGETS: usize = 4;
/// Four of these are far below half of what any disk gives.
const LIMIT_MIB: f64 = 20.0;
/// What a template measures if nobody says otherwise.
const ROUNDS: usize = 20;
/// Longer than what the kernel's throttle saves up. Without it, a target that ends last has the shortest rest, begins the next burst
/// with the least credit, and ends last again: it is really slower then, by a quarter, though its limit is the same.
const PAUSE: &str = "300ms";
/// Processes that want a processor all the time.
const BUSY: usize = 8;

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let seeds = given.first().and_then(|it| it.parse().ok()).unwrap_or(10);
    let parts: Vec<&String> = given.iter().skip(1).collect();
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), "stragglers")?;
    let made = bed.up(&UpOptions::new(TARGETS as u64, Bytes::new(96 << 20)), &mut |_| {})?;
    let result = if made.lacking.is_empty() {
        let wanted =
            |it: &Row| parts.is_empty() || parts.iter().any(|part| it.name.starts_with(*part));
        measure(&Place { base: base.path(), bed: &bed }, seeds, wanted)
    } else {
        println!("SKIPPED: stragglers need root, loop devices and cgroup v1");
        Ok(())
    };
    bed.down(DownOptions::default())?;
    result
}

struct Place<'a> {
    base: &'a Path,
    bed: &'a Testbed,
}

/// One kind of truth.
struct Row {
    name: &'static str,
    bursts: &'static str,
    transfers: &'static str,
    is_busy: bool,
    /// The speed of a target for seed, round and target; negative for a limit of operations.
    speed: fn(u64, usize, usize) -> f64,
    /// Whether verdicts are right for a seed.
    is_right: fn(&Said, u64) -> bool,
}

/// The target that is slow for a seed.
fn slow_one(seed: u64) -> usize {
    seed as usize % TARGETS
}

fn slowed(is_slow: bool, speed: f64) -> f64 {
    if is_slow { speed } else { 1.0 }
}

fn rows() -> Vec<Row> {
    let row = |name, speed, is_right| Row {
        name,
        bursts: "8MiB",
        transfers: "1MiB",
        is_busy: false,
        speed,
        is_right,
    };
    let nobody: fn(&Said, u64) -> bool = |said, _| said.named().is_empty();
    let equal: fn(u64, usize, usize) -> f64 = |_, _, _| 1.0;
    let persistent: fn(&Said, u64) -> bool = |said, seed| said.only(slow_one(seed), "persistent");
    vec![
        row("none", equal, nobody),
        Row { bursts: "2MiB", ..row("none, 2 MiB", equal, nobody) },
        Row { is_busy: true, ..row("none, busy client", equal, nobody) },
        Row { is_busy: true, bursts: "2MiB", ..row("none, busy client, 2 MiB", equal, nobody) },
        row("70 %", |seed, _, target| slowed(target == slow_one(seed), 0.7), persistent),
        row("50 %", |seed, _, target| slowed(target == slow_one(seed), 0.5), persistent),
        row("25 %", |seed, _, target| slowed(target == slow_one(seed), 0.25), persistent),
        Row {
            is_busy: true,
            ..row(
                "busy client, 50 %",
                |seed, _, target| slowed(target == slow_one(seed), 0.5),
                persistent,
            )
        },
        row(
            "25 %, another degrading",
            |seed, round, target| match (target + TARGETS - slow_one(seed)) % TARGETS {
                0 => 0.25,
                1 => 1.0 - 0.7 * round as f64 / ROUNDS as f64,
                _ => 1.0,
            },
            |said, seed| {
                let (slow, worse) = (slow_one(seed), slow_one(seed + 1));
                said.is(slow, "persistent") && said.is(worse, "drifting") && said.named().len() == 2
            },
        ),
        row(
            "30 % since half-time",
            |seed, round, target| slowed(target == slow_one(seed) && round >= ROUNDS / 2, 0.3),
            |said, seed| said.only(slow_one(seed), "drifting"),
        ),
        // A transfer of 1 MiB is two or three operations: what is left is above the limit of bytes. Shorter bursts would not
        // show that, as the kernel lets the first 2 MiB pass at any speed and counts their operations.
        Row {
            transfers: "64KiB,1MiB",
            ..row(
                "160 operations a second",
                |seed, _, target| slowed(target == slow_one(seed), -160.0),
                |said, seed| said.only(slow_one(seed), "slow in some settings"),
            )
        },
        row(
            "noisier",
            |seed, round, target| {
                let mut random = Random::for_stream(seed, round as u64);
                slowed(target == slow_one(seed), (0.4 * random.normal()).exp().clamp(0.4, 2.5))
            },
            |said, seed| said.only(slow_one(seed), "noisier"),
        ),
        row(
            "50 %, moving",
            |_, round, target| slowed(round * 7 % 16 / 4 == target, 0.5),
            |said, _| said.named().is_empty() && said.text.contains("slowness moves"),
        ),
    ]
}

fn measure(place: &Place, seeds: u64, wanted: impl Fn(&Row) -> bool) -> Result<()> {
    println!(
        "{ROUNDS} rounds of 4 pairs, bursts of 8 MiB, limits of {LIMIT_MIB} MiB/s; busy: {BUSY} busy processes\n"
    );
    println!("| what is so | seeds | right | what else was said |");
    println!("|---|---|---|---|");
    for row in rows().iter().filter(|it| wanted(it)) {
        let busy = row.is_busy.then(Busy::start).transpose()?;
        let (mut right, mut else_said) = (0, Vec::new());
        for seed in 0..seeds {
            let said = place.run(row, seed)?;
            if (row.is_right)(&said, seed) {
                right += 1;
            } else {
                else_said.push(said.listed());
                place.keep(row, seed)?;
            }
        }
        drop(busy);
        println!("| {} | {seeds} | {right} | {} |", row.name, else_said.join("; "));
    }
    Ok(())
}

/// What was said of one experiment.
struct Said {
    /// Names and verdicts of targets and clients, in their order.
    verdicts: Vec<(String, String)>,
    text: String,
}

impl Said {
    fn is(&self, target: usize, verdict: &str) -> bool {
        let name = format!("t{target}");
        self.verdicts.iter().any(|it| it.0 == name && it.1.starts_with(verdict))
    }

    fn only(&self, target: usize, verdict: &str) -> bool {
        self.is(target, verdict) && self.named().len() == 1
    }

    /// What is not normal, with those for which no verdict was possible.
    fn listed(&self) -> String {
        let others = self.verdicts.iter().filter(|it| it.1 != "normal");
        others.map(|(name, verdict)| format!("{name} {verdict}")).collect::<Vec<_>>().join(", ")
    }

    fn named(&self) -> Vec<String> {
        let named = self.verdicts.iter().filter(|it| it.1 != "normal" && it.1 != "none");
        named.map(|(name, verdict)| format!("{name} {verdict}")).collect()
    }
}

impl Place<'_> {
    fn run(&self, row: &Row, seed: u64) -> Result<Said> {
        let results = self.base.join("results");
        if results.exists() {
            std::fs::remove_dir_all(&results)?;
        }
        let mut limits = vec![String::new(); TARGETS];
        self.limit(row, seed, 0, &mut limits)?;
        let mut child = self.start(row, seed, &results)?;
        let settings = row.transfers.split(',').count();
        let mut done = 0;
        while child.try_wait()?.is_none() {
            let journal = std::fs::read_to_string(results.join("journal.ndjson"));
            let instances = journal.map_or(0, |text| text.lines().count().saturating_sub(1));
            if instances / settings > done {
                done = instances / settings;
                self.limit(row, seed, done, &mut limits)?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        ensure!(child.wait()?.success(), "bench failed");
        said(&results)
    }

    /// Keeps the results of an experiment that was judged wrongly, for whoever wants to know why.
    fn keep(&self, row: &Row, seed: u64) -> Result<()> {
        let name = row.name.replace(|it: char| !it.is_alphanumeric(), "-");
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stragglers/{name}-{seed}"));
        if kept.exists() {
            std::fs::remove_dir_all(&kept)?;
        }
        std::fs::create_dir_all(&kept)?;
        for entry in std::fs::read_dir(self.base.join("results"))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), kept.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Sets limits that change. Setting one begins a new slice of the throttle, even if it is the same: a target that is set in the middle of
    /// a burst gets some bytes for free, and one that is set before it does not.
    fn limit(&self, row: &Row, seed: u64, round: usize, limits: &mut [String]) -> Result<()> {
        for (target, before) in limits.iter_mut().enumerate() {
            let limit = match (row.speed)(seed, round, target) {
                share if share > 0.0 => format!("{:.0}B/s", LIMIT_MIB * share * (1 << 20) as f64),
                operations => format!("{LIMIT_MIB}MiB/s,{}iops", -operations),
            };
            if limit != *before {
                self.bed.slow(format!("t{target}").parse()?, limit.parse()?, Direction::Both)?;
                *before = limit;
            }
        }
        Ok(())
    }

    fn start(&self, row: &Row, seed: u64, results: &Path) -> Result<Child> {
        let plan = self.base.join("plan.toml");
        std::fs::write(&plan, self.plan(row, seed)?)?;
        let child = Command::new(program())
            .args(["bench".as_ref(), plan.as_os_str(), "-o".as_ref(), results.as_os_str()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.context("cannot start plimsoll; build it first: make build")
    }

    fn plan(&self, row: &Row, seed: u64) -> Result<String> {
        let listed = |values: &str| {
            values.split(',').map(|it| format!("{it:?}")).collect::<Vec<String>>().join(", ")
        };
        let mut plan = format!(
            "version = 1\nname = \"many-pairs\"\nseed = {seed}\n[clients]\ncount = {TARGETS}\n[placement]\n\
             targets = {TARGETS}\n[burst]\nsizes = [{}]\n[vary]\nparameter = \"transfer\"\nvalues = [{}]\n\
             [repeat]\nrounds = {ROUNDS}\n\
             [pause]\ninstances = \"{PAUSE}\"\nrounds = \"{PAUSE}\"\n",
            listed(row.bursts),
            listed(row.transfers)
        );
        for target in self.bed.list()?.targets {
            plan += &format!(
                "[[target]]\nname = {:?}\npath = {:?}\n",
                target.name.to_string(),
                target.path
            );
        }
        Ok(plan)
    }
}

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/plimsoll")
}

fn said(results: &Path) -> Result<Said> {
    let output = Command::new(program()).arg("score").arg(results).arg("--json").output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let mut verdicts = Vec::new();
    for side in ["targets", "clients"] {
        for row in document["result"][side].as_array().context("no components")? {
            let text = |key: &str| row[key].as_str().unwrap_or("none").to_string();
            verdicts.push((text("name"), text("verdict")));
        }
    }
    Ok(Said { verdicts, text: document["result"]["verdicts"].to_string() })
}

/// Processes that keep the processors busy until it is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Result<Self> {
        let one = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Ok(Busy((0..BUSY).map(one).collect::<std::io::Result<Vec<Child>>>()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
