//! What MPI itself does with files, and what its launcher's helpers do, is not the program's.

use serde_json::Value;

use super::{Run, Way};
use crate::support::command::json;
use crate::support::recording::{has, program};

#[test]
fn shared_memory_session_files_and_helpers_are_apart() {
    let is_mpis = |path: &str| {
        ["/dev/shm/ucx_", "/dev/shm/vader_segment", "/ompi.", "/dev/shm/mpich"]
            .iter()
            .any(|part| path.contains(part))
    };
    for mpi in ["openmpi", "mpich"] {
        if !has(&[&format!("mpicc.{mpi}"), &format!("mpirun.{mpi}")]) {
            continue;
        }
        let run = Run::new();
        let blocks = program("mpi_blocks.c", &format!("mpicc.{mpi}"), &[]);
        for way in [Way::Around, Way::Inside] {
            let out = run.at(&format!("out-{way:?}"));
            let command = [blocks.to_str().unwrap(), "mpi", &out, "20000"];
            let (_, rec) = run.recorded(mpi, way, 2, &command);
            let report = json(&format!("report {}", rec.display()));
            let paths = |report: &Value| -> Vec<String> {
                let files = report["files"].as_array().unwrap().iter();
                files.map(|it| it["path"].as_str().unwrap().to_string()).collect()
            };
            assert!(!paths(&report).iter().any(|it| is_mpis(it)), "{mpi} {way:?}");
            let runtime = report["runtime"].as_array().unwrap();
            let row = runtime.iter().find(|it| it["kind"] == "MPI and launcher").unwrap();
            assert!(row["files"].as_u64().unwrap() > 0, "{mpi} {way:?}: {row}");
            let files: u64 = runtime.iter().map(|it| it["files"].as_u64().unwrap()).sum();
            let page = run.at(&format!("page-{way:?}.html"));
            json(&format!("report {} --html {page}", rec.display()));
            let page = std::fs::read_to_string(page).unwrap();
            let title = format!("Files of the runtime, not added up: {files}<");
            assert!(page.contains(&title), "{mpi} {way:?}: {title}");
            let all = json(&format!("report {} --include-runtime", rec.display()));
            assert!(paths(&all).iter().any(|it| is_mpis(it)), "{mpi} {way:?}");
            assert_eq!(report["io"]["io_processes"], 2, "{mpi} {way:?}: the ranks");
            assert_eq!(report["mpi_ranks"], 2);
            for process in report["ranks"].as_array().unwrap() {
                let is_rank = process["name"].as_str().unwrap().starts_with("rank ");
                let does = process["io_seconds"].as_f64().unwrap() > 0.0;
                assert_eq!(does, is_rank, "{mpi} {way:?}: {process}");
            }
            assert_eq!(report["bandwidth"]["write"]["layer"], "mpi", "{mpi} {way:?}");
        }
    }
}

/// The program prints what it wrote over its own time for it, as IOR does. Both are of the same
/// run, so they must agree but for what is not in the calls themselves.
#[test]
fn bandwidths_agree_with_what_the_program_measures_itself() {
    for mpi in ["openmpi", "mpich"] {
        if !has(&[&format!("mpicc.{mpi}"), &format!("mpirun.{mpi}")]) {
            continue;
        }
        let run = Run::new();
        let blocks = program("mpi_blocks.c", &format!("mpicc.{mpi}"), &[]);
        for layer in ["mpi", "posix"] {
            let command = [blocks.to_str().unwrap(), layer, &run.at(layer), "100000"];
            let (outcome, rec) = run.recorded(mpi, Way::Around, 2, &command);
            let told: f64 = outcome.stdout.trim().parse().unwrap();
            let report = json(&format!("report {}", rec.display()));
            let write = &report["bandwidth"]["write"];
            assert_eq!(write["layer"], layer, "{mpi}: {write}");
            assert_eq!(write["moved_bytes"].as_u64().unwrap() >> 12, 200_000, "{mpi} {layer}");
            let ratio = write["first_to_last"].as_f64().unwrap() / f64::from(1 << 20) / told;
            assert!((0.5..2.0).contains(&ratio), "{mpi} {layer}: {told} MiB/s told, {write}");
        }
    }
}
