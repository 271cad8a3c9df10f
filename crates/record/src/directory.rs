//! The directory of a recording: for its owner alone, unless it is to be shared.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plimsoll_guarded::Directory;

use crate::RecordError;

const PRIVATE: u32 = 0o700;
const SHARED: u32 = 0o755;
/// Of directories on the way, by the umask.
const ABOVE: u32 = 0o777;

/// Makes the directory, with those above it, or takes the one that is there if nobody else can write to it. It
/// has its whole path.
pub fn make(path: &Path, is_shared: bool) -> Result<Directory, RecordError> {
    let failed = || RecordError::io("create the recording", path);
    // "." and ".." have no name, and are there.
    let Some(name) = path.file_name() else { return open(path) };
    let above = above(path);
    let above = Directory::make_by_own_links(above, ABOVE).map_err(failed())?;
    let mode = if is_shared { SHARED } else { PRIVATE };
    match above.make(name, mode) {
        // Whatever the user's mask is. Not by the path: others may have exchanged it.
        Ok(made) => open_up(&made, mode).and_then(|()| made.with_whole_path()).map_err(failed()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open(path),
        Err(error) => Err(failed()(error)),
    }
}

/// Gives a directory that was made just now its mode. Who may write beside it could have put another directory of
/// this user's in its place, which would be opened to everyone: that one is not empty, and keeps its mode. So does one into
/// which another process of the same job was quicker to write.
fn open_up(made: &Directory, mode: u32) -> io::Result<()> {
    made.require_own()?;
    if made.names()?.is_empty() {
        fs::set_permissions(made.path_by_descriptor(), Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens it. Fails if somebody else could put something into it, or made the link that leads to it.
pub fn open(path: &Path) -> Result<Directory, RecordError> {
    let opened = match path.file_name() {
        Some(name) => {
            Directory::open_by_own_links(above(path)).and_then(|it| it.child_or_own_link(name))
        }
        None => Directory::open(path),
    };
    let own = opened.and_then(|it| it.require_own().map(|()| it));
    own.and_then(Directory::with_whole_path).map_err(|cause| RecordError::cannot_open(path, cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_directory_in_the_place_of_the_new_one_is_not_opened_to_everyone() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        make(&new, true).unwrap();
        assert_eq!(mode(&new), SHARED);
        // One that this user filled, which somebody else moved here between making and opening.
        let private = folder.path().join("private");
        make(&private, false).unwrap();
        fs::write(private.join("thesis"), "").unwrap();
        open_up(&Directory::open(&private).unwrap(), SHARED).unwrap();
        assert_eq!(mode(&private), PRIVATE);
    }
}
