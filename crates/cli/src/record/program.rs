//! The program that is recorded: starting it, waiting for it, ending like it.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Result;
use plimsoll_process::run_to_end;

use crate::output;

/// As shells and env(1) do: 127 when there is no such program, 126 when it cannot be run.
pub fn not_started(program: &OsStr, error: &io::Error) -> ExitCode {
    output::message(&format!("error: cannot run {}: {error}", program.display()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

/// Starts the program and waits. Signals that ask to end are the program's to answer, whoever of
/// the two they are sent to; we go on to bring its recording home.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let unused = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Sent by a terminal to both. If it cannot be caught it ends us, and the recording waits in the spool.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGQUIT, unused);
    run_to_end(command)
}

/// Ends as the program did: with its status, or by its signal.
pub fn end_like(status: ExitStatus) -> Result<ExitCode> {
    if let Some(signal) = status.signal() {
        // Returns only for signals whose default is not to end the process.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)));
    }
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}
