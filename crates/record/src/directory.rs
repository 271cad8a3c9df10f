//! The directory of a recording: for its owner alone, unless it is to be shared.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use plimsoll_guarded::Directory;
use rustix::fs::Mode;
use rustix::process::umask;

use crate::RecordError;
use crate::error::CREATE;

const PRIVATE: u32 = 0o700;
const SHARED: u32 = 0o755;
/// Of directories on the way, by the umask.
const ABOVE: u32 = 0o777;

/// Makes the directory, with those above it, or takes the one that is there if nobody else can write to it. It
/// has its whole path.
pub fn make(path: &Path, is_shared: bool) -> Result<Directory, RecordError> {
    let failed = || RecordError::io(CREATE, path);
    // "." and ".." have no name, and are there.
    let Some(name) = path.file_name() else { return open(path) };
    let above = above(path);
    let above = Directory::make_by_own_links(above, ABOVE).map_err(failed())?;
    match make_whatever_the_mask(&above, name, is_shared) {
        Ok(made) => made.require_own().and_then(|()| made.with_whole_path()).map_err(failed()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open(path),
        Err(error) => Err(failed()(error)),
    }
}

/// Makes a directory with its mode. The mode of one that is there is never changed: who may write beside it could have put another
/// directory of this user's in its place, which would be opened to everyone.
fn make_whatever_the_mask(
    above: &Directory,
    name: &OsStr,
    is_shared: bool,
) -> io::Result<Directory> {
    if !is_shared {
        return above.make(name, PRIVATE);
    }
    let before = umask(Mode::from_raw_mode(0o777 & !SHARED));
    let made = above.make(name, SHARED);
    umask(before);
    made
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
    use std::fs;
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
        // One of this user's own, which somebody else moved here before.
        let private = folder.path().join("private");
        make(&private, false).unwrap();
        make(&private, true).unwrap();
        assert_eq!(mode(&private), PRIVATE);
    }
}
