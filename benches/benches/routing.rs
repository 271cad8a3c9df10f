//! How near to the fluid bound do routing policies come on real devices? Four loop devices limited alike, of which
//! one is as fast as the others, slower, much slower, or becomes so during the race; policies interleaved in random
//! order by `plimsoll route bench`. Needs root, loop devices and cgroup v1.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_domain::Bytes;
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};
use serde_json::Value;

const BED: &str = "routing";
const LIMIT: &str = "20MiB/s";
/// One seventeenth of it: sixteen streams of noise beside one of ours, as in Huang's heavy case.
const SEVENTEENTH: &str = "1233618B/s";
const POLICIES: &str =
    "static,coordinator:tf=0.1,coordinator:tf=optimal,coordinator:tf=optimal:split=256KiB,window";
/// 4 writers of 12 blocks of 4 MiB: 2.4 s with all targets, so that the burst at the beginning of
/// a limit (about a tenth of a second) weighs little.
const COURSE: &str = "--writers 4 --blocks 12 --block-size 4MiB";

struct Case {
    what: &'static str,
    /// Of the last target.
    limit: &'static str,
    drop: Option<&'static str>,
}

const CASES: [Case; 4] = [
    Case { what: "all equal", limit: LIMIT, drop: None },
    Case { what: "one at 1/4", limit: "5MiB/s", drop: None },
    Case { what: "one at 1/17", limit: SEVENTEENTH, drop: None },
    Case { what: "one drops to 1/17 after 1 s", limit: LIMIT, drop: Some("t3=1233618B/s@1") },
];

fn main() -> Result<()> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/plimsoll");
    ensure!(program.exists(), "build the program first: make build");
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), BED)?;
    let made = bed.up(&UpOptions::new(4, Bytes::new(256 << 20)), &mut |_| {})?;
    let result = if made.lacking.is_empty() { all(&bed, &program, base.path()) } else { skip() };
    bed.down(DownOptions::default())?;
    result
}

fn skip() -> Result<()> {
    println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
    Ok(())
}

fn all(bed: &Testbed, program: &Path, base: &Path) -> Result<()> {
    let rounds = std::env::var("PLIMSOLL_BENCH_ROUNDS").unwrap_or_else(|_| "7".to_string());
    println!(
        "makespan over the fluid bound, {rounds} races of each policy, 192 MiB to 4 targets of {LIMIT}"
    );
    for case in CASES {
        for target in ["t0", "t1", "t2", "t3"] {
            let limit = if target == "t3" { case.limit } else { LIMIT };
            bed.slow(target.parse()?, limit.parse()?, Direction::Write)?;
        }
        let mut command = Command::new(program);
        command.args(["route", "bench", "--json", "--testbed", BED, "--testbed-base"]).arg(base);
        command.args(["--policy", POLICIES, "--rounds", &rounds]).args(COURSE.split(' '));
        command.args(case.drop.iter().flat_map(|drop| ["--drop", drop]));
        let output = command.output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "route bench failed: {error}");
        let document: Value = serde_json::from_slice(&output.stdout)?;
        show(&case, &document["result"])?;
    }
    Ok(())
}

fn show(case: &Case, result: &Value) -> Result<()> {
    let bound = result["fluid_bound"].as_f64().context("no bound")?;
    println!("{} (bound {bound:.2} s)", case.what);
    for policy in result["policies"].as_array().context("no policies")? {
        let name = policy["policy"].as_str().context("no name")?;
        let number = |key: &str| policy[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "  {name:20}  {:7.3}  (95 % interval {:.3} to {:.3}, n = {})  {:4.0} MiB moved, worst write {:.2} s, {} messages",
            number("ratio"),
            number("ratio_low"),
            number("ratio_high"),
            policy["races"],
            number("moved_bytes") / f64::from(1 << 20),
            number("worst_latency"),
            number("messages"),
        );
    }
    Ok(())
}
