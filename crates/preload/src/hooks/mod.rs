//! What the stand-ins do, by kind of call. Each takes the real call as a closure.

pub mod asynchronous;
pub mod data;
pub mod descriptor;
pub mod directory;
pub mod inlined;
pub mod listed;
pub mod lock;
pub mod mapping;
pub mod name;
pub mod own_stream;
pub mod printed;
pub mod program;
pub mod raw;
pub mod received;
pub mod served_stream;
pub mod served_transfer;
pub mod standard_streams;
pub mod stream;
pub mod stream_position;
pub mod temporary;
pub mod variadic;

use core::ffi::{c_int, c_void};

use plimsoll_trace::encode::Outcome;

use crate::backend::FromAnswer;
use crate::sys;

/// What a function gives back, as an outcome.
pub trait Returned: Copy {
    /// Returns the outcome of a call that moves no data.
    fn outcome(self) -> Outcome;
}

impl Returned for c_int {
    #[inline]
    fn outcome(self) -> Outcome {
        if self < 0 { failure() } else { Outcome::Value(0) }
    }
}

impl Returned for isize {
    #[inline]
    fn outcome(self) -> Outcome {
        if self < 0 { failure() } else { Outcome::Value(0) }
    }
}

impl Returned for i64 {
    #[inline]
    fn outcome(self) -> Outcome {
        if self < 0 { failure() } else { Outcome::Value(0) }
    }
}

impl Returned for () {
    #[inline]
    fn outcome(self) -> Outcome {
        Outcome::Value(0)
    }
}

impl<T> Returned for *mut T {
    #[inline]
    fn outcome(self) -> Outcome {
        if self.cast::<c_void>().is_null() { failure() } else { Outcome::Value(0) }
    }
}

/// A result that is zero or an error number, as of `posix_fallocate`.
#[derive(Clone, Copy)]
pub struct Code(pub c_int);

impl Returned for Code {
    fn outcome(self) -> Outcome {
        if self.0 != 0 { Outcome::Error(self.0 as u32) } else { Outcome::Value(0) }
    }
}

impl FromAnswer for Code {
    fn from_answer(answer: Result<usize, c_int>) -> Self {
        Code(answer.err().unwrap_or(0))
    }
}

/// A result that says nothing about failure, as the end of a directory.
#[derive(Clone, Copy)]
pub struct Anything<T>(pub T);

impl<T: Copy> Returned for Anything<T> {
    fn outcome(self) -> Outcome {
        Outcome::Value(0)
    }
}

/// Returns the outcome of a call that failed just now.
#[cold]
pub fn failure() -> Outcome {
    Outcome::Error(sys::errno() as u32)
}
