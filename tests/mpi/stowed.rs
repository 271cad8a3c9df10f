//! MPI programs whose file is a container.

use std::fs;

use super::{AS_ROOT, Run, compiled, in_time, libraries, mpirun, plain};
use crate::support::command::{Outcome, binary};
use crate::support::recording::library;

#[test]
fn ranks_write_one_container_and_read_it_back() {
    let run = Run::new();
    for name in ["mount", "ost0", "ost1"] {
        fs::create_dir(run.at(name)).unwrap();
    }
    for mpi in libraries("mpicc") {
        let strided = compiled("mpi_strided.c", "mpicc", mpi, &[]);
        for options in [&["-b", "1000"][..], &["-c", "-b", "1000"]] {
            let (ordinary, stowed) = (run.at("plain"), run.at(&format!("mount/{mpi}")));
            let mut command = plain(mpi, 3);
            command.args([&strided, &ordinary]).args(options);
            let expected: Outcome = in_time(&command).output().unwrap().into();
            assert_eq!(expected.status, Some(0), "{}", expected.stderr);
            let mut command = binary();
            command.args(["stow", "run", "--mount", &run.at("mount"), "--targets"]);
            command.args([&run.at("ost0"), &run.at("ost1")]).arg("--").args(mpirun(mpi, 3));
            command.args([&strided, &stowed]).args(options);
            command.envs(AS_ROOT).env("PLIMSOLL_LIBRARY", library());
            let outcome: Outcome = in_time(&command).output().unwrap().into();
            assert_eq!(
                (outcome.status, outcome.stdout),
                (Some(0), expected.stdout),
                "{mpi} {options:?}: {}",
                outcome.stderr
            );
            let held = binary().args(["stow", "cat", &stowed]).output().unwrap();
            assert!(held.stdout == fs::read(&ordinary).unwrap(), "{mpi} {options:?}");
            assert!(binary().args(["stow", "rm", &stowed]).output().unwrap().status.success());
            fs::remove_file(&ordinary).unwrap();
        }
    }
}
