//! Opening a burst's files.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Operation};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::direct_io::check_alignment;
use crate::error::file_error;
use crate::transfers::Transfers;
use crate::{Burst, EngineError, lustre};

/// A file of the burst.
#[derive(Debug)]
pub(crate) struct BurstFile {
    pub path: PathBuf,
    pub file: File,
}

/// Opens all files, makes those to be written that are not there, and lays them out.
pub(crate) fn open_all(
    burst: &Burst,
    transfers: &Transfers,
) -> Result<Vec<BurstFile>, EngineError> {
    let open = |(index, path): (usize, &PathBuf)| {
        let file = open_one(burst, path)?;
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

fn open_one(burst: &Burst, path: &Path) -> Result<File, EngineError> {
    refuse_other_than_files(path)?;
    // Nothing is truncated: processes of a shared file would destroy each other's regions.
    let mut flags = match burst.operation {
        Operation::Write => OFlags::WRONLY | OFlags::CREATE,
        Operation::Read => OFlags::RDONLY,
    };
    let stripe = burst.stripe.filter(|_| burst.operation == Operation::Write);
    if stripe.is_some() {
        flags |= lustre::delay_layout(path)?;
    }
    if burst.caching == Caching::Direct {
        flags |= OFlags::DIRECT;
    }
    let operation = match burst.operation {
        Operation::Write => "open for writing",
        Operation::Read => "open for reading",
    };
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644));
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::INVAL) if burst.caching == Caching::Direct => {
            let reason = "the file system refuses it".to_owned();
            return Err(EngineError::NoDirectIo { path: path.to_path_buf(), reason });
        }
        Err(cause) => return Err(file_error(operation, path)(cause)),
    };
    if let Some(stripe) = stripe {
        lustre::set_layout(&file, path, stripe)?;
    }
    Ok(file)
}

/// A pipe would block for ever when it is opened, and a device would be overwritten.
fn refuse_other_than_files(path: &Path) -> Result<(), EngineError> {
    match rustix::fs::stat(path) {
        Ok(facts) if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile => {
            Err(EngineError::NotAFile { path: path.to_path_buf() })
        }
        // Whatever is wrong, opening says it better.
        _ => Ok(()),
    }
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
            match length < end {
                true => Err(EngineError::EndOfFile { path, wanted: end, end: length }),
                false => Ok(()),
            }
        }
    }
}
