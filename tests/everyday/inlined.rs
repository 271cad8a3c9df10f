//! Bytes that programs take from a stream's buffer, and put there, without a call: most of the small tools do.

use std::fs::{self, File};

use plimsoll_trace::Op;

use crate::support::command::Outcome;
use crate::support::recording::{assert_nothing_lost, calls, has, processes, program, record};

#[test]
fn bytes_that_move_without_a_call_are_counted() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, input) = (folder.path().join("rec"), folder.path().join("in"));
    let output = folder.path().join("out");
    fs::write(&input, "x".repeat(1_000_000)).unwrap();
    let app = program("inlined.c", "cc", &[]);
    fs::write(folder.path().join("small"), "x".repeat(30_000)).unwrap();
    let small = File::open(folder.path().join("small")).unwrap();
    let mut command = record(&rec);
    command.arg("--").args([&app, &input, &output]).stdin(small).current_dir(&folder);
    let outcome: Outcome = command.output().unwrap().into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let recorded = processes(&rec);
    assert_nothing_lost(&recorded);
    let bytes = |op, path| calls(&recorded, op, path).1;
    assert_eq!((bytes(Op::Fgetc, "/in"), bytes(Op::Fread, "/in")), (1_000_900, 100));
    assert_eq!((bytes(Op::Fputc, "/out"), bytes(Op::Fputs, "/out")), (101_000, 25_000));
    assert_eq!(fs::metadata(output).unwrap().len(), 126_000);
    assert_eq!((bytes(Op::Fgetc, "/small"), bytes(Op::Fgets, "/small")), (29_990, 10));
    let of_first = recorded.iter().flat_map(|it| &it.events).find(|it| it.op == Op::Fgets).unwrap();
    assert_eq!(of_first.offset, Some(0), "it was open before, and its buffer is filled further");
    assert_eq!(bytes(Op::Fputc, "/mixed"), 1000 + 100 * 4080 + 100);
    assert_eq!((bytes(Op::Fputc, "/shared"), bytes(Op::Write, "/shared")), (10_000, 50_000));
    assert_eq!((bytes(Op::Fputc, "/flushed"), bytes(Op::Fgetc, "/back")), (300, 10_200));
    assert_eq!((bytes(Op::Fputc, "/beside"), bytes(Op::Fputc, "/left")), (5000, 3000));
    let mut events = recorded.iter().flat_map(|it| &it.events);
    assert!(!events.any(|it| it.op == Op::Fprintf), "in memory");
    // Where several threads call, never more.
    let of_threads = bytes(Op::Fputc, "/threads");
    assert!(of_threads > 0 && of_threads <= 4 * 99_000 + 5000, "{of_threads}");
    // A call for each buffer, not for each byte.
    assert!(calls(&recorded, Op::Fgetc, "/in").0 < 300);
}

#[test]
fn small_tools_read_and_write_all_of_their_files() {
    if !has(&["cut", "paste", "join", "nl", "fold"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let lines: String = (100_000..200_000).map(|it| format!("{it} a line\n")).collect();
    fs::write(folder.path().join("in"), &lines).unwrap();
    let size = lines.len() as u64;
    for script in ["cut -c1-5 in", "paste in", "join in in", "nl in", "fold -w 5 in"] {
        let tool = script.split(' ').next().unwrap();
        let rec = folder.path().join(format!("rec-{tool}"));
        let outcome: Outcome = record(&rec)
            .args(["--", "sh", "-c", &format!("exec {script} > out")])
            .current_dir(folder.path())
            .output()
            .unwrap()
            .into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{tool}");
        let recorded = processes(&rec);
        let all =
            |ops: &[Op], path| ops.iter().map(|op| calls(&recorded, *op, path).1).sum::<u64>();
        let read = all(&[Op::Fgetc, Op::Fread, Op::Fgets, Op::Getline], "/in");
        let files = if tool == "join" { 2 } else { 1 };
        assert_eq!(read, files * size, "{tool}");
        let written = all(&[Op::Fputc, Op::Fputs, Op::Fwrite, Op::Fprintf], "/out");
        assert_eq!(written, fs::metadata(folder.path().join("out")).unwrap().len(), "{tool}");
    }
}
