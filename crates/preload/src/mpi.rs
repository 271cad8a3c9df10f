//! MPI-IO: one build for every MPI library, without mpi.h, for C and Fortran.
//!
//! All arguments are machine words that are passed on untouched; see [`library`] for the little
//! that must be known about handles. Hooks exist for `MPI_` and `PMPI_` names, because Fortran
//! bindings call the one (MPICH) or the other (Open MPI), and tools in between call the second
//! from within the first. [`Guard`] makes sure that a call counts once.
//!
//! Each function is named once, in [`table`], or in [`meeting`] if it is one by which processes hear of each other.

mod control;
mod data;
mod files;
mod hints;
mod library;
pub mod meeting;
mod path;
mod real;
mod session;
mod table;

use core::cell::Cell;
use core::ffi::c_int;

use plimsoll_trace::encode::{Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::{Layer, Op};

use crate::files::EXCLUDED;
use crate::hot;
use crate::recorder::{self, Finished, Start};
use real::RealMpi;

pub use table::FUNCTIONS;

/// A function that is intercepted.
pub struct MpiFunction {
    /// What is recorded.
    op: Op,
    /// Where its arguments are.
    shape: Shape,
    /// The library's own.
    real: RealMpi,
}

/// Where a function's arguments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `(file, [offset,] buffer, count, datatype [, status or request])`.
    Data {
        /// Where data goes to or comes from.
        position: Position,
        /// What is after the datatype.
        last: Last,
        /// The count is an MPI_Count.
        is_large: bool,
    },
    /// Anything else: the handler knows.
    Other,
}

impl Shape {
    /// Returns the word that is the count.
    const fn count_at(self) -> usize {
        // An offset comes before.
        2 + matches!(self, Shape::Data { position: Position::Explicit, .. }) as usize
    }
}

/// Where data goes to or comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// An argument says it.
    Explicit,
    /// The file pointer of this process.
    Individual,
    /// The file pointer of all processes together.
    Shared,
}

/// What comes after the datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A status, which tells what was moved.
    Status,
    /// A request: data is moved later.
    Request,
    /// Nothing: the other half of a split call ends it.
    Nothing,
}

std::thread_local! {
    /// Hooks of this layer that the thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Held by the outermost hook of a thread.
struct Guard;

impl Guard {
    /// Takes the guard; `None` in a call that another one makes, which counts already.
    fn take() -> Option<Guard> {
        DEPTH.try_with(|depth| depth.replace(1) == 0).unwrap_or(false).then_some(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(0));
    }
}

/// A call that is being recorded, until it is dropped.
struct Recording {
    start: Start,
    op: Op,
    /// The number of its file.
    file: u32,
    _guard: Guard,
}

impl Recording {
    /// Begins a call; `None` if nothing is recorded, or if the call is part of one that is. The file is asked
    /// for in other cases only.
    fn begin(op: Op, file: impl FnOnce() -> u32) -> Option<Recording> {
        if hot::mode() & hot::bit(Layer::Mpi) == 0 {
            return None;
        }
        let guard = Guard::take()?;
        let file = file();
        // A file that a filter keeps out must not be entered: its end would be kept out too.
        let start = if file == EXCLUDED { Start(0) } else { recorder::enter() };
        Some(Recording { start, op, file, _guard: guard })
    }

    /// Ends the call. What the hook still has to ask the library does not count.
    fn end(&mut self, result: c_int, what: What) {
        let outcome = match result {
            0 => Outcome::Value(what.moved),
            // By its class, which is in mpi.h.
            code => Outcome::Error(library::error_class(code)),
        };
        self.end_with(outcome, what);
    }

    fn end_with(&mut self, outcome: Outcome, what: What) {
        let What { offset, length, argument, .. } = what;
        let start = core::mem::replace(&mut self.start, Start(0));
        let call = Finished { op: self.op, file: self.file, offset, length, outcome, argument };
        recorder::end(start, &call);
    }
}

impl Drop for Recording {
    /// A call that was left by an exception of an error handler, or by the end of its thread, is
    /// recorded all the same, or what follows would seem to lie within it.
    fn drop(&mut self) {
        if self.start.is_on() {
            self.end_with(Outcome::Error(UNWOUND), What::NOTHING);
        }
    }
}

/// What a call has done, apart from failing.
struct What {
    offset: u64,
    length: u64,
    moved: u64,
    argument: u64,
}

impl What {
    /// No data, and nothing to say.
    const NOTHING: What = What::argument(0);

    const fn argument(argument: u64) -> What {
        What { offset: UNKNOWN_OFFSET, length: 0, moved: 0, argument }
    }
}

/// Error number of calls that never returned.
const UNWOUND: u32 = u32::MAX;
