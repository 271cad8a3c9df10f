//! A file in a place that nobody else can change. SQLite opens what it reads by its name, even if it is given an open file: where others
//! may rename files, that may be another one by then, or a pipe that it waits for.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{copy_stored, open_trusted_file};
use tempfile::TempDir;

/// A file that no other user can exchange.
pub(crate) struct Unshared {
    path: PathBuf,
    /// Keeps the number in the path the file's.
    _file: File,
    /// What the copy is in, if it is one.
    _folder: Option<TempDir>,
}

impl Unshared {
    /// Takes a file as it is if no other user can change or rename it, or else a copy.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn new(path: &Path, file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        let key = (facts.dev(), facts.ino());
        let trusted = open_trusted_file(path).ok().and_then(|it| it.metadata().ok());
        if trusted.is_some_and(|it| (it.dev(), it.ino()) == key) {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            return Ok(Unshared { path, _file: file, _folder: None });
        }
        let folder = TempDir::new()?;
        let path = folder.path().join("database");
        let copy = File::create_new(&path)?;
        copy_stored(&file, &copy, facts.len())?;
        Ok(Unshared { path, _file: copy, _folder: Some(folder) })
    }

    /// Returns by what name it is opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
