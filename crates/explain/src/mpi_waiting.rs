//! Time inside MPI-IO that no call below it explains.

use crate::coverages::{Coverages, Covers};

/// Wall time in which processes are inside MPI-IO calls while none of them is inside a call that
/// MPI-IO makes: they exchange data, or wait for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MpiWaiting {
    /// Wall time in which at least one process is inside an MPI-IO call.
    pub inside_seconds: f64,
    /// The part of it in which no process is inside a POSIX or stdio call below MPI-IO.
    pub unexplained_seconds: f64,
    /// The part of that in which all processes that use MPI-IO are inside: none comes late.
    pub all_inside_seconds: f64,
    /// Processes that use MPI-IO.
    pub processes: usize,
}

/// Allows for the edges of bins.
const ALL_BUT: f64 = 0.5;

/// Looks at the calls of this many processes.
pub(crate) fn mpi_waiting(coverages: &Coverages, processes: usize) -> MpiWaiting {
    let (inside, below) = (coverages.of(Covers::IN_MPI), coverages.of(Covers::BELOW_MPI));
    let grid = inside.grid();
    let mut found = MpiWaiting { processes, ..MpiWaiting::default() };
    for bin in 0..grid.bins() {
        let covered = inside.union_ns(bin);
        let unexplained = (covered - below.union_ns(bin)).max(0.0);
        found.inside_seconds += covered * 1e-9;
        found.unexplained_seconds += unexplained * 1e-9;
        // While anybody is inside: the time of all over the time of any.
        let inside_at_a_time = inside.bin(bin).sum as f64 / covered.max(1.0);
        if inside_at_a_time > processes as f64 - ALL_BUT {
            found.all_inside_seconds += unexplained * 1e-9;
        }
    }
    found
}
