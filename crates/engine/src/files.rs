//! Opening a burst's files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Operation};
use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::direct_io::check_alignment;
use crate::error::file_error;
use crate::transfers::Transfers;
use crate::{Burst, EngineError, lustre};

/// Nobody else has to do with them.
const MODE: u32 = 0o600;

/// Where a burst's files come from. Links are never followed to them.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// Their paths lead to them.
    Paths,
    /// They are in these directories, which their paths begin with, and nowhere else.
    Directories(&'a [&'a Directory]),
    /// They are open, in the order of the paths.
    Open(&'a [File]),
}

/// A file of the burst.
#[derive(Debug)]
pub(crate) struct BurstFile {
    pub path: PathBuf,
    pub file: File,
}

/// Opens all files, makes those to be written that are not there, and lays them out.
pub(crate) fn open_all(
    burst: &Burst,
    source: Source<'_>,
    transfers: &Transfers,
) -> Result<Vec<BurstFile>, EngineError> {
    let open = |(index, path): (usize, &PathBuf)| {
        let file = match source {
            Source::Paths => open_by_path(burst, path)?,
            Source::Directories(directories) => open_below(burst, path, directories)?,
            Source::Open(files) => opened(burst, path, files.get(index))?,
        };
        if burst.caching == Caching::Direct {
            check_alignment(burst, &file, path)?;
        }
        check_end(burst.operation, &file, path, transfers.region(index).end)?;
        Ok(BurstFile { path: path.clone(), file })
    };
    let files: Vec<BurstFile> =
        burst.paths.iter().enumerate().map(open).collect::<Result<_, _>>()?;
    refuse_other_names_of_the_same(&files)?;
    Ok(files)
}

/// Links and detours: what is written through one name would be overwritten through the other.
fn refuse_other_names_of_the_same(files: &[BurstFile]) -> Result<(), EngineError> {
    let mut seen = BTreeSet::new();
    for it in files {
        let facts = it.file.metadata().map_err(file_error("find the inode of", &it.path))?;
        if !seen.insert((facts.dev(), facts.ino())) {
            return Err(EngineError::SameFile { path: it.path.clone() });
        }
    }
    Ok(())
}

fn open_by_path(burst: &Burst, path: &Path) -> Result<File, EngineError> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = Directory::open(parent).map_err(file_error(words(burst.operation), path))?;
    open_in(burst, path, &directory)
}

/// A file of another user cannot be there, as the directories are private; it is looked at all the
/// same.
fn open_below(burst: &Burst, path: &Path, directories: &[&Directory]) -> Result<File, EngineError> {
    let failed = |cause: io::Error| file_error(words(burst.operation), path)(cause);
    let outside = || failed(io::Error::other("it is in none of the directories that were made"));
    let parent = directories.iter().find(|it| Some(it.path()) == path.parent());
    let directory = parent.ok_or_else(outside)?;
    let file = open_in(burst, path, directory)?;
    let owner = file.metadata().map_err(failed)?.uid();
    let expected = directory.facts().map_err(failed)?.st_uid;
    if owner == expected {
        Ok(file)
    } else {
        Err(failed(Refusal::Owner { owner, expected }.into()))
    }
}

fn open_in(burst: &Burst, path: &Path, directory: &Directory) -> Result<File, EngineError> {
    let name = path.file_name().unwrap_or_default();
    let mut flags = match burst.operation {
        Operation::Write => OFlags::WRONLY,
        Operation::Read => OFlags::RDONLY,
    };
    let stripe = burst.stripe.filter(|_| burst.operation == Operation::Write);
    if stripe.is_some() {
        flags |= lustre::delay_layout(directory, path)?;
    }
    if burst.caching == Caching::Direct {
        flags |= OFlags::DIRECT;
    }
    let found = match burst.operation {
        Operation::Read => directory.open_file(name, flags),
        Operation::Write => match directory.create(name, flags, MODE) {
            // Another process of a shared file was faster, or it is to be written again. Nothing is
            // truncated: processes of a shared file would destroy each other's regions.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                directory.open_file(name, flags)
            }
            created => created,
        },
    };
    let file = found.map_err(|cause| refused(burst, path, cause))?;
    if let Some(stripe) = stripe {
        lustre::set_layout(&file, path, stripe)?;
    }
    Ok(file)
}

fn refused(burst: &Burst, path: &Path, cause: io::Error) -> EngineError {
    let is_invalid = cause.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    match Refusal::of(&cause) {
        // A pipe would block for ever when it is opened, and a device would be overwritten.
        Some(Refusal::NotAFile | Refusal::NotAName) => {
            EngineError::NotAFile { path: path.to_path_buf() }
        }
        None if is_invalid && burst.caching == Caching::Direct => no_direct_io(path),
        _ => file_error(words(burst.operation), path)(cause),
    }
}

fn no_direct_io(path: &Path) -> EngineError {
    let reason = "the file system refuses it".to_owned();
    EngineError::NoDirectIo { path: path.to_path_buf(), reason }
}

fn words(operation: Operation) -> &'static str {
    match operation {
        Operation::Write => "open for writing",
        Operation::Read => "open for reading",
    }
}

/// Returns the same open file once more. It goes past the cache if the burst does, or not at all.
fn opened(burst: &Burst, path: &Path, file: Option<&File>) -> Result<File, EngineError> {
    let failed = |cause: io::Error| file_error(words(burst.operation), path)(cause);
    let file = file.ok_or_else(|| failed(Errno::BADF.into()))?.try_clone().map_err(failed)?;
    let is_direct = |flags: OFlags| flags.contains(OFlags::DIRECT);
    let flags = fcntl_getfl(&file).map_err(|errno| failed(errno.into()))?;
    if burst.caching == Caching::Direct && !is_direct(flags) {
        fcntl_setfl(&file, flags | OFlags::DIRECT).map_err(|_| no_direct_io(path))?;
    }
    Ok(file)
}

/// Finds a file that is too short before its end does, and a limit before its signal.
fn check_end(operation: Operation, file: &File, path: &Path, end: u64) -> Result<(), EngineError> {
    let path = path.to_path_buf();
    match operation {
        Operation::Write => match getrlimit(Resource::Fsize).current {
            Some(limit) if limit < end => {
                Err(EngineError::SizeLimit { path, end, limit: Bytes::new(limit) })
            }
            _ => Ok(()),
        },
        Operation::Read => {
            let length = file.metadata().map_err(file_error("find the size of", &path))?.len();
            if length < end {
                Err(EngineError::EndOfFile { path, wanted: end, end: length })
            } else {
                Ok(())
            }
        }
    }
}
