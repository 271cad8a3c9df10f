//! A call that moves data from file to file is in the recording twice, once for each file.

mod common;

use common::{Bed, MIB, MS, S, close};
use plimsoll_explain::Direction;
use plimsoll_trace::encode::{Call, Outcome, SECOND_OF_CALL};
use plimsoll_trace::{Class, Layer, Op};

/// Four copies of 1 MiB from `/shared` to `/private.0`, 100 ms each.
fn copies() -> Bed {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for block in 0..4u64 {
        let start = common::START + S + block * 100 * MS;
        for (op, file, argument) in
            [(Op::CopyFileRange, 2, 0), (Op::CopyFileRangeRead, 1, SECOND_OF_CALL)]
        {
            let call = Call {
                op,
                file,
                offset: block * MIB,
                length: MIB,
                outcome: Outcome::Value(MIB),
                argument,
                start,
                end: start + 100 * MS,
            };
            rank.writer.call(1, &call).unwrap();
        }
    }
    rank.finish_at(2 * S);
    bed
}

#[test]
fn both_files_have_their_bytes_and_the_time_counts_once() {
    let analysis = copies().analyze();
    let file = |path: &str| analysis.files.iter().find(|it| it.path == path).unwrap();
    let (source, copy) = (file("/shared"), file("/private.0"));
    assert_eq!(
        (source.readers, source.writers, source.own.bytes(Direction::Read)),
        (1, 0, 4 * MIB)
    );
    assert_eq!((copy.readers, copy.writers, copy.own.bytes(Direction::Write)), (0, 1, 4 * MIB));
    let own = &analysis.processes[0].own;
    assert_eq!((own.bytes(Direction::Read), own.bytes(Direction::Write)), (4 * MIB, 4 * MIB));
    assert!(close(own.total_seconds(), 0.4), "{}", own.total_seconds());
    assert!(close(own.seconds(Class::Write), 0.4));
    // Four copies and the call that ends the process.
    assert_eq!(analysis.events, 5);
    for direction in Direction::ALL {
        let bandwidth = analysis.bandwidth(Layer::Posix, direction).unwrap();
        assert!(close(bandwidth.effective().unwrap(), 10.0 * MIB as f64), "{direction:?}");
    }
    let most = analysis.timeline.rows[0].shares.iter().map(|bin| bin.iter().sum::<f64>());
    assert!(most.fold(0.0, f64::max) < 1.001, "one thread does one thing at a time");
}
