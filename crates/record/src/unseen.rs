//! A program that a preloaded library cannot see into: the recording says so itself.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, open_input};
use plimsoll_machine::Machine;
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::executable::{Executable, INTERPRETER_BYTES_MAX, Rights, look};
use plimsoll_trace::layout::{Anchor, State};
use plimsoll_trace::{ProcessWriter, Program, Unseen};

use crate::RecordError;

/// A program that will not be recorded, or not all of it.
#[derive(Debug, PartialEq, Eq)]
pub struct UnseenProgram {
    path: PathBuf,
    reason: Unseen,
}

impl UnseenProgram {
    /// Looks at the program of a command; `None` when it can be recorded, or cannot be run.
    pub fn find(program: &OsStr) -> Option<Self> {
        let path = match Path::new(program).components().count() {
            1 => Machine::host().find_program(program)?,
            _ => PathBuf::from(program),
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        let reason = reason(&path, SCRIPTS_MAX)?;
        Some(UnseenProgram { path, reason })
    }

    /// Returns true if the library must not be in the program's environment.
    pub fn must_not_be_preloaded(&self) -> bool {
        self.reason.must_not_be_preloaded()
    }

    /// Leaves a file in the recording, of this process as one that became the program. Returns its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn tell(&self, directory: &Directory, is_shared: bool) -> Result<String, RecordError> {
        let now = Anchor::now();
        let program = Program::current();
        let name = format!("{}-{}-{:x}.rec", program.host, program.pid, now.realtime_ns);
        let path = directory.path_by_descriptor().join(&name);
        let write = || {
            let mut writer = ProcessWriter::create(&path, &program, now)?;
            let text = self.path.as_os_str().as_bytes();
            writer.define(DefinitionKind::Program, 0, self.reason as u64, text)?;
            writer.finish_as(State::Executed)?;
            if is_shared {
                fs::set_permissions(&path, Permissions::from_mode(0o644))
            } else {
                Ok(())
            }
        };
        write().map_err(RecordError::io("write", &directory.path().join(&name)))?;
        Ok(name)
    }
}

/// Interpreters of interpreters that are followed, as the kernel does (fs/exec.c).
const SCRIPTS_MAX: usize = 5;

fn reason(path: &Path, scripts_left: usize) -> Option<Unseen> {
    let file = open_input(path).ok()?;
    let metadata = file.metadata().ok().filter(|it| it.is_file() && it.mode() & 0o111 != 0)?;
    let read = |at: u64, room: &mut [u8]| file.read_at(room, at).unwrap_or(0);
    let mut interpreter = [0; INTERPRETER_BYTES_MAX];
    let name = path.file_name().unwrap_or_default();
    match look(read, name.as_bytes(), &mut interpreter) {
        Executable::Unknown => None,
        Executable::Script(length) => {
            let path = Path::new(OsStr::from_bytes(&interpreter[..length])).to_path_buf();
            reason(&path, scripts_left.checked_sub(1)?)
        }
        Executable::Program(reason) => rights(path, &metadata).or(reason),
    }
}

/// Returns why the dynamic linker will not trust us.
fn rights(path: &Path, metadata: &fs::Metadata) -> Option<Unseen> {
    let user = rustix::process::getuid().as_raw();
    let mut room = [0u8; 64];
    let capabilities = rustix::fs::getxattr(path, c"security.capability", &mut room);
    let rights = Rights {
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        process: (user, rustix::process::getgid().as_raw()),
        has_capabilities: capabilities.is_ok_and(|length| length > 0),
    };
    rights.unseen()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_and_scripts_can_be_seen() {
        for name in ["sh", "ldd", "no-such-program-at-all", "/etc/passwd", "/tmp"] {
            assert_eq!(UnseenProgram::find(OsStr::new(name)), None, "{name}");
        }
    }
}
