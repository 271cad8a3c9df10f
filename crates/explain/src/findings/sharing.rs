//! How processes share the work and the files.

use plimsoll_trace::{Class, Layer};

use super::{Candidate, sharers};
use crate::analysis::{Analysis, FileAnalysis};
use crate::serialisation::Serialisation;
use crate::totals::Direction;
use plimsoll_report::words::{bytes, count, percent, short, time};

/// From this share of the contended time on, writing is serial.
const SERIAL_SHARE_MIN: f64 = 0.5;
/// Up to this gain of bandwidth by several writers, they queue.
const SCALING_MAX: f64 = 1.2;
/// Fewer writes in flight on average are no crowd.
const IN_FLIGHT_MIN: f64 = 2.0;
/// From this mean size on, queueing costs little: the storage is busy with one write.
const WRITE_BYTES_MAX: u64 = 4 << 20;
/// With fewer ranks, one writer is a fair share.
const RANKS_MIN: usize = 4;
/// A rank that writes at least this share writes all.
const WRITER_SHARE_MIN: f64 = 0.95;

/// Returns the measure of a file whose writes are serial, and not because of data sieving.
fn serial(file: &FileAnalysis) -> Option<&Serialisation> {
    let found = file.detail.as_ref()?.serialisation.as_ref()?;
    let writes = file.ops.data(Layer::Posix, Some(Direction::Write));
    let is_small = writes.bytes / writes.calls.max(1) < WRITE_BYTES_MAX;
    let waits = found.serial_share().is_some_and(|share| share >= SERIAL_SHARE_MIN);
    let steps = found.scaling.is_some_and(|scaling| scaling <= SCALING_MAX)
        && found.writers_in_flight >= IN_FLIGHT_MIN;
    (file.sieving.cycles == 0 && is_small && (waits || steps)).then_some(found)
}

/// Cost: time inside writes and locks of a file beyond one writer at a time, for each writer.
pub(super) fn serialized_shared_writes(analysis: &Analysis) -> Option<Candidate> {
    let cost = |file: &FileAnalysis, found: &Serialisation| {
        found.waiting_seconds / f64::from(file.direct_writers.max(1))
    };
    let cases: Vec<(&FileAnalysis, &Serialisation)> =
        analysis.files.iter().filter_map(|file| Some((file, serial(file)?))).collect();
    let cost_seconds = cases.iter().map(|(file, found)| cost(file, found)).sum();
    let (worst, found) = cases.iter().max_by(|a, b| cost(a.0, a.1).total_cmp(&cost(b.0, b.1)))?;
    let mut evidence = vec![format!(
        "{} processes write {}; their writes and locks took {} beyond one writer at a time",
        worst.direct_writers,
        worst.path,
        time(found.waiting_seconds)
    )];
    if let Some(share) = found.serial_share().filter(|share| *share >= SERIAL_SHARE_MIN) {
        evidence.push(format!(
            "in {} of the {} in which several wanted to write, no more than one did",
            percent(share),
            time(found.contended_seconds)
        ));
    }
    if let Some(scaling) = found.scaling {
        evidence.push(format!(
            "with {} writes in flight, {} times the bytes per second of a single one were \
             finished: the writes queue",
            short(found.writers_in_flight),
            short(scaling)
        ));
    }
    Some(Candidate {
        cost_seconds,
        evidence,
        advice: vec![
            "let few ranks write large blocks: collective writes with the hints \
             romio_cb_write=enable and cb_nodes=<number of nodes>"
                .to_string(),
            "or give each rank a file of its own (on Lustre also: more stripes, lfs setstripe -c \
             -1, so that ranks do not share a target's lock)"
                .to_string(),
        ],
    })
}

/// Cost: time in lock calls, for each process that waited. Locks of data sieving and of files
/// whose writes are serial belong to those findings.
pub(super) fn lock_contention(analysis: &Analysis) -> Option<Candidate> {
    let lock_time = |file: &FileAnalysis| file.ops.class(Layer::Posix, Class::Lock).seconds();
    let serial_time: f64 =
        analysis.files.iter().filter(|file| serial(file).is_some()).map(lock_time).sum();
    let all: f64 = analysis.processes.iter().map(|process| process.lock_seconds).sum();
    let waited = (all - serial_time).max(0.0);
    let locks = analysis.totals.class(Layer::Posix, Class::Lock);
    let waiting = analysis.processes.iter().map(|process| process.lock_seconds);
    let processes = waiting.clone().filter(|seconds| *seconds > 0.0).count();
    Some(Candidate {
        cost_seconds: waited / sharers(waiting),
        evidence: vec![format!(
            "{} waited {} in {}, {} each",
            count(processes as u64, "process"),
            time(waited),
            count(locks.calls, "lock call"),
            time(locks.seconds() / locks.calls.max(1) as f64)
        )],
        advice: vec![
            "lock smaller ranges for shorter times, or none: private files or disjoint ranges \
             need no lock; through MPI-IO leave atomic mode off (MPI_File_set_atomicity) and set \
             romio_ds_write=disable"
                .to_string(),
        ],
    })
}

/// Cost: I/O time of the slowest rank beyond the median.
pub(super) fn straggling_ranks(analysis: &Analysis) -> Option<Candidate> {
    let found = analysis.stragglers.as_ref()?;
    let worst = found.slow.first()?;
    let process = analysis.processes.iter().find(|p| p.process == worst.process)?;
    let moved = |own: &crate::OwnCalls| {
        own.bytes(Direction::Read).saturating_add(own.bytes(Direction::Write))
    };
    let mean = moved(&analysis.own) as f64 / found.n as f64;
    let load = moved(&process.own) as f64 / mean.max(1.0);
    let advice = if load > 1.5 {
        "the slow ranks move more data than the others: divide it evenly, or let collective \
             buffering do so (romio_cb_write=enable)"
    } else {
        "the slow ranks move no more data than the others: look at their node and their \
             targets (plimsoll score), and keep files off slow targets"
    };
    Some(Candidate {
        cost_seconds: worst.seconds - found.median_seconds,
        evidence: vec![
            format!(
                "{} of {} {} an I/O time beyond a modified Z score of 3.5; the median is {}",
                found.slow.len(),
                count(found.n as u64, "process"),
                if found.slow.len() == 1 { "has" } else { "have" },
                time(found.median_seconds)
            ),
            format!(
                "{} on {} took {} (score {}) and moved {} times the mean of the bytes",
                process.label(),
                process.host,
                time(worst.seconds),
                short(worst.score),
                short(load)
            ),
        ],
        advice: vec![advice.to_string()],
    })
}

/// Cost: the writer's write time, less its share if all ranks wrote at its speed side by side.
pub(super) fn single_writer(analysis: &Analysis) -> Option<Candidate> {
    let ranks: Vec<_> = analysis.processes.iter().filter(|p| p.rank.is_some()).collect();
    let written = |p: &crate::ProcessAnalysis| p.own.bytes(Direction::Write);
    let all = ranks.iter().fold(0u64, |sum, rank| sum.saturating_add(written(rank)));
    let writer =
        ranks.iter().max_by_key(|rank| (written(rank), std::cmp::Reverse(rank.process)))?;
    let share = written(writer) as f64 / (all as f64).max(1.0);
    if ranks.len() < RANKS_MIN || share < WRITER_SHARE_MIN {
        return None;
    }
    let seconds = writer.own.seconds(Class::Write);
    Some(Candidate {
        cost_seconds: seconds * (1.0 - 1.0 / ranks.len() as f64),
        evidence: vec![format!(
            "{} wrote {} of the {} that {} ranks wrote, in {}",
            writer.label(),
            percent(share),
            bytes(all),
            ranks.len(),
            time(seconds)
        )],
        advice: vec![
            "let all ranks write their part: MPI_File_write_at_all on a file that all ranks open, \
             or a file for each rank, instead of gathering everything on one"
                .to_string(),
        ],
    })
}
