//! Ranks of a launcher that numbers no runs (MPICH's) join the recording of their run, and of no other.

use std::path::Path;
use std::process::Command;

use plimsoll_trace::Op;

use crate::support::command::Outcome;
use crate::support::recording::{calls, processes, record};

/// Three ranks, which this shell launches; each writes to a file that is named after its run. With a script between a launcher and its ranks
/// where `around` says so.
fn launch(folder: &Path, run: &str, around: &str) -> Outcome {
    let inner = record(Path::new("rec"));
    let mut shell = Command::new("sh");
    let script = format!(
        "failed=0; for rank in 0 1 2; do PMI_RANK=$rank {around} \"$@\" || failed=$?; done; exit $failed"
    );
    shell.args(["-c", &script, "launcher"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    for name in plimsoll_trace::variables::BATCH_JOBS {
        shell.env_remove(name);
    }
    shell.args(["--", "sh", "-c", &format!("echo 1 >> {run}")]).current_dir(folder);
    shell.output().unwrap().into()
}

/// Ranks 1 and 2 of the second run wrote into the first one's recording, while rank 0 was refused.
#[test]
fn all_ranks_of_the_next_run_are_refused() {
    for around in ["", "sh -c '\"$@\"; exit $?' script"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let first = launch(folder.path(), "first", around);
        assert_eq!(first.status, Some(0), "{}", first.stderr);
        let second = launch(folder.path(), "second", around);
        assert_eq!(second.status, Some(2), "{}", second.stderr);
        let refused = second.stderr.matches("holds another recording").count();
        assert_eq!(refused, 3, "{}", second.stderr);
        let recorded = processes(&folder.path().join("rec"));
        assert_eq!(calls(&recorded, Op::Write, "/first"), (3, 6));
        assert_eq!(calls(&recorded, Op::Write, "/second"), (0, 0));
        assert!(!folder.path().join("second").exists(), "no rank of it ran");
    }
}
