//! Runs the system's programs for block devices.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_guarded::acting_user;
use plimsoll_machine::Machine;

use crate::TestbedError;
use crate::lock::Lock;

/// Runs a system program to its end and gives what it printed.
///
/// `path` is the file or device that it works on, for messages. The program holds the
/// bed's lock until it ends, also when this process does not live to see that.
pub(crate) fn run_tool<A: AsRef<OsStr>>(
    machine: &Machine,
    lock: Option<&Lock>,
    program: &str,
    arguments: &[A],
    path: &Path,
) -> Result<String, TestbedError> {
    let failed = |reason: String| TestbedError::Tool {
        program: program.to_owned(),
        path: path.to_path_buf(),
        reason,
    };
    let user = acting_user();
    if user != rustix::process::geteuid().as_raw() {
        // It would be root's.
        return Err(failed(format!("it cannot be run with the rights of user {user} only")));
    }
    let found = machine
        .find_system_program(program)
        .ok_or_else(|| failed("not found in PATH nor in /usr/sbin".to_owned()))?;
    let output = Command::new(found)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(lock.map_or_else(Stdio::null, Lock::as_stdin))
        .output()
        .map_err(|cause| failed(cause.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(failed(complaint(&output.stderr, output.status)))
    }
}

/// Returns what a failed program said, in one line; its exit status when it said nothing.
fn complaint(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { status.to_string() } else { lines.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String, TestbedError> {
        run_tool(&Machine::host(), None, "sh", &["-c", script], Path::new("/dev/loop9"))
    }

    #[test]
    fn tells_what_the_program_said() {
        assert_eq!(shell("echo /dev/loop0").unwrap(), "/dev/loop0\n");
        let error = shell("echo one >&2; echo; echo two >&2; exit 3").unwrap_err().to_string();
        assert_eq!(error, "sh on /dev/loop9 failed: one; two");
        assert!(shell("exit 3").unwrap_err().to_string().contains("exit status: 3"));
    }

    #[test]
    fn the_program_holds_the_lock() {
        let base = tempfile::tempdir().unwrap();
        let place = crate::place::Place::new(base.path(), "bed").unwrap();
        let lock = Lock::acquire(&place, Default::default()).unwrap();
        let arguments = ["/proc/self/fd/0"];
        let stdin =
            run_tool(&Machine::host(), Some(&lock), "readlink", &arguments, Path::new("/x"));
        assert_eq!(Path::new(stdin.unwrap().trim()), place.lock_file());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run_tool(&Machine::at("/", ""), None, "mkfs.none", &["x"], Path::new("/x"));
        assert!(error.unwrap_err().to_string().contains("mkfs.none"));
    }
}
