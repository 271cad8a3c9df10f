//! What a command reads: opened once, so that what is asked about it and what is read of it are of the same thing,
//! whatever another user puts in its place meanwhile.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use plimsoll_guarded::{Directory, Readers, open_to_read, open_trusted};
use plimsoll_measures::FILES;
use plimsoll_record::marker;
use rustix::fs::OFlags;

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

    /// Returns who may read it.
    pub fn readers(&self) -> Readers {
        match self {
            // Files of processes and results are asked about when they are read.
            OpenInput::Directory(directory) => readers_of(directory, [marker::NAME]),
            OpenInput::File(file, _) => Readers::of(file),
        }
    }
}

/// Returns who may read all of these directories of results and each file in them that is read, by its path: nobody
/// else where somebody else could exchange one meanwhile.
pub fn readers_of_results(paths: &[PathBuf]) -> Readers {
    let readers = |path: &PathBuf| {
        let trusted = open_trusted(path).ok().filter(|it| it.missing.is_empty());
        trusted.map_or(Readers::OwnerAlone, |it| readers_of(&it.directory, FILES))
    };
    paths.iter().map(readers).fold(Readers::Everyone, Readers::and)
}

/// Returns who may read a directory and all of these files that are in it.
fn readers_of(directory: &Directory, names: impl IntoIterator<Item = &'static str>) -> Readers {
    let of_file = |name| match directory.open_file(name, OFlags::RDONLY) {
        Ok(file) => Readers::of(file),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Readers::Everyone,
        Err(_) => Readers::OwnerAlone,
    };
    names.into_iter().map(of_file).fold(Readers::of(directory), Readers::and)
}
