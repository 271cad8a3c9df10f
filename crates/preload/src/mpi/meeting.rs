//! Meetings: calls after which a process may know what others have done, as a barrier or a message tells it.
//!
//! Programs take it that what they write after a barrier is later than what others wrote before. On one node it is. Nodes do not ask
//! each other at every write, so a backend whose files several nodes write asks when there was a meeting since it asked last.
//!
//! Nothing is recorded of these calls. Fortran's arrive here as C's do; functions whose counts are arrays of MPI_Count are not here, as no
//! other function can stand in where the library lacks them.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use super::real::{NO_LIBRARY, RealMpi, TOO_MANY, text};
use crate::backend;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Notes that there was one.
#[inline]
pub fn note() {
    if backend::is_active() {
        // Before anything that this thread does then.
        COUNT.fetch_add(1, Ordering::AcqRel);
    }
}

/// Returns how many there were.
#[inline]
pub fn count() -> u64 {
    COUNT.load(Ordering::Acquire)
}

/// Each row has the words of its functions, which of them are counts where there is a function for large ones, and their names.
macro_rules! meetings {
    ($($words:tt $([$($count:ident)+])? { $($name:literal)+ })+) => {
        $(meetings!(row $words [$($($count)+)?] $($name)+);)+
    };
    (row $words:tt [] $($name:literal)+) => {
        $(both!($words [] $name "");)+
    };
    (row $words:tt $counts:tt $($name:literal)+) => {
        $(both!($words [] $name ""); both!($words $counts $name "_c");)+
    };
}

macro_rules! both {
    ($words:tt $counts:tt $name:literal $large:literal) => {
        hook!($words $counts "MPI_" "PMPI_" $name $large);
        hook!($words $counts "PMPI_" "MPI_" $name $large);
    };
}

macro_rules! hook {
    (
        ($($word:ident)+) [$($count:ident)*] $prefix:literal $other:literal $name:literal $large:literal
    ) => {
        const _: () = {
            const NAMES: [&CStr; 2] = [
                text(concat!($prefix, $name, $large, "\0")),
                text(concat!($other, $name, $large, "\0")),
            ];
            const SMALL: [&CStr; 2] =
                [text(concat!($prefix, $name, "\0")), text(concat!($other, $name, "\0"))];
            static REAL: RealMpi = RealMpi::new(NAMES, SMALL, 0, 0);

            #[unsafe(export_name = concat!($prefix, $name, $large))]
            extern "C-unwind" fn hook($($word: usize),+) -> c_int {
                let Some((address, is_for_any_count)) = REAL.found() else { return NO_LIBRARY };
                let counts: &[usize] = &[$($count),*];
                if !is_for_any_count && counts.iter().any(|it| *it > c_int::MAX as usize) {
                    return TOO_MANY;
                }
                // SAFETY: a function of that name is at the address, and takes so many words.
                let real = unsafe {
                    core::mem::transmute::<
                        *const c_void,
                        extern "C-unwind" fn($(word!($word)),+) -> c_int,
                    >(address as *const c_void)
                };
                let result = real($($word),+);
                note();
                result
            }
        };
    };
}

/// The type of any argument.
macro_rules! word {
    ($word:ident) => {
        usize
    };
}

meetings! {
    (comm) { "Barrier" }
    (buffer count datatype root comm) [count] { "Bcast" }
    (send receive count datatype op comm) [count] { "Allreduce" "Scan" "Exscan" "Reduce_scatter_block" }
    (send receive counts datatype op comm) { "Reduce_scatter" }
    (send receive count datatype op root comm) [count] { "Reduce" }
    (send count datatype receive other_count other_datatype comm) [count other_count] {
        "Allgather" "Alltoall" "Neighbor_allgather" "Neighbor_alltoall"
    }
    (send count datatype receive other_count other_datatype root comm) [count other_count] {
        "Gather" "Scatter"
    }
    (send count datatype receive counts displacements other_datatype comm) {
        "Allgatherv" "Neighbor_allgatherv"
    }
    (send count datatype receive counts displacements other_datatype root comm) { "Gatherv" }
    (send counts displacements datatype receive count other_datatype root comm) { "Scatterv" }
    (send counts displacements datatypes receive other_counts other_displacements other_datatypes comm) {
        "Alltoallv" "Alltoallw" "Neighbor_alltoallv" "Neighbor_alltoallw"
    }

    (buffer count datatype source tag comm status) [count] { "Recv" }
    (buffer count datatype message status) [count] { "Mrecv" }
    (send count datatype to tag receive other_count other_datatype source other_tag comm status)
        [count other_count] { "Sendrecv" }
    (buffer count datatype to tag source other_tag comm status) [count] { "Sendrecv_replace" }
    (source tag comm status) { "Probe" }
    (source tag comm flag status) { "Iprobe" }
    (source tag comm message status) { "Mprobe" }
    (source tag comm flag message status) { "Improbe" }

    (request status) { "Wait" }
    (count requests statuses) { "Waitall" }
    (count requests index status) { "Waitany" }
    (count requests done indices statuses) { "Waitsome" }
    (request flag status) { "Test" }
    (count requests flag statuses) { "Testall" }
    (count requests index flag status) { "Testany" }
    (count requests done indices statuses) { "Testsome" }

    (assertion window) { "Win_fence" "Win_lock_all" }
    (window) { "Win_wait" "Win_flush_all" "Win_unlock_all" "Win_sync" }
    (window flag) { "Win_test" }
    (kind rank assertion window) { "Win_lock" }
    (group assertion window) { "Win_start" }
    (rank window) { "Win_flush" "Win_unlock" }

    (comm made) { "Comm_dup" }
    (comm group made) { "Comm_create" }
    (comm color key made) { "Comm_split" }
    (comm kind key info made) { "Comm_split_type" }
}
