//! What part of their lives processes spend on I/O, who shares a file, and what is drawn of each.

mod common;

use common::{Bed, KIB, MIB, MS, S, START, close};
use plimsoll_explain::{Activity, Analysis, Direction, FileAnalysis, NESTED_CALLS_MAX};
use plimsoll_trace::{Op, Program};

/// Two ranks of 10 s: one is inside I/O calls for 4 s, the other for 2 s. Beside them a launcher.
fn two_ranks_and_a_launcher() -> Bed {
    let bed = Bed::new();
    for rank in 0..2 {
        let mut process = bed.rank(rank, 2);
        let part = if rank == 0 { 2 } else { 1 };
        process.call(Op::Open, 2, 100 * MS * part).data(Op::Pread, 2, 0, MIB, 400 * MS * part);
        process.data(Op::Pwrite, 2, 0, MIB, S * part).call(Op::Fsync, 2, 500 * MS * part);
        process.finish_at(10 * S);
    }
    let mut launcher = bed.helper(1, Program { program: "mpirun".into(), ..Program::default() });
    launcher.call(Op::Stat, 1, 300 * MS);
    launcher.finish_at(12 * S);
    bed
}

#[test]
fn the_share_of_io_is_that_of_processes_that_take_part() {
    let analysis = two_ranks_and_a_launcher().analyze();
    let io = &analysis.io_share;
    assert_eq!((io.processes, analysis.active_processes()), (2, 3));
    assert!(close(io.wall_seconds, 20.0) && close(io.busy_seconds, 6.0), "{io:?}");
    assert!(close(io.share().unwrap(), 0.3) && close(io.median_share.unwrap(), 0.3));
    let slowest = &analysis.processes[io.slowest.unwrap()];
    assert_eq!(slowest.rank, Some(0));
    assert!(close(slowest.io_share().unwrap(), 0.4));
    for (activity, share) in [
        (Activity::Read, 0.06),
        (Activity::Write, 0.15),
        (Activity::Metadata, 0.015),
        (Activity::Sync, 0.075),
        (Activity::Lock, 0.0),
    ] {
        let found = io.share_of(activity).unwrap();
        assert!(close(found, share), "{activity:?}: {found}");
    }
    assert!(!analysis.processes[2].takes_part, "the launcher");
}

#[test]
fn a_process_without_rank_takes_part_when_it_does_much() {
    let bed = Bed::new();
    for (number, io, life) in [
        (1, 500 * MS, S),
        (2, 100 * MS, S),
        (3, 4 * MS, S), // less than a hundredth of the first's I/O, and of its own life
        (4, 4 * MS, 200 * MS), // more than a hundredth of its own life
    ] {
        let mut process = bed.helper(number, Program::default());
        process.data(Op::Pwrite, 2, 0, MIB, io);
        process.finish_at(life);
    }
    let analysis = bed.analyze();
    let parts: Vec<bool> = analysis.processes.iter().map(|it| it.takes_part).collect();
    assert_eq!(parts, [true, true, false, true]);
    assert!(close(analysis.io_share.median_share.unwrap(), 0.1), "of 0.5, 0.1 and 0.02");
}

#[test]
fn a_forked_process_lives_from_its_fork_on() {
    let bed = Bed::new();
    // It shares the start of the recording with its parent and was forked 6 s later.
    let forked = Program { began_ns: START + 6 * S, ..Program::default() };
    let mut child = bed.rank_with(0, 1, forked);
    child.until(8 * S).data(Op::Pwrite, 2, 0, MIB, S);
    child.finish_at(10 * S);
    let analysis = bed.analyze();
    assert!(close(analysis.processes[0].wall_seconds, 4.0));
    assert!(close(analysis.io_share.share().unwrap(), 0.25));
    assert!(close(analysis.span_seconds, 10.0));
}

#[test]
fn threads_side_by_side_count_once() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for thread in [1, 2] {
        rank.thread = thread;
        rank.now = 0;
        rank.data(Op::Pread, 2, 0, MIB, 3 * S).data(Op::Pwrite, 2, 0, MIB, S);
    }
    rank.finish_at(10 * S);
    let io = bed.analyze().io_share;
    assert!((io.share().unwrap() - 0.4).abs() < 1e-3, "both at the same time: {io:?}");
    assert!((io.share_of(Activity::Read).unwrap() - 0.3).abs() < 1e-3);
    assert!((io.by_activity.iter().sum::<f64>() - io.busy_seconds).abs() < 1e-9, "adds up");
}

/// A shell that becomes `app` has two files, and is one process.
#[test]
fn a_process_that_becomes_another_program_counts_once() {
    let bed = Bed::new();
    for (number, busy) in [(1, 100 * MS), (2, 300 * MS)] {
        let mut image = bed.helper(number, Program { pid: 77, ..Program::default() });
        image.data(Op::Write, 1, 0, MIB, busy);
        image.finish_at(S);
    }
    let io = bed.analyze().io_share;
    assert_eq!(io.processes, 1);
    assert!((io.busy_seconds - 0.4).abs() < 1e-6 && (io.wall_seconds - 2.0).abs() < 1e-6);
    assert!((io.median_share.unwrap() - 0.2).abs() < 1e-6, "of its whole life");
}

#[test]
fn nothing_recorded_has_no_share() {
    let bed = Bed::new();
    bed.helper(1, Program::default()).finish();
    assert_eq!(bed.analyze().active_processes(), 0, "none made a call");
    let io = bed.analyze().io_share;
    assert_eq!((io.processes, io.share(), io.slowest, io.median_share), (0, None, None, None));
}

fn file<'a>(analysis: &'a Analysis, path: &str) -> &'a FileAnalysis {
    analysis.files.iter().find(|file| file.path == path).unwrap()
}

#[test]
fn a_file_is_shared_when_several_processes_use_it() {
    let bed = Bed::new();
    // One writes /shared, the other reads it. Each writes and reads its own.
    for rank in 0..2 {
        let mut process = bed.rank(rank, 2);
        process.data(Op::Pwrite, 2, 0, MIB, MS).data(Op::Pread, 2, 0, MIB, MS);
        match rank {
            0 => process.data(Op::Pwrite, 1, 0, MIB, MS),
            _ => process.data(Op::Pread, 1, 0, MIB, MS),
        };
        process.finish_at(S);
    }
    let analysis = bed.analyze();
    let shared = file(&analysis, "/shared");
    assert_eq!((shared.readers, shared.writers, shared.users), (1, 1, 2));
    assert!(shared.is_shared(), "one reads what the other writes");
    let private = file(&analysis, "/private.0");
    assert_eq!((private.readers, private.writers, private.users), (1, 1, 1));
    assert!(!private.is_shared(), "one process reads what it wrote");
}

#[test]
fn a_file_that_others_only_look_at_is_not_shared() {
    let bed = Bed::new();
    for rank in 0..3 {
        let mut process = bed.rank(rank, 3);
        process.call(Op::Stat, 1, MS);
        if rank == 1 {
            process.data(Op::Pwrite, 1, 0, MIB, MS);
        }
        process.finish_at(S);
    }
    assert!(!file(&bed.analyze(), "/shared").is_shared());
    let looked_at = Bed::new();
    for rank in 0..3 {
        let mut process = looked_at.rank(rank, 3);
        process.call(Op::Stat, 1, MS).call(Op::Stat, 2, MS);
        process.finish_at(S);
    }
    let analysis = looked_at.analyze();
    assert!(file(&analysis, "/shared").is_shared(), "nobody reads or writes it, all look at it");
    assert!(!file(&analysis, "/private.1").is_shared());
}

#[test]
fn the_byte_map_has_every_byte_in_its_processs_row() {
    let bed = Bed::new();
    for rank in 0..3u64 {
        let mut process = bed.rank(rank as u32, 3);
        process.until(rank * S);
        for block in 0..7 {
            // Odd sizes over odd times: parts of bins do not divide evenly.
            process.data(Op::Pwrite, 2, block * MIB, 1_000_003 + rank, 123_456_789);
        }
        process.around(Op::MpiReadAt, 1, 0, 5 * KIB, |process| {
            process.pause(MS).data(Op::Pread, 1, 0, 64 * KIB, MS);
        });
        process.finish_at(5 * S);
    }
    let analysis = bed.analyze();
    let timeline = &analysis.timeline;
    assert_eq!(timeline.rows.len(), 3);
    for (rank, row) in timeline.rows.iter().enumerate() {
        let sum = |way: Direction| row.bytes.iter().map(|cell| cell[way as usize]).sum::<u64>();
        assert_eq!(sum(Direction::Write), 7 * (1_000_003 + rank as u64), "rank {rank}");
        assert_eq!(sum(Direction::Read), 5 * KIB, "what the program read, not what MPI-IO did");
        let is_used = |bin: &usize| row.bytes[*bin][Direction::Write as usize] > 0;
        let first = (0..timeline.bins).find(is_used).unwrap();
        let begins = first as f64 * timeline.bin_seconds;
        assert!((begins - rank as f64).abs() <= timeline.bin_seconds, "rank {rank}: {begins}");
        let writing: f64 = row.shares.iter().map(|it| it[Activity::Write as usize]).sum();
        assert!((writing * timeline.bin_seconds - 7.0 * 0.123_456_789).abs() < 1e-3, "{writing}");
    }
}

#[test]
fn many_processes_share_rows_and_lose_nothing() {
    let bed = Bed::new();
    for rank in 0..300 {
        let mut process = bed.rank(rank, 300);
        process.data(Op::Pwrite, 1, u64::from(rank) * MIB, MIB, MS);
        process.finish_at(S);
    }
    let timeline = bed.analyze().timeline;
    assert_eq!(timeline.rows.len(), 256);
    assert_eq!(timeline.rows.iter().map(|row| row.processes).sum::<usize>(), 300);
    let bytes =
        |row: &plimsoll_explain::TimelineRow| -> u64 { row.bytes.iter().map(|cell| cell[1]).sum() };
    for row in &timeline.rows {
        assert_eq!(bytes(row), row.processes as u64 * MIB, "process {}", row.first_process);
    }
}

#[test]
fn common_sizes_are_exact() {
    let bed = Bed::new();
    for rank in 0..4 {
        let mut process = bed.rank(rank, 4);
        for call in 0..100u64 {
            process.data(Op::Pwrite, 1, call * MIB, 47_008, MS);
            process.data(Op::Pwrite, 2, call * MIB, 1000 + call % 3, MS);
        }
        process.finish_at(S);
    }
    let analysis = bed.analyze();
    let sizes = &analysis.request_sizes[0];
    let told: Vec<(u64, u64)> = sizes.common.sizes.iter().map(|it| (it.bytes, it.calls)).collect();
    assert_eq!(told, [(47_008, 400), (1000, 136), (1002, 132), (1001, 132)]);
    assert_eq!(sizes.common.missed_at_most, 0);
    let detail = file(&analysis, "/private.3").detail.as_ref().unwrap();
    let common = &detail.request_sizes[0].common;
    assert_eq!((common.sizes[0].bytes, common.sizes[0].calls), (1000, 34));
}

/// Missing is not zero, and nothing is divided by nothing.
#[test]
fn a_process_without_a_life_has_no_share() {
    let bed = Bed::new();
    bed.rank(0, 1).finish();
    let analysis = bed.analyze();
    let process = &analysis.processes[0];
    assert_eq!((process.wall_seconds, process.io_share()), (0.0, None));
    assert_eq!(analysis.io_share.share(), None);
    assert_eq!(analysis.io_share.share_of(Activity::Write), None);
    assert_eq!(analysis.io_share.median_share, None);
}

#[test]
fn files_and_calls_are_counted_also_where_they_are_too_many_to_keep() {
    let bed = Bed::new();
    let mut process = bed.rank(0, 1);
    let calls = NESTED_CALLS_MAX as u64 + 44;
    process.around(Op::MpiWriteAll, 1, 0, calls * KIB, |inside| {
        for nth in 0..calls {
            inside.data(Op::Pwrite, 1, nth * KIB, KIB, MS);
        }
    });
    process.data(Op::Pwrite, 2, 0, KIB, MS);
    process.finish();
    let analysis = bed.analyze();
    assert_eq!(analysis.processes[0].files, 2);
    let slowest = &analysis.slow_calls[0];
    assert_eq!((slowest.nested.len(), slowest.nested_omitted), (NESTED_CALLS_MAX, 44));
    assert_eq!(slowest.time.write_nanos, calls * MS);
}

/// What goes on beside the program takes none of its time.
#[test]
fn asynchronous_writes_take_no_time_of_a_process() {
    for threads in [1, 2] {
        let bed = Bed::new();
        let mut rank = bed.rank(0, 1);
        for thread in 1..=threads {
            (rank.thread, rank.now) = (thread, 0);
            rank.data(Op::AioWrite, 2, 0, MIB, 5 * S).data(Op::Pwrite, 2, MIB, MIB, S);
        }
        rank.finish_at(10 * S);
        let busy = bed.analyze().io_share.busy_seconds;
        assert!((busy - 1.0).abs() < 1e-2, "{threads} threads: {busy}");
    }
}

/// A launcher may run on processors that the ranks have not got.
#[test]
fn processors_of_a_node_are_those_of_its_ranks() {
    let of = |ranks: u32| {
        let bed = Bed::new();
        let on = |processors: usize| Program {
            processors: (0..processors).collect(),
            ..Program::default()
        };
        (0..ranks).for_each(|rank| bed.rank_with(rank, ranks, on(2)).finish_at(S));
        bed.helper(1, on(4)).finish_at(S);
        let node = &bed.analyze().nodes[0];
        (node.ranks, node.processes, node.processors)
    };
    assert_eq!(of(2), (2, 3, 2));
    assert_eq!(of(0), (0, 1, 4), "or of all processes, where there are none");
}
