//! `plimsoll record` on real programs and on everything that recorders stumble over.

mod alive;
mod bad_memory;
mod inherited;
mod joined;
mod long_path;
mod many_files;
mod private;
mod small;
mod small_stacks;
mod spool;
mod timeouts;
mod told;
mod vandal;
mod variables;

use std::fs;
use std::process::{Command, Stdio};

use plimsoll_trace::Op;
use plimsoll_trace::layout::State;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{
    Process, all_finished, assert_nothing_lost, calls, library, processes, program, record,
    run_recorded, trap,
};

#[track_caller]
fn assert_writes(recorded: &[Process], count: u64) {
    assert_eq!(calls(recorded, Op::Pwrite, "/out"), (count, 16 * count));
    assert_nothing_lost(recorded);
}

#[test]
fn every_call_of_a_plain_program_is_there() {
    let (outcome, recorded) = trap("plain", 5000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert_writes(&recorded, 5000);
    assert_eq!(calls(&recorded, Op::Open, "/out"), (1, 0));
    assert_eq!(calls(&recorded, Op::Fsync, "/out"), (1, 0));
    assert_eq!(calls(&recorded, Op::Close, "/out"), (1, 0));
    assert!(all_finished(&recorded));
    let events = &recorded[0].events;
    let writes: Vec<_> = events.iter().filter(|event| event.op == Op::Pwrite).collect();
    assert!(writes.iter().zip(0..).all(|(event, index)| event.offset == Some(index * 64)));
    assert!(writes.windows(2).all(|pair| pair[0].end <= pair[1].start), "one after the other");
}

#[test]
fn thousands_of_threads_one_after_the_other_and_at_once() {
    let (outcome, recorded) = trap("threads", 2000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 20_000);
    let (outcome, recorded) = trap("crowd", 600);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 12_000);
}

#[test]
fn children_have_files_of_their_own() {
    let (outcome, recorded) = trap("forks", 1000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 4000);
    assert_eq!(recorded.len(), 4);
    assert!(all_finished(&recorded));
}

#[test]
fn vforked_children_do_not_disturb_their_parent() {
    let (outcome, recorded) = trap("vforks", 20);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 20);
}

#[test]
fn the_least_stack_suffices_to_write_and_to_start_a_program() {
    let (outcome, recorded) = trap("small_stacks", 3);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 30);
}

#[test]
fn a_program_that_replaces_itself_goes_on_in_another_file() {
    let (outcome, recorded) = trap("exec", 300);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 600);
    let states: Vec<u32> = recorded.iter().map(|process| process.state).collect();
    assert!(states.contains(&(State::Executed as u32)), "{states:?}");
    assert!(states.contains(&(State::Finished as u32)), "{states:?}");
}

#[test]
fn io_in_signal_handlers_is_recorded_or_counted_as_lost() {
    let (outcome, recorded) = trap("signals", 200_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let handled: u64 = outcome.stdout.trim().parse().unwrap();
    assert!(handled > 0, "no signal came");
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert_eq!(count + lost, 200_000 + handled);
}

#[test]
fn cancelled_threads_unwind_through_the_library() {
    let (outcome, recorded) = trap("cancels", 20);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 20);
}

#[test]
fn closing_all_descriptors_does_not_stop_the_recording() {
    let (outcome, recorded) = trap("close_all", 400);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 800);
}

#[test]
fn nothing_completed_is_lost_to_a_kill_or_a_silent_exit() {
    let (outcome, recorded) = trap("killed", 5000);
    assert_eq!(outcome.status, None, "killed by a signal, as the program was");
    assert_writes(&recorded, 5000);
    for name in ["quick", "silent"] {
        let (outcome, recorded) = trap(name, 5000);
        assert_eq!(outcome.status, Some(0), "{name}: {}", outcome.stderr);
        assert_writes(&recorded, 5000);
    }
}

#[test]
fn daemons_are_recorded() {
    let (outcome, recorded) = trap("daemon", 300);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&recorded, 300);
}

#[test]
fn programs_that_set_ld_preload_or_have_their_own_getenv_are_recorded() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("out");
    let other = program("early.c", "cc", &["-shared", "-fPIC"]);
    let traps = program("traps.c", "cc", &[]);
    let script =
        format!("LD_PRELOAD={} {} plain {} 60", other.display(), traps.display(), out.display());
    let rec = folder.path().join("setter");
    assert_eq!(run_recorded(&rec, &["sh", "-c", &script]).status, Some(0));
    assert_writes(&processes(&rec), 60);

    let own = program("own_getenv.c", "cc", &[]);
    let rec = folder.path().join("getenv");
    assert_eq!(run_recorded(&rec, &[own.to_str().unwrap(), out.to_str().unwrap()]).status, Some(0));
    assert_writes(&processes(&rec), 40);
}

#[test]
fn errors_and_errno_are_the_programs_own() {
    let (outcome, recorded) = trap("errors", 50);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let failed: Vec<_> = recorded[0]
        .events
        .iter()
        .filter(|event| event.op == Op::Open)
        .filter(|event| matches!(event.outcome, plimsoll_trace::encode::Outcome::Error(2)))
        .collect();
    assert_eq!(failed.len(), 50);
}

#[test]
fn programs_with_a_sanitizer_can_be_recorded() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &["-fsanitize=address"]);
    let command = [traps.to_str().unwrap(), "plain", out.to_str().unwrap(), "100"];
    let outcome = run_recorded(&rec, &command);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&processes(&rec), 100);
}

#[test]
fn status_output_and_signals_are_the_programs_own() {
    let folder = tempfile::tempdir().unwrap();
    let rec = |name: &str| folder.path().join(name);
    let outcome = run_recorded(&rec("a"), &["sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(outcome.status, Some(7));
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(run_recorded(&rec("b"), &["sh", "-c", "kill -TERM $$"]).status, None);
    assert_eq!(run_recorded(&rec("c"), &["/no/such/program"]).status, Some(127));
    assert_eq!(run_recorded(&rec("d"), &["/etc/passwd"]).status, Some(126));
}

/// Batch systems warn by SIGUSR1, and send it to what they started: that is `record`.
#[test]
fn signals_sent_to_record_reach_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for signal in ["USR1", "USR2", "ALRM", "QUIT", "XCPU", "ABRT", "WINCH", "RTMIN+3", "TERM"] {
        let rec = folder.path().join(signal);
        // The shell notices a signal between two commands.
        let script = format!(
            "trap 'exit 9' {signal}; kill -{signal} $PPID; for i in {{1..3000}}; do sleep 0.01; done"
        );
        // What is ignored here, as in the background of a script, would stay so.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(binary().get_program()).args(["record", "-o"]);
        command.arg(&rec).args(["bash", "-c", &script]);
        let outcome: Outcome = command.env("PLIMSOLL_LIBRARY", library()).output().unwrap().into();
        assert_eq!(outcome.status, Some(9), "{signal}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("recorded into"), "{signal}: {}", outcome.stderr);
    }
}

#[test]
fn a_recording_is_not_mixed_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let rec = folder.path().join("rec");
    assert_eq!(run_recorded(&rec, &["true"]).status, Some(0));
    let again = run_recorded(&rec, &["true"]);
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("holds another recording"), "{}", again.stderr);
}

#[test]
fn a_missing_library_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let outcome: Outcome = record(&rec)
        .env("PLIMSOLL_LIBRARY", folder.path().join("nowhere.so"))
        .args(["--", "touch"])
        .arg(&out)
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("nowhere.so"), "{}", outcome.stderr);
    assert!(!out.exists(), "the program must not run unrecorded");
}

#[test]
fn a_record_inside_a_record_joins_it() {
    let folder = tempfile::tempdir().unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &[]);
    let inner = format!(
        "{} record -- {} plain {} 50",
        binary().get_program().display(),
        traps.display(),
        out.display()
    );
    let outcome = run_recorded(&rec, &["sh", "-c", &inner]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_writes(&processes(&rec), 50);
}

#[test]
fn without_a_directory_the_library_does_nothing() {
    let output = Command::new("sh")
        .args(["-c", "echo fine"])
        .env("LD_PRELOAD", library())
        .env_remove("PLIMSOLL_RECORD_DIR")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fine\n");
    assert!(output.stderr.is_empty());
}

#[test]
fn files_can_be_chosen_by_layer_and_path() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("out");
    let traps = program("traps.c", "cc", &[]);
    let recorded = |name: &str, options: &[&str]| {
        let rec = folder.path().join(name);
        let status = record(&rec)
            .args(options)
            .arg("--")
            .args([traps.to_str().unwrap(), "plain", out.to_str().unwrap(), "30"])
            .status();
        assert!(status.unwrap().success());
        calls(&processes(&rec), Op::Pwrite, "/out").0
    };
    assert_eq!(recorded("all", &[]), 30);
    assert_eq!(recorded("stdio", &["--layers", "stdio"]), 0);
    assert_eq!(recorded("included", &["--include", "*/out"]), 30);
    assert_eq!(recorded("others", &["--include", "*/elsewhere"]), 0);
    assert_eq!(recorded("excluded", &["--exclude", "/var/*"]), 0);
}

/// Programs of everyday life, held against what the kernel saw.
#[test]
fn everyday_programs_are_seen_as_the_kernel_sees_them() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    fs::write(at("in"), vec![9u8; 3 << 20]).unwrap();
    let cases: [(&str, Vec<String>, Op, &str, u64); 4] = [
        (
            "dd",
            vec![
                format!("if={}", at("in")),
                format!("of={}", at("dd.out")),
                "bs=4096".into(),
                "status=none".into(),
            ],
            Op::Write,
            "/dd.out",
            3 << 20,
        ),
        (
            "cp",
            vec!["--reflink=never".into(), at("in"), at("cp.out")],
            Op::CopyFileRange,
            "/cp.out",
            3 << 20,
        ),
        (
            "tar",
            vec![
                "cf".into(),
                at("t.tar"),
                "-C".into(),
                folder.path().to_str().unwrap().into(),
                "in".into(),
            ],
            Op::Read,
            "/in",
            3 << 20,
        ),
        (
            "python3",
            vec!["-c".into(), format!("open({:?},'wb',0).write(b'x'*100000)", at("py.out"))],
            Op::Write,
            "/py.out",
            100_000,
        ),
    ];
    for (name, arguments, op, file, bytes) in cases {
        let rec = folder.path().join(format!("{name}.rec"));
        let mut command = vec![name];
        command.extend(arguments.iter().map(String::as_str));
        let outcome = run_recorded(&rec, &command);
        assert_eq!(outcome.status, Some(0), "{name}: {}", outcome.stderr);
        let recorded = processes(&rec);
        let mut moved = calls(&recorded, op, file).1;
        if name == "cp" {
            // Where the kernel cannot copy, cp reads and writes.
            moved += calls(&recorded, Op::Write, file).1;
        }
        assert_eq!(moved, bytes, "{name}");
    }
}

#[test]
fn a_shell_with_pipes_and_redirections_works() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("sum");
    let script =
        format!("seq 1 1000 | sort -r | tee {0} | wc -l && cat {0} | head -1", out.display());
    let outcome: Outcome = record(&folder.path().join("rec"))
        .args(["--", "bash", "-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "1000\n999\n"),
        "{}",
        outcome.stderr
    );
}
