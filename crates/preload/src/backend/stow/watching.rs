//! What containers do to their logs, for the recording: a layer below that of the program's calls.

use std::os::unix::ffi::OsStrExt;

use plimsoll_stow::{Deed, Done, Watcher};
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Loss;
use plimsoll_trace::{Layer, Op};

use crate::files::{self, EXCLUDED};
use crate::thread::Busy;
use crate::{clock, hot, process, recorder, sys};

/// Writes them down, if that layer is recorded.
pub struct LogCalls;

impl Watcher for LogCalls {
    fn begin(&self) -> u64 {
        if hot::mode() & hot::bit(Layer::Logs) != 0 { clock::ticks() } else { 0 }
    }

    fn ended(&self, began: u64, done: &Done<'_>) {
        let end = clock::ticks();
        let Some(busy) = Busy::begin_within() else { return process::lose(Loss::Reentered) };
        let errno = sys::errno();
        let file = files::number(&busy, done.path.as_os_str().as_bytes());
        if file != EXCLUDED {
            recorder::write(&busy, &call(done, file, (began, end)));
        }
        sys::set_errno(errno);
    }
}

fn call(done: &Done<'_>, file: u32, (start, end): (u64, u64)) -> Call {
    let (op, offset) = match done.deed {
        Deed::Read => (Op::LogRead, done.position),
        Deed::Write => (Op::LogWrite, done.position),
        Deed::Sync => (Op::LogSync, UNKNOWN_OFFSET),
        Deed::Wait => (Op::LogWait, UNKNOWN_OFFSET),
    };
    let outcome = match done.moved {
        Ok(count) => Outcome::Value(count),
        Err(errno) => Outcome::Error(errno.raw_os_error() as u32),
    };
    Call { op, file, offset, length: done.length, outcome, argument: 0, start, end }
}
