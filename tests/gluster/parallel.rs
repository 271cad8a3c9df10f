//! MPI programs whose ranks are on two nodes, with caches of their own, and write one container: what they print and write is as in a plain
//! directory of one node.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::stowed::{Cluster, NODES};
use crate::mpi::stowed::{BesidePlain, FILE, MPI_IO, PARALLEL_HDF5};
use crate::mpi::{AS_ROOT, Run, compiled, in_time, libraries, plain};
use crate::support::command::Outcome;
use crate::support::recording::{has, has_module, library, python};

const RANKS: u32 = 4;

/// Two nodes, and a directory of this one beside them. Ranks go round the nodes.
struct ParallelRun {
    nodes: Vec<Child>,
    cluster: Cluster,
    run: Run,
}

impl ParallelRun {
    fn new() -> Option<Self> {
        if !has(&["nsenter"]) {
            eprintln!("SKIPPED: needs nsenter");
            return None;
        }
        let cluster = Cluster::up()?;
        let mut run = ParallelRun { nodes: Vec::new(), cluster, run: Run::new() };
        for node in 0..NODES {
            let node = run.start(node);
            run.nodes.push(node);
        }
        Some(run)
    }

    /// Starts what keeps a node there until its input ends.
    fn start(&self, node: usize) -> Child {
        let prepare = format!("{} && echo there && exec cat", self.cluster.entry(node));
        let mut command = Command::new("unshare");
        command.args(["-u", "-m", "sh", "-c", &prepare]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
        assert_eq!(told, "there\n");
        child
    }

    /// Runs a program as ranks on the nodes, below `stow run`. No memory is shared between them.
    fn on_nodes(&self, mpi: &str, program: &[String]) -> Outcome {
        let [first, second] = [0, 1].map(|node| self.nodes[node].id());
        let directory = self.cluster.at("");
        let enter = format!(
            "case ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} in *[02468]) node={first};; *) node={second};; esac
             exec nsenter -t $node -u -m sh -c 'cd {} && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
            directory.display()
        );
        let mut command = plain(mpi, RANKS);
        command.args(["sh", "-c", &enter]).args(self.cluster.stow_run()).args(program);
        command.envs([("OMPI_MCA_btl", "tcp,self"), ("MPIR_CVAR_NOLOCAL", "1")]);
        command.envs(AS_ROOT).env("PLIMSOLL_LIBRARY", library());
        in_time(&command).output().unwrap().into()
    }

    /// Runs a program in a plain directory of this node and on the nodes; see [`BesidePlain::assert_same`].
    #[track_caller]
    fn assert_same_as_plain(&self, mpi: &str, program: &[&str], files: &[&str]) {
        let stowed = self.cluster.at("x").to_str().unwrap().to_owned();
        let beside = BesidePlain { ranks: RANKS, ordinary: self.run.at("x"), stowed };
        beside.assert_same(mpi, program, files, |program| self.on_nodes(mpi, program));
    }
}

impl Drop for ParallelRun {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            drop(node.stdin.take());
            let _ = node.wait();
        }
    }
}

/// Without sieving ranks write small records; with it they lock, read, change and write what others write as well.
#[test]
fn ranks_on_two_nodes_write_one_file() {
    let Some(run) = ParallelRun::new() else { return };
    for mpi in libraries("mpicc") {
        let strided = compiled("mpi_strided.c", "mpicc", mpi, &[]);
        for options in [&["-b", "1000"][..], &["-c", "-b", "1000"], &["romio_ds_write=enable"]] {
            run.assert_same_as_plain(mpi, &[&[&strided, FILE], options].concat(), &[""]);
        }
    }
}

/// Nothing but messages tells ranks that the others are done: each empties the file, all write, over each other, and one cuts the end off.
const IN_TURNS: &str = "
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
def meet(step):
    if step % 3 == 0: world.Barrier()
    elif step % 3 == 1: world.allreduce(rank)
    else: world.sendrecv(rank, dest=(rank + 1) % ranks, source=(rank - 1) % ranks); world.allgather(rank)
block = lambda first, shift, length: bytes([first + shift % ranks]) * length
for step in range(6):
    f = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    meet(step)
    for i in range(20): os.pwrite(f, block(97, rank + step, 1000), (i * ranks + rank) * 1000)
    meet(step)
    for i in range(20): os.pwrite(f, block(65, rank + step, 500), (i * ranks + (rank + 1) % ranks) * 1000)
    meet(step)
    if rank == step % ranks: os.ftruncate(f, 19 * ranks * 1000)
    meet(step)
    os.pwrite(f, b'z' * 1000, (19 * ranks + rank) * 1000)
    os.close(f)
    meet(step)
    wanted = b''.join(block(65, (k - 1) % ranks + step, 500) + block(97, k + step, 500)
                      for i in range(19) for k in range(ranks)) + b'z' * 1000 * ranks
    assert open(sys.argv[1], 'rb').read() == wanted, (rank, step)
    world.Barrier()
";

#[test]
fn what_a_rank_writes_after_a_message_is_later_on_any_node() {
    if !has(&["mpirun.openmpi"]) || !has_module("mpi4py") {
        return;
    }
    let Some(run) = ParallelRun::new() else { return };
    run.assert_same_as_plain("openmpi", &[python(), "-c", IN_TURNS, FILE], &[""]);
}

#[test]
fn parallel_hdf5_and_pnetcdf_write_the_same_files_from_two_nodes() {
    if !has(&["mpicc.openmpi", "mpirun.openmpi"]) {
        return;
    }
    let Some(run) = ParallelRun::new() else { return };
    for io in MPI_IO {
        if has_module("mpi4py, h5py._debian_h5py_mpi") {
            let program = ["env", io, python(), "-c", PARALLEL_HDF5, FILE];
            run.assert_same_as_plain("openmpi", &program, &[""]);
        }
        if Path::new("/usr/include/pnetcdf.h").exists() {
            let program = compiled("mpi_pnetcdf.c", "mpicc", "openmpi", &["-lpnetcdf"]);
            run.assert_same_as_plain("openmpi", &["env", io, &program, FILE], &[".0", ".1", ".2"]);
        }
    }
}
