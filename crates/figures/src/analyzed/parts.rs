//! Parts of an analysis as records: samples, the whole, time, prediction, metadata and servers.

use plimsoll_analyze::{
    Analysis, Correlated, Correlations, Estimate, Frame, Operations, Phases, Recurring, Server,
    Transfer, WINDOWS,
};
use plimsoll_domain::moment;
use plimsoll_report::{Number, Record};

use super::numbers::*;

/// Names of pairs of series that are correlated.
pub const DATA_PAIRS: [&str; 3] =
    ["reads with reads", "writes with writes", "reads with writes that follow"];
const METADATA_PAIRS: [&str; 3] =
    ["opens with opens", "closes with closes", "opens with closes that follow"];

/// What became of the samples.
pub fn cleaning(frame: &Frame, analysis: &Analysis, rows: usize) -> Record {
    let cleaning = &analysis.cleaning;
    let outages = analysis.timeline.outages.iter().take(rows).map(|outage| {
        Record::new()
            .text("start", "outage from", moment::rfc3339(outage.start * 60_000_000_000))
            .number(&OUTAGE_TIME, outage.minutes as f64 * 60.0)
            .number(&FLAT, outage.flat)
    });
    let outages: Vec<Record> = outages.collect();
    let mut record = Record::new()
        .number(&TARGET_COUNT, frame.targets.len() as u64)
        .number(&DAYS, frame.days.len() as u64)
        .number(&SAMPLES, cleaning.samples)
        .number(&OBSERVED, cleaning.observed)
        .number(&MISSING, cleaning.missing)
        .number(&OUTAGE, cleaning.outage)
        .number(&FLAT, cleaning.flat)
        .number(&INCOMPLETE, cleaning.incomplete)
        .number(&PARTIAL, cleaning.partial)
        .number(&OVER_LIMIT, cleaning.over_limit)
        .number(&DROPPED, cleaning.dropped as f64)
        .number(&GAPS, cleaning.gaps)
        .number(&UNPLACED, cleaning.unplaced as f64)
        .rows("outages", "outages", outages);
    let left_out = analysis.timeline.outages.len().saturating_sub(rows);
    if left_out > 0 {
        record = record.note(format!("{left_out} further outages are not shown; hint: --top"));
    }
    let suspicious = &analysis.system.suspicious;
    if let Some(first) = suspicious.first()
        && frame.options.limit.is_none()
    {
        let when = moment::rfc3339(first.minute * 60_000_000_000);
        record = record.note(format!(
            "{} minutes have more than three times the 99.9th percentile, the first at {when}: no limit was given, so they are kept; hint: --limit",
            suspicious.len()
        ));
    }
    record
}

/// All targets together.
pub fn system(analysis: &Analysis) -> Record {
    let system = &analysis.system;
    let [read, written] = &system.directions;
    let record =
        Record::new().number(&READ, read.bytes as f64).number(&WRITTEN, written.bytes as f64);
    let record = estimate(record, [&RATIO, &RATIO_LOW, &RATIO_HIGH], system.ratio);
    let months = system.months.iter().map(|((year, month), [read, written])| {
        let ratio = (*written > 0).then(|| *read as f64 / *written as f64);
        Record::new()
            .text("month", "month", format!("{year:04}-{month:02}"))
            .number(&READ, *read as f64)
            .number(&WRITTEN, *written as f64)
            .number(&RATIO, ratio)
    });
    record
        .section("read", "reads", transfer(read))
        .section("written", "writes", transfer(written))
        .rows("months", "by month, in minutes that are known", months.collect())
}

fn transfer(transfer: &Transfer) -> Record {
    let sample = transfer.minutes.as_ref();
    let highest = sample.map(|it| it.max());
    let over = transfer.mean.zip(highest).filter(|it| it.1 > 0.0);
    let record = Record::new().number(&MINUTES, sample.map_or(0, |it| it.n()) as u64);
    let record = estimate(record, [&MEAN, &MEAN_LOW, &MEAN_HIGH], transfer.mean)
        .number(&HIGHEST, highest)
        .number(&MEAN_OVER_HIGHEST, over.map(|(mean, highest)| mean.value / highest));
    let record = estimate(record, [&COV, &COV_LOW, &COV_HIGH], transfer.cov);
    let below = [&BELOW_MEAN, &BELOW_MEAN_LOW, &BELOW_MEAN_HIGH];
    let record = estimate(record, below, transfer.below_mean);
    let quantiles = [
        [&Q25, &Q25_LOW, &Q25_HIGH],
        [&MEDIAN, &MEDIAN_LOW, &MEDIAN_HIGH],
        [&Q75, &Q75_LOW, &Q75_HIGH],
        [&Q99, &Q99_LOW, &Q99_HIGH],
    ];
    let all = quantiles.into_iter().zip(transfer.quantiles);
    all.fold(record, |record, (numbers, quantile)| estimate(record, numbers, quantile))
}

/// A figure with its interval.
pub fn estimate(
    record: Record,
    [value, low, high]: [&'static Number; 3],
    estimate: Option<Estimate>,
) -> Record {
    let interval = estimate.and_then(|it| it.interval);
    record
        .number(value, estimate.map(|it| it.value))
        .number(low, interval.map(|it| it.low))
        .number(high, interval.map(|it| it.high))
}

/// Hours and days.
pub fn time(analysis: &Analysis, rows: usize) -> Record {
    let is_full = rows == usize::MAX;
    let hours = analysis.times.hours.iter().enumerate().map(|(hour, both)| {
        recurring(Record::new().text("hour", "hour", format!("{hour:02}")), both, is_full)
    });
    let weekdays = moment::WEEKDAYS
        .iter()
        .zip(&analysis.times.weekdays)
        .map(|(name, both)| recurring(Record::new().text("weekday", "day", *name), both, is_full));
    let record = Record::new().rows("hours", "hours of the day", hours.collect()).rows(
        "weekdays",
        "days of the week",
        weekdays.collect(),
    );
    if is_full { record } else { record.note("intervals of CoV are in --json and --html") }
}

fn recurring(record: Record, [read, written]: &[Recurring; 2], is_full: bool) -> Record {
    let record = record.number(&COUNT, read.count.max(written.count) as u64);
    let record = estimate(record, [&READ_MEAN, &READ_MEAN_LOW, &READ_MEAN_HIGH], read.mean);
    let cov = [&READ_COV, &READ_COV_LOW, &READ_COV_HIGH];
    let record = estimate_if(is_full, record, cov, read.cov);
    let mean = [&WRITTEN_MEAN, &WRITTEN_MEAN_LOW, &WRITTEN_MEAN_HIGH];
    let record = estimate(record, mean, written.mean);
    let cov = [&WRITTEN_COV, &WRITTEN_COV_LOW, &WRITTEN_COV_HIGH];
    estimate_if(is_full, record, cov, written.cov)
}

/// A figure, with its interval only if there is room.
pub fn estimate_if(
    is_full: bool,
    record: Record,
    numbers: [&'static Number; 3],
    figure: Option<Estimate>,
) -> Record {
    if is_full {
        return estimate(record, numbers, figure);
    }
    record.number(numbers[0], figure.map(|it| it.value))
}

/// High and low activity.
pub fn phases(analysis: &Analysis) -> Record {
    let names = [["high reads", "high writes"], ["low reads", "low writes"]];
    let all = names.iter().flatten().zip(analysis.phases.iter().flatten());
    let rows = all.clone().map(|(name, phases)| {
        let record = Record::new()
            .text("phase", "phase", *name)
            .number(&BOUND, phases.bound)
            .number(&PHASES, phases.lengths.len() as u64)
            .number(&CENSORED, phases.censored);
        let seconds = |it: Option<Estimate>| it.map(|it| it.times(60.0));
        let length = [&LENGTH, &LENGTH_LOW, &LENGTH_HIGH];
        let record = estimate(record, length, seconds(phases.mean_length));
        let interval = [&INTERVAL, &INTERVAL_LOW, &INTERVAL_HIGH];
        estimate(record, interval, seconds(phases.mean_interval))
    });
    let mut record = Record::new().rows("kinds", "", rows.collect());
    let undefined: Vec<&str> = all.filter(|it| it.1.bound.is_none()).map(|it| *it.0).collect();
    if !undefined.is_empty() {
        let names = undefined.join(", ");
        record = record.note(format!("quantiles are equal, so there are no phases of {names}"));
    }
    let high: &Phases = &analysis.phases[0][0];
    if !high.lengths.is_empty() {
        let mut counts = std::collections::BTreeMap::<u64, f64>::new();
        for length in &high.lengths {
            *counts.entry(u64::from(*length).min(30)).or_default() += 1.0;
        }
        let title = "high reads by length in minutes, 30 and more together";
        record = record.spectrum(&LENGTHS, title, counts.into_iter().collect());
    }
    record
}

/// Correlations by window and lag.
pub fn correlation_rows(all: &[Correlations; 3], names: [&'static str; 3], rows: usize) -> Record {
    // A series is one with itself; for people, the lags that tell most.
    let is_shown = |which: usize, lag: usize| rows == usize::MAX || lag == usize::from(which < 2);
    let mut list = Vec::new();
    for (which, (name, correlations)) in names.into_iter().zip(all).enumerate() {
        for (width, lags) in WINDOWS.into_iter().zip(&correlations.by_window) {
            for (lag, correlated) in lags.iter().enumerate().filter(|it| is_shown(which, it.0)) {
                list.push(correlated_row(name, width, lag, correlated.as_ref()));
            }
        }
    }
    let record = Record::new().rows("correlations", "", list);
    if rows == usize::MAX { record } else { record.note("all lags are in --json and --html") }
}

fn correlated_row(
    name: &'static str,
    width: usize,
    lag: usize,
    correlated: Option<&Correlated>,
) -> Record {
    let record = Record::new()
        .text("of", "of", name)
        .number(&WINDOW, width as f64 * 60.0)
        .number(&LAG, lag as u64)
        .number(&PAIRS, correlated.map_or(0, |it| it.pairs));
    estimate(record, [&R, &R_LOW, &R_HIGH], correlated.map(|it| it.r))
}

/// Files opened and closed.
pub fn metadata(analysis: &Analysis, rows: usize) -> Record {
    let Some(metadata) = &analysis.metadata else {
        return Record::new().note("no samples of metadata are there");
    };
    let row = |operations: &Operations| {
        let record = Record::new()
            .number(&MINUTES, operations.minutes as u64)
            .number(&OPERATIONS, operations.count as f64);
        let mean = [&OPERATIONS_MEAN, &OPERATIONS_MEAN_LOW, &OPERATIONS_MEAN_HIGH];
        let record =
            estimate(record, mean, operations.mean).number(&OPERATIONS_HIGHEST, operations.most);
        estimate(record, [&COV, &COV_LOW, &COV_HIGH], operations.cov)
    };
    let [opens, closes] = &metadata.operations;
    let kinds = vec![("opens", row(opens)), ("closes", row(closes))];
    let record = Record::new().named_rows("kinds", "", "operation", kinds);
    let closes = [&CLOSES_PER_OPEN, &CLOSES_PER_OPEN_LOW, &CLOSES_PER_OPEN_HIGH];
    estimate(record, closes, metadata.closes_per_open).section(
        "prediction",
        "correlations",
        correlation_rows(&metadata.correlations, METADATA_PAIRS, rows),
    )
}

/// Processors of servers.
pub fn servers(analysis: &Analysis, rows: usize) -> Record {
    let servers = &analysis.servers;
    if servers.is_empty() {
        return Record::new().note("no samples of servers' processors are there");
    }
    let list = servers.iter().take(rows).map(|server| {
        let Server { name, mean, sums } = server;
        let record = Record::new().text("name", "name", name).number(&MINUTES, sums.known);
        estimate(record, [&CPU_MEAN, &CPU_MEAN_LOW, &CPU_MEAN_HIGH], Some(*mean))
            .number(&CPU_MAX, server.most())
            .number(&CPU_SELF, sums.lags.at(0, 1).correlation())
            .number(&CPU_SELF_5, sums.lags.at(1, 1).correlation())
            .number(&CPU_SELF_25, sums.lags.at(2, 1).correlation())
    });
    let under = servers.iter().filter(|it| it.most() < 0.75).count();
    Record::new().number(&UNDER_75, under as f64 / servers.len() as f64).rows(
        "servers",
        "",
        list.collect(),
    )
}
