//! The directory of a recording: for its owner alone, unless it is to be shared.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use plimsoll_guarded::{Directory, Refusal};

const PRIVATE: u32 = 0o700;
const SHARED: u32 = 0o755;

/// Makes the directory, with those above it, or takes the one that is there if nobody else can write to it. It
/// has its whole path.
pub fn make(path: &Path, is_shared: bool) -> Result<Directory> {
    let failed = || format!("cannot create the recording {}", path.display());
    // "." and ".." have no name, and are there.
    let Some(name) = path.file_name() else { return open(path) };
    let above = above(path);
    fs::create_dir_all(above).with_context(failed)?;
    let above = Directory::open(above).with_context(failed)?;
    let mode = if is_shared { SHARED } else { PRIVATE };
    match above.make(name, mode) {
        // Whatever the user's mask is. Not by the path: others may have exchanged it.
        Ok(made) => {
            made.require_own().with_context(failed)?;
            fs::set_permissions(made.path_by_descriptor(), Permissions::from_mode(mode))
                .with_context(failed)?;
            made.with_whole_path().with_context(failed)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open(path),
        Err(error) => Err(error).with_context(failed),
    }
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens it. Fails if somebody else could put something into it, or made the link that leads to it.
pub fn open(path: &Path) -> Result<Directory> {
    let opened = match path.file_name() {
        Some(name) => Directory::open(above(path)).and_then(|it| it.child_or_own_link(name)),
        None => Directory::open(path),
    };
    let own = opened.and_then(|it| it.require_own().map(|()| it));
    match own.and_then(Directory::with_whole_path) {
        Err(error) => Err(refused(path, error)),
        Ok(directory) => Ok(directory),
    }
}

fn refused(path: &Path, error: io::Error) -> anyhow::Error {
    let path = path.display();
    let hint = match Refusal::of(&error) {
        Some(Refusal::Writable { .. }) => format!("chmod go-w {path}, or choose another DIR"),
        Some(Refusal::LinkOf { .. }) => "choose another DIR".to_string(),
        Some(Refusal::Owner { .. }) => "choose another DIR: it is made for you alone".to_string(),
        _ => {
            return anyhow::Error::from(error).context(format!("cannot open the recording {path}"));
        }
    };
    anyhow::anyhow!("cannot record into {path}: {error}; hint: {hint}")
}
