//! MPI and HDF5 programs in Python.

use std::fs;
use std::process::Command;

use plimsoll_trace::{Class, Event, Layer};

use super::{Run, Way, assert_as_expected, of_ranks};
use crate::support::command::Outcome;
use crate::support::recording::{
    Process, all_finished, has, has_module, processes, python, run_recorded,
};

/// mpi4py of the distribution is for its default MPI library, Open MPI in Debian.
#[test]
fn mpi4py_programs_are_recorded() {
    if !has(&["mpirun.openmpi"]) || !has_module("mpi4py") {
        return;
    }
    let script = "
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
data = bytearray(b'x' * 1000)
offsets = [(call * ranks + rank) * 1000 for call in range(20)]
for offset in offsets:
    file.Write_at(offset, data)
file.Write_at_all(rank * 1000, data)
file.Iwrite_at(rank * 1000, data).Wait()
file.Sync()
file.Read_at(rank * 1000, data)
file.Close()
sum_of = {'write_at': (20, sum(offsets)), 'open': 0, 'sync': 0, 'close': 0}
for name in ['write_at_all', 'iwrite_at', 'read_at']:
    sum_of[name] = (1, rank * 1000)
lines = ''
for name, calls in sum_of.items():
    calls, places = calls or (1, 0)
    size = 1000 * calls if name.endswith('at') or name.endswith('all') else 0
    lines += 'expect %d MPI_File_%s %d %d %d %d 0\\n' % (rank, name, calls, size, size, places)
sys.stdout.write(lines)  # at once: ranks share a terminal
";
    let run = Run::new();
    let command = [python(), "-c", script, &run.at("out")];
    let (outcome, rec) = run.recorded("openmpi", Way::Around, 2, &command);
    assert_as_expected(&outcome.stdout, &processes(&rec), 2);
}

const HDF5: &str = "
import sys, numpy, h5py
path, is_parallel = sys.argv[1], len(sys.argv) > 2
if is_parallel:
    from mpi4py import MPI
    rank, ranks = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
    file = h5py.File(path, 'w', driver='mpio', comm=MPI.COMM_WORLD)
else:
    rank, ranks = 0, 1
    file = h5py.File(path, 'w')
numbers = file.create_dataset('numbers', (100000 * ranks,), dtype='i8')
numbers[rank * 100000:(rank + 1) * 100000] = numpy.arange(100000) + rank
file.close()
";

const HDF5_CHECK: &str = "
import sys, numpy, h5py
numbers = h5py.File(sys.argv[1], 'r')['numbers'][:]
rows = numbers.reshape(-1, 100000)
assert all((row == numpy.arange(100000) + rank).all() for rank, row in enumerate(rows))
print(len(numbers))
";

/// Bytes written on a layer to files whose path ends so.
fn written(recorded: &[Process], layer: Layer, path: &str) -> u64 {
    let is_write = |it: &&Event| it.op.layer() == layer && it.op.class() == Class::Write;
    let sum_of = |process: &Process| {
        let events = process.events.iter().filter(is_write);
        events
            .filter(|it| process.files.get(&it.file).is_some_and(|name| name.ends_with(path)))
            .map(Event::bytes)
            .sum::<u64>()
    };
    recorded.iter().map(sum_of).sum()
}

fn assert_hdf5_has(path: &str, numbers: &str) {
    let check: Outcome =
        Command::new(python()).args(["-c", HDF5_CHECK, path]).output().unwrap().into();
    assert_eq!((check.status, check.stdout.trim()), (Some(0), numbers), "{}", check.stderr);
}

#[test]
fn hdf5_programs_are_recorded() {
    if !has_module("h5py") {
        return;
    }
    let run = Run::new();
    let (out, rec) = (run.at("serial.h5"), run.folder.path().join("serial"));
    let outcome = run_recorded(&rec, &[python(), "-c", HDF5, &out]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_hdf5_has(&out, "100000");
    let recorded = processes(&rec);
    let size = fs::metadata(&out).unwrap().len();
    let bytes = written(&recorded, Layer::Posix, "/serial.h5");
    assert!((800_000..=size + 100_000).contains(&bytes), "{bytes} for a file of {size}");
    assert!(all_finished(&recorded));

    if !has(&["mpirun.openmpi"]) || !has_module("mpi4py, h5py._debian_h5py_mpi") {
        return;
    }
    let out = run.at("parallel.h5");
    let command = [python(), "-c", HDF5, &out, "parallel"];
    let (_, rec) = run.recorded("openmpi", Way::Around, 2, &command);
    assert_hdf5_has(&out, "200000");
    let recorded = processes(&rec);
    assert_eq!(of_ranks(&recorded).count(), 2);
    for layer in [Layer::Mpi, Layer::Posix] {
        let bytes = written(&recorded, layer, "/parallel.h5");
        assert!((1_600_000..1_800_000).contains(&bytes), "{layer:?}: {bytes}");
    }
}
