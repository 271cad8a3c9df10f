//! The base directory: made where it is missing, and removed again with all that was
//! made above it.
//!
//! A bed is made only where nobody else can replace it, nor anything above it: otherwise somebody
//! else could choose where its file systems are mounted.
//!
//! What was made is written into the directory itself, as several beds may share it and
//! any of them may be the last. The record is a symlink that points nowhere, as Emacs's
//! lock files are: it is there in full or not at all, whenever its maker is killed.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use plimsoll_guarded::{Directory, Refusal, Trusted, Untrusted, acting_user, open_trusted};
use rustix::fs::{readlinkat, symlinkat};

use crate::TestbedError;
use crate::error::file_error;
use crate::place::{DIRECTORY_MODE, Place};

const ROOT: u32 = 0;

/// Says that a base directory was made for beds: "NUMBER:DIRECTORY", where the number is
/// that of the directories that were made, this one and those right above it.
const RECORD: &str = ".plimsoll-testbed-base";

/// Opens the base directory, makes what is missing of it, and remembers what that was.
/// When it fails, nothing that it made stays. Refuses one that somebody else could exchange.
pub(crate) fn make(place: &Place) -> Result<Directory, TestbedError> {
    loop {
        match make_missing(trusted(place)?) {
            // Somebody was faster: perhaps another command, perhaps another user.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map_err(file_error("create the base directory", place.base())),
        }
    }
}

/// Opens the base directory as [`make`] does, but makes nothing: `None` where it is not there.
pub(crate) fn existing(place: &Place) -> Result<Option<Directory>, TestbedError> {
    let Trusted { directory, missing } = trusted(place)?;
    Ok(missing.is_empty().then_some(directory))
}

/// Refuses a bed that somebody else made or could exchange.
pub(crate) fn check_bed(place: &Place) -> Result<(), TestbedError> {
    let bed = place.given_base().join(place.name());
    match open_trusted(&bed) {
        Err(Untrusted::Owner { path: directory, owner }) => {
            Err(TestbedError::NotYours { directory, owner, me: acting_user() })
        }
        Err(reason) => Err(TestbedError::Untrusted { base: place.base().to_path_buf(), reason }),
        Ok(trusted) if trusted.path() == place.directory() && trusted.missing.is_empty() => {
            check_maker(&trusted.directory)
        }
        Ok(_) => Err(leads_elsewhere(place)),
    }
}

/// Refuses a bed that neither this user nor root made. What is above may be shown as nobody's in a container.
fn check_maker(bed: &Directory) -> Result<(), TestbedError> {
    let (owner, me) =
        (bed.facts().map_err(file_error("look at", bed.path()))?.st_uid, acting_user());
    if [ROOT, me].contains(&owner) {
        return Ok(());
    }
    Err(TestbedError::NotYours { directory: bed.path().to_path_buf(), owner, me })
}

/// Refuses what somebody else could exchange.
fn trusted(place: &Place) -> Result<Trusted, TestbedError> {
    let trusted = open_trusted(place.given_base())
        .map_err(|reason| TestbedError::Untrusted { base: place.base().to_path_buf(), reason })?;
    if trusted.path() != place.base() {
        return Err(leads_elsewhere(place));
    }
    Ok(trusted)
}

fn leads_elsewhere(place: &Place) -> TestbedError {
    let (base, reason) = (place.base().to_path_buf(), "it leads elsewhere now".to_owned());
    TestbedError::Base { base, reason }
}

/// Opens the base directory to look at what is there, whoever may write to it; `None` where it is not there.
pub(crate) fn open(place: &Place) -> Result<Option<Directory>, TestbedError> {
    match Directory::open_by_own_links(place.base()) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(not_opened(place.base())),
    }
}

/// Returns why a directory could not be opened.
pub(crate) fn not_opened(path: &Path) -> impl FnOnce(io::Error) -> TestbedError {
    let path = path.to_path_buf();
    move |cause| match Refusal::of(&cause) {
        Some(Refusal::ServedBy { user }) => {
            let reason = Untrusted::Served { path: path.clone(), user };
            TestbedError::Untrusted { base: path, reason }
        }
        Some(Refusal::LinkOf { owner }) => {
            let reason = Untrusted::Link { path: path.clone(), owner };
            TestbedError::Untrusted { base: path, reason }
        }
        _ => file_error("open", path)(cause),
    }
}

fn make_missing(trusted: Trusted) -> io::Result<Directory> {
    let Trusted { directory, missing } = trusted;
    let mut base = directory;
    for (made, name) in missing.iter().enumerate() {
        base = match base.make(name, DIRECTORY_MODE) {
            Ok(next) => next,
            Err(cause) => {
                remove_upwards(base.path(), made);
                return Err(cause);
            }
        };
    }
    if !missing.is_empty() {
        write_record(&base, missing.len());
    }
    Ok(base)
}

/// Removes the directory, and those above it, that were made for beds, if no other bed
/// and nothing else is in them.
pub(crate) fn remove_if_made(base: &Directory) {
    let Some(made) = recorded(base) else { return };
    let is_alone = base.names().is_ok_and(|names| names == [RECORD]);
    if !is_alone || base.remove_file(RECORD).is_err() {
        return;
    }
    if remove_upwards(base.path(), made) == 0 {
        // Another bed began just now, and shall know.
        write_record(base, made);
    }
}

/// Removes a directory and those above it, this many at most, while they are empty and nobody else can
/// exchange them; gives how many were.
fn remove_upwards(from: &Path, count: usize) -> usize {
    let remove = |directory: &Path| {
        let parent = open_trusted(directory.parent()?).ok().filter(|it| it.missing.is_empty())?;
        parent.directory.remove_directory(directory.file_name()?).ok()
    };
    from.ancestors().take(count).map_while(remove).count()
}

/// Returns how many directories were made, if this one is the one that the record is for.
fn recorded(base: &Directory) -> Option<usize> {
    let is_mine = base.facts_of(RECORD).ok()?.st_uid == acting_user();
    let record = readlinkat(base, RECORD, Vec::new()).ok()?.into_bytes();
    let colon = record.iter().position(|byte| *byte == b':')?;
    let made = std::str::from_utf8(&record[..colon]).ok()?.parse().ok()?;
    let is_this = record[colon + 1..] == *base.path().as_os_str().as_bytes();
    (is_mine && is_this).then_some(made)
}

/// Without a record the directories stay; no bed is worse for it.
fn write_record(base: &Directory, made: usize) {
    let mut record = format!("{made}:").into_bytes();
    record.extend(base.path().as_os_str().as_bytes());
    let _ = symlinkat(OsString::from_vec(record), base, RECORD);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn made(base: &Path) -> Directory {
        make(&Place::new(base, "bed").unwrap()).unwrap()
    }

    fn count(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn only_what_was_made_is_removed() {
        let given = tempfile::tempdir().unwrap();
        let base = given.path().join("one/two");
        made(&base);
        let opened = made(&base);
        fs::write(base.join("file"), "").unwrap();
        remove_if_made(&opened);
        assert!(base.exists(), "somebody else uses it");
        fs::remove_file(base.join("file")).unwrap();
        remove_if_made(&opened);
        assert_eq!(count(given.path()), 0);
        remove_if_made(&made(given.path()));
        assert!(given.path().exists(), "it was there before");
    }

    #[test]
    fn a_directory_above_that_has_more_in_it_stays() {
        let given = tempfile::tempdir().unwrap();
        let base = given.path().join("one/two/three");
        let opened = made(&base);
        fs::write(given.path().join("one/file"), "").unwrap();
        remove_if_made(&opened);
        assert!(!given.path().join("one/two").exists() && given.path().join("one/file").exists());
    }

    #[test]
    fn a_copy_is_not_removed() {
        let given = tempfile::tempdir().unwrap();
        let (base, copy) = (given.path().join("base"), given.path().join("copy"));
        made(&base);
        fs::create_dir(&copy).unwrap();
        symlink(fs::read_link(base.join(RECORD)).unwrap(), copy.join(RECORD)).unwrap();
        remove_if_made(&made(&copy));
        assert!(copy.exists());
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let given = tempfile::tempdir().unwrap();
        let too_long = given.path().join("one").join("x".repeat(300));
        assert!(make(&Place::new(&too_long, "bed").unwrap()).is_err());
        assert_eq!(count(given.path()), 0);
    }

    #[test]
    fn nothing_is_made_where_others_could_exchange_it() {
        let given = tempfile::tempdir().unwrap();
        let shared = given.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        let error = make(&Place::new(&shared.join("base"), "bed").unwrap()).unwrap_err();
        assert!(matches!(error, TestbedError::Untrusted { .. }), "{error}");
        assert!(error.hint().unwrap().contains("/var/lib/plimsoll"));
        assert_eq!(count(&shared), 0);
    }
}
