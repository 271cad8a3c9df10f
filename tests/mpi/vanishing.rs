//! A recording that is taken away while ranks begin.

use std::fs;

use super::{Run, Way, compiled, libraries};
use crate::support::recording::processes;

/// One rank begins after the recording is gone, the others before. All of them go through the same barriers.
#[test]
fn ranks_that_cannot_be_recorded_keep_nobody_waiting() {
    for mpi in libraries("mpicc") {
        let app = compiled("mpi_io.c", "mpicc", mpi, &[]);
        let run = Run::new();
        let (rec, gone) = (run.at("rec0"), run.at("gone"));
        let script = format!(
            "[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 1 ] && {{ sleep 0.5; mv {rec} {gone}; }}; \
             exec {app} {} 1",
            run.at("out")
        );
        let (outcome, _) = run.recorded(mpi, Way::Around, 2, &["sh", "-c", &script]);
        assert!(outcome.stdout.contains("expect 1 "), "{mpi}: {}", outcome.stdout);
        assert!(!processes(gone.as_ref()).is_empty(), "{mpi}");
        assert!(!fs::exists(&rec).unwrap(), "{mpi}");
    }
}
