//! The file in which transfers seek. It has no name, so it cannot stay behind: the kernel
//! frees it when the program ends, however it ends. Only where a file without a name cannot be opened
//! again does it keep one, and is removed at the end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::CalibrateError;

/// Beginning of the name of a file where files cannot be made without one.
const PREFIX: &str = ".plimsoll-calibrate-";

/// A file on the target, without a name if possible.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    /// Its name, where it must keep one.
    name: Option<PathBuf>,
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
        make: impl Fn(&Path) -> Result<(), CalibrateError>,
    ) -> Result<Self, CalibrateError> {
        let failed = |cause| CalibrateError::Create { directory: directory.to_owned(), cause };
        if !must_be_named {
            match nameless(directory) {
                Ok(file) => return Ok(Scratch { file, name: None }),
                Err(cause) if is_unsupported(&cause) => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        let path = directory.join(format!("{PREFIX}{}", std::process::id()));
        make(&path)?;
        let file = open(&path);
        // Also when it cannot be opened, it must not stay.
        let removed = fs::remove_file(&path);
        let file = file.map_err(failed)?;
        removed.map_err(failed)?;
        let removed = Scratch { file, name: None };
        // GlusterFS finds a file by its name, or by a link of its own that goes with the last name: to open
        // it then is a stale handle.
        if open(&removed.path()).is_ok() {
            return Ok(removed);
        }
        make(&path)?;
        match open(&path) {
            Ok(file) => Ok(Scratch { file, name: Some(path) }),
            Err(cause) => {
                let _ = fs::remove_file(&path);
                Err(failed(cause))
            }
        }
    }

    /// A path that leads to the file while this value lives (proc(5), /proc/self/fd).
    pub fn path(&self) -> PathBuf {
        let by_descriptor = || PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        self.name.clone().unwrap_or_else(by_descriptor)
    }

    /// Files that runs left in the directory that were killed while theirs had a name. Perhaps another
    /// run's just now, so they are only named.
    pub fn remnants(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(PREFIX));
        let paths = named.map(|entry| entry.path());
        paths.filter(|path| Some(path) != self.name.as_ref()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // What cannot be removed is told by the next run.
            let _ = fs::remove_file(name);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
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
    fn a_file_that_must_keep_its_name_is_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{PREFIX}own"));
        let scratch = Scratch { file: File::create(&path).unwrap(), name: Some(path.clone()) };
        assert_eq!(scratch.path(), path);
        assert_eq!(scratch.remnants(folder.path()), Vec::<PathBuf>::new(), "its own is none");
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_run_left_is_named() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let scratch = Scratch::create(folder.path(), false, make_named).unwrap();
        assert_eq!(scratch.remnants(folder.path()), Vec::<PathBuf>::new());
        let left = folder.path().join(format!("{PREFIX}1"));
        fs::write(&left, b"").unwrap();
        assert_eq!(scratch.remnants(folder.path()), [left]);
    }
}
