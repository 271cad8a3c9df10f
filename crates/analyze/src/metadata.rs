//! Files opened and closed (Patel, section 7).

use plimsoll_stats::Sample;

use crate::by_days::{ByDays, Estimate, cov_of};
use crate::open_day::BOTH;
use crate::prediction::{Correlations, correlate};
use crate::timeline::Timeline;

/// Files opened and closed.
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Opens, and closes.
    pub operations: [Operations; BOTH],
    /// Closes over opens, in minutes in which both are known.
    pub closes_per_open: Option<Estimate>,
    /// Opens with opens, closes with closes, opens with closes that follow.
    pub correlations: [Correlations; 3],
}

/// One kind of operation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Operations {
    /// Minutes that are known.
    pub minutes: usize,
    /// In all of them.
    pub count: u128,
    /// Of a minute.
    pub mean: Option<Estimate>,
    /// Of the greatest minute: one minute, which tells nothing of how much more there might have been.
    pub most: Option<f64>,
    /// Standard deviation over mean.
    pub cov: Option<Estimate>,
}

impl Metadata {
    /// Works it out; nothing where no metadata is known.
    pub fn of(line: &Timeline, drawn: &ByDays) -> Option<Self> {
        let [opens, closes] = &line.metadata;
        if opens.iter().chain(closes).all(Option::is_none) {
            return None;
        }
        let by_day = |of: &dyn Fn(u64, u64) -> f64| -> Vec<f64> {
            let sum = |places: std::ops::Range<usize>| {
                let both = opens[places.clone()].iter().zip(&closes[places]);
                both.filter_map(|(opens, closes)| Some(of((*opens)?, (*closes)?))).sum()
            };
            line.days().map(|it| sum(it.0)).collect()
        };
        let (opened, closed) = (by_day(&|it, _| it as f64), by_day(&|_, it| it as f64));
        let days: Vec<[f64; 2]> = opened.into_iter().zip(closed).map(<[f64; 2]>::from).collect();
        let over = |[opened, closed]: &[f64; 2]| (*opened > 0.0).then(|| closed / opened);
        Some(Metadata {
            operations: [operations(line, opens, drawn), operations(line, closes, drawn)],
            closes_per_open: drawn.of_sums(&days, over),
            correlations: [(opens, opens), (closes, closes), (opens, closes)]
                .map(|(first, second)| correlate(line, first, second, drawn)),
        })
    }
}

fn operations(line: &Timeline, series: &[Option<u64>], drawn: &ByDays) -> Operations {
    let count = series.iter().flatten().map(|it| u128::from(*it)).sum();
    let known = series.iter().flatten().map(|it| *it as f64).collect();
    let Ok(sample) = Sample::new(known) else { return Operations::default() };
    let centre = sample.mean();
    let of_day = |places: std::ops::Range<usize>| {
        series[places].iter().flatten().fold([0.0; 3], |[n, sum, squares], it| {
            let from = *it as f64 - centre;
            [n + 1.0, sum + from, squares + from * from]
        })
    };
    let days: Vec<[f64; 3]> = line.days().map(|it| of_day(it.0)).collect();
    let mean = |sums: &[f64; 3]| (sums[0] > 0.0).then(|| centre + sums[1] / sums[0]);
    let exact = sample.cov();
    let cov = drawn.of_sums(&days, |sums| cov_of(sums, centre));
    Operations {
        minutes: sample.n(),
        count,
        mean: drawn.of_sums(&days, mean).map(|it| Estimate { value: centre, ..it }),
        most: Some(sample.max()),
        cov: cov.and_then(|it| Some(Estimate { value: exact?, ..it })),
    }
}
