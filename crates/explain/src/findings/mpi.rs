//! How MPI-IO is used.

use plimsoll_trace::Layer;

use super::Candidate;
use crate::analysis::{Analysis, FileAnalysis};
use crate::file_table::FileId;
use crate::histogram::Volume;
use crate::totals::{Direction, seconds};
use plimsoll_report::words::{bytes, count, percent, time};

/// Fewer independent writes of a file are not worth collecting.
const INDEPENDENT_WRITES_MIN: u64 = 100;
/// From this size on, independent writes are as good as collected ones: the default block that
/// collective buffering writes is a stripe or more.
pub(super) const COLLECTED_BYTES: u64 = 1 << 20;
/// Bandwidth of one process with large requests where the recording has none to measure: slow
/// for a page cache or a parallel file system, so that costs tend to be too low.
pub(super) const LARGE_REQUEST_RATE: f64 = (1u64 << 30) as f64;
/// Large requests that make a rate.
const LARGE_REQUESTS_MIN: u64 = 8;

/// Cost: reads, locks and unlocks inside the MPI writes that had cycles of lock, write and
/// unlock, for each process that had any. All of it goes away without sieving.
pub(super) fn data_sieving(analysis: &Analysis) -> Option<Candidate> {
    let sieving = &analysis.sieving;
    if sieving.cycles == 0 {
        return None;
    }
    let processes = sieving.processes.max(1);
    let collective = sieving.calls - sieving.independent_calls.min(sieving.calls);
    let mut evidence = vec![
        format!(
            "{} of lock, read, write and unlock in {} by {}",
            count(sieving.cycles, "cycle"),
            count(sieving.calls, "MPI write"),
            count(processes, "process")
        ),
        format!(
            "for {} of data, {} were read and {} written",
            bytes(sieving.asked_bytes),
            bytes(sieving.read_bytes),
            bytes(sieving.written_bytes)
        ),
        format!(
            "reads, locks and unlocks inside those writes took {}, of which locks and unlocks {}",
            time(seconds(sieving.overhead_nanos)),
            time(seconds(sieving.lock_nanos))
        ),
    ];
    evidence.extend(worst_file(analysis, |file| file.sieving.overhead_nanos));
    let collect = if collective > 0 {
        "let aggregators collect the data: MPI_Info_set(info, \"romio_cb_write\", \"enable\")"
    } else {
        "write collectively (MPI_File_write_all or MPI_File_write_at_all; in HDF5 \
             H5Pset_dxpl_mpio with H5FD_MPIO_COLLECTIVE) with the hint romio_cb_write=enable"
    };
    let disable = "turn data sieving off: MPI_Info_set(info, \"romio_ds_write\", \"disable\") before \
                   MPI_File_open, or the line \"romio_ds_write disable\" in the file that \
                   ROMIO_HINTS names";
    Some(Candidate {
        cost_seconds: seconds(sieving.overhead_nanos) / processes as f64,
        evidence,
        advice: vec![disable.to_string(), collect.to_string()],
    })
}

/// Cost, for each file that several processes write by many independent MPI writes below 1 MiB:
/// their time, without that of data sieving, less what their bytes would take at the rate of
/// large requests, for each writing process.
pub(super) fn no_collective_buffering(analysis: &Analysis) -> Option<Candidate> {
    let is_case = |file: &&FileAnalysis| {
        let writes = &file.independent_writes;
        file.writers > 1
            && writes.calls >= INDEPENDENT_WRITES_MIN
            && writes.bytes / writes.calls < COLLECTED_BYTES
    };
    let rate = large_request_rate(analysis, Layer::Mpi, Direction::Write);
    let cost = |file: &FileAnalysis| {
        let writes = &file.independent_writes;
        let busy = writes.seconds() - seconds(file.sieving.overhead_nanos);
        (busy - writes.bytes as f64 / rate).max(0.0) / f64::from(file.writers)
    };
    let files: Vec<&FileAnalysis> = analysis.files.iter().filter(is_case).collect();
    let cost_seconds = files.iter().map(|file| cost(file)).sum();
    let worst = files.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let writes = &worst.independent_writes;
    Some(Candidate {
        cost_seconds,
        evidence: vec![
            format!(
                "{} processes made {} of {} on average to {}",
                worst.writers,
                count(writes.calls, "independent MPI write"),
                bytes(writes.bytes / writes.calls),
                worst.path
            ),
            format!(
                "they took {} in all processes together, {} for each write",
                time(writes.seconds()),
                time(writes.seconds() / writes.calls as f64)
            ),
            format!("{} written in this way", count(files.len() as u64, "file")),
        ],
        advice: vec![
            "write collectively: MPI_File_write_all or MPI_File_write_at_all instead of \
             MPI_File_write and MPI_File_write_at (in HDF5 H5Pset_dxpl_mpio with \
             H5FD_MPIO_COLLECTIVE), with the hint romio_cb_write=enable"
                .to_string(),
        ],
    })
}

/// Returns the bytes per second of requests of 1 MiB and more on a layer, by the sum of durations.
pub(super) fn large_request_rate(analysis: &Analysis, layer: Layer, direction: Direction) -> f64 {
    let sizes = analysis
        .request_sizes
        .iter()
        .find(|sizes| sizes.layer == layer && sizes.direction == direction);
    let large =
        sizes.map_or(Volume::default(), |s| s.histogram.sum(|start| start >= COLLECTED_BYTES));
    let rate = large.bytes_per_second().filter(|_| large.calls >= LARGE_REQUESTS_MIN);
    rate.unwrap_or(LARGE_REQUEST_RATE)
}

/// "mostly on FILE (80 %)", or what the file with the largest part has of it; `None` where that
/// is no file, as for waiting until asynchronous calls end.
pub(super) fn worst_file(
    analysis: &Analysis,
    weight: impl Fn(&FileAnalysis) -> u64,
) -> Option<String> {
    let all: u128 = analysis.files.iter().map(|file| u128::from(weight(file))).sum();
    let worst =
        analysis.files.iter().max_by_key(|file| (weight(file), std::cmp::Reverse(file.id)))?;
    let share = weight(worst) as f64 / all as f64;
    (all > 0 && worst.id != FileId::UNKNOWN).then(|| {
        if share >= 0.5 {
            format!("mostly on {} ({})", worst.path, percent(share))
        } else {
            format!(
                "spread over {}, {} of it on {}",
                count(analysis.files.iter().filter(|file| weight(file) > 0).count() as u64, "file"),
                percent(share),
                worst.path
            )
        }
    })
}
