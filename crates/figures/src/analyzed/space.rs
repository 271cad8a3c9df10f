//! The load over targets as records.

use plimsoll_analyze::{
    Analysis, DEGREES, Estimate, Imbalance, Parallelism, Space, TargetTotals, WINDOWS,
};
use plimsoll_report::Record;

use super::numbers::*;
use super::parts::{estimate, estimate_if};

/// Each target.
pub fn targets(record: Record, analysis: &Analysis, rows: usize) -> Record {
    let mut targets: Vec<&TargetTotals> = analysis.space.targets.iter().collect();
    // Programs get the order of names, people those that do most.
    if rows < usize::MAX {
        targets.sort_by_key(|it| std::cmp::Reverse(it.bytes[0] + it.bytes[1]));
    }
    let row = |target: &&TargetTotals| {
        let [read, written] = target.bytes;
        Record::new()
            .text("name", "name", &target.name)
            .number(&READ, read as f64)
            .number(&WRITTEN, written as f64)
            .number(&KNOWN_MINUTES, target.known[0].max(target.known[1]))
            .number(&READ_HIGHEST, target.most[0])
            .number(&WRITTEN_HIGHEST, target.most[1])
            .number(&READ_SELF, target.lags[0].at(0, 1).correlation())
            .number(&WRITTEN_SELF, target.lags[1].at(0, 1).correlation())
            .number(&READ_WRITTEN, target.lags[2].at(0, 0).correlation())
    };
    let shown: Vec<Record> = targets.iter().take(rows).map(row).collect();
    let record = record.rows("targets", "targets, those that move most", shown);
    match targets.len().saturating_sub(rows) {
        0 => record,
        more => record.note(format!("{more} targets that move less are not shown; hint: --top")),
    }
}

/// Imbalance, parallelism and correlations of targets.
pub fn space(analysis: &Analysis, rows: usize) -> Record {
    let is_full = rows == usize::MAX;
    let space = &analysis.space;
    let ranks = space.reads_with_writes;
    Record::new()
        .number(&READ_MOST_OVER_LEAST, space.most_over_least[0])
        .number(&WRITTEN_MOST_OVER_LEAST, space.most_over_least[1])
        .number(&RANKS, ranks.map(|it| it.rho))
        .number(&RANKS_LOW, ranks.map(|it| it.low))
        .number(&RANKS_HIGH, ranks.map(|it| it.high))
        .rows("imbalance", "imbalance of targets", imbalances(space, is_full))
        .rows("parallelism", "degree of parallelism", parallelism(space, is_full))
        .rows("table_1", "clusters when activity is high", table_1(space))
        .rows("correlations", "correlations of single targets", correlations(space))
}

fn imbalances(space: &Space, is_full: bool) -> Vec<Record> {
    let row = |(span, [read, written]): &(plimsoll_analyze::Span, [Imbalance; 2])| {
        let record = Record::new()
            .text("over", "over", span.name())
            .number(&PERIODS, read.periods.max(written.periods) as u64);
        let numbers = [
            ([&READ_OVER_MEAN, &READ_OVER_MEAN_LOW, &READ_OVER_MEAN_HIGH], read.most_over_mean),
            ([&READ_OVER_LEAST, &READ_OVER_LEAST_LOW, &READ_OVER_LEAST_HIGH], read.most_over_least),
            ([&READ_PERSISTENCE, &READ_PERSISTENCE_LOW, &READ_PERSISTENCE_HIGH], read.persistence),
            (
                [&WRITTEN_OVER_MEAN, &WRITTEN_OVER_MEAN_LOW, &WRITTEN_OVER_MEAN_HIGH],
                written.most_over_mean,
            ),
            (
                [&WRITTEN_OVER_LEAST, &WRITTEN_OVER_LEAST_LOW, &WRITTEN_OVER_LEAST_HIGH],
                written.most_over_least,
            ),
            (
                [&WRITTEN_PERSISTENCE, &WRITTEN_PERSISTENCE_LOW, &WRITTEN_PERSISTENCE_HIGH],
                written.persistence,
            ),
        ];
        numbers
            .into_iter()
            .fold(record, |record, (numbers, figure)| estimate_if(is_full, record, numbers, figure))
    };
    space.imbalance.iter().map(row).collect()
}

fn parallelism(space: &Space, is_full: bool) -> Vec<Record> {
    let mut rows = Vec::new();
    for (name, parallelism) in ["reads", "writes"].into_iter().zip(&space.parallelism) {
        rows.extend(degrees(name, parallelism, is_full));
    }
    rows
}

fn degrees(name: &'static str, parallelism: &Parallelism, is_full: bool) -> Vec<Record> {
    let clusterings = Analysis::clusterings().into_iter().zip(&parallelism.degrees).enumerate();
    let row = |(number, ((percent, minutes), degrees)): (usize, ((u64, usize), _))| {
        let degrees: &plimsoll_analyze::Degrees = degrees;
        // Of the others no day is known alone, only all together.
        let of_days = |of: Option<Estimate>, all: Option<f64>| match number {
            0 => of,
            _ => all.map(|value| Estimate { value, interval: None }),
        };
        let high = of_days(parallelism.mean_when_high, None);
        let mean = of_days(parallelism.mean, degrees.mean());
        let below_10 = of_days(parallelism.below_10, degrees.share_below(10));
        let record = Record::new()
            .text("of", "of", name)
            .text("within", "within", format!("{percent} %"))
            .number(&WINDOW, minutes as f64 * 60.0)
            .number(&CLUSTERS, degrees.clusters());
        let record = estimate(record, [&DEGREE, &ANY_DEGREE_LOW, &ANY_DEGREE_HIGH], mean);
        let numbers = [&DEGREE_HIGH, &HIGH_DEGREE_LOW, &HIGH_DEGREE_HIGH];
        let record = estimate_if(is_full, record, numbers, high);
        estimate_if(is_full, record, [&BELOW_10, &BELOW_10_LOW, &BELOW_10_HIGH], below_10)
            .number(&BELOW_20, degrees.share_below(20))
    };
    clusterings.map(row).collect()
}

fn table_1(space: &Space) -> Vec<Record> {
    let [read, written] = &space.parallelism;
    let counts = read.when_high.iter().zip(written.when_high);
    let row = |(degree, (read, written)): (usize, (&u64, u64))| {
        Record::new()
            .number(&DEGREE_AT_LEAST, degree as u64)
            .number(&READ_CLUSTERS, *read)
            .number(&WRITTEN_CLUSTERS, written)
    };
    DEGREES.into_iter().zip(counts).map(row).collect()
}

/// How the correlations of single targets lie, for each window at the lag that tells most.
fn correlations(space: &Space) -> Vec<Record> {
    let mut rows = Vec::new();
    for (which, (name, lag)) in
        [("reads with next", 1), ("writes with next", 1), ("reads with writes", 0)]
            .into_iter()
            .enumerate()
    {
        for (window, width) in WINDOWS.into_iter().enumerate() {
            let known =
                space.targets.iter().filter_map(|it| it.lags[which].at(window, lag).correlation());
            let sample = plimsoll_stats::Sample::new(known.collect()).ok();
            let from_half = sample
                .as_ref()
                .map(|it| it.values().iter().filter(|r| **r >= 0.5).count() as f64 / it.n() as f64);
            rows.push(
                Record::new()
                    .text("of", "of", name)
                    .number(&WINDOW, width as f64 * 60.0)
                    .number(&LAG, lag as u64)
                    .number(&TARGET_COUNT, sample.as_ref().map_or(0, |it| it.n()) as u64)
                    .number(&LEAST, sample.as_ref().map(|it| it.min()))
                    .number(&MIDDLE, sample.as_ref().map(|it| it.median()))
                    .number(&MOST, sample.as_ref().map(|it| it.max()))
                    .number(&SHARE_OF_TARGETS, from_half),
            );
        }
    }
    rows
}
