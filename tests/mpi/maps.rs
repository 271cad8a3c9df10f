//! Mappings under MPI libraries that patch the functions which make them: MPICH's UCX does.

use plimsoll_trace::Op;

use super::{Run, Way, compiled, libraries};
use crate::support::recording::{calls, processes};

#[test]
fn every_mapping_is_recorded_once_whatever_is_patched() {
    for mpi in libraries("mpicc") {
        let run = Run::new();
        let app = compiled("mpi_maps.c", "mpicc", mpi, &[]);
        for way in [Way::Around, Way::Inside] {
            let out = run.at("out");
            let (_, rec) = run.recorded(mpi, way, 2, &[&app, &out]);
            let recorded = processes(&rec);
            for rank in 0..2 {
                for op in [Op::Mmap, Op::Msync, Op::Munmap] {
                    let found = calls(&recorded, op, &format!("/out.{rank}")).0;
                    assert_eq!(found, 10, "{mpi} {way:?} rank {rank}: {}", op.name());
                }
            }
        }
    }
}
