//! Each measure on a recording whose answer can be worked out by hand.

mod common;

use common::{Bed, KIB, MIB, MS, S, US, close};
use plimsoll_explain::{
    Activity, CallKind, Direction, Options, Recording, analyze, call_on_each_rank,
};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::{Class, Layer, Op};

const WRITE: Direction = Direction::Write;

/// Two ranks write 4 blocks of 1 MiB each into a shared file, rank 1 half a second later.
fn two_writers() -> Bed {
    let bed = Bed::new();
    for rank in 0..2 {
        let mut writer = bed.rank(rank, 2);
        writer.call(Op::Open, 1, 10 * MS).until(S + u64::from(rank) * S / 2);
        for block in 0..4 {
            let offset = (u64::from(rank) * 4 + block) * MIB;
            writer.data(Op::Pwrite, 1, offset, MIB, 250 * MS);
        }
        writer.fail(Op::Stat, 0, 5 * MS).call(Op::Close, 1, MS);
        writer.finish_at(4 * S);
    }
    bed
}

#[test]
fn totals_add_up_by_operation_file_process_and_node() {
    let analysis = two_writers().analyze();
    let writes = analysis.totals.data(Layer::Posix, Some(WRITE));
    assert_eq!((writes.calls, writes.bytes, writes.nanos), (8, 8 * MIB, 2 * S));
    assert_eq!(analysis.totals.class(Layer::Posix, Class::Metadata).errors, 2);
    assert_eq!((analysis.events, analysis.lost_events), (16, 0));
    assert!(close(analysis.span_seconds, 4.0));
    assert_eq!(analysis.clock_error_seconds, Some(0.0));

    let file = &analysis.files[0];
    assert_eq!((file.path.as_str(), file.writers, file.readers), ("/shared", 2, 0));
    assert!(file.is_shared());
    assert_eq!(file.ops.data(Layer::Posix, Some(WRITE)).calls, 8);
    assert!(close(file.own.total_seconds(), 2.022), "{:?}", file.own);

    assert_eq!(analysis.processes.len(), 2);
    assert_eq!(analysis.processes[1].rank, Some(1));
    assert_eq!(analysis.processes[1].own.bytes(Direction::Write), 4 * MIB);
    assert!(close(analysis.processes[1].own.seconds(Class::Write), 1.0));
    assert_eq!((analysis.nodes.len(), analysis.nodes[0].processes), (1, 2));
    assert_eq!(analysis.nodes[0].ops.data(Layer::Posix, None).bytes, 8 * MIB);
}

#[test]
fn bandwidths_follow_their_definitions() {
    let analysis = two_writers().analyze();
    let posix = analysis.bandwidth(Layer::Posix, WRITE).unwrap();
    let bytes = (8 * MIB) as f64;
    assert!(close(posix.effective().unwrap(), bytes / 2.0), "sum of durations");
    assert!(close(posix.perceived().unwrap(), bytes / 1.5), "1.0 s to 2.5 s");
    assert_eq!(analysis.bandwidth(Layer::Mpi, WRITE), None);
    let of_file = analysis.files[0].bandwidth(Layer::Posix, WRITE).unwrap();
    assert!(close(of_file.perceived().unwrap(), bytes / 1.5));
    // The bounds of the thesis (4.1).
    let ranks = 2.0;
    assert!(posix.perceived().unwrap() <= posix.effective().unwrap() * ranks + 1.0);
}

#[test]
fn gaps_do_not_count_as_perceived_but_do_from_first_to_last() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for second in 0..4 {
        rank.until(second * S).data(Op::Pread, 2, second * MIB, MIB, 100 * MS);
    }
    rank.finish_at(4 * S);
    let analysis = bed.analyze();
    let read = analysis.headline(Direction::Read);
    let busy = read.busy.unwrap();
    assert!(close(busy.seconds, 0.4) && busy.at_least_seconds == busy.at_most_seconds);
    assert!(close(read.first_to_last_seconds, 3.1));
    assert_eq!(analysis.phases.len(), 4);
    let phase = &analysis.phases[2];
    assert!((phase.start_seconds - 2.0).abs() < 2.0 * analysis.resolution_seconds);
    assert!((phase.seconds() - 0.1).abs() < 2.0 * analysis.resolution_seconds);
    assert_eq!((phase.read_bytes, phase.written_bytes), (MIB, 0));
    let joined = Options { phase_gap_share: 0.3, ..Options::default() };
    assert_eq!(analyze(&bed.open(), &joined).unwrap().phases.len(), 1);
}

#[test]
fn patterns_sizes_jumps_and_alignment() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..10 {
        rank.data(Op::Pwrite, 1, block * 4096, 4096, US);
    }
    for block in 0..10 {
        rank.data(Op::Pread, 2, block * 100_000, 1000, US);
    }
    rank.finish_at(S);
    let analysis = bed.analyze();
    let [reads, writes] = &analysis.access;
    assert_eq!(writes.shares().unwrap().sequential, 1.0);
    assert_eq!(reads.shares().unwrap().strided, 1.0);
    assert_eq!(
        (writes.unaligned_page_share(), writes.unaligned_stripe_share()),
        (Some(0.0), Some(1.0))
    );
    assert_eq!(reads.unaligned_page_share(), Some(1.0));
    assert_eq!(analysis.jumps[1].forward()[0], 9);
    assert_eq!(analysis.jumps[0].forward()[plimsoll_explain::class_of(99_000)], 9);
    let sizes = &analysis.request_sizes;
    assert_eq!(sizes.len(), 2);
    let (start, volume) = sizes[1].histogram.non_empty().next().unwrap();
    assert_eq!((sizes[1].direction, start, volume.calls), (Direction::Write, 4096, 10));
    let detail = analysis.files[0].detail.as_ref().unwrap();
    assert_eq!((detail.samples.len(), detail.sampled_from), (10, 10));
    assert!(detail.samples.windows(2).all(|pair| pair[0].start_ns < pair[1].start_ns));
}

#[test]
fn bytes_touched_again_are_counted_by_process_and_file() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Pwrite, 1, 0, 100 * KIB, MS).data(Op::Pwrite, 1, 50 * KIB, 100 * KIB, MS);
    rank.data(Op::Pread, 1, 0, 10 * KIB, MS).data(Op::Pread, 1, 0, 10 * KIB, MS);
    rank.finish_at(S);
    let analysis = bed.analyze();
    let [reads, writes] = &analysis.repeated;
    assert_eq!((writes.repeated, writes.bytes, writes.is_estimate), (50 * KIB, 200 * KIB, false));
    assert_eq!((reads.repeated, reads.share()), (10 * KIB, Some(0.5)));
    assert_eq!(analysis.read_and_written_bytes, 10 * KIB);
}

/// A sieved MPI write: lock, read, write, unlock, and 20 ms of something else.
fn sieved(bed: &Bed) {
    let mut rank = bed.rank(0, 1);
    rank.around(Op::MpiWriteAt, 1, 7, 100, |rank| {
        rank.pause(MS);
        rank.call(Op::Lock, 1, 10 * MS).data(Op::Pread, 1, 0, 512 * KIB, 30 * MS);
        rank.data(Op::Pwrite, 1, 0, 512 * KIB, 40 * MS).call(Op::Unlock, 1, 5 * MS);
        rank.call(Op::Lseek, 1, 2 * MS).pause(19 * MS);
    });
    rank.around(Op::MpiClose, 1, 0, 0, |rank| {
        rank.pause(MS).call(Op::Close, 1, 3 * MS);
    });
    rank.finish_at(S);
}

#[test]
fn the_time_of_mpi_calls_is_taken_apart() {
    let bed = Bed::new();
    sieved(&bed);
    let analysis = bed.analyze();
    let (op, time) = analysis.mpi_time_by_op.iter().find(|(op, _)| *op == Op::MpiWriteAt).unwrap();
    assert_eq!((*op, time.calls, time.nanos), (Op::MpiWriteAt, 1, 107 * MS));
    assert_eq!((time.read_nanos, time.write_nanos), (30 * MS, 40 * MS));
    assert_eq!((time.lock_nanos, time.unlock_nanos), (10 * MS, 5 * MS));
    assert_eq!((time.other_nanos, time.waiting_nanos()), (2 * MS, 20 * MS));
    assert_eq!((analysis.mpi_time.calls, analysis.mpi_time.other_nanos), (2, 5 * MS));
    assert_eq!(analysis.mpi_time_by_op.len(), 2, "MPI_File_write_at and MPI_File_close");
    assert_eq!((analysis.sieving.cycles, analysis.sieving.overhead_nanos), (1, 45 * MS));

    assert_eq!(analysis.slow_calls.len(), 1, "closing is no data call");
    let call = &analysis.slow_calls[0];
    let nested: Vec<Op> = call.nested.iter().map(|nested| nested.op).collect();
    assert_eq!(nested, [Op::Lock, Op::Pread, Op::Pwrite, Op::Unlock, Op::Lseek]);
    assert_eq!((call.rank, call.number, call.length), (Some(0), 1, 100));
    assert_eq!(call.nested[2].start_ns, 41 * MS);
    // The program's own time is that of its MPI calls; what is inside counts once.
    assert!(close(analysis.own.total_seconds(), 0.111));
}

#[test]
fn a_collective_call_is_found_on_each_rank() {
    let bed = Bed::new();
    for rank in 0..3u64 {
        let mut process = bed.rank(rank as u32, 3);
        for round in 1..5 {
            process.until(round * 100 * MS).around(Op::MpiWriteAll, 1, 0, MIB, |process| {
                process.pause(MS).data(Op::Pwrite, 1, rank * MIB, MIB, round * 10 * MS + rank * MS);
            });
        }
        process.finish_at(S);
    }
    let (recording, analysis) = (bed.open(), bed.analyze());
    let slowest = &analysis.slow_calls[0];
    assert_eq!((slowest.rank, slowest.number, slowest.nanos), (Some(2), 4, 43 * MS));
    let calls = call_on_each_rank(&recording, slowest, 2);
    let nanos: Vec<u64> = calls.iter().map(|call| call.time.write_nanos).collect();
    assert_eq!(nanos, [40 * MS, 41 * MS, 42 * MS]);
    assert_eq!(&calls[2], slowest);
    assert!(calls.iter().all(|call| call.nested.len() == 1 && call.time.waiting_nanos() == MS));
}

#[test]
fn the_timeline_shows_leaves_and_waiting() {
    let bed = Bed::new();
    sieved(&bed);
    let analysis = bed.analyze();
    let row = &analysis.timeline.rows[0];
    let seconds = |activity: Activity| {
        let sum: f64 = row.shares.iter().map(|shares| shares[activity as usize]).sum();
        sum * analysis.timeline.bin_seconds
    };
    for (activity, expected) in [
        (Activity::Read, 0.030),
        (Activity::Write, 0.040),
        (Activity::Lock, 0.015),
        (Activity::Metadata, 0.003),
        (Activity::MpiWaiting, 0.021),
        (Activity::Other, 0.002),
    ] {
        assert!((seconds(activity) - expected).abs() < 1e-4, "{activity:?} {}", seconds(activity));
    }
}

#[test]
fn writes_in_flight_and_stepping() {
    let bed = Bed::new();
    // Four ranks start together; their writes finish one after the other, again and again.
    for rank in 0..4u64 {
        let mut writer = bed.rank(rank as u32, 4);
        for round in 0..20 {
            writer.until(round * 100 * MS);
            writer.data(Op::Pwrite, 1, (round * 4 + rank) * MIB, MIB, (rank + 1) * 20 * MS);
        }
        writer.finish_at(2 * S);
    }
    let analysis = bed.analyze();
    let flight = analysis.in_flight.iter().find(|f| f.kind == CallKind::Write).unwrap();
    let most = flight.max.iter().copied().fold(0.0, f64::max);
    assert!(close(most, 4.0), "{most}");
    let written: f64 = flight.mean.iter().sum::<f64>() * flight.bin_seconds;
    assert!((written - 4.0).abs() < 0.02, "20 rounds of 20+40+60+80 ms: {written}");
    let serial = analysis.files[0].detail.as_ref().unwrap().serialisation.unwrap();
    assert!((serial.scaling.unwrap() - 1.0).abs() < 0.15, "{serial:?}");
    assert!((serial.waiting_seconds - 20.0 * 0.120).abs() < 0.05, "{serial:?}");
}

#[test]
fn metadata_and_syncs_have_rates() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..8 {
        rank.call(Op::Open, 2, MS).data(Op::Write, 2, block * MIB, MIB, MS);
        rank.call(Op::Fsync, 2, 10 * MS).call(Op::Close, 2, MS);
    }
    rank.call(Op::Fflush, 2, MS);
    rank.finish_at(2 * S);
    let metadata = bed.analyze().metadata;
    assert_eq!((metadata.calls, metadata.syncs, metadata.synced_files), (16, 8, 1));
    assert!(close(metadata.calls_per_second, 8.0));
    assert!(metadata.peak_calls_per_second > 100.0);
    assert_eq!((metadata.syncs_per_file, metadata.syncs_per_mib), (Some(8.0), Some(1.0)));
    assert!(close(metadata.sync_seconds, 0.080));
}

#[test]
fn threads_of_a_process_are_streams_of_their_own() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for thread in [1, 2] {
        rank.thread = thread;
        rank.now = 0;
        for block in 0..5 {
            rank.data(Op::Pwrite, 1, u64::from(thread) * 100 * MIB + block * MIB, MIB, 100 * MS);
        }
    }
    rank.finish_at(S);
    let analysis = bed.analyze();
    assert_eq!(analysis.access[1].first.calls, 2);
    assert_eq!(analysis.access[1].sequential.calls, 8);
    let busy = analysis.bandwidth(Layer::Posix, WRITE).unwrap().busy.unwrap();
    assert!((busy.seconds - 0.5).abs() < 1e-3, "both at the same time: {busy:?}");
}

#[test]
fn hints_notes_losses_and_files_beyond_the_limit() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.define(DefinitionKind::Hint, 1, 0, "romio_cb_write=enable");
    rank.define(DefinitionKind::Note, 0, 0, "io_uring was used and is not recorded");
    rank.define(DefinitionKind::MpiLibrary, 0, 0, "MPICH 4.0.2");
    rank.writer.set_lost([3, 4, 0, 0, 0, 0, 0, 0]);
    for file in 3..9 {
        rank.define(DefinitionKind::File, file, 0, &format!("/many/{file}"));
        rank.data(Op::Pwrite, file, 0, 10, u64::from(file) * MS);
    }
    rank.data(Op::Pwrite, 1, 0, 10, MS);
    rank.finish();
    let recording = Recording::open_with_limit(bed.path(), 5).unwrap();
    let options = Options { detailed_files: 2, ..Options::default() };
    let analysis = analyze(&recording, &options).unwrap();
    assert_eq!((analysis.lost_events, analysis.folded_files, analysis.detailed_files), (7, 3, 2));
    assert_eq!(analysis.files_used(), 7, "six of many, and the shared one");
    assert!(
        analysis.warnings[0].starts_with("3 of 8 files are added up"),
        "{:?}",
        analysis.warnings
    );
    assert!(analysis.warnings[1].starts_with("7 events of rank 0 are missing: 3 in signal"));
    let other = analysis.files.iter().find(|file| file.path == "(other files)").unwrap();
    assert_eq!(other.ops.data(Layer::Posix, None).calls, 3, "files 6, 7 and 8");
    assert!(other.detail.is_some() && analysis.files[0].id == other.id, "most time");
    let shared = analysis.files.iter().find(|file| file.path == "/shared").unwrap();
    assert_eq!(shared.hints, ["romio_cb_write=enable"]);
    assert!(shared.detail.is_none() && shared.bandwidths[0].busy.is_none());
    assert_eq!(recording.notes().count() + recording.mpi_libraries().count(), 2);
}

/// Several writers of files that are added up do not write one file.
#[test]
fn files_that_are_added_up_are_not_shared() {
    let bed = Bed::new();
    for rank in 0..2 {
        let mut writer = bed.rank(rank, 2);
        writer.data(Op::Pwrite, 1, 0, MIB, 100 * MS).data(Op::Pwrite, 2, 0, MIB, 100 * MS);
        writer.finish_at(S);
    }
    let recording = Recording::open_with_limit(bed.path(), 1).unwrap();
    let analysis = analyze(&recording, &Options::default()).unwrap();
    let is_looked_at = |path: &str| {
        let file = analysis.files.iter().find(|file| file.path == path).unwrap();
        assert_eq!(file.direct_writers, 2, "{path}");
        file.detail.as_ref().unwrap().serialisation.is_some()
    };
    assert!(is_looked_at("/shared"));
    assert!(!is_looked_at("(other files)"));
    assert_eq!(analysis.processes[0].files, 1, "nor are they a file");
}

/// A process may name a file again under its number, or another one if its file is damaged.
#[test]
fn what_a_number_meant_first_is_what_it_means() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for path in ["/first", "/first", "/second", "/third"] {
        rank.define(DefinitionKind::File, 3, 0, path);
    }
    rank.define(DefinitionKind::File, 9, 0, "/beyond");
    rank.data(Op::Pwrite, 3, 0, MIB, 100 * MS).data(Op::Pwrite, 9, 0, MIB, 50 * MS);
    rank.data(Op::Pwrite, 7, 0, MIB, 20 * MS);
    rank.finish_at(S);
    // Room for /shared, /private.0, /first and /second.
    let recording = Recording::open_with_limit(bed.path(), 4).unwrap();
    let analysis = analyze(&recording, &Options::default()).unwrap();
    let written: Vec<(&str, u64)> =
        analysis.files.iter().map(|file| (file.path.as_str(), file.own.bytes(WRITE))).collect();
    assert_eq!(written, [("/first", MIB), ("(other files)", MIB), ("(no known file)", MIB)]);
}
