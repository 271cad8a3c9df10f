//! Phases, calls in flight and rates over time.

use plimsoll_trace::Layer;

use crate::activity::Series;
use crate::call_kind::CallKind;
use crate::coverage::Coverage;
use crate::coverages::{Coverages, Covers};
use crate::grid::Grid;
use crate::totals::{Direction, seconds};

/// A stretch of time with data calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// When it begins, since the beginning of the recording.
    pub start_seconds: f64,
    /// When it ends.
    pub end_seconds: f64,
    /// Bytes read by calls of the programs themselves that ended in it.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Phase {
    /// Returns how long it lasts.
    pub fn seconds(&self) -> f64 {
        self.end_seconds - self.start_seconds
    }
}

/// Maximal stretches with at least one data call in flight, on any layer, united over gaps of at
/// most `gap_ns`. Their ends are known to one bin.
pub(crate) fn phases(coverages: &Coverages, series: &Series, gap_ns: u64) -> Vec<Phase> {
    let data = Layer::OF_PROGRAMS.into_iter().flat_map(|layer| {
        Direction::ALL.map(|direction| coverages.of(Covers::calls(layer, direction.kind())))
    });
    let data: Vec<&Coverage> = data.collect();
    let grid = data[0].grid();
    let is_busy = |bin: usize| data.iter().any(|coverage| coverage.bin(bin).threads > 0);
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for bin in (0..grid.bins()).filter(|bin| is_busy(*bin)) {
        match runs.last_mut() {
            Some((_, last)) if ((bin - *last - 1) as u64) * grid.width_ns() <= gap_ns => {
                *last = bin
            }
            _ => runs.push((bin, bin)),
        }
    }
    let width = seconds(grid.width_ns());
    let phase = |(first, last): &(usize, usize)| {
        let sum =
            |values: &[u64]| values[*first..=*last].iter().fold(0u64, |a, b| a.saturating_add(*b));
        let start_seconds = *first as f64 * width;
        let inside = seconds(grid.inside_ns(*last).max(1));
        Phase {
            start_seconds,
            end_seconds: *last as f64 * width + inside,
            read_bytes: sum(&series.bytes[0]),
            written_bytes: sum(&series.bytes[1]),
        }
    };
    runs.iter().map(phase).collect()
}

/// Most bins of what is drawn over time.
const DRAWN_BINS: u64 = 512;

/// How many calls are in flight over time (Wright, figure 5.1).
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight {
    /// The layer.
    pub layer: Layer,
    /// What the calls do.
    pub kind: CallKind,
    /// Width of a bin.
    pub bin_seconds: f64,
    /// Mean number of calls in flight.
    pub mean: Vec<f64>,
    /// The largest mean over the bins of [`crate::Analysis::resolution_seconds`] in it.
    pub max: Vec<f64>,
}

/// Calls in flight of each layer and kind that has any.
pub(crate) fn in_flight(coverages: &Coverages) -> Vec<InFlight> {
    let pairs =
        Layer::OF_PROGRAMS.into_iter().flat_map(|layer| CallKind::ALL.map(|kind| (layer, kind)));
    pairs
        .filter_map(|(layer, kind)| {
            let coverage = coverages.of(Covers::calls(layer, kind));
            (!coverage.is_empty()).then(|| in_flight_of(coverage, layer, kind))
        })
        .collect()
}

fn in_flight_of(coverage: &Coverage, layer: Layer, kind: CallKind) -> InFlight {
    let fine = coverage.grid();
    let coarse = coarse(fine);
    let mut mean = vec![0.0; coarse.bins()];
    let mut max = vec![0.0f64; coarse.bins()];
    for bin in 0..fine.bins() {
        let into = coarse.bin(bin as u64 * fine.width_ns());
        let covered = coverage.bin(bin).sum as f64;
        mean[into] += covered / coarse.inside_ns(into).max(1) as f64;
        max[into] = max[into].max(covered / fine.inside_ns(bin).max(1) as f64);
    }
    InFlight { layer, kind, bin_seconds: seconds(coarse.width_ns()), mean, max }
}

fn coarse(fine: Grid) -> Grid {
    Grid::new(fine.span_ns(), DRAWN_BINS)
}

/// Bytes and calls over time, by the bin in which a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Width of a bin.
    pub bin_seconds: f64,
    /// Bytes read by calls of the programs themselves.
    pub read_bytes: Vec<u64>,
    /// Bytes written.
    pub written_bytes: Vec<u64>,
    /// Calls on names, attributes and directories, opens and closes.
    pub metadata_calls: Vec<u64>,
    /// Calls that make data durable.
    pub syncs: Vec<u64>,
}

pub(crate) fn rates(series: &Series, fine: Grid) -> Rates {
    let coarse = coarse(fine);
    let fold = |values: &[u64]| {
        let mut sums = vec![0u64; coarse.bins()];
        for (bin, value) in values.iter().enumerate() {
            let sum = &mut sums[coarse.bin(bin as u64 * fine.width_ns())];
            *sum = sum.saturating_add(*value);
        }
        sums
    };
    Rates {
        bin_seconds: seconds(coarse.width_ns()),
        read_bytes: fold(&series.bytes[0]),
        written_bytes: fold(&series.bytes[1]),
        metadata_calls: fold(&series.metadata_calls),
        syncs: fold(&series.syncs),
    }
}
