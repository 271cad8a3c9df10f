//! Getting ready to run a program whose files are containers.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use plimsoll_trace::variables;

use crate::RecordError;
use crate::launch::{list_of, preload_into};

/// A program whose new files below a directory are containers.
#[derive(Debug, Clone, Copy)]
pub struct Stowing<'a> {
    /// The program.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// The directory: a whole path.
    pub mount: &'a Path,
    /// Names and whole paths of the targets that their logs are on.
    pub targets: &'a [(&'a str, &'a Path)],
    /// How segments are spread.
    pub policy: &'a str,
    /// How many bytes each writer may write beyond what the targets take now.
    pub buffer_bytes: u64,
    /// How many bytes a new file has at most that is kept beside its name.
    pub small_bytes: u64,
    /// Where what is written is counted.
    pub tally: Option<&'a Path>,
    /// Globs of the paths that become containers; none means all.
    pub only: &'a [String],
    /// Globs of the paths that do not.
    pub except: &'a [String],
}

impl Stowing<'_> {
    /// How many bytes a writer may write beyond what the targets take now if nobody says so.
    pub const BUFFER_BYTES: u64 = variables::STOW_BUFFER_BYTES;
    /// How many bytes a file has at most that is kept beside its name if nobody says so.
    pub const SMALL_BYTES: u64 = variables::STOW_SMALL_BYTES;
    /// What can be said.
    pub const SMALL_BYTES_MAX: u64 = variables::STOW_SMALL_BYTES_MAX;

    /// Returns the command, which preloads the library and tells it what to do.
    ///
    /// # Errors
    /// If there is no library that can be used, or if there is more to tell than it can hold.
    pub fn command(&self) -> Result<Command, RecordError> {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        preload_into(&mut command)?;
        command.env(variables::STOW_MOUNT, self.mount);
        command.env(variables::STOW_TARGETS, self.targets()?);
        command.env(variables::STOW_POLICY, self.policy);
        command.env(variables::STOW_BUFFER, self.buffer_bytes.to_string());
        command.env(variables::STOW_SMALL, self.small_bytes.to_string());
        match self.tally {
            Some(tally) => command.env(variables::STOW_TALLY, tally),
            None => command.env_remove(variables::STOW_TALLY),
        };
        for (variable, globs) in
            [(variables::STOW_ONLY, self.only), (variables::STOW_EXCEPT, self.except)]
        {
            let globs = list_of(globs)?;
            // What another `stow run` around this one said does not count here.
            if globs.is_empty() {
                command.env_remove(variable)
            } else {
                command.env(variable, globs)
            };
        }
        Ok(command)
    }

    fn targets(&self) -> Result<OsString, RecordError> {
        let mut list = OsString::new();
        for (name, path) in self.targets {
            // The library divides the list at commas, and names from paths at the first sign.
            if name.contains([',', '=', '/']) || path.to_string_lossy().contains(',') {
                return Err(RecordError::Target { name: name.to_string(), path: path.into() });
            }
            if !list.is_empty() {
                list.push(",");
            }
            list.push(name);
            list.push("=");
            list.push(path);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(targets: &[(&str, &Path)]) -> Option<OsString> {
        let (program, mount) = (OsStr::new("true"), Path::new("/m"));
        let (policy, only, except, arguments) = ("striped", &[][..], &[][..], &[][..]);
        let (buffer_bytes, small_bytes, tally) = (0, 0, None);
        let stowing = Stowing {
            program,
            arguments,
            mount,
            targets,
            policy,
            buffer_bytes,
            small_bytes,
            tally,
            only,
            except,
        };
        stowing.targets().ok()
    }

    #[test]
    fn targets_are_a_list_that_can_be_divided_again() {
        let (one, other) = (Path::new("/mnt/a=b"), Path::new("/mnt/o"));
        assert_eq!(list(&[("a", one), ("o", other)]), Some("a=/mnt/a=b,o=/mnt/o".into()));
        assert_eq!(list(&[("a", Path::new("/mnt/a,b"))]), None);
        assert_eq!(list(&[("a,b", other)]), None);
    }
}
