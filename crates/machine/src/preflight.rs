//! What must hold for every target before anything is written to it.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, open};
use rustix::io::Errno;
use thiserror::Error;

use crate::one_storage::one_directory;
use crate::{Machine, MachineError};

/// Share of the free space that may be filled at most: a full file system is slow, and
/// others may be using it.
const FILL_MOST: f64 = 0.9;

/// The unit in which sizes are shown.
const MIB: u64 = 1 << 20;

/// What a target must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// What needs it, in words: "the largest instance".
    pub whose: &'static str,
    /// Bytes that it writes there.
    pub bytes: Bytes,
    /// Whether it writes past the page cache.
    pub direct_io: bool,
}

/// Why a target cannot be written to as it should be. What to do about too little room or O_DIRECT, only the
/// caller knows.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// Not a directory.
    #[error("target {target}: {path} is not a directory; hint: mount it, or name another path")]
    NotADirectory {
        /// The target's name.
        target: String,
        /// Where it should be.
        path: String,
    },
    /// No permission, or mounted read-only.
    #[error("target {target}: cannot write in {path}: {error}; hint: {hint}")]
    NotWritable {
        /// The target's name.
        target: String,
        /// Where it is.
        path: String,
        /// What the kernel says.
        error: Errno,
        /// What to do.
        hint: &'static str,
    },
    /// Not enough space.
    #[error(
        "target {target}: {whose} needs {needed} in {path}, of which {available} are free and nine tenths usable"
    )]
    TooFull {
        /// The target's name.
        target: String,
        /// Where it is.
        path: String,
        /// What needs it.
        whose: &'static str,
        /// What it needs.
        needed: Bytes,
        /// What is free.
        available: Bytes,
    },
    /// No O_DIRECT.
    #[error("target {target}: the file system of {path} does not take O_DIRECT")]
    NoDirectIo {
        /// The target's name.
        target: String,
        /// Where it is.
        path: String,
    },
    /// Two targets are one.
    #[error("targets {first} and {second} are one directory; hint: name it once")]
    OneDirectory {
        /// The name of one.
        first: String,
        /// The name of the other.
        second: String,
    },
    /// The kernel does not say.
    #[error("target {target}: {error}")]
    Unknown {
        /// The target's name.
        target: String,
        /// What could not be read.
        error: MachineError,
    },
}

/// Checks that a target is a directory that can be written in. Writes nothing.
///
/// # Errors
/// With what does not hold.
pub fn check_place(target: &str, path: &Path) -> Result<(), PreflightError> {
    let (target, shown) = (target.to_string(), path.display().to_string());
    let directory = match Directory::open_unserved(path) {
        Ok(directory) => directory,
        Err(cause) if matches!(Refusal::of(&cause), Some(Refusal::ServedBy { .. })) => {
            let error = MachineError::Space { path: path.to_path_buf(), cause };
            return Err(PreflightError::Unknown { target, error });
        }
        Err(_) => return Err(PreflightError::NotADirectory { target, path: shown }),
    };
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(&directory, c".", wanted, AtFlags::empty()).map_err(|error| {
        let hint = match error {
            Errno::ROFS => "it is mounted read-only",
            _ => "it needs permission to write",
        };
        PreflightError::NotWritable { target, path: shown, error, hint }
    })
}

impl Machine {
    /// Checks that a target has what is needed. Writes nothing.
    ///
    /// # Errors
    /// With what does not hold.
    pub fn check_target(
        &self,
        target: &str,
        path: &Path,
        need: Need,
    ) -> Result<(), PreflightError> {
        check_place(target, path)?;
        let (target, shown) = (target.to_string(), path.display().to_string());
        let space = match self.space(path) {
            Ok(space) => space,
            Err(error) => return Err(PreflightError::Unknown { target, error }),
        };
        if need.bytes.get() as f64 > space.available.get() as f64 * FILL_MOST {
            return Err(PreflightError::TooFull {
                target,
                path: shown,
                whose: need.whose,
                needed: Bytes::new(need.bytes.get().next_multiple_of(MIB)),
                available: Bytes::new(space.available.get() / MIB * MIB),
            });
        }
        if need.direct_io && !takes_direct_io(path) {
            return Err(PreflightError::NoDirectIo { target, path: shown });
        }
        Ok(())
    }
}

/// Checks that no two targets are one directory.
///
/// # Errors
/// With the first two that are.
pub fn check_apart<'a>(
    targets: impl IntoIterator<Item = (&'a str, &'a Path)>,
) -> Result<(), PreflightError> {
    match one_directory(targets) {
        None => Ok(()),
        Some((first, second)) => {
            Err(PreflightError::OneDirectory { first: first.into(), second: second.into() })
        }
    }
}

/// Returns whether files here can be opened with O_DIRECT. Tried on a file without a name, so that nothing
/// is left; where there are no such files, only the burst itself will tell.
pub fn takes_direct_io(path: &Path) -> bool {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    !matches!(open(path, flags, Mode::RUSR | Mode::WUSR), Err(Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_why() {
        let machine = Machine::host();
        let directory = tempfile::tempdir().unwrap();
        let check = |path: &Path, bytes| {
            let bytes = Bytes::new(bytes);
            machine.check_target("t0", path, Need { whose: "a test", bytes, direct_io: false })
        };
        assert!(check(directory.path(), 1 << 20).is_ok());
        let missing = check(&directory.path().join("x"), 1).unwrap_err().to_string();
        assert!(missing.contains("not a directory"), "{missing}");
        let too_full = check(directory.path(), 1 << 62).unwrap_err().to_string();
        assert!(too_full.contains("4EiB") || too_full.contains("PiB"), "{too_full}");
        assert!(too_full.starts_with("target t0: a test needs "), "{too_full}");
        let no_room = check(Path::new("/proc"), 1).unwrap_err().to_string();
        assert!(no_room.contains("0B are free"), "{no_room}");
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 0, "a check writes nothing");
        let twice = check_apart([("a", directory.path()), ("b", directory.path())]);
        assert_eq!(
            twice.unwrap_err().to_string(),
            "targets a and b are one directory; hint: name it once"
        );
    }
}
