//! The program that is recorded: starting it, waiting for it, ending like it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use plimsoll_machine::Machine;
use plimsoll_testbed::run_to_end;

use crate::output;

/// As shells and env(1) do: 127 when there is no such program, 126 when it cannot be run.
pub fn not_started(program: &OsStr, error: &io::Error) -> ExitCode {
    output::message(&format!("error: cannot run {}: {error}", program.display()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

/// Starts the program and waits. Signals that ask to end are the program's to answer, whoever of
/// the two they are sent to; we go on to bring its recording home.
pub fn run(program: &OsStr, mut command: Command) -> Result<ExitStatus> {
    let unused = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Sent by a terminal to both. If it cannot be caught it ends us, and the recording waits in the spool.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGQUIT, unused);
    run_to_end(&mut command).with_context(|| format!("cannot run {}", program.display()))
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

/// Why a preloaded library cannot see into the program, if so.
pub fn cannot_be_seen(program: &OsStr) -> Option<String> {
    let path = match Path::new(program).components().count() {
        1 => Machine::host().find_program(program)?,
        _ => PathBuf::from(program),
    };
    let metadata = std::fs::metadata(&path).ok()?;
    const SET_ID: u32 = 0o6000;
    let changes_user = metadata.permissions().mode() & SET_ID != 0
        && metadata.uid() != rustix::process::getuid().as_raw();
    if changes_user {
        return Some(format!(
            "{} changes its user: the dynamic linker preloads nothing into it",
            path.display()
        ));
    }
    is_static(&path).then(|| {
        format!("{} is statically linked: nothing can be preloaded into it", path.display())
    })
}

/// True for an ELF program without an interpreter (ELF-64: program headers of type PT_INTERP).
fn is_static(path: &Path) -> bool {
    const PT_INTERP: u32 = 3;
    const HEADERS_MAX: u16 = 256;
    let Ok(file) = File::open(path) else { return false };
    let mut header = [0u8; 64];
    if file.read_exact_at(&mut header, 0).is_err() || header[..5] != *b"\x7fELF\x02" {
        return false;
    }
    let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let (size, count) = (u64::from(word(54)), word(56).min(HEADERS_MAX));
    let mut start = [0u8; 8];
    start.copy_from_slice(&header[32..40]);
    let start = u64::from_le_bytes(start);
    let is_interpreter = |index: u16| {
        let mut kind = [0u8; 4];
        let at = start.saturating_add(size * u64::from(index));
        file.read_exact_at(&mut kind, at).is_ok() && u32::from_le_bytes(kind) == PT_INTERP
    };
    !(0..count).any(is_interpreter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_and_scripts_can_be_seen() {
        assert_eq!(cannot_be_seen(OsStr::new("sh")), None);
        assert_eq!(cannot_be_seen(OsStr::new("no-such-program-at-all")), None);
        assert!(!is_static(Path::new("/etc/passwd")));
    }
}
