//! Files opened and closed (Patel, section 7).

use plimsoll_stats::Sample;

use crate::by_days::ByDays;
use crate::open_day::BOTH;
use crate::prediction::{Correlations, correlate};
use crate::timeline::Timeline;

/// Files opened and closed.
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Opens, and closes.
    pub operations: [Operations; BOTH],
    /// Closes over opens, in minutes in which both are known.
    pub closes_per_open: Option<f64>,
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
    pub mean: Option<f64>,
    /// Of the greatest minute.
    pub most: Option<f64>,
    /// Standard deviation over mean.
    pub cov: Option<f64>,
}

impl Metadata {
    /// Works it out; nothing where no metadata is known.
    pub fn of(line: &Timeline, drawn: &ByDays) -> Option<Self> {
        let [opens, closes] = &line.metadata;
        if opens.iter().chain(closes).all(Option::is_none) {
            return None;
        }
        let both = opens.iter().zip(closes).filter_map(|(opens, closes)| opens.zip(*closes));
        let (opened, closed) = both.fold((0u128, 0u128), |(opened, closed), (opens, closes)| {
            (opened + u128::from(opens), closed + u128::from(closes))
        });
        Some(Metadata {
            operations: [operations(opens), operations(closes)],
            closes_per_open: (opened > 0).then(|| closed as f64 / opened as f64),
            correlations: [(opens, opens), (closes, closes), (opens, closes)]
                .map(|(first, second)| correlate(line, first, second, drawn)),
        })
    }
}

fn operations(series: &[Option<u64>]) -> Operations {
    let count = series.iter().flatten().map(|it| u128::from(*it)).sum();
    let known = series.iter().flatten().map(|it| *it as f64).collect();
    match Sample::new(known) {
        Ok(sample) => Operations {
            minutes: sample.n(),
            count,
            mean: Some(sample.mean()),
            most: Some(sample.max()),
            cov: sample.cov(),
        },
        Err(_) => Operations::default(),
    }
}
