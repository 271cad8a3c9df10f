//! The base directory: made where it is missing, and removed again with all that was
//! made above it.
//!
//! What was made is written into the directory itself, as several beds may share it and
//! any of them may be the last. The record is a symlink that points nowhere, as Emacs's
//! lock files are: it is there in full or not at all, whenever its maker is killed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::bed_directory::{entries, make_directory};

/// Says that a base directory was made for beds: "NUMBER:DIRECTORY", where the number is
/// that of the directories that were made, this one and those right above it.
const RECORD: &str = ".plimsoll-testbed-base";

/// Makes the directory and those above it where they are missing, and remembers which.
/// When it fails, nothing that it made stays.
pub(crate) fn make(base: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| {
        fs::symlink_metadata(path).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
    };
    let missing: Vec<&Path> = base.ancestors().take_while(is_missing).collect();
    let mut made = 0;
    for directory in missing.iter().rev() {
        match make_directory(directory) {
            Ok(()) => made += 1,
            // Another command was faster, and has what is above it too.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => made = 0,
            Err(cause) => {
                remove_upwards(directory.parent(), made);
                return Err(cause);
            }
        }
    }
    if made > 0 {
        write_record(base, made);
    }
    Ok(())
}

/// Removes the directory, and those above it, that were made for beds, if no other bed
/// and nothing else is in them.
pub(crate) fn remove_if_made(base: &Path) {
    let record = base.join(RECORD);
    let Some(made) = recorded(base) else { return };
    if entries(base).ok() != Some(vec![record.clone()]) || fs::remove_file(record).is_err() {
        return;
    }
    match fs::remove_dir(base) {
        Ok(()) => remove_upwards(base.parent(), made.saturating_sub(1)),
        // Another bed began just now, and shall know.
        Err(_) => write_record(base, made),
    }
}

/// Removes up to `count` directories while they are empty.
fn remove_upwards(from: Option<&Path>, count: usize) {
    let directories = from.into_iter().flat_map(Path::ancestors).take(count);
    let _ = directories.map(fs::remove_dir).take_while(Result::is_ok).count();
}

/// How many directories were made, if this one is the one that the record is for.
fn recorded(base: &Path) -> Option<usize> {
    let path = base.join(RECORD);
    let is_mine = fs::symlink_metadata(&path).ok()?.uid() == rustix::process::geteuid().as_raw();
    let record = fs::read_link(&path).ok()?.into_os_string().into_vec();
    let colon = record.iter().position(|byte| *byte == b':')?;
    let made = std::str::from_utf8(&record[..colon]).ok()?.parse().ok()?;
    let is_this = record[colon + 1..] == *base.as_os_str().as_bytes();
    (is_mine && is_this).then_some(made)
}

/// Without a record the directories stay; no bed is worse for it.
fn write_record(base: &Path, made: usize) {
    let mut record = OsString::from(format!("{made}:"));
    record.push(base);
    let _ = symlink(PathBuf::from(record), base.join(RECORD));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_is_removed() {
        let given = tempfile::tempdir().unwrap();
        let base = given.path().join("one/two");
        make(&base).unwrap();
        make(&base).unwrap();
        fs::write(base.join("file"), "").unwrap();
        remove_if_made(&base);
        assert!(base.exists(), "somebody else uses it");
        fs::remove_file(base.join("file")).unwrap();
        remove_if_made(&base);
        assert_eq!(fs::read_dir(given.path()).unwrap().count(), 0);
        make(given.path()).unwrap();
        remove_if_made(given.path());
        assert!(given.path().exists(), "it was there before");
    }

    #[test]
    fn a_directory_above_that_has_more_in_it_stays() {
        let given = tempfile::tempdir().unwrap();
        let base = given.path().join("one/two/three");
        make(&base).unwrap();
        fs::write(given.path().join("one/file"), "").unwrap();
        remove_if_made(&base);
        assert!(!given.path().join("one/two").exists() && given.path().join("one/file").exists());
    }

    #[test]
    fn a_copy_is_not_removed() {
        let given = tempfile::tempdir().unwrap();
        let (base, copy) = (given.path().join("base"), given.path().join("copy"));
        make(&base).unwrap();
        fs::create_dir(&copy).unwrap();
        symlink(fs::read_link(base.join(RECORD)).unwrap(), copy.join(RECORD)).unwrap();
        remove_if_made(&copy);
        assert!(copy.exists());
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let given = tempfile::tempdir().unwrap();
        let too_long = given.path().join("one").join("x".repeat(300));
        assert!(make(&too_long).is_err());
        assert_eq!(fs::read_dir(given.path()).unwrap().count(), 0);
    }
}
