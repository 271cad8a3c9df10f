//! Transfers that go on while the program does something else.

use std::fs;

use plimsoll_trace::Op;

use super::{Bed, one, report, unseen};
use crate::support::command::Outcome;
use crate::support::recording::{calls, has, processes, record};

/// What fio does by each way of asynchronous I/O is what fio says that it does.
#[test]
fn asynchronous_transfers_are_recorded_and_io_uring_is_named() {
    if !has(&["fio"]) {
        return;
    }
    let bed = Bed::new(&[]);
    for (engine, op) in [
        ("posixaio", Some(Op::AioWrite)),
        ("libaio", Some(Op::AioWrite)),
        ("io_uring", None),
        ("psync", Some(Op::Pwrite)),
    ] {
        let script = format!(
            "fio --name=job --ioengine={engine} --rw=randwrite --bs=16k --size=2M --iodepth=8 \
             --filename={engine}.dat --fallocate=none --thread --output={engine}.txt"
        );
        let rec = bed.at(&format!("{engine}.rec"));
        let mut command = record(&rec);
        command.args(["--", "sh", "-c", &script]).current_dir(&bed.folder);
        let outcome: Outcome = command.output().unwrap().into();
        if outcome.status != Some(0) {
            let said = fs::read_to_string(bed.at(&format!("{engine}.txt"))).unwrap_or_default();
            eprintln!("SKIPPED: fio has no {engine} here: {} {said}", outcome.stderr);
            continue;
        }
        let report = report(&rec);
        let recorded = processes(&rec);
        assert_eq!(report["lost_events"], 0, "{engine}");
        let file = format!("/{engine}.dat");
        match op {
            Some(op) => {
                assert_eq!(calls(&recorded, op, &file), (128, 2 << 20), "{engine}");
                assert_eq!(unseen(&report), Vec::new(), "{engine}");
            }
            None => {
                let why = "uses io_uring, whose transfers are not recorded";
                assert_eq!(unseen(&report), one("fio", why, 1));
            }
        }
        if op == Some(Op::AioWrite) {
            let mut offsets: Vec<u64> = recorded
                .iter()
                .flat_map(|process| &process.events)
                .filter(|event| event.op == Op::AioWrite)
                .filter_map(|event| event.offset)
                .collect();
            offsets.sort_unstable();
            assert_eq!(offsets, (0..128).map(|block| block << 14).collect::<Vec<_>>(), "{engine}");
        }
    }
}
