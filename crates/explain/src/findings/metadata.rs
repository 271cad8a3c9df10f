//! Calls that move no data.

use plimsoll_trace::{Class, Layer, Op};

use super::mpi::worst_file;
use super::{Candidate, sharers_of};
use crate::activity::is_direct;
use crate::analysis::Analysis;
use plimsoll_report::words::{count, short, time};

/// Fewer calls are no storm, however slow.
const METADATA_CALLS_MIN: u64 = 1000;
/// Fewer syncs are no storm.
const SYNCS_MIN: u64 = 10;
/// Up to this many syncs of a file are checkpoints.
const SYNCS_PER_FILE_MIN: f64 = 4.0;
/// As many bytes take a target as long as the operation that moves them does by itself: 1.04 ms and 1.73 ns a byte (Uselton, an OST of
/// Hopper).
const SYNC_BYTES: f64 = 1.04e-3 / 1.73e-9;

fn is_metadata(op: Op) -> bool {
    is_direct(op.layer()) && matches!(op.class(), Class::Open | Class::Close | Class::Metadata)
}

fn is_sync(op: Op) -> bool {
    op.layer() == Layer::Posix && op.class() == Class::Sync
}

/// Cost: time in opens, closes and calls on names, attributes and directories, for each process
/// that makes any. Most of it goes away when files stay open and are few.
pub(super) fn metadata_storm(analysis: &Analysis) -> Option<Candidate> {
    let metadata = &analysis.metadata;
    if metadata.calls < METADATA_CALLS_MIN {
        return None;
    }
    let worst = analysis
        .totals
        .iter()
        .filter(|entry| is_metadata(entry.op))
        .max_by_key(|entry| (entry.totals.nanos, std::cmp::Reverse(entry.op)))?;
    let advice = match worst.op {
        op if matches!(op.class(), Class::Open | Class::Close) => {
            "open each file once and keep it open; put many small data sets into one file (HDF5, \
             ADIOS, a tar file, SQLite) instead of a file each"
        }
        Op::Mkdir | Op::Rmdir | Op::Unlink | Op::Rename | Op::Link | Op::Symlink => {
            "make and remove fewer names: put many small data sets into one file (HDF5, ADIOS, a \
             tar file, SQLite), write over files instead of creating them again, and keep what is \
             temporary in memory or on a node-local file system"
        }
        _ => {
            "remember what stat, access and readdir said instead of asking again; list a \
             directory once, on one rank, and pass the names on with MPI_Bcast"
        }
    };
    Some(Candidate {
        cost_seconds: metadata.seconds / sharers_of(analysis, is_metadata),
        evidence: vec![
            format!(
                "{} on names, attributes and directories took {} in all processes together",
                count(metadata.calls, "call"),
                time(metadata.seconds)
            ),
            format!(
                "{} of them a second over the run, {} at the peak, on {}",
                short(metadata.calls_per_second),
                short(metadata.peak_calls_per_second),
                count(analysis.files_used(), "file")
            ),
            format!(
                "most time goes into {}: {} in {}",
                worst.op.name(),
                time(worst.totals.seconds()),
                count(worst.totals.calls, "call")
            ),
        ],
        advice: vec![advice.to_string()],
    })
}

/// Cost: sync time beyond one sync for each file, for each process that syncs, less what the bytes take that each of them makes durable: they
/// have to be written anyway.
pub(super) fn fsync_storm(analysis: &Analysis) -> Option<Candidate> {
    let metadata = &analysis.metadata;
    let per_file = metadata.syncs_per_file?;
    if metadata.syncs < SYNCS_MIN || per_file < SYNCS_PER_FILE_MIN {
        return None;
    }
    let piece = metadata.syncs_per_mib.map_or(0.0, |it| f64::from(1 << 20) / it);
    let waiting = SYNC_BYTES / (SYNC_BYTES + piece);
    let excess = metadata.sync_seconds * (1.0 - 1.0 / per_file) * waiting;
    let mut evidence = vec![format!(
        "{} to fsync and similar functions on {} took {} in all processes together",
        count(metadata.syncs, "call"),
        count(metadata.synced_files, "file"),
        time(metadata.sync_seconds)
    )];
    let per_mib = metadata.syncs_per_mib;
    let per_mib = per_mib.map_or(String::new(), |it| format!(", {} for each MiB", short(it)));
    evidence.push(format!("that is {} for each file{per_mib}", short(per_file)));
    evidence.extend(worst_file(analysis, |file| file.ops.sum(is_sync).nanos));
    Some(Candidate {
        cost_seconds: excess / sharers_of(analysis, is_sync),
        evidence,
        advice: vec![
            "call fsync once, when the file or the checkpoint is complete; collect transactions \
             (in SQLite BEGIN ... COMMIT around many statements, PRAGMA journal_mode=WAL with \
             synchronous=NORMAL); for steady write-back without waiting, sync_file_range"
                .to_string(),
        ],
    })
}
