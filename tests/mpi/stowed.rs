//! MPI programs whose files are containers: what they print and write is as in a plain directory.

use std::fs;
use std::path::Path;

use super::{AS_ROOT, Run, compiled, in_time, libraries, mpirun, plain};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{has, has_module, library, python};

/// What stands for the path of a program's file.
pub const FILE: &str = "FILE";

/// A plain directory, a mount and two targets.
struct StowedRun {
    run: Run,
}

impl StowedRun {
    fn new() -> Self {
        let run = Run::new();
        for name in ["plain", "mount", "ost0", "ost1"] {
            fs::create_dir(run.at(name)).unwrap();
        }
        StowedRun { run }
    }

    /// Runs three ranks of a program in a plain directory and below the mount; see [`BesidePlain::assert_same`].
    #[track_caller]
    fn assert_same_as_plain(&self, mpi: &str, program: &[&str], files: &[&str]) {
        let beside = BesidePlain {
            ranks: 3,
            ordinary: self.run.at("plain/x"),
            stowed: self.run.at("mount/x"),
        };
        beside.assert_same(mpi, program, files, |program| {
            let mut command = binary();
            command.args(["stow", "run", "--mount", &self.run.at("mount"), "--targets"]);
            command.args([&self.run.at("ost0"), &self.run.at("ost1")]).arg("--");
            command.args(mpirun(mpi, 3)).args(program).envs(AS_ROOT);
            in_time(command.env("PLIMSOLL_LIBRARY", library())).output().unwrap().into()
        });
    }
}

/// The path of a program's file in a plain directory, and where it is a container.
pub struct BesidePlain {
    pub ranks: u32,
    pub ordinary: String,
    pub stowed: String,
}

impl BesidePlain {
    /// Runs a program in the plain directory, and as it is told where its file is a container; compares what it printed and the files that
    /// it made, by what follows `FILE` in their names, and removes them.
    #[track_caller]
    pub fn assert_same(
        &self,
        mpi: &str,
        program: &[&str],
        files: &[&str],
        run_stowed: impl FnOnce(&[String]) -> Outcome,
    ) {
        let writing_to = |file: &str| -> Vec<String> {
            program.iter().map(|word| (if *word == FILE { file } else { word }).into()).collect()
        };
        let mut command = plain(mpi, self.ranks);
        let expected: Outcome =
            in_time(command.args(writing_to(&self.ordinary))).output().unwrap().into();
        assert_eq!(expected.status, Some(0), "{}", expected.stderr);
        let outcome = run_stowed(&writing_to(&self.stowed));
        let (told, wanted) = ((outcome.status, outcome.stdout), (Some(0), expected.stdout));
        assert_eq!(told, wanted, "{mpi} {program:?}: {}", outcome.stderr);
        for name in files {
            let [ordinary, stowed] = [&self.ordinary, &self.stowed].map(|it| format!("{it}{name}"));
            let held = binary().args(["stow", "cat", &stowed]).output().unwrap();
            assert!(held.stdout == fs::read(&ordinary).unwrap(), "{mpi} {program:?} {name}");
            assert!(binary().args(["stow", "rm", &stowed]).output().unwrap().status.success());
            fs::remove_file(&ordinary).unwrap();
        }
    }
}

#[test]
fn ranks_write_one_container_and_read_it_back() {
    let run = StowedRun::new();
    for mpi in libraries("mpicc") {
        let strided = compiled("mpi_strided.c", "mpicc", mpi, &[]);
        for options in [&["-b", "1000"][..], &["-c", "-b", "1000"]] {
            run.assert_same_as_plain(mpi, &[&[&strided, FILE], options].concat(), &[""]);
        }
    }
}

/// Open MPI has MPI-IO of its own, and ROMIO.
pub const MPI_IO: [&str; 2] = ["OMPI_MCA_io=ompio", "OMPI_MCA_io=romio321"];

pub const PARALLEL_HDF5: &str = "
import sys, numpy, h5py
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
f = h5py.File(sys.argv[1], 'w', driver='mpio', comm=world)
made = lambda name, **more: f.create_dataset(name, (20 * ranks, 1000), track_times=False, dtype='f8', **more)
a, b, c = made('independent'), made('collective'), made('chunked', chunks=(7, 111))
mine, other = slice(rank * 20, rank * 20 + 20), (rank + 1) % ranks
block = numpy.arange(20000).reshape(20, 1000)
a[mine] = block + rank
with b.collective: b[rank::ranks] = block * rank
with c.collective: c[mine] = block - rank
for i in range(5): a[rank * 20 + i, :7] = i; f.flush()
f.close()
f = h5py.File(sys.argv[1], 'r', driver='mpio', comm=world)
assert (f['collective'][other::ranks] == block * other).all()
assert (f['chunked'][other * 20:other * 20 + 20] == block - other).all()
f.close()
";

#[test]
fn parallel_hdf5_writes_the_same_file() {
    if !has(&["mpirun.openmpi"]) || !has_module("mpi4py, h5py._debian_h5py_mpi") {
        return;
    }
    let run = StowedRun::new();
    for io in MPI_IO {
        let program = ["env", io, python(), "-c", PARALLEL_HDF5, FILE];
        run.assert_same_as_plain("openmpi", &program, &[""]);
    }
}

/// PnetCDF of the distribution is for its default MPI library, Open MPI in Debian.
#[test]
fn pnetcdf_writes_the_same_files() {
    if !has(&["mpicc.openmpi", "mpirun.openmpi"]) {
        return;
    }
    if !Path::new("/usr/include/pnetcdf.h").exists() {
        eprintln!("SKIPPED: needs PnetCDF");
        return;
    }
    let run = StowedRun::new();
    let program = compiled("mpi_pnetcdf.c", "mpicc", "openmpi", &["-lpnetcdf"]);
    for io in MPI_IO {
        let program = ["env", io, &program, FILE];
        run.assert_same_as_plain("openmpi", &program, &[".0", ".1", ".2"]);
    }
}
