//! The program that is recorded: starting it, waiting for it, ending like it.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use anyhow::Result;

use crate::output;

/// As shells and env(1) do: 127 when there is no such program, 126 when it cannot be run.
pub fn not_started(program: &OsStr, error: &io::Error) -> ExitCode {
    output::message(&format!("error: cannot run {}: {error}", program.display()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

/// Ends as the program did: with its status, or by its signal.
pub fn end_like(status: ExitStatus) -> Result<ExitCode> {
    if let Some(signal) = status.signal() {
        // Its core is the one that matters, and ours would take its place.
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // Returns only for signals whose default is not to end the process.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)));
    }
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}
