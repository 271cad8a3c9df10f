//! Findings about waiting, floods and helpers, and what a report concludes.

mod common;

use common::{Bed, KIB, MIB, MS, S, US};
use plimsoll_explain::{Finding, conclusion, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::{Layer, Op, Program};

fn find<'a>(found: &'a [Finding], id: &str) -> Option<&'a Finding> {
    found.iter().find(|finding| finding.id == id)
}

/// Four ranks make 400 collective writes of `length` bytes that take 20 ms each, of which a POSIX
/// call takes `inside`; the machine has this many processors.
fn collective(length: u64, inside: u64, processors: usize) -> Bed {
    let bed = Bed::new();
    for rank in 0..4u32 {
        let program = Program { processors: (0..processors).collect(), ..Program::default() };
        let mut process = bed.rank_with(rank, 4, program);
        for call in 0..400u64 {
            process.around(Op::MpiWriteAtAll, 1, 0, length, |process| {
                process.pause(20 * MS - inside);
                let at = (call * 4 + u64::from(rank)) * length;
                process.data(Op::Pwrite, 1, at, length, inside);
            });
        }
        process.finish_at(10 * S);
    }
    bed
}

#[test]
fn small_collective_calls_that_wait() {
    let bed = collective(4 * KIB, 20 * US, 2);
    let found = bed.findings();
    let waiting = find(&found, "waiting-in-mpi-io").unwrap();
    assert!((waiting.cost_seconds - 7.99).abs() < 0.02, "{}", waiting.cost_seconds);
    assert!(waiting.evidence[0].contains("inside MPI-IO calls for 8 s"), "{:?}", waiting.evidence);
    assert!(
        waiting.evidence[1].ends_with("for the exchange itself, not for late ranks"),
        "{:?}",
        waiting.evidence
    );
    assert_eq!(
        waiting.evidence[2],
        "they wait longest in MPI_File_write_at_all: 100 % of all waiting time, in 1,600 calls"
    );
    assert!(waiting.evidence[3].contains("4 ranks share 2 processors on node1"));
    assert!(waiting.advice[0].contains("no more ranks on a node than it has processors"));
    let small = find(&found, "small-collective-requests").unwrap();
    assert!((small.cost_seconds - 7.99).abs() < 0.02, "{}", small.cost_seconds);
    assert!(small.evidence[0].contains("4 KiB for each rank and 16 KiB for all 4 together"));
}

#[test]
fn oversubscription_is_named_only_where_it_is_known_and_so() {
    let crowded = |processors| {
        let found = collective(4 * KIB, 20 * US, processors).findings();
        let waiting = find(&found, "waiting-in-mpi-io").unwrap().clone();
        (waiting.evidence.len() == 4, waiting.advice.len() == 2)
    };
    assert_eq!(crowded(3), (true, true));
    assert_eq!(crowded(4), (false, false), "one processor for each rank");
    assert_eq!(crowded(0), (false, false), "not known");
}

/// Two ranks for each processor of node 1, fewer on node 2, where there are more of both.
#[test]
fn the_node_with_most_ranks_for_each_processor_is_named() {
    let bed = Bed::new();
    for rank in 0..10u32 {
        let (node, processors) = if rank < 4 { (1, 2) } else { (2, 4) };
        let program = Program { processors: (0..processors).collect(), ..Program::default() };
        let mut process = bed.rank_on_with(rank, 10, node, program);
        process.around(Op::MpiWriteAtAll, 1, 0, MIB, |process| {
            process.pause(S);
        });
        process.finish_at(2 * S);
    }
    let found = bed.findings();
    let waiting = find(&found, "waiting-in-mpi-io").unwrap();
    let said = "4 ranks share 2 processors on node1, and so on 1 other node, and";
    assert!(waiting.evidence.iter().any(|it| it.contains(said)), "{:?}", waiting.evidence);
}

#[test]
fn collective_calls_that_storage_explains_are_clean() {
    assert_eq!(collective(MIB, 15 * MS, 2).ids(), [""; 0]);
    let large = collective(MIB, 20 * US, 4).findings();
    assert!(find(&large, "small-collective-requests").is_none(), "4 MiB together");
    assert!(find(&large, "waiting-in-mpi-io").is_some(), "no POSIX call explains them");
}

#[test]
fn ranks_that_come_late_are_told_from_a_slow_exchange() {
    let bed = Bed::new();
    for rank in 0..4u32 {
        let mut process = bed.rank(rank, 4);
        for call in 0..10 {
            // Rank 0 computes for 900 ms before each call; the others wait for it inside.
            let end = (call + 1) * S;
            process.until(call * S + if rank == 0 { 900 * MS } else { 0 });
            process.around(Op::MpiWriteAtAll, 1, 0, MIB, |process| {
                process.until(end - 10 * MS).data(Op::Pwrite, 1, 0, MIB, 10 * MS);
            });
        }
        process.finish_at(10 * S);
    }
    let found = bed.findings();
    let waiting = find(&found, "waiting-in-mpi-io").unwrap();
    assert!(waiting.evidence[1].ends_with("mostly they wait for late ranks"));
    assert!(waiting.advice[0].contains("even out the work"), "{:?}", waiting.advice);
}

/// As HDF5 under Open MPI: two ranks open a file together for a second, and write without waiting.
#[test]
fn waiting_for_a_file_to_be_opened_is_no_matter_of_aggregators() {
    let bed = Bed::new();
    for rank in 0..2u32 {
        let mut process = bed.rank(rank, 2);
        process.around(Op::MpiOpen, 1, 0, 0, |process| {
            process.pause(S);
        });
        process.around(Op::MpiWriteAtAll, 1, 0, MIB, |process| {
            process.data(Op::Pwrite, 1, 0, MIB, 10 * MS);
        });
        process.finish_at(3 * S);
    }
    let mut launcher = bed.helper(1, Program::default());
    launcher.call(Op::Stat, 1, MS);
    launcher.finish_at(3 * S);
    let found = bed.findings();
    let waiting = find(&found, "waiting-in-mpi-io").unwrap();
    assert!(
        waiting.evidence[1].ends_with("the calls themselves take that long, and no rank is late")
    );
    assert!(waiting.evidence[1].starts_with("both ranks were inside"), "{:?}", waiting.evidence);
    assert!(waiting.evidence[2].starts_with("they wait longest in MPI_File_open"));
    let advice = waiting.advice.last().unwrap();
    assert!(advice.contains("open each file once") && !advice.contains("cb_nodes"), "{advice}");
}

#[test]
fn one_rank_waits_for_nobody() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.around(Op::MpiWriteAt, 1, 0, MIB, |rank| {
        rank.pause(5 * S);
    });
    rank.finish_at(10 * S);
    assert!(find(&bed.findings(), "waiting-in-mpi-io").is_none());
}

/// `calls` prints of 20 bytes in `nanos` each, of which every 200th empties the buffer for `flush`.
fn prints(calls: u64, nanos: u64, flush: u64) -> Bed {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for call in 0..calls {
        let nanos = if call % 200 == 199 { flush } else { nanos };
        rank.data(Op::Fprintf, 2, call * 20, 20, nanos);
    }
    let end = rank.now * 10 / 9;
    rank.finish_at(end);
    bed
}

#[test]
fn a_flood_of_prints() {
    let found = prints(600_000, 2 * US, 10 * US).findings();
    let flood = find(&found, "stdio-flood").unwrap();
    // 1.2 s of prints, less what 12 MB take at 1 GiB/s.
    assert!((flood.cost_seconds - 1.189).abs() < 0.01, "{}", flood.cost_seconds);
    assert!(flood.evidence[0].starts_with("600,000 stdio writes of 20 B"), "{:?}", flood.evidence);
    assert!(flood.evidence[1].contains("fprintf"), "{:?}", flood.evidence);
    assert_eq!(prints(50_000, 2 * US, 10 * US).ids(), [""; 0], "too few");
    let slow_disk = prints(200_000, 100, 10 * MS).findings();
    assert!(find(&slow_disk, "stdio-flood").is_none(), "the storage is slow, not the prints");
}

/// Two ranks that open and close 1000 files each in 1 ms, with and without a launcher's helpers.
fn metadata(helpers: u32) -> Bed {
    let bed = Bed::new();
    for rank in 0..2 {
        let mut process = bed.rank(rank, 2);
        for file in 3..1003 {
            process.define(DefinitionKind::File, file, 0, &format!("/data/{rank}/{file}"));
            process.call(Op::Open, file, 900 * US).call(Op::Close, file, 100 * US);
        }
        process.finish_at(4 * S);
    }
    for number in 1..=helpers {
        let mut helper = bed.helper(number, Program::default());
        helper.call(Op::Stat, 1, 50 * US).call(Op::Close, 0, US);
        helper.finish_at(4 * S);
    }
    bed
}

#[test]
fn a_launchers_helpers_do_not_dilute_costs() {
    let cost = |helpers| {
        let found = metadata(helpers).findings();
        find(&found, "metadata-storm").unwrap().cost_seconds
    };
    assert!((cost(0) - 1.0).abs() < 1e-9, "{}", cost(0));
    assert!((cost(0) - cost(9)).abs() < 0.001, "{} and {}", cost(0), cost(9));
}

fn concluded(bed: &Bed) -> String {
    let analysis = bed.analyze();
    conclusion(&analysis, &findings(&analysis))
}

/// One rank that writes and syncs for so long, of 10 s.
fn writer(write: u64, sync: u64) -> Bed {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Pwrite, 2, 0, 64 * MIB, write).call(Op::Fsync, 2, sync);
    rank.finish_at(10 * S);
    bed
}

#[test]
fn nothing_costs_much_only_when_io_takes_little() {
    assert_eq!(
        concluded(&writer(200 * MS, 100 * MS)),
        "I/O took 3 % of the run time of 1 process: write 2 %, sync 1 %. Nothing costs this \
         program much."
    );
    assert_eq!(
        concluded(&writer(4 * S, 2 * S)),
        "I/O took 60 % of the run time of 1 process: write 40 %, sync 20 %. No known fault \
         explains it: this is what the calls themselves take, mostly on /private.0 (100 %)."
    );
    let ends =
        |write: u64| concluded(&writer(write, 0)).ends_with("Nothing costs this program much.");
    assert!(ends(500 * MS), "a twentieth");
    assert!(!ends(501 * MS));
    let empty = Bed::new();
    empty.rank(0, 1).finish_at(S);
    assert_eq!(concluded(&empty), "No I/O call on a file of the program itself was recorded.");
}

/// MPI moves the data of some of these calls within them, and of others later, within MPI_Wait.
#[test]
fn what_a_nonblocking_call_has_begun_counts_once() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..10 {
        let at = block * 2 * MIB;
        rank.around(Op::MpiIwriteAt, 1, at, MIB, |rank| {
            rank.data(Op::Pwrite, 1, at, MIB, MS);
        });
        rank.around(Op::MpiIwriteAt, 1, at + MIB, MIB, |_| {});
        rank.data(Op::Pwrite, 1, at + MIB, MIB, 3 * MS);
        // Its own calls on other files are its own.
        rank.data(Op::Pwrite, 2, at, MIB / 2, MS).data(Op::Pread, 1, at, MIB, MS);
    }
    // All that was begun is there, so that this is its own, too.
    rank.data(Op::Pwrite, 1, 0, MIB, MS);
    rank.finish_at(10 * S);
    let analysis = bed.analyze();
    let write = analysis.headlines[1];
    assert_eq!((write.layer, write.bytes, write.all_bytes), (Some(Layer::Mpi), 20 * MIB, 26 * MIB));
    assert_eq!(analysis.headlines[0].bytes, 10 * MIB);
    // While it waits for the data as well, ten times 1 ms and 3 ms.
    assert!((write.data_busy.unwrap().seconds - 0.04).abs() < 0.001, "{write:?}");
    let concluded = concluded(&bed);
    assert!(
        concluded.contains("20 calls of MPI-IO may return before the data is moved"),
        "{concluded}"
    );
    assert!(!concluded.contains("Nothing costs this program much"), "{concluded}");
}

#[test]
fn a_storm_that_is_too_short_is_not_called_unknown() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..20 {
        rank.data(Op::Write, 2, block * 64 * KIB, 64 * KIB, MS / 10).call(Op::Fsync, 2, 2 * MS);
    }
    rank.finish_at(50 * MS);
    assert_eq!(
        concluded(&bed),
        "I/O took 84 % of the run time of 1 process: sync 80 %. It looks like fsync-storm (about \
         34.3 ms), but less than 50 ms may be noise: record a longer run to be sure."
    );
}

#[test]
fn the_conclusion_names_the_worst_finding_and_what_it_leaves_open() {
    let storm = metadata(3);
    assert_eq!(
        concluded(&storm),
        "I/O took 25 % of the run time of 2 processes: metadata 25 %. One finding, \
         metadata-storm, costs about 1 s."
    );
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..100 {
        rank.data(Op::Write, 2, block * KIB, KIB, 60 * MS).call(Op::Fsync, 2, 9 * MS);
    }
    rank.finish_at(10 * S);
    assert_eq!(
        concluded(&bed),
        "I/O took 69 % of the run time of 1 process: write 60 %, sync 9 %. One finding, \
         fsync-storm, costs about 889 ms; most of the I/O time is what the calls themselves \
         take, mostly on /private.0 (100 %)."
    );
}

#[test]
fn the_conclusion_names_what_has_a_twentieth_of_the_time() {
    let told = concluded(&writer(950 * MS, 50 * MS));
    assert!(told.contains(": write 9.5 %, sync 0.5 %."), "{told}");
    let told = concluded(&writer(951 * MS, 49 * MS));
    assert!(told.contains(": write 9.51 %."), "{told}");
}

/// Locks of 10 ms each, beside a long write; a finding that explains half of the time explains it.
#[test]
fn a_finding_leaves_nothing_open_that_explains_half_of_the_time() {
    let told = |locks: u64, write: u64, run: u64| {
        let bed = Bed::new();
        let mut rank = bed.rank(0, 1);
        rank.data(Op::Pwrite, 2, 0, 64 * MIB, write);
        for _ in 0..locks {
            rank.call(Op::Flock, 2, 10 * MS);
        }
        rank.finish_at(run);
        concluded(&bed)
    };
    assert!(told(100, S, 10 * S).ends_with("lock-contention, costs about 1 s."));
    let open =
        "; most of the I/O time is what the calls themselves take, mostly on /private.0 (100 %).";
    assert!(told(100, 1010 * MS, 10 * S).ends_with(open), "{}", told(100, 1010 * MS, 10 * S));
    let little = told(20, 300 * MS, 10 * S);
    assert!(little.ends_with("costs about 200 ms."), "a twentieth of the run in all: {little}");
}

#[test]
fn half_of_the_time_is_most_of_it() {
    let two = Bed::new();
    let mut rank = two.rank(0, 1);
    rank.data(Op::Pwrite, 1, 0, 64 * MIB, S).data(Op::Pwrite, 2, 0, 64 * MIB, S);
    rank.finish_at(10 * S);
    let told = concluded(&two);
    assert!(told.ends_with("take, mostly on /shared (50 %)."), "{told}");
    let three = Bed::new();
    for number in 0..3 {
        let mut rank = three.rank(number, 3);
        rank.data(Op::Pwrite, 2, 0, 64 * MIB, 3 * S).call(Op::Stat, 1, 0);
        rank.finish_at(10 * S);
    }
    let spread = concluded(&three);
    assert!(spread.ends_with("spread over 3 files, 33.3 % of it on /private.0."), "{spread}");
}

/// "Most of it on FILE (17 %)" contradicted itself, and waiting for asynchronous calls is on no file.
#[test]
fn the_conclusion_names_a_file_only_where_that_says_something() {
    let bed = Bed::new();
    for number in 0..4 {
        let mut rank = bed.rank(number, 4);
        rank.data(Op::Write, 2, 0, MIB, u64::from(number + 1) * S);
        rank.finish_at(10 * S);
    }
    let told = concluded(&bed);
    assert!(told.ends_with("spread over 4 files, 40 % of it on /private.3."), "{told}");
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.call(Op::AioWait, 0, 5 * S);
    rank.finish_at(10 * S);
    let told = concluded(&bed);
    assert!(told.ends_with("this is what the calls themselves take."), "{told}");
}

#[test]
fn a_share_of_nothing_is_not_held_against_writers() {
    // Writes queue, as their steps say, though no moment has a single writer.
    let bed = Bed::new();
    for rank in 0..4u64 {
        let mut process = bed.rank(rank as u32, 4);
        for round in 0..100u64 {
            process.until(round * 90 * MS);
            let at = (round * 4 + rank) * 128 * KIB;
            process.data(Op::Pwrite, 1, at, 128 * KIB, (rank + 1) * 20 * MS);
        }
        process.finish_at(10 * S);
    }
    let found = bed.findings();
    let serial = find(&found, "serialized-shared-writes").unwrap();
    let text = serial.evidence.join("\n");
    assert!(text.contains("the writes queue") && !text.contains("0 %"), "{text}");
}
