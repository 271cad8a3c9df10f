//! Recordings that are looked at while their programs run.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::command::binary;
use crate::support::recording::record;

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn report(recording: &std::path::Path) -> Value {
    let report = binary().args(["report", "--json"]).arg(recording).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    serde_json::from_slice::<Value>(&report.stdout).unwrap()["result"].take()
}

/// How the process ended that wrote.
fn state(report: &Value) -> &str {
    let ranks = report["ranks"].as_array().unwrap();
    ranks.last().map_or("none", |process| process["state"].as_str().unwrap())
}

/// It was "killed" while it was running.
#[test]
fn a_process_runs_until_it_is_killed() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    // One process: the shell writes and then waits for a line that never comes.
    let script = format!("echo text > {}; read line; exit 0", folder.path().join("out").display());
    let mut command = record(&rec);
    command.args(["--", "sh", "-c", &script]).stdin(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let out = folder.path().join("out");
    let began = Instant::now();
    while std::fs::read(&out).map_or(0, |it| it.len()) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not write");
        std::thread::sleep(Duration::from_millis(10));
    }
    let alive = report(&rec);
    assert_eq!(state(&alive), "running");
    let notes = alive["notes"].to_string();
    assert!(notes.contains("1 of 1 processes still ran when this was read"), "{notes}");

    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let dead = report(&rec);
    assert_eq!(state(&dead), "killed");
    assert!(!dead["notes"].to_string().contains("still ran"));
    let concluded = dead["conclusion"].as_str().unwrap();
    let told = "1 process was killed: what it did after its last recorded call is not known";
    assert!(concluded.contains(told) && !concluded.contains("Nothing costs"), "{concluded}");
    assert!(!alive["conclusion"].as_str().unwrap().contains("killed"));
}
