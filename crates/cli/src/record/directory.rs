//! The directory of a recording: for its owner alone, unless it is to be shared.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plimsoll_guarded::{Directory, Refusal};

const PRIVATE: u32 = 0o700;
const SHARED: u32 = 0o755;

/// Makes the directory, with those above it, or takes the one that is there if nobody else can write to it.
/// Returns its whole path.
pub fn make(path: &Path, is_shared: bool) -> Result<PathBuf> {
    let failed = || format!("cannot create the recording {}", path.display());
    // "." and ".." have no name, and are there.
    let Some(name) = path.file_name() else { return open(path).and_then(|_| absolute(path)) };
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(above).with_context(failed)?;
    let above = Directory::open(above).with_context(failed)?;
    let mode = if is_shared { SHARED } else { PRIVATE };
    match above.make(name, mode) {
        // Whatever the user's mask is. Not by the path: others may have exchanged it.
        Ok(made) => {
            made.require_own().with_context(failed)?;
            fs::set_permissions(made.path_by_descriptor(), Permissions::from_mode(mode))
                .with_context(failed)?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => drop(open(path)?),
        Err(error) => return Err(error).with_context(failed),
    }
    absolute(path)
}

/// The whole path of a recording that is there.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("cannot find the recording {}", path.display()))
}

/// Opens it. Fails if somebody else could put something into it, or made the link that leads to it.
pub fn open(path: &Path) -> Result<Directory> {
    let link = fs::symlink_metadata(path).ok().filter(|it| it.is_symlink());
    if let Some(link) = link.filter(|it| it.uid() != rustix::process::geteuid().as_raw()) {
        bail!(
            "cannot record into {}: it is a symlink of user {}; hint: choose another DIR",
            path.display(),
            link.uid()
        );
    }
    let directory = Directory::open(path)
        .with_context(|| format!("cannot open the recording {}", path.display()))?;
    let own = directory.require_own().map(|()| directory);
    own.map_err(|error| {
        let path = path.display();
        let hint = match Refusal::of(&error) {
            Some(Refusal::Writable { .. }) => format!("chmod go-w {path}, or choose another DIR"),
            _ => "choose another DIR: it is made for you alone".to_string(),
        };
        anyhow::anyhow!("cannot record into {path}: {error}; hint: {hint}")
    })
}
