//! Directories that are good, bad and odd; clocks; threads; comparisons.

mod common;

use std::fs;

use common::{Bed, KIB, MIB, MS, S, START, close};
use plimsoll_explain::{Change, ExplainError, Options, Recording, Verdict, analyze, compare};
use plimsoll_trace::Op;
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::layout::{BLOCK_BYTES, HEADER_BYTES};

#[test]
fn directories_that_are_no_recording_say_so() {
    let bed = Bed::new();
    assert!(matches!(Recording::open(bed.path()), Err(ExplainError::Empty { .. })));
    fs::write(bed.path().join("notes.txt"), "hello").unwrap();
    let error = Recording::open(bed.path()).unwrap_err().to_string();
    assert!(error.contains("no *.rec file") && error.contains("plimsoll record"), "{error}");
    fs::write(bed.path().join("1.rec"), "hello").unwrap();
    let error = Recording::open(bed.path()).unwrap_err();
    assert!(matches!(error, ExplainError::Unreadable { files: 1, .. }));
    let missing = bed.path().join("missing");
    assert!(matches!(Recording::open(&missing), Err(ExplainError::Directory { .. })));
}

#[test]
fn a_file_that_cannot_be_read_is_a_warning() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Write, 2, 0, 100, MS);
    rank.finish();
    fs::write(bed.path().join("bad.rec"), [0u8; 5000]).unwrap();
    let analysis = bed.analyze();
    assert_eq!(analysis.events, 1);
    assert!(analysis.warnings[0].contains("bad.rec is not a file of a recording"));
}

#[test]
fn what_a_cut_off_file_still_has_is_read() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..40_000 {
        rank.data(Op::Write, 2, block * 100, 100, MS / 100);
    }
    rank.finish();
    let path = bed.path().join("node1.0.rec");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let analysis = bed.analyze();
    assert!(analysis.events > 5_000 && analysis.events < 40_000, "{}", analysis.events);
    assert!(analysis.warnings[0].contains("blocks are missing"), "{:?}", analysis.warnings);
    // Between two blocks.
    fs::write(&path, &whole[..HEADER_BYTES + BLOCK_BYTES]).unwrap();
    let told = &bed.analyze().warnings[0];
    assert!(told.contains("0 bytes in 0 chunks cannot be read and "), "{told}");
    assert!(told.contains(" blocks are missing"), "{told}");
}

#[test]
fn an_empty_process_gives_an_empty_analysis() {
    let bed = Bed::new();
    bed.rank(0, 1).finish();
    let analysis = bed.analyze();
    assert_eq!((analysis.events, analysis.files.len(), analysis.phases.len()), (0, 0, 0));
    assert_eq!(bed.ids(), [""; 0]);
}

/// Node 2's clock is 1000 s ahead and gains 10 µs a second. All ranks leave barriers at 1 s and
/// 101 s; then rank 2 writes at 51 s.
#[test]
fn nodes_are_aligned_by_barriers() {
    let bed = Bed::new();
    let exits = [(0, 0), (0, 2000), (1, 0), (1, 4000)]; // node, nanoseconds late
    for (rank, (node, late)) in exits.into_iter().enumerate() {
        let host = format!("node{node}");
        let ahead = if node == 1 { 1000 * S } else { 0 };
        let start = START + ahead;
        let mut process = bed.rank_on(rank as u32, 4, &host, node as u8 + 1, start);
        let drift = |seconds: u64| if node == 1 { seconds * 10_000 } else { 0 };
        for (number, second) in [(0, 1), (1, 101)] {
            let ticks = start + second * S + drift(second) + late;
            process.define(DefinitionKind::Barrier, number, ticks, "");
        }
        if rank == 2 {
            process.until(51 * S + drift(51)).data(Op::Pwrite, 1, 0, KIB, MS);
        }
        process.finish_at(102 * S);
    }
    let analysis = bed.analyze();
    let sample = analysis.files.iter().find(|f| f.path == "/shared").unwrap();
    let sample = sample.detail.as_ref().unwrap().samples[0];
    // Rank 0 leaves on time; the median of node 2 is 2 µs late.
    let error = sample.start_ns as i64 - (51 * S) as i64;
    assert!(error.abs() <= 2_500, "{error} ns");
    assert!(close(analysis.clock_error_seconds.unwrap(), 2e-6));
    assert!((analysis.span_seconds - 102.0).abs() < 0.01, "{}", analysis.span_seconds);
    assert_eq!(analysis.nodes.len(), 2);
}

#[test]
fn without_barriers_the_error_is_not_known() {
    let bed = Bed::new();
    bed.rank_on(0, 2, "node1", 1, START).finish_at(S);
    bed.rank_on(1, 2, "node2", 2, START + 500 * S).finish_at(S);
    let analysis = bed.analyze();
    assert_eq!(analysis.clock_error_seconds, None);
    assert!(close(analysis.span_seconds, 1.0), "the calendars agree: {}", analysis.span_seconds);
}

/// Containers of one machine have names of their own and one clock.
#[test]
fn who_shares_a_boot_shares_a_clock() {
    let error = |boot| {
        let bed = Bed::new();
        bed.rank_on(0, 2, "box1", boot, START).finish_at(S);
        bed.rank_on(1, 2, "box2", boot, START).finish_at(S);
        bed.analyze().clock_error_seconds
    };
    assert_eq!(error(1), Some(0.0));
    assert_eq!(error(0), None, "which boot it is, is not known: the names tell");
}

#[test]
fn any_number_of_threads_gives_the_same_result() {
    let bed = Bed::new();
    for rank in 0..7u64 {
        let mut process = bed.rank(rank as u32, 7);
        let mut state = rank + 1;
        for step in 0..3000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (file, at) = ((state >> 40) as u32 % 2 + 1, (state >> 20) % (1 << 30));
            process.around(Op::MpiWriteAt, file, at, 100, |process| {
                process.pause(state % 5000 + 1).data(Op::Pread, file, at, state % 9999, 700);
                process.data(Op::Pwrite, file, at, state % 9999, 900);
            });
            if step % 100 == 0 {
                process.call(Op::Fsync, file, 5000);
            }
        }
        process.finish_at(S);
    }
    let recording = bed.open();
    let run = |threads| {
        let options = Options { threads, ..Options::default() };
        format!("{:?}", analyze(&recording, &options).unwrap())
    };
    let one = run(1);
    assert!(one.len() > 10_000);
    assert!(one == run(2) && one == run(5), "results differ by thread");
}

fn checkpoint(nanos: u64, is_synced: bool) -> Bed {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..100 {
        rank.data(Op::Pwrite, 2, block * MIB, MIB, nanos + block % 10 * 1000);
        if is_synced {
            rank.call(Op::Fsync, 2, 20 * MS);
        }
    }
    rank.finish();
    bed
}

#[test]
fn a_comparison_says_what_changed() {
    let (slow, fast) = (checkpoint(10 * MS, true).analyze(), checkpoint(5 * MS, false).analyze());
    let comparison = compare(&slow, &fast);
    assert_eq!(comparison.verdict, Verdict::Faster);
    assert!((comparison.wall_seconds.speedup().unwrap() - 6.0).abs() < 0.01);
    assert!(comparison.statement.contains("no interval"), "{}", comparison.statement);
    assert!(!comparison.statement.contains("same work"), "{}", comparison.statement);
    assert_eq!(comparison.findings_gone[0].id, "fsync-storm");
    assert!(comparison.findings_new.is_empty() && comparison.findings_kept.is_empty());
    let fsync = comparison.ops.iter().find(|change| change.op == Op::Fsync).unwrap();
    assert_eq!((fsync.before.calls, fsync.after.calls), (100, 0));
    let durations = comparison.durations.unwrap();
    assert_eq!(durations.op, Op::Pwrite, "fsync is in one of them only");
    assert!((durations.comparison.ratio.unwrap().estimate - 0.5).abs() < 0.001);
    assert_eq!(comparison.bandwidths.len(), 1, "nothing was read");
    let write = comparison.bandwidths[0];
    let ratio = |change: Option<Change>| change.unwrap().ratio().unwrap();
    assert!((ratio(write.perceived) - 6.0).abs() < 0.01, "30 ms with the sync, now 5 ms");
    assert!((ratio(write.data_only) - 2.0).abs() < 0.01, "10 ms without, now 5 ms");
    assert_eq!(compare(&fast, &slow).verdict, Verdict::Slower);
    let same = compare(&slow, &slow);
    assert_eq!((same.verdict, same.findings_kept.len()), (Verdict::Same, 1));
}

#[test]
fn a_run_that_moves_less_is_not_just_faster() {
    let written = |blocks: u64| {
        let bed = Bed::new();
        let mut rank = bed.rank(0, 1);
        for block in 0..blocks {
            rank.data(Op::Pwrite, 2, block * MIB, MIB, 10 * MS);
        }
        rank.finish();
        bed.analyze()
    };
    let statement = compare(&written(100), &written(40)).statement;
    let expected = "The runs did not do the same work: the second wrote 40 MiB instead of 100 MiB.";
    assert!(statement.starts_with(expected), "{statement}");
    assert!(!compare(&written(100), &written(97)).statement.contains("same work"));
}

/// Names cost nothing, and each would take as much memory as a file.
#[test]
fn another_name_of_a_file_is_no_other_process() {
    let bed = Bed::new();
    bed.rank(0, 1).finish_at(S);
    let file = std::fs::read_dir(bed.path()).unwrap().next().unwrap().unwrap().path();
    for number in 0..3 {
        std::fs::hard_link(&file, bed.path().join(format!("z{number}.rec"))).unwrap();
    }
    let recording = bed.open();
    assert_eq!(recording.processes().len(), 1);
    let said = "3 files are left out: they have another name, which was read";
    assert!(recording.warnings().iter().any(|it| it == said), "{:?}", recording.warnings());
    // One with a name elsewhere is there.
    let elsewhere = Bed::new();
    std::fs::hard_link(&file, elsewhere.path().join("a.rec")).unwrap();
    assert_eq!((elsewhere.open().processes().len(), elsewhere.open().warnings().len()), (1, 0));
}
