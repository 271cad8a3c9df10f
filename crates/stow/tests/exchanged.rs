//! Somebody who may write beside a container, or to a target, exchanges names: nothing of another container is written to or removed.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_stow::{Container, FLAT, Placement, Reader, StowError, Writer};
use support::{content, targets};

/// Two containers: one that is worked with, and one that is precious.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        drop(place.container("precious", b"thesis"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn container(&self, name: &str, bytes: &[u8]) -> Arc<Container> {
        let targets = targets(self.folder.path(), 1);
        let container = Arc::new(Container::create(&self.at(name), &targets).unwrap());
        write(&container, bytes).unwrap();
        container
    }

    /// Puts a link to the precious container in the place of another one.
    fn exchange_for_link(&self, name: &str) {
        fs::rename(self.at(name), self.at("moved")).unwrap();
        symlink(self.at("precious"), self.at(name)).unwrap();
    }

    fn log_directory(&self, container: &Container) -> PathBuf {
        let target = &targets(self.folder.path(), 1)[0].path;
        target.join(format!("plimsoll-stow-{}", container.id()))
    }

    #[track_caller]
    fn assert_unharmed(&self) {
        let container = Container::open(&self.at("precious"), &[]).unwrap();
        let reader = Reader::open(Arc::new(container)).unwrap();
        assert_eq!(content(&reader), b"thesis");
    }
}

fn write(container: &Arc<Container>, bytes: &[u8]) -> Result<(), StowError> {
    let mut writer = Writer::open(container.clone(), Placement::Striped)?;
    writer.write_at(bytes, 0)?;
    writer.close()
}

fn names(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn what_is_written_goes_to_the_container_that_was_made() {
    let place = Place::new();
    let new = place.container("new", b"first");
    place.exchange_for_link("new");
    write(&new, b"other").unwrap();
    place.assert_unharmed();
    let moved = Container::open(&place.at("moved"), &[]).unwrap();
    assert_eq!(content(&Reader::open(Arc::new(moved)).unwrap()), b"other");
}

#[test]
fn a_container_is_removed_only_under_its_own_name() {
    let place = Place::new();
    let new = place.container("new", b"bytes");
    place.exchange_for_link("new");
    let error = new.remove().unwrap_err().to_string();
    assert!(error.contains("it is a symlink"), "{error}");
    fs::remove_file(place.at("new")).unwrap();
    fs::create_dir_all(place.at("new/results")).unwrap();
    let error = new.remove().unwrap_err().to_string();
    assert!(error.contains("somebody who may write beside it replaced it"), "{error}");
    assert!(place.at("new/results").exists() && place.at("moved/state").exists());
    place.assert_unharmed();
}

#[test]
fn a_copy_that_failed_takes_back_its_own_container_wherever_it_was_moved() {
    let place = Place::new();
    let draft = place.container("draft", b"half");
    let logs = place.log_directory(&draft);
    place.exchange_for_link("draft");
    let alone = draft.hold_alone().unwrap();
    draft.discard(&alone).unwrap_err();
    assert_eq!(names(&place.at("moved")), 0, "its own files are gone");
    assert!(!logs.exists() && place.at("draft").is_symlink());
    place.assert_unharmed();
}

#[test]
fn a_container_that_somebody_exchanged_gets_no_name() {
    let place = Place::new();
    let mut draft = Arc::into_inner(place.container("draft", b"whole")).unwrap();
    place.exchange_for_link("draft");
    draft.rename("published".as_ref()).unwrap_err();
    assert!(!place.at("published").exists());
    fs::remove_file(place.at("draft")).unwrap();
    fs::rename(place.at("moved"), place.at("draft")).unwrap();
    let error = draft.rename("precious".as_ref()).unwrap_err().to_string();
    assert!(error.contains("File exists"), "{error}");
    draft.rename("published".as_ref()).unwrap();
    assert!(place.at("published/state").exists());
    draft.remove().unwrap();
    assert!(!place.at("published").exists());
    place.assert_unharmed();
}

#[test]
fn only_logs_that_say_so_are_the_containers() {
    let place = Place::new();
    let precious = Container::open(&place.at("precious"), &[]).unwrap();
    let theirs = place.log_directory(&precious);
    // The name of a new container's directory is given to another one before the container makes it.
    let targets = targets(place.folder.path(), 1);
    let new = Arc::new(Container::create(&place.at("new"), &targets).unwrap());
    fs::rename(&theirs, place.log_directory(&new)).unwrap();
    let error = write(&new, b"bytes").unwrap_err().to_string();
    assert!(error.contains("somebody who may write beside it replaced it"), "{error}");
    assert_eq!(names(&place.log_directory(&new)), 2, "nothing is added to log and note");
    fs::rename(place.log_directory(&new), &theirs).unwrap();
    place.assert_unharmed();
    // Nor is a log of another one removed, whoever gave it the name.
    write(&new, b"bytes").unwrap();
    let moved = place.at("moved");
    fs::rename(place.log_directory(&new), &moved).unwrap();
    symlink(&theirs, place.log_directory(&new)).unwrap();
    let container = Arc::new(Container::open(&place.at("new"), &[]).unwrap());
    assert!(Reader::open(container.clone()).unwrap().logs()[0].missing.is_some());
    fs::remove_file(place.log_directory(&new)).unwrap();
    fs::rename(&theirs, place.log_directory(&new)).unwrap();
    assert_eq!(container.remove().unwrap().len(), 1, "it is left");
    fs::rename(place.log_directory(&new), &theirs).unwrap();
    place.assert_unharmed();
    assert_eq!(names(&moved), 2);
}

#[test]
fn what_is_not_the_containers_own_stays_and_is_told() {
    let place = Place::new();
    let new = place.container("new", b"bytes");
    fs::write(place.at("new/notes"), "mine").unwrap();
    let error = new.remove().unwrap_err().to_string();
    assert!(error.contains("new/notes: it is no file of the container"), "{error}");
    assert!(place.log_directory(&new).exists());
    fs::remove_file(place.at("new/notes")).unwrap();
    assert!(new.remove().unwrap().is_empty());
    assert!(!place.at("new").exists() && !place.log_directory(&new).exists());
}

#[test]
fn a_plain_file_takes_the_name_of_the_container_that_was_opened() {
    let place = Place::new();
    let mut new = Arc::into_inner(place.container("new", b"bytes")).unwrap();
    fs::write(place.at("new").join(FLAT), "bytes").unwrap();
    let flat = fs::File::open(place.at("new").join(FLAT)).unwrap();
    place.exchange_for_link("new");
    new.give_name_to(&flat).unwrap_err();
    assert!(place.at("moved").join(FLAT).exists(), "it is still in the container");
    fs::remove_file(place.at("new")).unwrap();
    fs::rename(place.at("moved"), place.at("new")).unwrap();
    let alone = new.hold_alone().unwrap();
    new.give_name_to(&flat).unwrap();
    assert_eq!(fs::read(place.at("new")).unwrap(), b"bytes");
    assert!(new.discard(&alone).unwrap().is_empty());
    place.assert_unharmed();
    assert_eq!(names(place.folder.path()), 3, "the file, the precious container, the target");
}

#[test]
fn a_container_that_is_only_read_is_not_written_to() {
    let place = Place::new();
    symlink(place.at("precious"), place.at("link")).unwrap();
    let container = Arc::new(Container::open_to_read(&place.at("link"), &[]).unwrap());
    assert!(Writer::open(container.clone(), Placement::Striped).is_err());
    assert!(container.hold_alone().is_err() && container.remove().is_err());
    let error = Container::open(&place.at("link"), &[]).unwrap().remove().unwrap_err();
    assert!(error.to_string().contains("it is a symlink"), "{error}");
    place.assert_unharmed();
}
