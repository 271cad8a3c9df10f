//! Ranks of a launcher that numbers no runs (MPICH's) join the recording of their run, and of no other.

use std::path::Path;
use std::process::Command;

use plimsoll_trace::Op;

use crate::support::command::Outcome;
use crate::support::recording::{calls, processes, record};

/// Three ranks, or those that the variable `ranks` has, which this shell launches; each writes to a file that is named after its run. With a script between a launcher and its ranks
/// where `around` says so.
fn launch(folder: &Path, run: &str, around: &str) -> Outcome {
    launch_by(Command::new("sh"), folder, run, around)
}

fn launch_by(mut shell: Command, folder: &Path, run: &str, around: &str) -> Outcome {
    let inner = record(Path::new("rec"));
    let script = format!(
        "failed=0; for rank in ${{ranks:-0 1 2}}; do PMI_RANK=$rank {around} \"$@\" || failed=$?; done; exit $failed"
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

/// A script between a launcher and its rank.
const SCRIPT: &str = "sh -c '\"$@\"; exit $?' script";

/// Asserts that the recording has what three ranks of the first run did, and nothing of the second.
fn assert_only_first(folder: &Path) {
    let recorded = processes(&folder.join("rec"));
    assert_eq!(calls(&recorded, Op::Write, "/first"), (3, 6));
    assert_eq!(calls(&recorded, Op::Write, "/second"), (0, 0));
}

/// Ranks 1 and 2 of the second run wrote into the first one's recording, while rank 0 was refused.
#[test]
fn all_ranks_of_the_next_run_are_refused() {
    for around in ["", SCRIPT] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let first = launch(folder.path(), "first", around);
        assert_eq!(first.status, Some(0), "{}", first.stderr);
        let second = launch(folder.path(), "second", around);
        assert_eq!(second.status, Some(2), "{}", second.stderr);
        let refused = second.stderr.matches("holds another recording").count();
        assert_eq!(refused, 3, "{}", second.stderr);
        assert_only_first(folder.path());
        assert!(!folder.path().join("second").exists(), "no rank of it ran");
    }
}

/// Runs what follows as the first process of a container, as far as that matters here: it has the number 1.
const CONTAINER: &str = "unshare --user --map-root-user --pid --fork --mount-proc";

/// Returns the same as a command. Nothing if that is not possible.
fn in_container() -> Option<Command> {
    let command = || {
        let mut words = CONTAINER.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        command
    };
    let is_possible = command().arg("true").status().is_ok_and(|it| it.success());
    if !is_possible {
        eprintln!("SKIPPED: needs unshare with namespaces of users and processes");
    }
    is_possible.then(command)
}

/// A launcher has the same number in each container: the second run was written into the first one's recording.
#[test]
fn the_next_run_in_a_container_is_another_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (run, status) in [("first", 0), ("second", 2)] {
        let Some(mut container) = in_container() else { return };
        container.arg("sh");
        let outcome = launch_by(container, folder.path(), run, "");
        assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
    }
    assert_only_first(folder.path());
}

/// Programs that begin in the same second, each the first of its container, were one recording.
#[test]
fn programs_of_several_containers_are_recorded_apart() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut running = Vec::new();
    for number in 0..4 {
        let Some(mut container) = in_container() else { return };
        let inner = record(Path::new("unused"));
        container.arg(inner.get_program()).args(["record", "--", "sh", "-c"]);
        container.arg(format!("echo 1 >> of{number}")).current_dir(folder.path());
        for (name, value) in inner.get_envs() {
            container.env(name, value.unwrap_or_default());
        }
        running.push(container.spawn().unwrap());
    }
    running.iter_mut().for_each(|it| assert!(it.wait().unwrap().success()));
    let mut recorded: Vec<Vec<u64>> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_dir())
        .map(|it| {
            (0..4).map(|of| calls(&processes(&it), Op::Write, &format!("/of{of}")).0).collect()
        })
        .collect();
    recorded.sort();
    let expected: [Vec<u64>; 4] =
        [vec![0, 0, 0, 1], vec![0, 0, 1, 0], vec![0, 1, 0, 0], vec![1, 0, 0, 0]];
    assert_eq!(recorded, expected);
}

/// A launcher that is in none of its ranks' containers was no key at all: every later run was written into the first one's recording, or its ranks were not one run.
#[test]
fn ranks_in_containers_of_their_own_are_one_run_and_the_next_run_is_another() {
    if in_container().is_none() {
        return;
    }
    // A script that is the first process of a container is no launcher: it is a rank itself.
    for around in [CONTAINER.to_string(), format!("{CONTAINER} {SCRIPT}")] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for (run, status) in [("first", 0), ("first", 2), ("second", 2)] {
            let outcome = launch(folder.path(), run, &around);
            assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
        }
        assert_only_first(folder.path());
    }
}

/// The new ranks of a run that has more of them were taken into the first one's recording.
#[test]
fn a_run_of_more_ranks_is_another_run() {
    if in_container().is_none() {
        return;
    }
    for number in ["", "prterun-node-7@1"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for (ranks, size, status) in [("0 1 2", "3", 0), ("0 1 2 3 4", "5", 2)] {
            let mut shell = Command::new("sh");
            shell.env("ranks", ranks).env("PMI_SIZE", size).env("PMIX_NAMESPACE", number);
            let outcome = launch_by(shell, folder.path(), "first", CONTAINER);
            assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
        }
        assert_only_first(folder.path());
    }
}

/// Returns a shell on another node, as far as that matters here: its host has another name.
fn on_node(name: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--uts", "sh", "-c", "hostname $0; exec \"$@\""]);
    command.args([name, "sh"]);
    command
}

/// Rank 0 was refused where one of another node was there before it; and the new ranks of another node's next run, which has more, were taken in.
#[test]
fn ranks_of_several_nodes_are_one_run_in_whichever_order_they_come() {
    if in_container().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (node, ranks, size, status) in
        [("one", "1 2", "3", 0), ("two", "0", "3", 0), ("three", "0 1 2 3 4", "5", 2)]
    {
        let mut shell = on_node(node);
        shell.env("ranks", ranks).env("PMI_SIZE", size);
        let outcome = launch_by(shell, folder.path(), "first", "");
        assert_eq!(outcome.status, Some(status), "{node}: {}", outcome.stderr);
    }
    assert_only_first(folder.path());
}

/// After a run of which only some ranks began, the next one on another node was taken in as a whole: its first new rank made all of that node's welcome.
#[test]
fn a_rank_that_is_there_is_not_taken_in_again_from_another_node() {
    if in_container().is_none() {
        return;
    }
    for ranks in ["0 1", "1 0"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for (node, ranks, refused) in [("one", "0", 0), ("two", ranks, 1)] {
            let mut shell = on_node(node);
            shell.env("ranks", ranks).env("PMI_SIZE", "2");
            let outcome = launch_by(shell, folder.path(), "first", "");
            let found = outcome.stderr.matches("holds another recording").count();
            assert_eq!(found, refused, "{node}: {}", outcome.stderr);
        }
    }
}

/// The attack: whoever may rename a recording of a batch job gives it the name that the job's next one is to have.
#[test]
fn a_recording_that_was_given_another_name_takes_no_more() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = |name: &str| folder.path().join(name);
    let recorded = |name: &str, script: &str| -> Outcome {
        let mut command = record(&place(name));
        command.env("SLURM_JOB_ID", "7").current_dir(folder.path());
        command.args(["--", "sh", "-c", script]).output().unwrap().into()
    };
    let first = recorded("one", "echo 1 >> first");
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    let again = recorded("one", "echo 1 >> first");
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    let second = recorded("step/one", "echo 1 >> second");
    assert_eq!(second.status, Some(0), "{}", second.stderr);
    std::fs::remove_dir_all(place("step/one")).unwrap();
    for name in ["two", "step/one"] {
        std::fs::rename(place("one"), place(name)).unwrap();
        let second = recorded(name, "echo 1 >> second");
        assert_eq!(second.status, Some(2), "{}", second.stderr);
        assert!(second.stderr.contains("takes no more processes"), "{}", second.stderr);
        std::fs::rename(place(name), place("one")).unwrap();
    }
    let recorded = processes(&place("one"));
    assert_eq!(calls(&recorded, Op::Write, "/first"), (2, 4));
    assert_eq!(calls(&recorded, Op::Write, "/second"), (0, 0));
}

/// A launcher's number of a run says nothing where it comes again and nobody sees the launcher.
#[test]
fn the_next_run_of_an_unseen_launcher_is_another_one_whatever_its_number() {
    if in_container().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (run, status) in [("first", 0), ("second", 2)] {
        let mut shell = Command::new("sh");
        shell.env("PMIX_NAMESPACE", "prterun-node-7@1");
        let outcome = launch_by(shell, folder.path(), run, CONTAINER);
        assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
    }
    assert_only_first(folder.path());
}

/// Open MPI's number of a run is made of the launcher's number and the node's name, both of which come again in containers.
#[test]
fn a_number_of_a_run_that_comes_again_is_another_run() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (run, status) in [("first", 0), ("second", 2)] {
        let mut shell = Command::new("sh");
        shell.env("PMIX_NAMESPACE", "1828651009");
        let outcome = launch_by(shell, folder.path(), run, "");
        assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
    }
    assert_only_first(folder.path());
}

/// The attack: while a script is recorded that calls `record` again, another recording is put in the place of its own.
#[test]
fn a_recording_in_the_place_of_the_one_around_is_not_joined() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = folder.path().join("rec");
    let first: Outcome = record(&place).args(["--", "true"]).output().unwrap().into();
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    let inner = |id: &str| -> Outcome {
        let mut command = record(&place);
        command.env("PLIMSOLL_RECORD_DIR", &place).env("PLIMSOLL_RECORDING_ID", id);
        command.args(["--", "true"]).output().unwrap().into()
    };
    let told = std::fs::read_to_string(place.join("recording.txt")).unwrap();
    let own = told.lines().find_map(|it| it.strip_prefix("id ")).unwrap();
    let other = inner("0123456789abcdef.0");
    assert_eq!(other.status, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("holds another recording"), "{}", other.stderr);
    let own = inner(&format!("{own}.0"));
    assert_eq!(own.status, Some(0), "{}", own.stderr);
}
