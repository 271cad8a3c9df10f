//! How large requests are and where they go.

use plimsoll_trace::{Layer, Op};

use super::mpi::{large_request_rate, worst_file};
use super::{Candidate, sharers_of};
use crate::access::{AccessCounts, PAGE_BYTES, SMALL_BYTES};
use crate::analysis::{Analysis, FileAnalysis};
use crate::histogram::Volume;
use crate::totals::Direction;
use plimsoll_report::words::{bytes, count, percent, short, time};

/// Fewer requests are no pattern.
const REQUESTS_MIN: u64 = 1000;
/// Up to this many forced writes of a file are headers and checkpoints.
const FORCED_MIN: u64 = 10;
/// Fewer aligned or unaligned requests make no rate to compare.
const ALIGNMENT_MIN: u64 = 100;
/// Rates are compared between requests of about one size.
const SIZE_RATIO_MAX: f64 = 4.0;
/// With a smaller share of random requests, most requests follow a pattern.
const RANDOM_SHARE_MIN: f64 = 0.5;
/// Random requests of this size are as good as sequential ones: a disk's seek of 5 to 10 ms is
/// less than it takes to move a few MiB, and flash needs far less.
const RANDOM_BYTES_MAX: u64 = 1 << 20;
/// Less than this share touched again is headers and indexes.
const REPEATED_SHARE_MIN: f64 = 0.2;

fn is_posix(direction: Direction) -> impl Fn(Op) -> bool + Copy {
    move |op| op.layer() == Layer::Posix && Direction::of(op.class()) == Some(direction)
}

fn is_direct(direction: Direction) -> impl Fn(Op) -> bool + Copy {
    move |op| crate::activity::is_direct(op.layer()) && Direction::of(op.class()) == Some(direction)
}

/// Cost: the time of POSIX requests below 64 KiB that a program makes itself and that follow a
/// pattern, less what their bytes take at the rate of large requests (of this recording, or
/// 1 GiB/s), for each process that makes such calls. Reads and writes apart, added up.
pub(super) fn small_requests(analysis: &Analysis) -> Option<Candidate> {
    let mut cost_seconds = 0.0;
    let mut evidence = Vec::new();
    for direction in Direction::ALL {
        let small = &analysis.access[direction as usize].small_mergeable;
        if small.calls < REQUESTS_MIN {
            continue;
        }
        let rate = large_request_rate(analysis, Layer::Posix, direction);
        let excess = (small.seconds() - small.bytes as f64 / rate).max(0.0);
        cost_seconds += excess / sharers_of(analysis, is_posix(direction));
        evidence.push(format!(
            "{} below {}, {} on average, took {} in all processes together",
            count(small.calls, direction.name()),
            bytes(SMALL_BYTES),
            bytes(small.bytes / small.calls),
            time(small.seconds())
        ));
        let of_file = |file: &FileAnalysis| file.access[direction as usize].small_mergeable.nanos;
        evidence.extend(worst_file(analysis, of_file));
    }
    (!evidence.is_empty()).then(|| Candidate {
        cost_seconds,
        evidence,
        advice: vec![
            "gather data in memory and move at least 1 MiB with each call: a larger buffer \
             (setvbuf, bs=1M, block_size), one readv or writev for many pieces, or MPI collective \
             calls with romio_cb_write=enable"
                .to_string(),
        ],
    })
}

/// Cost: the time of writes to files that were opened with O_SYNC or O_DSYNC, 10 for each file or
/// more, less what their bytes take at the rate of large requests (of this recording, or 1 GiB/s),
/// for each process that writes.
pub(super) fn forced_writes(analysis: &Analysis) -> Option<Candidate> {
    let forced = analysis.files.iter().filter(|file| file.forced_writes.calls > 0);
    let (mut writes, mut files) = (Volume::default(), 0);
    for file in forced {
        writes.merge(&file.forced_writes);
        files += 1;
    }
    if writes.calls < FORCED_MIN * files.max(1) {
        return None;
    }
    let rate = large_request_rate(analysis, Layer::Posix, Direction::Write);
    let excess = (writes.seconds() - writes.bytes as f64 / rate).max(0.0);
    let mut evidence = vec![format!(
        "{} of {} on average to {}, opened with O_SYNC or O_DSYNC, took {} in all processes together",
        count(writes.calls, "write"),
        bytes(writes.bytes / writes.calls),
        count(files, "file"),
        time(writes.seconds())
    )];
    evidence.extend(worst_file(analysis, |file| file.forced_writes.nanos));
    Some(Candidate {
        cost_seconds: excess / sharers_of(analysis, is_posix(Direction::Write)),
        evidence,
        advice: vec![
            "open without O_SYNC and O_DSYNC, and call fsync once, when the file or the checkpoint \
             is complete (dd: conv=fsync instead of oflag=dsync); where every record must be safe \
             before the next one, gather several into one write"
                .to_string(),
        ],
    })
}

/// Cost, for POSIX requests of at least a page: their time less what their bytes take at the rate
/// of aligned requests of about their size; where the recording has too few of those, their time
/// times the share of bytes in the pages that they touch and do not fill.
pub(super) fn unaligned_requests(analysis: &Analysis) -> Option<Candidate> {
    let mut cost_seconds = 0.0;
    let mut evidence = Vec::new();
    for direction in Direction::ALL {
        let access = &analysis.access[direction as usize];
        let unaligned = &access.unaligned_large;
        if unaligned.calls < ALIGNMENT_MIN || unaligned.bytes == 0 {
            continue;
        }
        let (excess, how) = unaligned_excess(access);
        cost_seconds += excess / sharers_of(analysis, is_posix(direction));
        evidence.push(format!(
            "{} of at least {}, {} on average, do not begin and end on page boundaries \
             ({} of all such {}s); {how}",
            count(unaligned.calls, direction.name()),
            bytes(PAGE_BYTES),
            bytes(unaligned.bytes / unaligned.calls),
            percent(unaligned.calls as f64 / (unaligned.calls + access.aligned_large.calls) as f64),
            direction.name(),
        ));
        let of_file = |file: &FileAnalysis| file.access[direction as usize].unaligned_large.nanos;
        evidence.extend(worst_file(analysis, of_file));
    }
    (!evidence.is_empty()).then(|| Candidate {
        cost_seconds,
        evidence,
        advice: vec![
            "let requests begin and end at multiples of 4096 bytes, better of the stripe (1 MiB): \
             pad headers and records, H5Pset_alignment(fapl, 0, 1048576) in HDF5, or the hints \
             striping_unit=1048576 and romio_cb_write=enable, which align what aggregators write"
                .to_string(),
        ],
    })
}

/// Seconds lost to alignment in all processes, and how that is known.
fn unaligned_excess(access: &AccessCounts) -> (f64, String) {
    let (unaligned, aligned) = (&access.unaligned_large, &access.aligned_large);
    let mean = |volume: &Volume| volume.bytes as f64 / volume.calls.max(1) as f64;
    let ratio = mean(unaligned) / mean(aligned).max(1.0);
    let is_comparable = (1.0 / SIZE_RATIO_MAX..=SIZE_RATIO_MAX).contains(&ratio);
    let rate = aligned.bytes_per_second();
    match rate.filter(|_| aligned.calls >= ALIGNMENT_MIN && is_comparable) {
        Some(rate) => {
            let excess = (unaligned.seconds() - unaligned.bytes as f64 / rate).max(0.0);
            let slower = rate / unaligned.bytes_per_second().unwrap_or(rate).max(1.0);
            (excess, format!("aligned ones of that size are {} times as fast", short(slower)))
        }
        None => {
            let extra = access.unaligned_large_excess as f64;
            let share = extra / (unaligned.bytes as f64 + extra);
            let how = format!("{} of the pages that they touch are not theirs", percent(share));
            (unaligned.seconds() * share, how)
        }
    }
}

/// Cost: the time of random requests (half of all or more, below 1 MiB on average) less what
/// their bytes take at the rate of sequential requests of this recording, or of large ones where
/// there are too few.
pub(super) fn random_access(analysis: &Analysis) -> Option<Candidate> {
    let mut cost_seconds = 0.0;
    let mut evidence = Vec::new();
    for direction in Direction::ALL {
        let access = &analysis.access[direction as usize];
        let random = &access.random;
        let share = access.shares().map_or(0.0, |shares| shares.random);
        let is_large = random.bytes / random.calls.max(1) >= RANDOM_BYTES_MAX;
        if random.calls < REQUESTS_MIN || share < RANDOM_SHARE_MIN || is_large {
            continue;
        }
        let sequential = access.sequential.bytes_per_second();
        let rate = sequential
            .filter(|_| access.sequential.calls >= REQUESTS_MIN)
            .unwrap_or_else(|| large_request_rate(analysis, Layer::Posix, direction));
        let excess = (random.seconds() - random.bytes as f64 / rate).max(0.0);
        cost_seconds += excess / sharers_of(analysis, is_direct(direction));
        evidence.push(format!(
            "{} of {} on average, {} of all, jump about in their files and took {} in all \
             processes together",
            count(random.calls, direction.name()),
            bytes(random.bytes / random.calls),
            percent(share),
            time(random.seconds())
        ));
        let of_file = |file: &FileAnalysis| file.access[direction as usize].random.nanos;
        evidence.extend(worst_file(analysis, of_file));
    }
    (!evidence.is_empty()).then(|| Candidate {
        cost_seconds,
        evidence,
        advice: vec![
            "order requests by offset before making them, or read larger blocks and pick from \
             them in memory; where the order cannot be known, keep many requests in flight \
             (threads or io_uring) and call posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM)"
                .to_string(),
        ],
    })
}

/// Cost: the read time of each file times the share of bytes that the same process had read
/// before, for each reading process. Files under data sieving are left out.
pub(super) fn rereads(analysis: &Analysis) -> Option<Candidate> {
    let advice = "keep what was read in memory, or read each part once: a larger cache or chunk \
                  cache (H5Pset_chunk_cache in HDF5), or one rank that reads and MPI_Bcast";
    repeated(analysis, Direction::Read, advice)
}

/// Cost: the write time of each file times the share of bytes that the same process had written
/// before, for each writing process. Files under data sieving are left out.
pub(super) fn rewrites(analysis: &Analysis) -> Option<Candidate> {
    let advice = "write each part once, when it is complete: collect updates in memory first, and \
                  write headers and indexes at the end";
    repeated(analysis, Direction::Write, advice)
}

fn repeated(analysis: &Analysis, direction: Direction, advice: &str) -> Option<Candidate> {
    let cost = |file: &FileAnalysis| {
        let share = repeated_share(file, direction)?;
        let time = file.ops.sum(is_direct(direction)).seconds();
        let users = match direction {
            Direction::Read => file.readers,
            Direction::Write => file.direct_writers,
        };
        Some(time * share / f64::from(users.max(1)))
    };
    let cases = analysis.files.iter().filter(|file| file.sieving.cycles == 0);
    let costs: Vec<(&FileAnalysis, f64)> =
        cases.filter_map(|file| Some((file, cost(file)?))).collect();
    let (worst, _) = costs.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let repeated = worst.detail.as_ref()?.repeated[direction as usize];
    let estimated = if repeated.is_estimate { ", estimated from a sample of the file" } else { "" };
    let evidence = format!(
        "{} of {} {} of {} had been {} before by the same process ({}{estimated})",
        bytes(repeated.repeated),
        bytes(repeated.bytes),
        past(direction),
        worst.path,
        past(direction),
        percent(repeated_share(worst, direction)?),
    );
    let others = match costs.len() - 1 {
        0 => None,
        more => Some(format!(
            "the same is true of at least {} of the bytes of {}",
            percent(REPEATED_SHARE_MIN),
            count(more as u64, "other file")
        )),
    };
    let evidence = std::iter::once(evidence).chain(others).collect();
    let cost_seconds = costs.iter().map(|(_, cost)| cost).sum();
    Some(Candidate { cost_seconds, evidence, advice: vec![advice.to_string()] })
}

fn past(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "written",
    }
}

/// Returns the share of bytes touched again, where it is large enough.
fn repeated_share(file: &FileAnalysis, direction: Direction) -> Option<f64> {
    let share = file.detail.as_ref()?.repeated[direction as usize].share()?;
    (share >= REPEATED_SHARE_MIN).then_some(share)
}
