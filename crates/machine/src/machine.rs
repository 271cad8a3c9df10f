//! A machine: a root directory and a program search path.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::MachineError;

/// Used when the environment has no PATH; execvp(3) of glibc uses the same two.
const FALLBACK_SEARCH_PATH: &str = "/bin:/usr/bin";

/// A machine, seen through the files below a root directory.
///
/// [`Machine::host`] is the running machine. [`Machine::at`] is a captured tree.
/// All paths that the methods take and return are paths *of that machine*: below a
/// captured root, `/proc/mounts` still is called `/proc/mounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    root: PathBuf,
    search_path: OsString,
}

impl Machine {
    /// Returns the running machine, with the PATH of this process.
    pub fn host() -> Self {
        let search_path =
            std::env::var_os("PATH").unwrap_or_else(|| OsString::from(FALLBACK_SEARCH_PATH));
        Self { root: PathBuf::from("/"), search_path }
    }

    /// Returns a captured tree below `root`, whose programs are searched along `search_path`
    /// (directories of that machine, separated by colons).
    pub fn at(root: impl Into<PathBuf>, search_path: impl Into<OsString>) -> Self {
        Self { root: root.into(), search_path: search_path.into() }
    }

    /// Returns the root directory below which everything is read.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directories that programs are searched in, as PATH spells them.
    pub fn search_path(&self) -> &OsStr {
        &self.search_path
    }

    /// Returns where a path of this machine is found by the running process.
    ///
    /// `..` is dropped, so no path of a captured tree leads out of it.
    pub fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        if self.root == Path::new("/") {
            return path.as_ref().to_path_buf();
        }
        let inside = path
            .as_ref()
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect::<PathBuf>();
        self.root.join(inside)
    }

    /// Returns the text of a file of this machine. Bytes that are not UTF-8 are replaced.
    pub(crate) fn read(&self, what: &'static str, path: &str) -> Result<String, MachineError> {
        fs::read(self.locate(path))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|cause| MachineError::Read { what, path: PathBuf::from(path), cause })
    }

    /// Returns the one line of a file of this machine; `None` when it cannot be read.
    pub(crate) fn read_line(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.locate(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_tree_is_never_left() {
        let machine = Machine::at("/captured", "");
        assert_eq!(machine.locate("/proc/self"), Path::new("/captured/proc/self"));
        assert_eq!(machine.locate("/../../etc/passwd"), Path::new("/captured/etc/passwd"));
        assert_eq!(Machine::host().locate("/proc"), Path::new("/proc"));
    }
}
