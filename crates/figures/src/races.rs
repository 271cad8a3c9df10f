//! What came of the races, as tables, JSON and a page.

mod conclusion;
mod numbers;
mod page;

pub use conclusion::conclusion;
pub use numbers::NUMBERS;
pub use page::page;

use plimsoll_race::{FinishedRace, RaceOutcome, RacePlan, Racer, RateSource};
use plimsoll_report::Record;
use plimsoll_stats::{Sample, median_interval};

use numbers as number;

const CONFIDENCE: f64 = 0.95;

/// Below this, what comes once in a race is seen in its ratio.
const SHORT_SECONDS: f64 = 2.0;

/// A slice of the kernel's throttle, which is granted when it begins (block/blk-throttle.c:
/// DFL_THROTL_SLICE, HZ / 10; tg_within_bps_limit rounds the time up to whole slices). The
/// counters of a device limited to 20 MiB/s were up to 1.8 MiB ahead.
const AHEAD_SECONDS: f64 = 0.1;

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// Returns the part of the result that is known before the first race.
pub fn of_plan(plan: &RacePlan) -> Record {
    let row = |at: usize| {
        let target = &plan.targets.list[at];
        let drop = plan.drops.iter().find(|drop| drop.target == at);
        let streams = u64::from(plan.course.noise_streams(at));
        let mut row = Record::new()
            .text("name", "target", target.name.clone())
            .number(&number::RATE, target.rate)
            .text("rate_source", "from", target.rate_source.name());
        if plan.course.noise.iter().any(|streams| *streams > 0) {
            row = row
                .number(&number::STREAMS, streams)
                .number(&number::RATE_LEFT, target.rate.map(|it| it / (1.0 + streams as f64)));
        }
        if !plan.drops.is_empty() {
            row = row
                .number(&number::DROPS_TO, drop.map(|drop| drop.rate))
                .number(&number::DROPS_AFTER, drop.map(|drop| drop.after.as_secs_f64()));
        }
        row.text("path", "path", target.path.display().to_string())
    };
    let names: Vec<String> = plan.policies.iter().map(ToString::to_string).collect();
    let course = &plan.course;
    Record::new()
        .number(&number::WRITERS, u64::from(course.writers))
        .number(&number::BLOCKS, u64::from(course.blocks))
        .number(&number::BLOCK, course.block_bytes)
        .number(&number::PART, part_bytes(&plan.policies))
        .number(&number::TOTAL, course.total_bytes())
        .number(&number::BOUND, plan.bound(&[]))
        .number(&number::OPTIMAL, plan.optimal_factor())
        .text("policies_raced", "policies", names.join(", "))
        .number(&number::ROUNDS, plan.rounds)
        .text("seed", "seed", plan.seed.to_string())
        .rows("targets", "targets", (0..plan.targets.list.len()).map(row).collect())
}

/// Returns the size of parts, if all policies that split blocks have the same.
fn part_bytes(racers: &[Racer]) -> Option<u64> {
    let mut sizes = racers.iter().filter_map(|racer| racer.policy.split);
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(first.get())
}

/// Returns everything, for people or with each race for programs.
pub fn of_runs(plan: &RacePlan, runs: &[FinishedRace], ending: &str, with_races: bool) -> Record {
    let summary = (0..plan.policies.len()).map(|policy| of_policy(plan, runs, policy)).collect();
    let mut record = of_plan(plan)
        .text("ending", "ending", ending)
        .rows("policies", "policies, and how many times the least possible time they took", summary)
        .rows("placement", "bytes on each target (median)", placement(plan, runs));
    if with_races {
        record = record.rows("runs", "", runs.iter().map(|run| of_run(plan, run)).collect());
    }
    for note in notes(plan, runs) {
        record = record.note(note);
    }
    record
}

fn notes(plan: &RacePlan, runs: &[FinishedRace]) -> Vec<String> {
    let mut notes = Vec::new();
    let bound = plan.bound(&[]).unwrap_or(f64::NAN);
    if plan.targets.list.iter().any(|target| target.rate_source == RateSource::Limit) {
        notes.push(format!(
            "the kernel lets a limited target run up to {AHEAD_SECONDS} s ahead of its limit, so ratios may be up to \
             {:.3} too low; hint: more --blocks make it less",
            AHEAD_SECONDS / bound
        ));
    } else if bound < SHORT_SECONDS {
        notes.push(format!(
            "a race of {bound:.2} s is short: the last write and fdatasync weigh much; hint: more --blocks"
        ));
    }
    let is_early = |run: &&FinishedRace| run.outcome.changed_ns.iter().any(Option::is_none);
    let early = runs.iter().filter(is_early).count();
    if early > 0 {
        notes.push(format!("{early} race(s) ended before the drop"));
    }
    let refused: u64 = runs.iter().map(|run| run.outcome.failed_attempts).sum();
    if refused > 0 {
        notes.push(format!(
            "targets refused {refused} write(s), full or failing; they went elsewhere"
        ));
    }
    for run in runs {
        for loss in &run.outcome.losses {
            notes.push(format!(
                "round {}, {}: writer {} died ({}) with {} bytes not committed",
                run.round, plan.policies[run.policy], loss.writer, loss.why, loss.lost_bytes
            ));
        }
        let wrong = run.outcome.read_back.as_ref().and_then(|it| it.first_wrong.as_ref());
        notes.extend(wrong.map(|wrong| format!("round {}: {wrong}", run.round)));
    }
    notes
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Sample::new(values.collect()).ok().map(|sample| sample.median())
}

fn of_policy(plan: &RacePlan, runs: &[FinishedRace], policy: usize) -> Record {
    let all: Vec<&FinishedRace> = runs.iter().filter(|run| run.policy == policy).collect();
    let whole: Vec<&&FinishedRace> = all.iter().filter(|run| run.outcome.is_sound()).collect();
    let sample = Sample::new(whole.iter().map(|run| run.ratio()).collect()).ok();
    let interval = sample.as_ref().and_then(|it| median_interval(it, CONFIDENCE).ok());
    let of =
        |value: fn(&RaceOutcome) -> u64| median(whole.iter().map(|run| value(&run.outcome) as f64));
    let worst = all.iter().map(|run| run.outcome.worst_latency_ns).max();
    Record::new()
        .text("policy", "policy", plan.policies[policy].to_string())
        .number(&number::RACES, whole.len() as u64)
        .number(&number::RATIO, sample.as_ref().map(Sample::median))
        .number(&number::LOW, interval.as_ref().map(|it| it.low))
        .number(&number::HIGH, interval.as_ref().map(|it| it.high))
        .number(&number::MAKESPAN, median(whole.iter().map(|run| run.makespan())))
        .number(&number::MOVED, of(|it| it.moved_bytes))
        .number(&number::WORST, worst.map(seconds))
        .number(&number::ATTEMPTS, of(|it| it.attempts))
        .number(&number::MESSAGES, of(|it| it.messages.values().sum()))
        .number(&number::COORDINATOR, of(|it| it.coordinator_messages))
        .number(&number::LOST, all.iter().map(|run| run.outcome.lost_bytes()).sum::<u64>())
}

/// Returns a row for each policy and target.
fn placement(plan: &RacePlan, runs: &[FinishedRace]) -> Vec<Record> {
    let mut rows = Vec::new();
    for (policy, raced) in plan.policies.iter().enumerate() {
        for (at, target) in plan.targets.list.iter().enumerate() {
            let of_this = runs.iter().filter(|run| run.policy == policy && run.outcome.is_sound());
            let bytes = median(of_this.map(|run| run.outcome.target_bytes[at] as f64));
            rows.push(
                Record::new()
                    .text("policy", "policy", raced.to_string())
                    .text("target", "target", target.name.clone())
                    .number(&number::TARGET_BYTES, bytes),
            );
        }
    }
    rows
}

fn of_run(plan: &RacePlan, run: &FinishedRace) -> Record {
    let outcome = &run.outcome;
    let target = |at: usize| {
        let window = outcome.windows.as_ref().map(|windows| windows[at]);
        Record::new()
            .text("name", "", plan.targets.list[at].name.clone())
            .number(&number::TARGET_BYTES, outcome.target_bytes[at])
            .number(&number::TARGET_ENDED, outcome.target_ended_ns[at].map(seconds))
            .number(&number::WINDOW, window)
    };
    let message = |(name, count): (&&'static str, &u64)| {
        Record::new().text("type", "", *name).number(&number::MESSAGES, *count)
    };
    let changed = outcome.changed_ns.iter().flatten().next().copied().map(seconds);
    let read_back = outcome.read_back.as_ref();
    Record::new()
        .number(&number::ROUND, run.round)
        .text("policy", "", plan.policies[run.policy].to_string())
        .number(&number::MAKESPAN, run.makespan())
        .number(&number::LAST_COMMIT, seconds(outcome.last_commit_ns))
        .number(&number::BOUND, run.bound)
        .number(&number::RATIO, run.ratio())
        .number(&number::MOVED, outcome.moved_bytes)
        .number(&number::LOST, outcome.lost_bytes())
        .number(&number::ATTEMPTS, outcome.attempts)
        .number(&number::SUPERSEDED, outcome.superseded)
        .number(&number::FAILED, outcome.failed_attempts)
        .number(&number::WORST, seconds(outcome.worst_latency_ns))
        .number(&number::COORDINATOR, outcome.coordinator_messages)
        .number(&number::NOISE, outcome.noise_bytes)
        .number(&number::DROPS_AFTER, changed)
        .number(&number::READ_BACK, read_back.map(|it| it.bytes))
        .number(&number::WRONG, read_back.map(|it| it.wrong_pages))
        .rows("targets", "", (0..plan.targets.list.len()).map(target).collect())
        .rows("messages_by_type", "", outcome.messages.iter().map(message).collect())
}
