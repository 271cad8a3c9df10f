//! The bed's directory: made with a marker, and removed without touching what is
//! not the bed's own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::file_error;
use crate::lock::Lock;
use crate::marker::Marker;
use crate::place::Place;
use crate::{Kind, TestbedError};

/// Others may look into the bed but not change it.
const MODE: u32 = 0o755;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes the directory, if it is not there, and marks it as a bed of that kind and size.
pub(crate) fn make(
    place: &Place,
    kind: Kind,
    targets: u32,
    lock: &Lock,
) -> Result<(), TestbedError> {
    let directory = place.directory();
    let made_directory = fs::symlink_metadata(&directory).is_err();
    if made_directory {
        lock.note_unmarked(true)?;
        make_directory(&directory).map_err(file_error("create", &directory))?;
    }
    check(place)?;
    Marker { kind, targets, made_directory }.write(place)?;
    lock.note_unmarked(false)
}

/// A directory of mode 755.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(MODE).create(path)
}

/// Refuses a directory that another user could have made or could exchange under our
/// hands: the default base directory is in a directory where everyone may write.
pub(crate) fn check(place: &Place) -> Result<(), TestbedError> {
    check_owned(&place.directory())
}

/// As [`check`], for any directory. One that does not exist is fine.
pub(crate) fn check_owned(path: &Path) -> Result<(), TestbedError> {
    let metadata = match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(file_error("look at", path))?,
    };
    let (owner, me) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let reason = if metadata.file_type().is_symlink() {
        "it is a symlink".to_owned()
    } else if !metadata.is_dir() {
        "it is not a directory".to_owned()
    } else if owner != me {
        return Err(TestbedError::NotYours { directory: path.to_path_buf(), owner, me });
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        format!("others can write to it (mode {:o})", metadata.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(TestbedError::Base { base: path.to_path_buf(), reason })
}

/// Removes a regular file if it is there. What else has the name is not the bed's own.
pub(crate) fn remove_file(path: &Path) -> Result<(), TestbedError> {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.map_err(file_error("remove", path)),
    }
}

/// Removes a directory if it is there and empty; true when it is gone.
pub(crate) fn remove_if_empty(path: &Path) -> Result<bool, TestbedError> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(cause) => match cause.kind() {
            io::ErrorKind::NotFound => Ok(true),
            // Or it is no directory at all, and not the bed's own.
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(file_error("remove", path)(cause)),
        },
    }
}

/// Removes a directory and all below it. Symlinks are removed, not followed
/// (guaranteed by `std::fs::remove_dir_all`); nothing may be mounted below. What has
/// the name and is no directory is not the bed's own.
pub(crate) fn remove_all(path: &Path) -> Result<(), TestbedError> {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.map_err(file_error("remove", path)),
    }
}

/// The paths of all entries; empty when the directory is not there.
pub(crate) fn entries(directory: &Path) -> Result<Vec<PathBuf>, TestbedError> {
    let read = match fs::read_dir(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(file_error("list", directory))?,
    };
    let paths: io::Result<Vec<PathBuf>> = read.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(file_error("list", directory))?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn others_directories_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        let lock = Lock::acquire(&place, None).unwrap();
        let refused = || make(&place, Kind::Loop, 1, &lock).unwrap_err().to_string();
        symlink("/etc", place.directory()).unwrap();
        assert!(refused().contains("symlink"));
        fs::remove_file(place.directory()).unwrap();
        fs::create_dir(place.directory()).unwrap();
        fs::set_permissions(place.directory(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(refused().contains("others can write"));
    }

    #[test]
    fn the_marker_tells_who_made_the_directory() {
        use crate::marker::Mark;
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        let lock = Lock::acquire(&place, None).unwrap();
        let mut marker = Marker { kind: Kind::Directory, targets: 3, made_directory: true };
        make(&place, Kind::Directory, 3, &lock).unwrap();
        assert_eq!(Mark::read(&place), Mark::Own(marker));
        fs::remove_file(place.marker()).unwrap();
        make(&place, Kind::Directory, 3, &lock).unwrap();
        marker.made_directory = false;
        assert_eq!(Mark::read(&place), Mark::Own(marker));
    }

    #[test]
    fn removing_never_follows_symlinks() {
        let base = tempfile::tempdir().unwrap();
        let (kept, removed) = (base.path().join("kept"), base.path().join("removed"));
        fs::create_dir_all(removed.join("deep")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "precious").unwrap();
        symlink(&kept, removed.join("deep/link")).unwrap();
        remove_all(&removed).unwrap();
        assert!(!removed.exists());
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "precious");
        remove_all(&removed).unwrap();
    }
}
