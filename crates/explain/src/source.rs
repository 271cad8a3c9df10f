//! Where the file of a process is: in a directory that was opened once, so that nobody can exchange it between two
//! looks.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use plimsoll_guarded::{Directory, Readers, Refusal};
use plimsoll_trace::{ProcessFile, TraceError};
use rustix::fs::{OFlags, fstat};

/// The file of a process. No link is followed to it.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    directory: Arc<Directory>,
    name: OsString,
    /// Device and inode.
    identity: (u64, u64),
    /// The file has other names too.
    has_names: bool,
    readers: Readers,
}

impl Source {
    /// Finds a file.
    pub fn find(
        directory: &Arc<Directory>,
        name: &OsStr,
    ) -> Result<(Self, ProcessFile), TraceError> {
        let path = directory.path().join(name);
        let found = directory.open_file(name, OFlags::RDONLY).and_then(|file| {
            let (facts, readers) = (fstat(&file)?, Readers::of(&file));
            Ok((file, facts, readers))
        });
        let (file, facts, readers) =
            found.map_err(|cause| TraceError::Read { path: path.clone(), cause })?;
        let identity = (facts.st_dev, facts.st_ino);
        let (directory, name) = (Arc::clone(directory), name.to_os_string());
        let has_names = facts.st_nlink > 1;
        let source = Source { directory, name, identity, has_names, readers };
        Ok((source, ProcessFile::of(file, &path)?))
    }

    /// Opens the same file again.
    pub fn open(&self) -> Result<ProcessFile, TraceError> {
        let (found, file) = Source::find(&self.directory, &self.name)?;
        if found.identity == self.identity {
            return Ok(file);
        }
        let cause = io::Error::from(Refusal::Exchanged);
        Err(TraceError::Read { path: file.path().to_path_buf(), cause })
    }

    /// Returns which file it is, if it may have another name in the same recording.
    pub fn shared_identity(&self) -> Option<(u64, u64)> {
        self.has_names.then_some(self.identity)
    }

    /// Returns who may read it.
    pub fn readers(&self) -> Readers {
        self.readers
    }
}
