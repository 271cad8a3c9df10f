//! Very many calls of the C library's streams.

use plimsoll_trace::{Layer, Op};

use super::mpi::{large_request_rate, worst_file};
use super::{Candidate, sharers_of};
use crate::analysis::Analysis;
use crate::totals::{Direction, OpTotals};
use plimsoll_report::words::{bytes, count, time};

/// Fewer calls are no flood. The C library buffers them, so that each costs little; what counts
/// is their number.
const CALLS_MIN: u64 = 100_000;
/// Larger calls go past the buffer of a stream (BUFSIZ and st_blksize are 4 to 8 KiB mostly).
const CALL_BYTES_MAX: u64 = 4096;
/// The part of the calls that is looked at, shortest first: the rest empty the buffer, and their
/// time is that of the storage.
const BUFFERED_SHARE: f64 = 0.95;

fn is_stdio(direction: Direction) -> impl Fn(Op) -> bool + Copy {
    move |op| op.layer() == Layer::Stdio && Direction::of(op.class()) == Some(direction)
}

/// Cost: for at least 100,000 stdio calls below 4 KiB on average, their number times the mean of
/// the 95 % shortest, less what their bytes take at the rate of large requests, for each process
/// that makes such calls. Reads and writes apart, added up.
pub(super) fn stdio_flood(analysis: &Analysis) -> Option<Candidate> {
    let (mut cost_seconds, mut evidence) = (0.0, Vec::new());
    for direction in Direction::ALL {
        let calls = analysis.totals.sum(is_stdio(direction));
        if calls.calls < CALLS_MIN || calls.bytes / calls.calls >= CALL_BYTES_MAX {
            continue;
        }
        let ops = || analysis.totals.iter().filter(|entry| is_stdio(direction)(entry.op));
        let buffered: f64 = ops().map(|entry| buffered_seconds(analysis, entry)).sum();
        let rate = large_request_rate(analysis, Layer::Posix, direction);
        let excess = (buffered - calls.bytes as f64 / rate).max(0.0);
        cost_seconds += excess / sharers_of(analysis, is_stdio(direction));
        let worst = ops().max_by_key(|entry| (entry.totals.nanos, std::cmp::Reverse(entry.op)))?;
        evidence.push(format!(
            "{} of {} on average took {} in all processes together, {} each",
            count(calls.calls, &format!("stdio {}", direction.name())),
            bytes(calls.bytes / calls.calls),
            time(calls.seconds()),
            time(calls.seconds() / calls.calls as f64)
        ));
        evidence.push(format!(
            "most time goes into {}: {} in {}",
            worst.op.name(),
            time(worst.totals.seconds()),
            count(worst.totals.calls, "call")
        ));
        evidence.extend(worst_file(analysis, |file| file.ops.sum(is_stdio(direction)).nanos));
    }
    (!evidence.is_empty()).then(|| Candidate {
        cost_seconds,
        evidence,
        advice: vec![
            "move many values with each call: fwrite or fread of a whole array in binary form \
             (or HDF5, NetCDF, Parquet) instead of a print or scan for each value; where it must \
             be text, format into a buffer of some MiB (snprintf, std::to_chars) and write that \
             at once"
                .to_string(),
        ],
    })
}

/// Time of all calls of an operation if none had to empty or fill the buffer.
fn buffered_seconds(analysis: &Analysis, entry: &OpTotals) -> f64 {
    let sample = analysis.durations.iter().find(|sample| sample.op == entry.op);
    let seconds = sample.map_or(&[][..], |sample| &sample.seconds);
    let shortest = &seconds[..(seconds.len() as f64 * BUFFERED_SHARE).ceil() as usize];
    if shortest.is_empty() {
        return 0.0;
    }
    shortest.iter().sum::<f64>() / shortest.len() as f64 * entry.totals.calls as f64
}
