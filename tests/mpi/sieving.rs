//! Data sieving of ROMIO: seen inside MPI writes, found, explained, and gone with the advice.

use std::fs;
use std::process::Command;

use plimsoll_trace::{Event, Op};
use serde_json::Value;

use super::{Run, Way, compiled, is_error, libraries, of_ranks};
use crate::support::command::{Outcome, binary, json};
use crate::support::recording::{Process, has, processes};

/// What each MPI write calls itself, in order; the file is written by 2 ranks.
fn inside_writes(recorded: &[Process]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    for process in of_ranks(recorded) {
        let writes = process.events.iter().filter(|it| {
            matches!(it.op, Op::MpiWrite | Op::MpiWriteAll)
                && (it.depth, is_error(it)) == (0, false)
        });
        for write in writes {
            let is_inside = |it: &&Event| {
                it.depth == 1
                    && it.start >= write.start
                    && it.end <= write.end
                    && process.files.get(&it.file).is_some_and(|path| path.ends_with("/out"))
            };
            let mut inside: Vec<&Event> = process.events.iter().filter(is_inside).collect();
            inside.sort_by_key(|it| it.start);
            let mut ops: Vec<Op> = inside.iter().map(|it| it.op).collect();
            if ops.contains(&Op::Lock) {
                // At the end of the file it may read on, and get nothing.
                ops.dedup();
            }
            all.push(ops);
        }
    }
    all
}

#[test]
fn what_romio_does_inside_a_write_is_nested_in_it() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_strided.c", "mpicc", mpi, &[]);
        // Open MPI has ROMIO beside its own implementation.
        let romio = ["env", "OMPI_MCA_io=^ompio", app.as_str()];
        let run = Run::new();
        let out = run.at("out");
        let strided = |options: &[&str]| {
            let command = [&romio[..], &[out.as_str(), "-n", "4"], options].concat();
            let (outcome, rec) = run.recorded(mpi, Way::Around, 2, &command);
            assert_eq!(outcome.stdout, "131072 bytes, 0 wrong\n");
            inside_writes(&processes(&rec))
        };
        let cycle = vec![Op::Lock, Op::Pread, Op::Pwrite, Op::Unlock];
        assert_eq!(strided(&[]), vec![cycle; 8], "{mpi}: data sieving");
        let records = vec![Op::Pwrite; 64];
        assert_eq!(strided(&["romio_ds_write=disable"]), vec![records; 8], "{mpi}: one by one");
        let collected = strided(&["-c", "romio_cb_write=enable"]);
        assert_eq!(collected.len(), 8);
        // An aggregator writes what all have in one piece; the others have nothing to write.
        assert_eq!(collected.concat(), vec![Op::Pwrite; 4], "{mpi}: collected");
    }
}

/// A storage target of 10 MiB/s for reads; gone when dropped.
struct SlowReads {
    base: tempfile::TempDir,
}

impl SlowReads {
    fn new() -> Option<Self> {
        let bed = SlowReads { base: tempfile::tempdir_in("/var/tmp").unwrap() };
        for arguments in ["up --targets 1 --size 64MiB", "slow t0 10MiB/s --only read"] {
            let outcome = bed.run(arguments);
            if outcome.status != Some(0) {
                eprintln!("SKIPPED: needs a target that can be slowed: {}", outcome.stderr);
                return None;
            }
        }
        Some(bed)
    }

    fn run(&self, arguments: &str) -> Outcome {
        let mut command = binary();
        command.args(["testbed", "--base"]).arg(self.base.path());
        command.args(arguments.split_whitespace()).output().unwrap().into()
    }

    /// A file that is there already, and not in memory.
    fn cold_file(&self, bytes: usize) -> String {
        let path = self.base.path().join("default/t0/out");
        fs::write(&path, vec![0u8; bytes]).unwrap();
        let of = format!("of={}", path.display());
        let drop_pages = [&of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
        assert!(Command::new("dd").args(drop_pages).status().unwrap().success());
        path.to_str().unwrap().to_string()
    }
}

impl Drop for SlowReads {
    fn drop(&mut self) {
        let _ = self.run("down --force");
    }
}

/// Records of 64 KiB are written over a file that is there: data sieving reads all of it from
/// storage, and locks out the other rank meanwhile. The advice must be worth following.
#[test]
fn data_sieving_is_found_and_the_advice_ends_it() {
    if !has(&["mpicc.mpich", "mpirun.mpich"]) {
        return;
    }
    let app = compiled("mpi_strided.c", "mpicc", "mpich", &[]);
    let run = Run::new();
    let Some(bed) = SlowReads::new() else { return };
    let strided = |options: &[&str]| {
        let out = bed.cold_file(12 << 20);
        let size = ["-u", "-n", "12", "-k", "8", "-b", "65536"];
        let command = [&[app.as_str(), &out], &size[..], options].concat();
        let (outcome, rec) = run.recorded("mpich", Way::Around, 2, &command);
        assert_eq!(outcome.stdout, "12582912 bytes, 0 wrong\n");
        let report = json(&format!("report {}", rec.display()));
        assert_eq!(report["lost_events"], 0);
        (rec, report["findings"].as_array().unwrap().clone())
    };
    let sieving =
        |findings: &[Value]| findings.iter().find(|it| it["id"] == "data-sieving").cloned();

    let (before, findings) = strided(&[]);
    let finding = sieving(&findings).expect("data sieving was not found");
    assert_eq!(finding["severity"], "high");
    let advice = finding["advice"].to_string().replace(['\\', '"'], "");
    assert!(advice.contains("romio_ds_write, disable"), "{advice}");
    assert!(advice.contains("romio_cb_write"), "{advice}");

    for options in [&["romio_ds_write=disable"][..], &["-c", "romio_cb_write=enable"]] {
        let (after, findings) = strided(options);
        assert_eq!(sieving(&findings), None, "{options:?}");
        let changes = json(&format!("compare {} {}", before.display(), after.display()));
        let gone = changes["findings_gone"].as_array().unwrap();
        assert!(gone.iter().any(|it| it["id"] == "data-sieving"), "{changes}");
        if options == ["romio_ds_write=disable"] {
            // Ranks that wait for each other in collective calls may take any time to start.
            assert_eq!(changes["verdict"], "faster", "{changes}");
        }
    }
}
