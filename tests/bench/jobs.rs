//! `mpirun plimsoll bench`: every rank is a client here, since they share a node.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use plimsoll_measures::{Instance, Outcome as Ended};
use rustix::process::Signal;

use super::ends::signal;
use crate::support::command::Outcome;
use crate::support::recording::has;
use crate::support::storage::Storage;

fn job(mpi: &str, ranks: u32) -> Option<Command> {
    let launcher = format!("mpirun.{mpi}");
    if !has(&[&launcher]) {
        return None;
    }
    let mut command = Command::new(launcher);
    command.args(["-n", &ranks.to_string()]);
    if mpi == "openmpi" {
        command.arg("--oversubscribe");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command.arg(env!("CARGO_BIN_EXE_plimsoll")).env("NO_COLOR", "1");
    Some(command)
}

#[test]
fn four_ranks_of_either_mpi_are_four_clients() {
    for mpi in ["openmpi", "mpich"] {
        let Some(mut command) = job(mpi, 4) else { continue };
        let storage = Storage::with_targets(4);
        storage.complete_bench(&mut command, "many-pairs --burst 1MiB --rounds 3 --rounds-max 3");
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.status, Some(0), "{mpi}: {}", outcome.stderr);
        let instances = storage.instances();
        assert_eq!(instances.len(), 9, "1, 2 and 4 pairs, three times");
        let pairs = || instances.iter().flat_map(|instance| &instance.pairs);
        let clients: BTreeSet<&str> = pairs().map(|pair| pair.client.as_str()).collect();
        assert_eq!(clients.len(), 4, "{clients:?}");
        assert!(clients.iter().all(|client| client.contains(':')), "{clients:?}");
        assert!(pairs().all(|pair| pair.bytes == 1 << 20 && pair.processes == 1));
        storage.assert_nothing_left();
    }
}

/// What the instances of a job had: clients, processes of each, bytes; and the clients' names.
fn shapes(storage: &Storage) -> (BTreeSet<(u32, u32, u64)>, BTreeSet<String>) {
    let instances = storage.instances();
    let shape = |it: &Instance| {
        assert_eq!(it.outcome, Ended::Complete);
        let bytes = it.pairs.iter().map(|pair| pair.bytes).sum();
        let processes: u32 = it.pairs.iter().map(|pair| pair.processes).sum();
        assert_eq!(processes, it.setting.clients * it.setting.processes, "all took part");
        (it.setting.clients, it.setting.processes, bytes)
    };
    let names = instances.iter().flat_map(|it| &it.pairs).map(|pair| pair.client.clone());
    (instances.iter().map(shape).collect(), names.collect())
}

#[test]
fn ranks_of_one_node_are_the_processes_of_one_client_where_that_is_the_question() {
    const MIB: u64 = 1 << 20;
    for mpi in ["openmpi", "mpich"] {
        let Some(mut command) = job(mpi, 4) else { continue };
        let storage = Storage::with_targets(4);
        storage.complete_bench(&mut command, "fanout --burst 4MiB --rounds 2");
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.status, Some(0), "{mpi}: {}", outcome.stderr);
        let (shapes_seen, names) = shapes(&storage);
        let wanted = [(1, 1, 4 * MIB), (1, 2, 4 * MIB), (1, 4, 4 * MIB)];
        assert_eq!(shapes_seen, wanted.into(), "{mpi}: 1, 2 and 4 processes share 4 MiB");
        assert_eq!(names.len(), 1, "{mpi}: {names:?}");
        storage.assert_nothing_left();
    }
}

#[test]
fn ranks_of_one_node_make_clients_of_as_many_processes_as_are_wanted() {
    for mpi in ["openmpi", "mpich"] {
        let Some(mut command) = job(mpi, 5) else { continue };
        let storage = Storage::with_targets(2);
        let two = "many-pairs --processes 2 --burst 1MiB --rounds 2";
        storage.complete_bench(&mut command, two);
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.status, Some(0), "{mpi}: {}", outcome.stderr);
        let (seen, names) = shapes(&storage);
        assert_eq!(seen, [(1, 2, 2 << 20), (2, 2, 4 << 20)].into(), "{mpi}");
        assert_eq!(names.len(), 2, "{mpi}: {names:?}");
        for wish in ["--processes 6", "--clients 3 --processes 2"] {
            let mut command = job(mpi, 5).unwrap();
            storage.complete_bench(&mut command, &format!("many-pairs --burst 1MiB {wish}"));
            let outcome = Outcome::from(command.output().unwrap());
            assert_ne!(outcome.status, Some(0), "{mpi} {wish}");
            assert!(outcome.stderr.contains("5 rank(s) on 1 node(s)"), "{}", outcome.stderr);
        }
        storage.assert_nothing_left();
    }
}

#[test]
fn a_failing_rank_is_told_by_name_and_the_job_ends() {
    for mpi in ["openmpi", "mpich"] {
        let Some(mut command) = job(mpi, 2) else { continue };
        let storage = Storage::with_targets(2);
        storage.complete_bench(&mut command, "many-pairs --burst 1MiB --values 3");
        let outcome = Outcome::from(command.output().unwrap());
        assert_ne!(outcome.status, Some(0), "{mpi}");
        assert!(outcome.stderr.contains("3 pairs"), "{mpi}: {}", outcome.stderr);
        storage.assert_nothing_left();
    }
}

#[test]
fn the_library_of_another_mpi_is_refused() {
    let others = [("openmpi", "libmpich.so.12"), ("mpich", "libmpi.so.40"), ("mpich", "libc.so.6")];
    for (mpi, library) in others {
        let Some(mut command) = job(mpi, 2) else { continue };
        let storage = Storage::with_targets(2);
        storage.complete_bench(&mut command, "many-pairs --burst 1MiB");
        command.env("PLIMSOLL_MPI_LIBRARY", library);
        let outcome = Outcome::from(command.output().unwrap());
        assert_ne!(outcome.status, Some(0), "{mpi} with {library}");
        assert!(outcome.stderr.contains("PLIMSOLL_MPI_LIBRARY"), "{}", outcome.stderr);
        assert!(!storage.results().exists());
    }
}

#[test]
fn an_ended_job_leaves_no_files_and_goes_on_only_as_it_began() {
    for mpi in ["openmpi", "mpich"] {
        let Some(mut command) = job(mpi, 4) else { continue };
        let storage = Storage::with_targets(4);
        let arguments =
            "many-pairs --burst 1MiB --values 4 --pause 50ms --rounds 60 --rounds-max 60";
        storage.complete_bench(&mut command, arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        storage.wait_for_instances(3);
        signal(&child, Signal::INT);
        let status = child.wait().unwrap();
        assert!(!status.success(), "{mpi}: {status}");
        storage.assert_nothing_left();
        let measured = storage.instances();
        assert!((3..60).contains(&measured.len()), "{mpi}: {}", measured.len());
        assert!(measured.iter().all(|instance| instance.outcome == Ended::Complete), "{mpi}");
        // Nobody else may go on under the ranks' names, nor fewer ranks.
        let alone = storage.resume();
        assert_eq!(alone.status, Some(2));
        assert!(alone.stderr.contains("started by"), "{}", alone.stderr);
        let mut fewer = job(mpi, 2).unwrap();
        fewer.args(["bench", "--resume"]).arg(storage.results());
        let fewer = Outcome::from(fewer.output().unwrap());
        assert_ne!(fewer.status, Some(0), "{mpi}");
        assert!(fewer.stderr.contains("a job like the first one"), "{}", fewer.stderr);
        let mut again = job(mpi, 4).unwrap();
        again.args(["bench", "--resume"]).arg(storage.results());
        let again = Outcome::from(again.output().unwrap());
        assert_eq!(again.status, Some(0), "{mpi}: {}", again.stderr);
        assert_eq!(storage.instances().len(), 60, "{mpi}");
        storage.assert_nothing_left();
    }
}
