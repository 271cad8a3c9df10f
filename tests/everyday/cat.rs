//! GNU cat closes descriptors 1 and 2 itself before the exit handlers run, and has the kernel move
//! data from file to file.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::command::Outcome;
use crate::recording::{all_finished, calls, has, processes, record};

#[test]
fn cat_is_recorded_to_its_end_whichever_descriptors_it_has() {
    if !has(&["cat", "sh"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (name, count) in [("a", 3 << 20), ("b", 70_001u32)] {
        let bytes: Vec<u8> = (0..count).map(|it| (it >> 3) as u8).collect();
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let cases = [
        ("one", "exec cat a", 3 << 20),
        ("two", "exec cat a b", (3 << 20) + 70_001),
        ("again", "cat a b; exec cat a", 2 * (3 << 20) + 70_001),
        ("without_input_and_errors", "exec cat a b 0<&- 2>&-", (3 << 20) + 70_001),
        ("input", "exec cat - b < a", (3 << 20) + 70_001),
        ("missing", "exec cat a nowhere b", (3 << 20) + 70_001),
        ("nothing_open", "exec cat a 0<&- 1>&- 2>&-", 0),
    ];
    for (name, script, moved) in cases {
        let run = |command: &mut Command, out: &str| -> Outcome {
            let out = File::create(folder.path().join(out)).unwrap();
            command.args(["sh", "-c", script]).current_dir(&folder);
            command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
            command.spawn().unwrap().wait_with_output().unwrap().into()
        };
        let plain = run(&mut Command::new("env"), "plain");
        let (rec, out) = (folder.path().join(format!("{name}.rec")), format!("{name}.out"));
        let outcome = run(record(&rec).arg("--"), &out);
        assert_eq!(outcome.status, plain.status, "{name}");
        assert_eq!(outcome.stderr, plain.stderr, "{name}");
        let content = |file: &str| fs::read(folder.path().join(file)).unwrap();
        assert!(content(&out) == content("plain"), "{name}: the output differs");

        let recorded = processes(&rec);
        assert!(all_finished(&recorded), "{name}");
        assert_eq!(recorded.iter().map(|process| process.lost).sum::<u64>(), 0, "{name}");
        // Where the kernel cannot copy, cat reads and writes.
        let written = [Op::CopyFileRange, Op::Write]
            .map(|op| calls(&recorded, op, &format!("/{out}")).1)
            .iter()
            .sum::<u64>();
        assert_eq!(written, moved, "{name}");
    }
}
