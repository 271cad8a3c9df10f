//! `window` beside the better of `static` and `striped` in 10,000 random scenarios: how often it is at most 1.15 times as slow, and
//! where it is not.
//!
//! `cargo bench --bench random_scenarios -- 500` plays the first 500 seeds, `-- 500 2000` as many from seed 2000 on, and `-- show 17`
//! prints the scenario of seed 17, which `plimsoll simulate` plays, too (`--seed 17`).

use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, ensure};
use plimsoll_benches::drawn;
use plimsoll_simulate::{Order, Outcome, Policy, Scenario, run_all};
use plimsoll_stats::Sample;

const SEEDS: u64 = 10_000;
/// At most this is as good as the better of the two.
const GOOD: f64 = 1.15;
/// Scenarios of the tail that are listed.
const LISTED: usize = 40;
/// Scenarios that are played between two lines of progress.
const PART: u64 = 500;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if args.first().is_some_and(|first| first == "show") {
        let seed = args.get(1).context("show SEED")?.parse()?;
        print!("{}", drawn::scenario(seed));
        return Ok(());
    }
    let number = |nth: usize, default: u64| args.get(nth).map_or(Ok(default), |arg| arg.parse());
    let (seeds, first) = (number(0, SEEDS)?, number(1, 1)?);
    ensure!(seeds > 0, "no seeds");
    let mut played = Vec::new();
    for begin in (first..first + seeds).step_by(PART as usize) {
        played.extend(play(begin, PART.min(first + seeds - begin))?);
        eprintln!("{} of {seeds}", played.len());
    }
    print(played)
}

/// What may be hard about a scenario, by what stands in its text; the first that fits.
const KINDS: [(&str, &[&str]); 9] = [
    ("others in queues", &["kind = \"streams\"", "service = \"fifo\""]),
    ("others by stream", &["kind = \"streams\"", "sharing = \"stream\""]),
    ("others by job", &["kind = \"streams\""]),
    ("nodes with a limit", &["client_limit"]),
    ("requests that cost", &["request_cost"]),
    ("late notice", &["notice_every"]),
    ("paced", &["submit = \"paced\""]),
    ("slowness that comes and goes", &["kind = \"on-off\""]),
    ("none of these", &[]),
];

/// One scenario.
struct Played {
    seed: u64,
    title: String,
    /// Which of `KINDS`.
    kind: usize,
    /// Makespan of `window` over the lesser of `static` and `striped`.
    ratio: f64,
    /// Written twice, as a share of all data.
    wasted: f64,
}

fn play(first: u64, count: u64) -> Result<Vec<Played>> {
    let seeds: Vec<u64> = (first..first + count).collect();
    let parse = |seed: &u64| {
        Scenario::parse(&format!("seed {seed}"), &drawn::scenario(*seed))
            .with_context(|| format!("seed {seed}"))
    };
    let scenarios: Vec<Scenario> = seeds.iter().map(parse).collect::<Result<_>>()?;
    let orders: Vec<Order<'_>> = scenarios
        .iter()
        .zip(&seeds)
        .flat_map(|(scenario, seed)| {
            let order = move |policy: &Policy| Order { scenario, policy: *policy, seed: *seed };
            scenario.policies.iter().map(order)
        })
        .collect();
    let outcomes = run_all(&orders, None, &AtomicU64::new(0))?;
    let each = outcomes.chunks(3).zip(&scenarios).zip(&seeds);
    each.map(|((of_one, scenario), seed)| compared(of_one, scenario, *seed)).collect()
}

fn compared(outcomes: &[Outcome], scenario: &Scenario, seed: u64) -> Result<Played> {
    let makespan =
        |nth: usize| outcomes[nth].makespan.with_context(|| format!("seed {seed}: lost"));
    let text = drawn::scenario(seed);
    let is_of = |(_, words): &(&str, &[&str])| words.iter().all(|word| text.contains(word));
    Ok(Played {
        seed,
        kind: KINDS.iter().position(is_of).unwrap_or(KINDS.len() - 1),
        title: scenario.title.clone(),
        ratio: makespan(0)? / makespan(1)?.min(makespan(2)?),
        wasted: outcomes[0].wasted_bytes as f64 / outcomes[0].committed_bytes as f64,
    })
}

fn print(mut played: Vec<Played>) -> Result<()> {
    let good = played.iter().filter(|one| one.ratio <= GOOD).count();
    let ratios = Sample::new(played.iter().map(|one| one.ratio).collect())?;
    let worst = ratios.max();
    println!("window over the better of static and striped, n = {}", played.len());
    println!("  at most {GOOD}: {:.2} %", 100.0 * good as f64 / played.len() as f64);
    for share in [0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999] {
        println!("  quantile {share:5}: {:.3}", ratios.quantile(share)?);
    }
    println!("  worst: {worst:.3}");
    let wasted = played.iter().map(|one| one.wasted).fold(0.0, f64::max);
    println!("  most written twice: {:.1} % of the data", 100.0 * wasted);
    let much = played.iter().filter(|one| one.wasted > 0.05).count();
    println!("  more than 5 % written twice: {much} of {}", played.len());
    print_kinds(&played);
    played.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    println!("the {LISTED} worst:\n{:>7} {:>7}  scenario", "ratio", "seed");
    for one in played.iter().take(LISTED) {
        println!("{:>7.3} {:>7}  {}", one.ratio, one.seed, one.title);
    }
    Ok(())
}

fn print_kinds(played: &[Played]) {
    println!("{:30} {:>6} {:>7} {:>6} {:>8}", "kind", "n", "> 1.15", "> 1.5", "worst");
    for (kind, (name, _)) in KINDS.iter().enumerate() {
        let of_kind: Vec<&Played> = played.iter().filter(|one| one.kind == kind).collect();
        let above = |least: f64| of_kind.iter().filter(|one| one.ratio > least).count();
        let worst = of_kind.iter().map(|one| one.ratio).fold(0.0, f64::max);
        let n = of_kind.len();
        println!("{name:30} {n:>6} {:>7} {:>6} {worst:>8.2}", above(GOOD), above(1.5));
    }
}
