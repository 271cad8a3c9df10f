//! How fast a program reads and how fast it writes.
//!
//! Reads and writes are never mixed. A direction has one headline: that of the layer whose calls
//! moved most of its bytes, because a few bytes through another layer say nothing. Only calls
//! that the program makes itself decide, so what MPI-IO moves by POSIX counts as MPI-IO. The time
//! of writing includes the calls that make what was written durable: without them a cache looks
//! like storage.

use std::cmp::Reverse;

use plimsoll_trace::Layer;

use crate::coverage::BusyTime;
use crate::coverages::{Coverages, Covers, layer_index};
use crate::file_totals::{Extent, OwnData};
use crate::totals::{Direction, OpTable, seconds};

/// Data calls of one layer and direction, whoever makes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// The layer.
    pub layer: Layer,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes that the calls moved.
    pub bytes: u64,
    /// Sum of their durations over all processes.
    pub call_seconds: f64,
    /// Wall time during which at least one process was inside such a call; `None` for files
    /// without details.
    pub busy: Option<BusyTime>,
}

impl Bandwidth {
    /// Effective bandwidth (Wright 4.2.1): bytes over the sum of durations over all ranks.
    pub fn effective(&self) -> Option<f64> {
        rate(self.bytes, self.call_seconds)
    }

    /// Perceived bandwidth of the layer: bytes over the wall time during which at least one
    /// process was inside such a call.
    pub fn perceived(&self) -> Option<f64> {
        self.busy.and_then(|busy| rate(self.bytes, busy.seconds))
    }
}

/// `None` without bytes or without time.
fn rate(bytes: u64, seconds: f64) -> Option<f64> {
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// How fast programs read, or how fast they write: calls that they make themselves, on the layer
/// that moved most bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headline {
    /// Reads or writes.
    pub direction: Direction,
    /// The layer that moved most bytes; `None` when nothing was moved.
    pub layer: Option<Layer>,
    /// Bytes that were moved on that layer.
    pub bytes: u64,
    /// Bytes that were moved on any layer.
    pub all_bytes: u64,
    /// Wall time during which at least one process was inside such a call or, for writes, inside
    /// a call that makes them durable; `None` for files without details.
    pub busy: Option<BusyTime>,
    /// The same without the calls that make writes durable.
    pub data_busy: Option<BusyTime>,
    /// Wall time from the first start to the last end of the calls of `busy`, without the files
    /// that begin first and those that end last, as long as they have a thousandth of the bytes
    /// at most: a line in a log long before or after says nothing.
    pub first_to_last_seconds: f64,
    /// Effective bandwidth of MPI-IO calls (Wright 4.2.1); `None` when they moved less than half
    /// of `bytes`, as it is not theirs then.
    pub effective_mpi: Option<f64>,
    /// The same of POSIX calls, those inside MPI-IO included (Wright 4.2.1).
    pub effective_posix: Option<f64>,
}

impl Headline {
    /// Bytes over the wall time during which at least one process reads, or writes and makes
    /// durable what it wrote.
    pub fn perceived(&self) -> Option<f64> {
        self.busy.and_then(|busy| rate(self.bytes, busy.seconds))
    }

    /// Returns the same without the calls that make writes durable.
    pub fn data_only(&self) -> Option<f64> {
        self.data_busy.and_then(|busy| rate(self.bytes, busy.seconds))
    }

    /// Bytes over the wall time from the first start to the last end.
    pub fn first_to_last(&self) -> Option<f64> {
        rate(self.bytes, self.first_to_last_seconds)
    }
}

/// Returns the bandwidths of layers and directions that have data calls.
pub(crate) fn bandwidths(ops: &OpTable, coverages: Option<&Coverages>) -> Vec<Bandwidth> {
    let pairs =
        Layer::OF_PROGRAMS.into_iter().flat_map(|layer| Direction::ALL.map(|way| (layer, way)));
    pairs
        .filter_map(|(layer, direction)| {
            let totals = ops.data(layer, Some(direction));
            (totals.calls > 0).then(|| Bandwidth {
                layer,
                direction,
                bytes: totals.bytes,
                call_seconds: totals.seconds(),
                busy: coverages.map(|it| it.of(Covers::calls(layer, direction.kind())).busy()),
            })
        })
        .collect()
}

/// Returns the headlines of reading and of writing, `files` together.
pub(crate) fn headlines<'a>(
    files: impl Iterator<Item = &'a OwnData> + Clone,
    bandwidths: &[Bandwidth],
    coverages: Option<&Coverages>,
) -> [Headline; 2] {
    let mut own = OwnData::default();
    files.clone().for_each(|file| own.merge(file));
    Direction::ALL.map(|direction| {
        let bytes = |layer: Layer| own.volumes[layer_index(layer)][direction as usize].bytes;
        // Of equal layers the uppermost: `max_by_key` takes the last.
        let most = Layer::OF_PROGRAMS.into_iter().rev().max_by_key(|layer| bytes(*layer));
        let layer = most.filter(|layer| bytes(*layer) > 0);
        let busy = |covers: fn(Layer, Direction) -> Covers| {
            Some(coverages?.of(covers(layer?, direction)).busy())
        };
        let effective = |wanted: Layer| {
            let found = bandwidths.iter().find(|b| b.layer == wanted && b.direction == direction);
            let has_most =
                |it: &&Bandwidth| layer.is_some_and(|layer| it.bytes >= bytes(layer) / 2);
            found.filter(has_most).and_then(Bandwidth::effective)
        };
        let nanos = layer.map(|layer| first_to_last(files.clone(), layer, direction));
        Headline {
            direction,
            layer,
            bytes: layer.map_or(0, bytes),
            all_bytes: Layer::OF_PROGRAMS
                .into_iter()
                .fold(0, |sum, layer| sum.saturating_add(bytes(layer))),
            busy: busy(Covers::whole),
            data_busy: busy(Covers::own),
            first_to_last_seconds: nanos.map_or(0.0, seconds),
            effective_mpi: effective(Layer::Mpi),
            effective_posix: effective(Layer::Posix),
        }
    })
}

/// Parts of the bytes, of which one at most is left out at either end.
const PARTS: u128 = 1000;

/// Nanoseconds from the first start to the last end on the files that have most of the bytes.
fn first_to_last<'a>(
    files: impl Iterator<Item = &'a OwnData>,
    layer: Layer,
    direction: Direction,
) -> u64 {
    let (at, way) = (layer_index(layer), direction as usize);
    let mut parts: Vec<(u64, Extent)> =
        files.map(|file| (file.volumes[at][way].bytes, file.extents[at][way])).collect();
    let all_bytes: u128 = parts.iter().map(|(bytes, _)| u128::from(*bytes)).sum();
    let first_that_counts = |parts: &[(u64, Extent)]| {
        let mut passed = 0;
        let mut counting = parts.iter().skip_while(|(bytes, _)| {
            passed += u128::from(*bytes);
            passed <= all_bytes / PARTS
        });
        counting.next().map(|(_, extent)| *extent)
    };
    parts.sort_by_key(|(_, extent)| extent.start);
    let first = first_that_counts(&parts);
    parts.sort_by_key(|(_, extent)| Reverse(extent.end));
    let last = first_that_counts(&parts);
    let between = |(first, last): (Extent, Extent)| Extent { start: first.start, end: last.end };
    first.zip(last).map_or(0, |ends| between(ends).nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Volume;

    /// POSIX writes of this many bytes in a span.
    fn file(bytes: u64, span: (u64, u64)) -> OwnData {
        let mut own = OwnData::default();
        own.volumes[2][1] = Volume { calls: 1, bytes, nanos: span.1 - span.0 };
        own.extents[2][1].add(span);
        own
    }

    #[test]
    fn a_line_in_a_log_long_after_does_not_count() {
        let nanos = |files: &[OwnData]| first_to_last(files.iter(), Layer::Posix, Direction::Write);
        let (data, log) = (file(1 << 20, (100, 200)), file(60, (900, 910)));
        assert_eq!(nanos(&[log, data]), 100);
        let small_files = (0..2000).map(|i| file(1024, (100 + i, 101 + i)));
        let with_log: Vec<OwnData> = small_files.chain([file(2000, (0, 9000))]).collect();
        assert_eq!(nanos(&with_log), 2000, "a log is no data also if it is the largest file");
        assert_eq!(nanos(&[file(60, (0, 10)), file(60, (900, 910))]), 910, "equal parts count");
        assert_eq!(nanos(&[]), 0);
        let many: Vec<OwnData> = (0..10_000).map(|i| file(10, (i, i + 1))).collect();
        assert_eq!(nanos(&many), 9_980, "all but a thousandth at either end");
    }
}
