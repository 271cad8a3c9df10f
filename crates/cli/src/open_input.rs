//! What a command reads: opened once, so that what is asked about it and what is read of it are of the same thing,
//! whatever another user puts in its place meanwhile.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use plimsoll_guarded::{Directory, open_to_read, open_trusted};

/// A directory or a file that the user named.
pub enum OpenInput {
    Directory(Directory),
    File(File, PathBuf),
}

impl OpenInput {
    /// Opens what is there, wherever links lead.
    pub fn open(path: &Path) -> Result<Self> {
        match Directory::open(path) {
            Err(cause) if cause.kind() == ErrorKind::NotADirectory => {
                open_to_read(path).map(|file| OpenInput::File(file, path.to_path_buf()))
            }
            opened => opened.map(OpenInput::Directory),
        }
        .with_context(|| format!("cannot read {}", path.display()))
    }

    /// Returns its permissions; those of nobody else where they cannot be had.
    pub fn mode(&self) -> u32 {
        match self {
            OpenInput::Directory(directory) => directory.facts().map_or(0, |facts| facts.st_mode),
            OpenInput::File(file, _) => file.metadata().map_or(0, |facts| facts.mode()),
        }
    }
}

/// Returns the permissions of directories of results, which are read by their paths: those of nobody else where
/// somebody else could exchange them meanwhile.
pub fn modes_of_results(paths: &[PathBuf]) -> Vec<u32> {
    let mode = |path: &PathBuf| {
        let trusted = open_trusted(path).ok().filter(|it| it.missing.is_empty());
        trusted.and_then(|it| it.directory.facts().ok()).map_or(0, |facts| facts.st_mode)
    };
    paths.iter().map(mode).collect()
}
