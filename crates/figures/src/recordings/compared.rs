//! What changed between two recordings.

mod page;

pub use page::{Side, page};

use plimsoll_explain::{Change, Comparison, Finding, Verdict};
use plimsoll_report::{Emphasis, Record, numbers};

numbers! {
    WALL_BEFORE = "wall_before", "wall time before", Seconds, "Wall time of the first recording.", "two recordings";
    WALL_AFTER = "wall_after", "wall time after", Seconds, "Wall time of the second recording.", "two recordings";
    SPEEDUP = "speedup", "speed-up", Ratio, "Wall time before over wall time after.", "two recordings";
    IO_BEFORE = "io_before", "I/O time before", Seconds, "Time in calls of the programs themselves, in the first recording.", "two recordings";
    IO_AFTER = "io_after", "I/O time after", Seconds, "The same in the second recording.", "two recordings";
    IO_SPEEDUP = "io_speedup", "I/O speed-up", Ratio, "I/O time before over I/O time after.", "two recordings";
    CALLS_BEFORE = "calls_before", "calls before", Count, "Calls of an operation in the first recording.", "two recordings";
    CALLS_AFTER = "calls_after", "calls after", Count, "The same in the second recording.", "two recordings";
    BYTES_BEFORE = "bytes_before", "bytes before", Bytes, "Bytes that an operation moved in the first recording.", "two recordings";
    BYTES_AFTER = "bytes_after", "bytes after", Bytes, "The same in the second recording.", "two recordings";
    SECONDS_BEFORE = "seconds_before", "time before", Seconds, "Time in calls of an operation in the first recording.", "two recordings";
    SECONDS_AFTER = "seconds_after", "time after", Seconds, "The same in the second recording.", "two recordings";
    COST = "cost_seconds", "cost", Seconds, "Estimated time that a finding costs.", "two recordings";
    RATE_BEFORE = "perceived_before", "perceived before", BytesPerSec, "Perceived bandwidth of reading, or of writing until data is durable, in the first recording.", "two recordings";
    RATE_AFTER = "perceived_after", "perceived after", BytesPerSec, "The same in the second recording.", "two recordings";
    DATA_BEFORE = "data_only_before", "data only before", BytesPerSec, "The same without the calls that make writes durable, in the first recording.", "two recordings";
    DATA_AFTER = "data_only_after", "data only after", BytesPerSec, "The same in the second recording.", "two recordings";
    MEDIAN_BEFORE = "median_before", "median before", Seconds, "Median duration of the main operation in the first recording.", "two recordings";
    MEDIAN_AFTER = "median_after", "median after", Seconds, "The same in the second recording.", "two recordings";
    RATIO = "ratio", "after over before", Ratio, "Ratio of the medians.", "two recordings";
    RATIO_LOW = "ratio_low", "95 % from", Ratio, "Lower end of the bootstrap interval of the ratio.", "two recordings";
    RATIO_HIGH = "ratio_high", "to", Ratio, "Upper end of the bootstrap interval of the ratio.", "two recordings";
    DELTA = "delta", "Cliff's delta", Ratio, "Effect size: probability that a call after is longer minus that it is shorter.", "two recordings";
    P_VALUE = "p_value", "p", Probability, "Brunner-Munzel test of equal durations.", "two recordings";
}

/// Returns the comparison, with at most this many operations.
pub fn record(changes: &Comparison, rows: usize) -> Record {
    let (wall, io) = (changes.wall_seconds, changes.io_seconds);
    let emphasis = match changes.verdict {
        Verdict::Faster => Emphasis::Good,
        Verdict::Slower => Emphasis::Bad,
        Verdict::Same => Emphasis::None,
    };
    let record = Record::new()
        .judgement("verdict", "verdict", changes.verdict.name(), emphasis)
        .number(&WALL_BEFORE, wall.before)
        .number(&WALL_AFTER, wall.after)
        .number(&SPEEDUP, wall.speedup())
        .number(&IO_BEFORE, io.before)
        .number(&IO_AFTER, io.after)
        .number(&IO_SPEEDUP, io.speedup());
    let record = all_findings(record, changes)
        .named_rows("bandwidth", "bandwidth", "direction", bandwidths(changes))
        .rows("operations", "operations, most time first", operations(changes, rows));
    durations(record, changes).note(&changes.statement)
}

fn all_findings(record: Record, changes: &Comparison) -> Record {
    record
        .rows("findings_gone", "findings that are gone", findings(&changes.findings_gone))
        .rows("findings_new", "new findings", findings(&changes.findings_new))
        .rows("findings_kept", "findings that stay", kept(changes))
}

fn findings(list: &[Finding]) -> Vec<Record> {
    let row = |finding: &Finding| {
        Record::new()
            .text("id", "finding", finding.id)
            .judgement("severity", "severity", finding.severity.name(), finding.severity.emphasis())
            .number(&COST, finding.cost_seconds)
    };
    list.iter().map(row).collect()
}

fn kept(changes: &Comparison) -> Vec<Record> {
    let row = |(before, after): &(Finding, Finding)| {
        Record::new()
            .text("id", "finding", before.id)
            .number(&SECONDS_BEFORE, before.cost_seconds)
            .number(&SECONDS_AFTER, after.cost_seconds)
    };
    changes.findings_kept.iter().map(row).collect()
}

fn bandwidths(changes: &Comparison) -> Vec<(&'static str, Record)> {
    let row = |it: &plimsoll_explain::BandwidthChange| {
        let value = |change: Option<Change>, of: fn(Change) -> f64| change.map(of);
        Record::new()
            .text("layer_before", "layer before", it.layer_before.name())
            .text("layer_after", "layer after", it.layer_after.name())
            .number(&RATE_BEFORE, value(it.perceived, |change| change.before))
            .number(&RATE_AFTER, value(it.perceived, |change| change.after))
            .number(&DATA_BEFORE, value(it.data_only, |change| change.before))
            .number(&DATA_AFTER, value(it.data_only, |change| change.after))
    };
    changes.bandwidths.iter().map(|it| (it.direction.name(), row(it))).collect()
}

fn operations(changes: &Comparison, rows: usize) -> Vec<Record> {
    let row = |it: &plimsoll_explain::OpChange| {
        Record::new()
            .text("operation", "operation", it.op.name())
            .number(&CALLS_BEFORE, it.before.calls)
            .number(&CALLS_AFTER, it.after.calls)
            .number(&BYTES_BEFORE, it.before.bytes)
            .number(&BYTES_AFTER, it.after.bytes)
            .number(&SECONDS_BEFORE, it.before.seconds())
            .number(&SECONDS_AFTER, it.after.seconds())
    };
    changes.ops.iter().take(rows).map(row).collect()
}

fn durations(record: Record, changes: &Comparison) -> Record {
    let Some(durations) = &changes.durations else { return record };
    let comparison = &durations.comparison;
    let ratio = comparison.ratio.as_ref().ok();
    let section = Record::new()
        .text("operation", "operation", durations.op.name())
        .number(&MEDIAN_BEFORE, comparison.median_a)
        .number(&MEDIAN_AFTER, comparison.median_b)
        .number(&RATIO, ratio.map(|it| it.estimate))
        .number(&RATIO_LOW, ratio.map(|it| it.low))
        .number(&RATIO_HIGH, ratio.map(|it| it.high))
        .number(&DELTA, comparison.delta.delta)
        .number(&P_VALUE, comparison.test.as_ref().ok().map(|it| it.p_value));
    record.section("durations", "durations of the main operation", section)
}
