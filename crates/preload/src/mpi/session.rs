//! The beginning and the end of MPI: who we are, which library, and moments common to all ranks.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::variables;

use super::library;
use super::real::Words;
use super::{Guard, MpiFunction};
use crate::{recorder, sys};

/// Barriers at each end. The shortest way out of several tells the clocks' offset best (RIOT
/// synchronises in the same place; Wright, section 4.2).
const BARRIERS: usize = 8;

/// `BARRIER_BEGIN` and `BARRIER_END` are the numbers of [`DefinitionKind::Barrier`].
const BARRIER_BEGIN: u32 = 0;
const BARRIER_END: u32 = 1;

/// How much of the library's own description is kept; MPICH goes on with how it was configured.
const VERSION_BYTES_MAX: usize = 512;

/// True between the two ends.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);
/// True if the ranks have gone through barriers at the beginning, so that they may at the end.
static IS_SYNCHRONISED: AtomicBool = AtomicBool::new(false);

/// Stands in for MPI_Init and MPI_Init_thread.
pub fn init(function: &'static MpiFunction, words: Words) -> c_int {
    let Some(_guard) = Guard::take() else { return function.real.call(&words) };
    let result = function.real.call(&words);
    if result == 0 && !IS_RUNNING.swap(true, Ordering::AcqRel) {
        begun();
    }
    result
}

/// Stands in for MPI_Finalize, without the guard: programs do I/O from callbacks of the library in there.
pub fn finalize(function: &'static MpiFunction, words: Words) -> c_int {
    if IS_RUNNING.swap(false, Ordering::AcqRel)
        && IS_SYNCHRONISED.swap(false, Ordering::AcqRel)
        && let Some(comm) = library::comm_world()
    {
        synchronise(comm, BARRIER_END);
    }
    function.real.call(&words)
}

fn begun() {
    library::version(|text| {
        // Open MPI counts the zero at the end.
        let text = text.get(..VERSION_BYTES_MAX).unwrap_or(text);
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        recorder::define(DefinitionKind::MpiLibrary, 0, 0, text);
    });
    let Some(comm) = library::comm_world() else { return };
    if let Some((rank, ranks)) = library::rank_and_size(comm) {
        recorder::set_rank(rank, ranks);
    }
    if is_everyone_here() {
        IS_SYNCHRONISED.store(true, Ordering::Release);
        synchronise(comm, BARRIER_BEGIN);
    }
}

/// Goes through barriers together with all other ranks.
fn synchronise(comm: usize, place: u32) {
    let mut moments = [0u64; BARRIERS];
    for moment in &mut moments {
        if library::barrier(comm).is_none() {
            return;
        }
        *moment = recorder::ticks();
    }
    for moment in moments {
        recorder::define(DefinitionKind::Barrier, place, moment, b"");
    }
}

/// Returns true if all ranks of MPI_COMM_WORLD run with this library; if one did not, the others would
/// wait for it in the barriers for ever. So the answer must be the same on every rank: it may
/// depend on the environment, but not on a full disk or on what this rank records.
fn is_everyone_here() -> bool {
    if sys::variable(variables::RECORD_DIR).is_none_or(<[u8]>::is_empty) {
        return false;
    }
    match sys::variable(variables::MPI_BARRIER) {
        Some(b"0") => false,
        Some(b"1") => true,
        // mpirun of Open MPI does not pass the environment on to other nodes, and tells when
        // several programs share MPI_COMM_WORLD. Other launchers pass all of it on.
        _ => {
            let is_single =
                sys::variable(variables::OPEN_MPI_PROGRAMS).is_none_or(|count| count == b"1");
            let here = sys::variable(variables::OPEN_MPI_LOCAL_SIZE);
            is_single && here == sys::variable(variables::OPEN_MPI_SIZE)
        }
    }
}
