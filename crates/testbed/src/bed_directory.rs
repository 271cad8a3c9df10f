//! The bed's directory: made with a marker, and removed without touching what is
//! not the bed's own.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Refusal, acting_user};
use rustix::fs::FileType;

use crate::base_directory::{self, not_opened};
use crate::error::file_error;
use crate::lock::Lock;
use crate::marker::Marker;
use crate::place::{DIRECTORY_MODE, Place};
use crate::{Kind, TestbedError};

const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes the directory, if it is not there, and marks it as a bed of that kind and size.
pub(crate) fn make(
    place: &Place,
    kind: Kind,
    targets: u32,
    lock: &Lock,
) -> Result<Directory, TestbedError> {
    let there = open(lock.base(), place)?;
    let made_directory = there.is_none();
    let directory = match there {
        Some(directory) => directory,
        None => {
            lock.note_unmarked(true)?;
            let made = lock.base().make(place.name(), DIRECTORY_MODE);
            let made = made.map_err(file_error("create", place.directory()))?;
            check(&made)?;
            made
        }
    };
    Marker { kind, targets, made_directory }.write(&directory, place)?;
    lock.note_unmarked(false)?;
    Ok(directory)
}

/// Opens the directory; `None` where it is not there. Refuses one that another user could have made
/// or could change.
pub(crate) fn open(base: &Directory, place: &Place) -> Result<Option<Directory>, TestbedError> {
    let directory = match base.child(place.name()) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => match Refusal::of(&cause) {
            Some(refusal) => return Err(refused(&place.directory(), refusal)),
            None => return Err(file_error("open", place.directory())(cause)),
        },
        Ok(directory) => directory,
    };
    check(&directory)?;
    Ok(Some(directory))
}

/// Opens the directory to look at it, whosever it is; `None` where there is none.
pub(crate) fn look(place: &Place) -> Result<Option<Directory>, TestbedError> {
    let Some(base) = base_directory::open(place)? else { return Ok(None) };
    match base.child(place.name()) {
        Ok(directory) => Ok(Some(directory)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => match Refusal::of(&cause) {
            None | Some(Refusal::ServedBy { .. }) => Err(not_opened(&place.directory())(cause)),
            Some(_) => Ok(None),
        },
    }
}

fn check(directory: &Directory) -> Result<(), TestbedError> {
    let facts = directory.facts().map_err(file_error("look at", directory.path()))?;
    check_facts(directory.path(), facts.st_uid, facts.st_mode)
}

/// Refuses a directory that another user could have made or could exchange under our
/// hands. One that does not exist is fine.
pub(crate) fn check_owned(path: &Path) -> Result<(), TestbedError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let facts = Directory::open_by_own_links(parent).and_then(|parent| parent.facts_of(name));
    let facts = match facts {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        facts => facts.map_err(not_opened(path))?,
    };
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory => check_facts(path, facts.st_uid, facts.st_mode),
        FileType::Symlink => Err(refused(path, Refusal::Symlink)),
        _ => Err(refused(path, Refusal::NotADirectory)),
    }
}

fn check_facts(path: &Path, owner: u32, mode: u32) -> Result<(), TestbedError> {
    let me = acting_user();
    if owner != me {
        return Err(TestbedError::NotYours { directory: path.to_path_buf(), owner, me });
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        Err(refused(path, Refusal::Writable { mode: mode & 0o7777 }))
    } else {
        Ok(())
    }
}

fn refused(path: &Path, refusal: Refusal) -> TestbedError {
    TestbedError::Base { base: path.to_path_buf(), reason: refusal.to_string() }
}

/// Removes a regular file if it is there. What else has the name is not the bed's own.
pub(crate) fn remove_file(bed: &Directory, name: &str) -> Result<(), TestbedError> {
    if !bed.kind_of(name).is_ok_and(|kind| kind == FileType::RegularFile) {
        return Ok(());
    }
    bed.remove_file_if_there(name).map_err(file_error("remove", bed.path().join(name)))
}

/// Removes a directory if it is there and empty; true when it is gone.
pub(crate) fn remove_if_empty(parent: &Directory, name: &str) -> Result<bool, TestbedError> {
    match parent.remove_directory(name) {
        Ok(()) => Ok(true),
        Err(cause) => match cause.kind() {
            io::ErrorKind::NotFound => Ok(true),
            // Or it is no directory at all, and not the bed's own.
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(file_error("remove", parent.path().join(name))(cause)),
        },
    }
}

/// Removes a directory and all below it. Links are removed and not followed; nothing may be
/// mounted below. What has the name and is no directory is not the bed's own.
pub(crate) fn remove_all(bed: &Directory, name: &str) -> Result<(), TestbedError> {
    if !bed.kind_of(name).is_ok_and(|kind| kind == FileType::Directory) {
        return Ok(());
    }
    bed.remove_tree(name).map_err(file_error("remove", bed.path().join(name)))
}

/// Returns the paths of all entries.
pub(crate) fn entries(bed: &Directory) -> Result<Vec<PathBuf>, TestbedError> {
    let names = bed.names().map_err(file_error("list", bed.path()))?;
    Ok(names.into_iter().map(|name| bed.path().join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn others_directories_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        let lock = Lock::acquire(&place, Default::default()).unwrap();
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
        let lock = Lock::acquire(&place, Default::default()).unwrap();
        let mut marker = Marker { kind: Kind::Directory, targets: 3, made_directory: true };
        make(&place, Kind::Directory, 3, &lock).unwrap();
        assert_eq!(Mark::read(look(&place).unwrap().as_ref(), &place), Mark::Own(marker));
        fs::remove_file(place.directory().join(crate::place::MARKER)).unwrap();
        make(&place, Kind::Directory, 3, &lock).unwrap();
        marker.made_directory = false;
        assert_eq!(Mark::read(look(&place).unwrap().as_ref(), &place), Mark::Own(marker));
    }

    #[test]
    fn removing_never_follows_symlinks() {
        let base = tempfile::tempdir().unwrap();
        let (kept, removed) = (base.path().join("kept"), base.path().join("removed"));
        fs::create_dir_all(removed.join("deep")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "precious").unwrap();
        symlink(&kept, removed.join("deep/link")).unwrap();
        let opened = Directory::open(base.path()).unwrap();
        remove_all(&opened, "removed").unwrap();
        assert!(!removed.exists());
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "precious");
        remove_all(&opened, "removed").unwrap();
    }
}
