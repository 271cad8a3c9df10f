//! How fast a program reads and writes: which layer counts, and until when it writes.

mod common;

use common::{Bed, KIB, MIB, MS, S, US, close};
use plimsoll_explain::{CallKind, Direction, Headline};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::{Layer, Op};

const READ: Direction = Direction::Read;
const WRITE: Direction = Direction::Write;

/// One rank that does this and ends after 10 s.
fn one(work: impl FnOnce(&mut common::Rank)) -> Bed {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    work(&mut rank);
    rank.finish_at(10 * S);
    bed
}

fn headline(bed: &Bed, direction: Direction) -> Headline {
    *bed.analyze().headline(direction)
}

fn mib_per_second(rate: Option<f64>) -> f64 {
    rate.unwrap() / MIB as f64
}

#[test]
fn three_bytes_of_a_stream_do_not_make_the_headline() {
    // An interpreter reads 3 bytes by stdio; the program moves 676 MiB by POSIX.
    let bed = one(|rank| {
        rank.data(Op::Fread, 1, 0, 3, 5 * MS);
        for block in 0..676 {
            rank.data(Op::Pread, 2, block * MIB, MIB, MS);
        }
    });
    let read = headline(&bed, READ);
    assert_eq!(
        (read.layer, read.bytes, read.all_bytes),
        (Some(Layer::Posix), 676 * MIB, 676 * MIB + 3)
    );
    assert!(close(mib_per_second(read.perceived()), 1000.0), "{read:?}");
    let write = headline(&bed, WRITE);
    assert_eq!((write.layer, write.perceived(), write.first_to_last()), (None, None, None));
    assert_eq!((write.data_only(), write.effective_posix), (None, None));
}

#[test]
fn writing_lasts_until_data_is_durable() {
    // 4 MiB in 5.56 ms of writes and 1.9 s of fsync.
    let bed = one(|rank| {
        for block in 0..4 {
            rank.data(Op::Pwrite, 1, block * MIB, MIB, 1390 * US);
        }
        rank.call(Op::Fsync, 1, 1900 * MS);
    });
    let write = headline(&bed, WRITE);
    assert!((mib_per_second(write.perceived()) - 2.1).abs() < 0.01, "{write:?}");
    assert!((mib_per_second(write.data_only()) - 719.4).abs() < 0.1, "{write:?}");
    assert!(close(write.first_to_last_seconds, 1.90556));
    assert!((mib_per_second(write.effective_posix) - 719.4).abs() < 0.1, "data calls only");
    let of_file = bed.analyze().files[0].headlines[1];
    assert!(close(of_file.perceived().unwrap(), write.perceived().unwrap()));
}

/// Seconds of writing 1 MiB in 100 ms, and then this.
fn writing_and(op: Op, then: impl FnOnce(&mut common::Rank)) -> f64 {
    let bed = one(|rank| {
        rank.data(op, 1, 0, MIB, 100 * MS);
        then(rank);
    });
    let write = headline(&bed, WRITE);
    assert!(close(write.data_busy.unwrap().seconds, 0.1), "{write:?}");
    write.busy.unwrap().seconds
}

/// Seconds of writing 1 MiB in 100 ms, and then of one more call of 50 ms.
fn writing_then(write: Op, then: Op, file: u32) -> f64 {
    writing_and(write, |rank| {
        rank.call(then, file, 50 * MS);
    })
}

#[test]
fn calls_that_make_data_durable_are_those_on_files_that_were_written() {
    for (write, then, file, expected) in [
        (Op::Pwrite, Op::Fsync, 1, 0.15),
        (Op::Pwrite, Op::Fdatasync, 1, 0.15),
        (Op::Pwrite, Op::SyncFileRange, 1, 0.15),
        (Op::Pwrite, Op::Msync, 1, 0.15),
        (Op::Pwrite, Op::Close, 1, 0.15),
        (Op::Fwrite, Op::Fflush, 1, 0.15),
        (Op::Fwrite, Op::Fclose, 1, 0.15),
        (Op::Fwrite, Op::Fsync, 1, 0.15),
        (Op::MpiWriteAt, Op::MpiSync, 1, 0.15),
        (Op::MpiWriteAt, Op::MpiClose, 1, 0.15),
        (Op::Pwrite, Op::Sync, 0, 0.15), // all files at once, by a call that names none
        (Op::Pwrite, Op::Close, 2, 0.1), // a file that was not written
        (Op::Pwrite, Op::Stat, 1, 0.1),  // makes nothing durable
    ] {
        let seconds = writing_then(write, then, file);
        assert!(close(seconds, expected), "{} and {}: {seconds}", write.name(), then.name());
    }
    let read_again = writing_and(Op::Pwrite, |rank| {
        rank.call(Op::Close, 1, 50 * MS).call(Op::Open, 1, MS);
        rank.data(Op::Pread, 1, 0, MIB, MS).call(Op::Close, 1, 50 * MS);
    });
    assert!(close(read_again, 0.15), "closed after reading is not written: {read_again}");
    let inside = writing_and(Op::MpiWriteAt, |rank| {
        rank.around(Op::MpiSetView, 1, 0, 0, |rank| {
            rank.pause(MS).call(Op::Fsync, 1, 50 * MS);
        });
    });
    assert!(close(inside, 0.1), "calls inside MPI-IO are its own business: {inside}");
}

#[test]
fn another_process_may_make_data_durable() {
    let bed = Bed::new();
    let mut writer = bed.rank(0, 2);
    writer.data(Op::Pwrite, 1, 0, MIB, 100 * MS);
    writer.finish_at(S);
    let mut syncer = bed.rank(1, 2);
    syncer.until(200 * MS).call(Op::Fsync, 1, 100 * MS);
    syncer.finish_at(S);
    let write = headline(&bed, WRITE);
    assert!(close(write.busy.unwrap().seconds, 0.2), "{write:?}");
    assert!(close(write.first_to_last_seconds, 0.3), "{write:?}");
}

/// numpy reads arrays by stdio and their headers by POSIX: 91 MiB beside a slow 40 KiB.
#[test]
fn a_layer_that_moved_little_has_no_effective_bandwidth() {
    let with = |posix: u64| {
        let bed = one(|rank| {
            rank.data(Op::Fread, 1, 0, MIB, 10 * MS).data(Op::Pread, 1, 0, posix, 10 * MS);
        });
        headline(&bed, READ).effective_posix
    };
    assert_eq!(with(MIB / 2 - 1), None);
    assert!(close(with(MIB / 2).unwrap(), (MIB / 2) as f64 / 0.01));
}

#[test]
fn what_mpi_io_moves_by_posix_counts_as_mpi_io() {
    // Data sieving: 1000 bytes of the program become 512 KiB read and written.
    let bed = one(|rank| {
        rank.around(Op::MpiWriteAt, 1, 0, 1000, |rank| {
            rank.pause(MS).data(Op::Pread, 1, 0, 512 * KIB, 10 * MS);
            rank.data(Op::Pwrite, 1, 0, 512 * KIB, 10 * MS);
        });
    });
    let write = headline(&bed, WRITE);
    assert_eq!((write.layer, write.bytes), (Some(Layer::Mpi), 1000));
    assert!(close(write.busy.unwrap().seconds, 0.021));
    assert!(close(write.effective_mpi.unwrap(), 1000.0 / 0.021));
    assert!(close(write.effective_posix.unwrap(), (512 * KIB) as f64 / 0.010));
    let read = headline(&bed, READ);
    assert_eq!((read.layer, read.effective_posix), (None, None), "the program reads nothing");
}

#[test]
fn each_direction_and_each_file_has_its_own_layer() {
    let bed = one(|rank| {
        rank.data(Op::Fread, 1, 0, 10 * MIB, 100 * MS);
        rank.data(Op::Pwrite, 2, 0, 9 * MIB, 100 * MS);
        rank.data(Op::Fwrite, 1, 0, MIB, 50 * MS);
    });
    let analysis = bed.analyze();
    assert_eq!(analysis.headline(READ).layer, Some(Layer::Stdio));
    let write = analysis.headline(WRITE);
    assert_eq!(
        (write.layer, write.bytes, write.all_bytes),
        (Some(Layer::Posix), 9 * MIB, 10 * MIB)
    );
    assert!(close(write.busy.unwrap().seconds, 0.1), "the stream's time is not of this layer");
    let layer = |path: &str| {
        let file = analysis.files.iter().find(|file| file.path == path).unwrap();
        file.headlines[1].layer
    };
    assert_eq!((layer("/shared"), layer("/private.0")), (Some(Layer::Stdio), Some(Layer::Posix)));
}

#[test]
fn split_collective_calls_move_data_until_their_end() {
    let bed = one(|rank| {
        rank.data(Op::MpiWriteAllBegin, 1, 0, MIB, 10 * MS);
        rank.pause(500 * MS).call(Op::MpiWriteAllEnd, 1, 40 * MS);
        rank.data(Op::MpiReadAllBegin, 1, 0, MIB, 10 * MS);
        rank.pause(500 * MS).call(Op::MpiReadAllEnd, 1, 30 * MS);
    });
    let (read, write) = (headline(&bed, READ), headline(&bed, WRITE));
    assert!(
        close(write.busy.unwrap().seconds, 0.05) && close(write.data_busy.unwrap().seconds, 0.05)
    );
    assert!(close(write.first_to_last_seconds, 0.55));
    assert!(close(read.busy.unwrap().seconds, 0.04), "{read:?}");
}

#[test]
fn a_log_does_not_stretch_first_to_last() {
    let bed = one(|rank| {
        rank.define(DefinitionKind::File, 3, 0, "/run.log");
        rank.data(Op::Pwrite, 1, 0, 100 * MIB, 100 * MS);
        rank.until(9 * S).data(Op::Write, 3, 0, 60, US);
    });
    let write = headline(&bed, WRITE);
    assert!(close(write.first_to_last_seconds, 0.1));
    assert!(close(mib_per_second(write.first_to_last()), 1000.0));
}

#[test]
fn calls_in_flight_have_sync_and_metadata_apart() {
    let bed = one(|rank| {
        rank.call(Op::Open, 1, 100 * MS).data(Op::Pwrite, 1, 0, MIB, 200 * MS);
        rank.call(Op::Fsync, 1, 300 * MS).call(Op::Stat, 1, 400 * MS);
        rank.around(Op::MpiOpen, 1, 0, 0, |rank| {
            rank.pause(500 * MS);
        });
        rank.call(Op::Lseek, 1, 600 * MS);
    });
    let analysis = bed.analyze();
    let seconds = |layer, kind| {
        let series = analysis.in_flight.iter().find(|it| it.layer == layer && it.kind == kind);
        series.map(|it| it.mean.iter().sum::<f64>() * it.bin_seconds)
    };
    let is = |layer, kind, expected: f64| {
        let found = seconds(layer, kind).unwrap();
        assert!((found - expected).abs() < 1e-3, "{layer:?} {kind:?}: {found}");
    };
    is(Layer::Posix, CallKind::Write, 0.2);
    is(Layer::Posix, CallKind::Sync, 0.3);
    is(Layer::Posix, CallKind::Metadata, 0.5);
    is(Layer::Mpi, CallKind::Metadata, 0.5);
    assert_eq!(seconds(Layer::Posix, CallKind::Read), None);
    assert_eq!(analysis.in_flight.len(), 4, "seeks are none of these");
}

/// Reads at the end of a file move nothing, and a clock may be too coarse for a write.
#[test]
fn nothing_moved_or_no_time_passed_is_no_bandwidth() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.short(Op::Pread, 2, 0, MIB, 0, 100 * MS).data(Op::Pwrite, 2, 0, MIB, 0);
    rank.finish_at(S);
    let analysis = bed.analyze();
    for direction in Direction::ALL {
        let of_layer = analysis.bandwidth(Layer::Posix, direction).unwrap();
        assert_eq!((of_layer.effective(), of_layer.perceived()), (None, None), "{direction:?}");
        let headline = analysis.headline(direction);
        assert_eq!((headline.perceived(), headline.data_only()), (None, None), "{direction:?}");
        assert_eq!(headline.first_to_last(), None, "{direction:?}");
    }
}

/// A close may have more to do than the sync before it; one after reading has not.
#[test]
fn a_close_after_a_sync_is_time_of_writing() {
    let bed = one(|rank| {
        rank.data(Op::Pwrite, 2, 0, MIB, 100 * MS).call(Op::Fsync, 2, 100 * MS);
        rank.call(Op::Close, 2, 300 * MS);
        rank.data(Op::Pread, 2, 0, MIB, 100 * MS).call(Op::Close, 2, 300 * MS);
    });
    let write = headline(&bed, WRITE);
    assert!((write.busy.unwrap().seconds - 0.5).abs() < 1e-3, "{write:?}");
}
