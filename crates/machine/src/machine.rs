//! A machine: a root directory and a program search path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use plimsoll_guarded::read_at_most;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::MachineError;

/// No file of a captured tree is larger: the largest, the cache of the dynamic linker, has some hundred kilobytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

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
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|cause| MachineError::Read { what, path: PathBuf::from(path), cause })
    }

    /// Returns what is in a file of this machine. What of a captured tree is larger than such a file can be is refused.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        if self.root == Path::new("/") {
            return fs::read(path);
        }
        let bytes = read_at_most(FILE_BYTES_MAX, self.open(path)?)?;
        bytes.ok_or_else(|| io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes")))
    }

    /// Opens a file of this machine to read it. In a captured tree, which anybody may have made, links lead nowhere else, and pipes
    /// and devices are refused.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        if self.root == Path::new("/") {
            return File::open(path);
        }
        let root = rustix::fs::open(&self.root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        // Looked at before it is opened: some devices do something when they are opened.
        let looked_at = OFlags::PATH | OFlags::CLOEXEC;
        let found = openat2(&root, path.as_ref(), looked_at, Mode::empty(), inside)?;
        if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(File::from(openat2(&root, path.as_ref(), flags, Mode::empty(), inside)?))
    }

    /// Returns the one line of a file of this machine; `None` when it cannot be read.
    pub(crate) fn read_line(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(path).ok()?;
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

    #[test]
    fn what_anybody_may_have_captured_is_neither_waited_for_nor_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("tree")).unwrap();
        fs::write(at("secret"), "mine").unwrap();
        fs::write(at("tree/plain"), "theirs").unwrap();
        let machine = Machine::at(at("tree"), "");
        for (name, target) in [
            ("inside", "/plain"),
            ("absolute", at("secret").to_str().unwrap()),
            ("up", "../secret"),
            ("endless", "/dev/zero"),
            ("magic", "/proc/self/cwd"),
        ] {
            std::os::unix::fs::symlink(target, at("tree").join(name)).unwrap();
        }
        let pipe = at("tree/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        File::create(at("tree/huge")).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        for name in ["/plain", "/inside"] {
            assert_eq!(machine.bytes(name).unwrap(), b"theirs", "{name}");
        }
        for name in ["/absolute", "/up", "/endless", "/magic", "/pipe", "/huge", "/none", "/"] {
            assert!(machine.bytes(name).is_err(), "{name}");
        }
    }
}
