//! Recordings that are spooled elsewhere come home, however the program and the wrapper end.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::assert_writes;
use crate::support::command::Outcome;
use crate::support::recording::{processes, program, record};

#[test]
fn a_spool_is_brought_home_also_after_a_kill() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("out");
    let traps = program("traps.c", "cc", &[]);
    for name in ["plain", "killed"] {
        let (rec, spool) = (folder.path().join(name), folder.path().join(format!("{name}-spool")));
        let outcome: Outcome = record(&rec)
            .arg("--spool")
            .arg(&spool)
            .arg("--")
            .args([traps.to_str().unwrap(), name, out.to_str().unwrap(), "700"])
            .output()
            .unwrap()
            .into();
        assert_eq!(
            outcome.status,
            if name == "plain" { Some(0) } else { None },
            "{}",
            outcome.stderr
        );
        assert_writes(&processes(&rec), 700);
        assert!(!spool.exists() || fs::read_dir(&spool).unwrap().count() == 0, "{name}");
    }
}

/// A batch system ends a job by a signal to the process that it knows, which is the wrapper.
#[test]
fn a_signal_to_the_wrapper_is_the_programs_and_its_recording_comes_home() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, spool, ready) =
        (folder.path().join("rec"), folder.path().join("spool"), folder.path().join("ready"));
    // A shell's child that is told to end before it has become its program forgets that.
    let with_child = "trap 'kill $!; exit 7' TERM; sh -c \"echo > READY.child; exec sleep 100\" & \
         until [ -e READY.child ]; do sleep 0.01; done; echo $$ > READY; wait";
    for (script, expected) in [("echo $$ > READY; exec sleep 100", None), (with_child, Some(7))] {
        let script = script.replace("READY", ready.to_str().unwrap());
        let _ = fs::remove_file(&ready);
        let mut child = record(&rec)
            .arg("--spool")
            .arg(&spool)
            .args(["--", "sh", "-c", &script])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = loop {
            let text = fs::read_to_string(&ready).unwrap_or_default();
            match text.trim().parse::<i32>() {
                Ok(pid) => break pid,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), expected, "{status}");
        assert!(expected.is_some() || status.signal() == Some(15), "143 for a shell: {status}");
        let program = Path::new("/proc").join(pid.to_string());
        assert!(!program.exists(), "the program has ended too");
        assert_eq!(fs::read_dir(&spool).into_iter().flatten().count(), 0, "nothing is left");
        assert!(
            processes(&rec)
                .iter()
                .any(|it| it.program.ends_with("sh") || it.program.ends_with("sleep"))
        );
        fs::remove_dir_all(&rec).unwrap();
    }
}
