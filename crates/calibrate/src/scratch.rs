//! The file in which transfers seek. It has no name, so it cannot stay behind: the kernel
//! frees it when the program ends, however it ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::CalibrateError;

/// Beginning of the name that a file has for a moment where files cannot be made without one.
const PREFIX: &str = ".plimsoll-calibrate-";

/// A file without a name on the target.
#[derive(Debug)]
pub struct Scratch {
    file: File,
}

impl Scratch {
    /// Makes the file. `make` makes one of the given name where the file system has no files
    /// without a name, or where its place must be chosen (Lustre).
    ///
    /// # Errors
    /// If no file can be made in the directory.
    pub fn create(
        directory: &Path,
        must_be_named: bool,
        make: impl FnOnce(&Path) -> Result<(), CalibrateError>,
    ) -> Result<Self, CalibrateError> {
        let failed = |cause| CalibrateError::Create { directory: directory.to_owned(), cause };
        if !must_be_named {
            match nameless(directory) {
                Ok(file) => return Ok(Scratch { file }),
                Err(cause) if is_unsupported(&cause) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        let path = directory.join(format!("{PREFIX}{}", std::process::id()));
        make(&path)?;
        let file = OpenOptions::new().read(true).write(true).open(&path);
        // Also when it cannot be opened, it must not stay.
        let removed = fs::remove_file(&path);
        let file = file.map_err(failed)?;
        removed.map_err(failed)?;
        Ok(Scratch { file })
    }

    /// A path that leads to the file while this value lives (proc(5), /proc/self/fd).
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Files that runs left in the directory that were killed in the moment in which theirs had
    /// a name. Perhaps another run's just now, so they are only named.
    pub fn remnants(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let ours = entries.filter(|it| it.file_name().to_string_lossy().starts_with(PREFIX));
        ours.map(|entry| entry.path()).collect()
    }
}

/// Makes an empty file of that name, which must be new.
pub fn make_named(path: &Path) -> Result<(), CalibrateError> {
    File::create_new(path).map(drop).map_err(|cause| CalibrateError::Create {
        directory: path.parent().unwrap_or(path).to_owned(),
        cause,
    })
}

fn nameless(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?))
}

/// What file systems and old kernels say that do not know O_TMPFILE (open(2)).
fn is_unsupported(cause: &io::Error) -> bool {
    let known = [rustix::io::Errno::OPNOTSUPP, rustix::io::Errno::ISDIR, rustix::io::Errno::INVAL];
    known.iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_to_be_seen_and_yet_it_can_be_opened() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for must_be_named in [false, true] {
            let scratch = Scratch::create(folder.path(), must_be_named, make_named).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{must_be_named}");
            fs::write(scratch.path(), b"data").unwrap();
            assert_eq!(fs::read(scratch.path()).unwrap(), b"data");
        }
    }

    #[test]
    fn what_a_killed_run_left_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Scratch::remnants(folder.path()), Vec::<PathBuf>::new());
        let left = folder.path().join(format!("{PREFIX}1"));
        fs::write(&left, b"").unwrap();
        assert_eq!(Scratch::remnants(folder.path()), [left]);
    }
}
