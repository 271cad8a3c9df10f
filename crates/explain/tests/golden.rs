//! A summary of each version, written once and kept: they must stay readable for ever.

mod common;

use std::path::{Path, PathBuf};

use common::{Bed, KIB, MS, S};
use plimsoll_explain::{Direction, Frame, Gathered, Options};
use plimsoll_trace::Op;
use plimsoll_trace::definition::DefinitionKind;

const VERSION: u32 = 3;

fn golden(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/summary-v{version}"))
}

/// Two ranks, one of them with two threads: requests, a collective call, a lock, a failure.
fn recorded() -> Bed {
    let bed = Bed::new();
    for number in 0..2 {
        let mut rank = bed.rank(number, 2);
        rank.define(DefinitionKind::Hint, 1, 0, "cb_nodes=1");
        rank.define(DefinitionKind::Note, 0, 0, "a note");
        rank.call(Op::Open, 1, MS);
        for turn in 0..3 {
            rank.data(Op::Pwrite, 2, turn * 8 * KIB, 4 * KIB, MS);
        }
        rank.thread = 1 + number;
        rank.around(Op::MpiWriteAtAll, 1, 0, 64 * KIB, |it| {
            it.call(Op::Lock, 1, MS);
            it.data(Op::Pwrite, 1, 0, 64 * KIB, 5 * MS);
            it.call(Op::Unlock, 1, MS);
        });
        rank.fail(Op::Stat, 0, MS).call(Op::Fsync, 2, 2 * MS);
        rank.define(DefinitionKind::File, 3, 0, "/ost0/plimsoll-stow-0a/log-0001");
        rank.define(DefinitionKind::File, 4, 0, "/ost0");
        rank.data(Op::LogWrite, 3, 4096, 16 * KIB, MS).call(Op::LogWait, 4, 3 * MS);
        rank.finish_at(S);
    }
    bed
}

/// Run once with PLIMSOLL_WRITE_GOLDEN=1 when a new version needs a new file.
#[test]
fn every_version_reads_as_ever() {
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        let gathered = Frame::new(recorded().open(), &Options::default()).gather_all();
        std::fs::write(golden(VERSION), gathered.to_bytes()).unwrap();
    }
    (1..=VERSION).for_each(reads_as_ever);
}

fn reads_as_ever(version: u32) {
    let gathered = Gathered::from_bytes(&std::fs::read(golden(version)).unwrap()).unwrap();
    let recording = std::sync::Arc::clone(gathered.recording());
    assert_eq!(recording.notes().collect::<Vec<_>>(), ["a note"]);
    assert_eq!((recording.processes()[1].pid, recording.processes()[1].rank), (101, Some(1)));
    let analysis = gathered.finish().unwrap();
    // The last call of each is the one that ends it.
    assert_eq!((analysis.events, analysis.span_seconds), (22, 1.0));
    let of = |op: Op| analysis.totals.sum(|it| it == op);
    assert_eq!((of(Op::Pwrite).calls, of(Op::Pwrite).bytes), (8, 2 * 76 * KIB));
    assert_eq!((of(Op::Stat).errors, of(Op::Fsync).nanos), (2, 4 * MS));
    let shared = analysis.files.iter().find(|file| file.path == "/shared").unwrap();
    assert_eq!((shared.writers, shared.hints.as_slice()), (2, &["cb_nodes=1".to_string()][..]));
    assert_eq!(shared.collective[1].bytes, 2 * 64 * KIB);
    let slowest = &analysis.slow_calls[0];
    assert_eq!((slowest.op, slowest.nanos, slowest.nested.len()), (Op::MpiWriteAtAll, 7 * MS, 3));
    let write = analysis.headline(Direction::Write);
    assert_eq!((write.bytes, write.layer.unwrap().name()), (2 * 64 * KIB, "mpi"));
    let timeline: u64 =
        analysis.timeline.rows.iter().flat_map(|row| &row.bytes).map(|it| it[1]).sum();
    assert_eq!(timeline, 2 * 76 * KIB);
    if version < 3 {
        return assert_eq!(analysis.logs, []);
    }
    let [on_target] = &analysis.logs[..] else { panic!("{:?}", analysis.logs) };
    assert_eq!((on_target.target.as_str(), on_target.logs), ("/ost0", 1));
    let of = |op: Op| on_target.ops.sum(|it| it == op);
    assert_eq!((of(Op::LogWrite).bytes, of(Op::LogWait).nanos), (2 * 16 * KIB, 6 * MS));
}

/// The program of today gathers what the golden summary has.
#[test]
fn what_is_gathered_is_what_was() {
    let now = Frame::new(recorded().open(), &Options::default()).gather_all();
    let then = Gathered::from_bytes(&std::fs::read(golden(VERSION)).unwrap()).unwrap();
    let shown = |gathered: Gathered| format!("{:?}", gathered.finish().unwrap());
    assert_eq!(shown(now), shown(then));
}
