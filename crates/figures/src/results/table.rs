//! Results as a table and as JSON.

use plimsoll_report::Record;
use plimsoll_score::Distribution;
use plimsoll_score::bandwidth::Point;

use super::Measured;
use super::numbers::*;

/// Everything that fits a screen, with this many rows. Programs get every row and every key (`is_json`); people get
/// those that tell something.
pub fn record(measured: &Measured, rows: usize, is_json: bool) -> Record {
    let (rows, has_peaks) = if is_json { (usize::MAX, true) } else { (rows, measured.has_peaks()) };
    let mut record = overview(measured).rows(
        "points",
        format!("aggregate bandwidth by {}", measured.labels.varied),
        points(measured, rows, has_peaks),
    );
    if let Some(more) = measured.points.len().checked_sub(rows).filter(|more| *more > 0) {
        record = record.note(format!("{more} more settings; --top N shows more, --json all"));
    }
    if !measured.gathered.failures.is_empty() {
        record = record.rows("failures", "why instances failed", failures(measured, rows));
    }
    measured.gathered.warnings.iter().fold(record, |record, warning| record.note(warning))
}

/// What was measured.
pub(super) fn overview(measured: &Measured) -> Record {
    let columns = measured.columns;
    let complete_all = measured.gathered.results.iter().all(|it| it.complete);
    Record::new()
        .text("experiment", "experiment", &measured.experiments)
        .text("complete", "complete", if complete_all { "yes" } else { "no" })
        .number(&INSTANCES, measured.complete)
        .number(&FAILED, measured.failed)
        .number(&PAIRS, columns.all_pairs().len() as u64)
        .number(&CLIENTS, columns.clients.len() as u64)
        .number(&TARGETS, columns.targets.len() as u64)
        .number(&SPAN, measured.span_seconds)
        .number(&GAIN, measured.median_gain())
}

/// One row for each setting and varied value.
pub(super) fn points(measured: &Measured, rows: usize, has_peaks: bool) -> Vec<Record> {
    measured.points.iter().take(rows).map(|it| point(measured, it, has_peaks)).collect()
}

fn point(measured: &Measured, point: &Point, has_peaks: bool) -> Record {
    let setting = &measured.columns.settings[point.setting as usize];
    let aggregate = point.aggregate.as_ref();
    let interval = aggregate.and_then(|it| it.median_interval);
    let outliers = aggregate.map(|it| (it.outliers_low + it.outliers_high) as u64);
    let effective = point.effective_aggregate.as_ref().map(median);
    let record = Record::new()
        .text("operation", "operation", setting.operation.name())
        .number(&BURST, setting.burst.get())
        .text("varied", "varied", measured.labels.point(measured.columns, point))
        .number(&INSTANCES, point.instances as u64)
        .number(&FAILED, point.failed as u64)
        .number(&MEDIAN, aggregate.map(|it| it.median))
        .number(&LOW, interval.map(|it| it.0))
        .number(&HIGH, interval.map(|it| it.1));
    let record = if has_peaks { record.number(&EFFECTIVE, effective) } else { record };
    record
        .number(&BURST_SECONDS, point.seconds.as_ref().map(median))
        .number(&OUTLIERS, outliers)
        .number(&LEAST, aggregate.map(|it| it.min))
        .number(&GREATEST, aggregate.map(|it| it.max))
}

fn median(distribution: &Distribution) -> f64 {
    distribution.median
}

pub(super) fn failures(measured: &Measured, rows: usize) -> Vec<Record> {
    let row = |(reason, times): &(String, u64)| {
        Record::new().text("reason", "reason", reason).number(&TIMES, *times)
    };
    measured.gathered.failures.iter().take(rows).map(row).collect()
}
