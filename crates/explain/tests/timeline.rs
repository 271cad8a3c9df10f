//! The time line: each process has its row, and each moment its bin.

mod common;

use common::*;
use plimsoll_explain::{Activity, Analysis, Options, TimelineRow, analyze};
use plimsoll_trace::Op;
use plimsoll_trace::definition::DefinitionKind;

/// The second, as a number of seconds, in which a row is busy with an activity, and for how long.
fn busy(analysis: &Analysis, row: &TimelineRow, activity: Activity) -> (f64, f64) {
    let width = analysis.timeline.bin_seconds;
    let seconds = |share: &f64| share * width * row.processes as f64;
    let shares: Vec<f64> = row.shares.iter().map(|bin| bin[activity as usize]).collect();
    let first = shares.iter().position(|share| *share > 0.0).unwrap_or(shares.len());
    (first as f64 * width, shares.iter().map(seconds).sum())
}

/// Processes of which the nth writes during the nth hundredth of a second, and reads at the end.
fn one_after_the_other(processes: u32) -> Analysis {
    let bed = Bed::new();
    for rank in 0..processes {
        let mut process = bed.rank(rank, processes);
        process.until(u64::from(rank) * 10 * MS).data(Op::Pwrite, 2, 0, MIB, 10 * MS);
        process.until(u64::from(processes) * 10 * MS).data(Op::Pread, 2, 0, MIB, 20 * MS);
        process.finish();
    }
    bed.analyze()
}

#[test]
fn every_process_has_its_own_row() {
    let analysis = one_after_the_other(8);
    let timeline = &analysis.timeline;
    assert_eq!(timeline.rows.len(), 8);
    for (process, row) in timeline.rows.iter().enumerate() {
        assert_eq!((row.first_process, row.processes), (process, 1));
        assert_eq!(row.shares.len(), timeline.bins);
        let (start, seconds) = busy(&analysis, row, Activity::Write);
        assert!(
            (start - process as f64 * 0.01).abs() <= timeline.bin_seconds,
            "{process}: {start}"
        );
        assert!((seconds - 0.01).abs() < 1e-4, "{process}: {seconds}");
        let (start, seconds) = busy(&analysis, row, Activity::Read);
        assert!((start - 0.08).abs() <= timeline.bin_seconds, "{process}: {start}");
        // The last bin is not a full one.
        assert!((seconds - 0.02).abs() <= timeline.bin_seconds, "{process}: {seconds}");
    }
}

#[test]
fn beyond_256_processes_neighbours_share_a_row() {
    let analysis = one_after_the_other(300);
    let rows = &analysis.timeline.rows;
    assert_eq!(rows.len(), 256);
    let mut next = 0;
    for row in rows {
        assert_eq!(row.first_process, next, "rows have every process once, in order");
        assert!((1..=2).contains(&row.processes));
        next += row.processes;
        let (start, seconds) = busy(&analysis, row, Activity::Write);
        let expected = (row.first_process as f64 * 0.01, row.processes as f64 * 0.01);
        assert!(
            (start - expected.0).abs() <= analysis.timeline.bin_seconds,
            "{start} {expected:?}"
        );
        assert!((seconds - expected.1).abs() < 1e-4, "{seconds} {expected:?}");
        // All read at the end: the share is of the time of all processes of the row.
        let most = row.shares.iter().map(|bin| bin[Activity::Read as usize]).fold(0.0, f64::max);
        assert!(most > 0.5 && most <= 1.0 + 1e-9, "{most}");
    }
    assert_eq!(next, 300);
}

/// The bytes of a call are spread over the time that it takes, to the last byte.
#[test]
fn bytes_are_where_the_time_is() {
    for processes in [8, 300] {
        let analysis = one_after_the_other(processes);
        let full = |bin: usize| (1..analysis.timeline.bins - 1).contains(&bin);
        for row in &analysis.timeline.rows {
            for (way, activity, seconds) in [(0, Activity::Read, 0.02), (1, Activity::Write, 0.01)]
            {
                let bytes: u64 = row.bytes.iter().map(|bin| bin[way]).sum();
                assert_eq!(bytes, row.processes as u64 * MIB);
                let width = analysis.timeline.bin_seconds * row.processes as f64;
                for (bin, (bytes, shares)) in row.bytes.iter().zip(&row.shares).enumerate() {
                    let expected = shares[activity as usize] * width / seconds * MIB as f64;
                    let is_right = (bytes[way] as f64 - expected).abs() < 3.0;
                    assert!(is_right || !full(bin), "{bin}: {} {expected}", bytes[way]);
                }
            }
        }
    }
}

/// Two threads of one process may be inside calls at the same time; one thread may not.
#[test]
fn a_share_is_above_one_only_where_threads_overlap() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    process.data(Op::Pwrite, 1, 0, MIB, S);
    process.thread = 2;
    process.now = 0;
    process.data(Op::Pwrite, 2, 0, MIB, S).data(Op::Pwrite, 2, MIB, MIB, S);
    process.finish();
    let analysis = bed.analyze();
    let write = |bin: &[f64; 7]| bin[Activity::Write as usize];
    let shares: Vec<f64> = analysis.timeline.rows[0].shares.iter().map(write).collect();
    let second = (1.0 / analysis.timeline.bin_seconds) as usize;
    assert!(shares[1..second - 1].iter().all(|share| close(*share, 2.0)), "{shares:?}");
    let later = second + 2..shares.len() - 1;
    assert!(shares[later].iter().all(|share| close(*share, 1.0)), "{shares:?}");
}

fn seconds_of(bed: &Bed, activity: Activity) -> f64 {
    let analysis = bed.analyze();
    busy(&analysis, &analysis.timeline.rows[0], activity).1
}

/// As the clock of a damaged recording may say: one thread is inside two calls at the same time.
#[test]
fn calls_of_one_thread_that_overlap_count_once() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    for start in [10, 15] {
        process.now = start * MS;
        process.around(Op::MpiWriteAt, 1, 0, MIB, |process| {
            process.pause(10 * MS);
        });
    }
    // All of it is in one bin.
    process.finish_at(100 * S);
    let seconds = seconds_of(&bed, Activity::MpiWaiting);
    assert!((seconds - 0.015).abs() < 1e-6, "{seconds}");
}

#[test]
fn a_call_that_takes_no_time_hides_nothing_of_the_call_around_it() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    process.around(Op::Fwrite, 1, 0, MIB, |process| {
        process.pause(S).data(Op::Write, 1, 0, MIB, 0).pause(S);
    });
    process.finish_at(10 * S);
    let seconds = seconds_of(&bed, Activity::Write);
    assert!((seconds - 2.0).abs() < 1e-3, "{seconds}");
}

#[test]
fn calls_in_flight_are_where_they_are() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    process.until(5 * S).data(Op::Pwrite, 1, 0, MIB, S);
    process.finish_at(10 * S);
    let flight = &bed.analyze().in_flight[0];
    for (bin, (mean, max)) in flight.mean.iter().zip(&flight.max).enumerate() {
        let (start, end) = (bin as f64 * flight.bin_seconds, (bin + 1) as f64 * flight.bin_seconds);
        if start >= 5.0 && end <= 6.0 {
            assert!(close(*mean, 1.0) && close(*max, 1.0), "{start}: {mean} {max}");
        } else if end <= 5.0 || start >= 6.0 {
            assert_eq!((*mean, *max), (0.0, 0.0), "{start}");
        }
    }
}

/// One file has more time inside the MPI call around it: that counts once.
#[test]
fn files_with_most_time_of_their_own_are_looked_at_closely() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    process.around(Op::MpiWriteAt, 1, 0, MIB, |process| {
        process.data(Op::Pwrite, 1, 0, MIB, 100 * MS);
    });
    process.data(Op::Pwrite, 2, 0, MIB, 150 * MS);
    process.define(DefinitionKind::File, 3, 0, "/third");
    process.data(Op::Pwrite, 3, 0, MIB, MS);
    process.finish_at(S);
    let options = Options { detailed_files: 1, ..Options::default() };
    let analysis = analyze(&bed.open(), &options).unwrap();
    let detailed: Vec<&str> = analysis
        .files
        .iter()
        .filter(|file| file.detail.is_some())
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(detailed, ["/private.0"]);
}
