//! What becomes of the logs when there are copies of their container (`cp -r`), and the container itself was moved.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Standing, StowError, Writer, standing_of};
use support::container;
use support::copies::{assert_precious, copied, copy, open};

#[test]
fn a_copy_takes_no_logs_with_it_wherever_the_container_was_moved() {
    for place in ["it", "moved", "above", "elsewhere/it"] {
        let folder = copied();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let original = folder.path().join(place);
        if place != "it" {
            fs::rename(folder.path().join("it"), &original).unwrap();
        }
        let copy = open(&folder.path().join("copy"));
        assert_ne!(standing_of(&copy).unwrap(), Standing::Original, "{place}");
        let written = Writer::open(Arc::new(copy), Placement::Striped).map(drop);
        let is_refused =
            matches!(written, Err(StowError::Copy { .. } | StowError::Displaced { .. }));
        assert!(is_refused, "{place}: {written:?}");
        open(&folder.path().join("copy")).remove().unwrap();
        assert_precious(&original);
        assert_eq!(standing_of(&open(&original)).unwrap(), Standing::Original, "{place}");
        assert_eq!(open(&original).remove().unwrap(), [], "{place}: all logs go with it");
        let left = |target: &str| fs::read_dir(folder.path().join(target)).unwrap().count();
        assert_eq!((left("t0"), left("t1")), (0, 0), "{place}");
    }
}

/// A backup is put back where the container was, which is elsewhere by now, or gone: nobody can tell.
#[test]
fn one_that_was_restored_in_its_place_gets_its_logs_when_that_is_asked_for() {
    for is_moved in [true, false] {
        let folder = copied();
        let it = folder.path().join("it");
        let moved = folder.path().join("elsewhere");
        fs::create_dir(&moved).unwrap();
        match is_moved {
            true => fs::rename(&it, moved.join("it")).unwrap(),
            false => fs::remove_dir_all(&it).unwrap(),
        }
        fs::rename(folder.path().join("copy"), &it).unwrap();
        assert_eq!(standing_of(&open(&it)).unwrap(), Standing::Unknown(it.clone()));
        let written = Writer::open(Arc::new(open(&it)), Placement::Striped).map(drop);
        assert!(matches!(written, Err(StowError::Displaced { .. })), "{written:?}");
        assert_precious(&it);
        if is_moved {
            let left = open(&it).remove().unwrap();
            assert_eq!(left.len(), 2, "logs stay");
            assert_precious(&moved.join("it"));
            let original = open(&moved.join("it"));
            assert_eq!(standing_of(&original).unwrap(), Standing::Original);
            Writer::open(Arc::new(original), Placement::Striped).unwrap().close().unwrap();
        } else {
            assert_eq!(plimsoll_stow::repair(&open(&it), &[]).unwrap(), 1);
            Writer::open(Arc::new(open(&it)), Placement::Striped).unwrap().close().unwrap();
            assert_precious(&it);
        }
    }
}

/// The attack: whoever may write where the original is gives it another name while its copy is repaired.
#[test]
fn a_copy_gets_no_logs_of_one_that_others_could_have_hidden() {
    let folder = copied();
    let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    let (it, hidden) = (folder.path().join("it"), folder.path().join("hidden"));
    let away = tempfile::tempdir_in("/var/tmp").unwrap();
    copy(&folder, "it", away.path().join("copy").to_str().unwrap());
    mode(0o777);
    fs::rename(&it, &hidden).unwrap();
    let refused = plimsoll_stow::repair(&open(&away.path().join("copy")), &[]).map(drop);
    assert!(matches!(refused, Err(StowError::Hidden { .. })), "{refused:?}");
    fs::rename(&hidden, &it).unwrap();
    open(&away.path().join("copy")).remove().unwrap();
    assert_precious(&it);
    mode(0o700);
}

#[test]
fn one_that_was_restored_elsewhere_gets_them_when_that_is_asked_for() {
    let folder = copied();
    fs::remove_dir_all(folder.path().join("it")).unwrap();
    let restored = open(&folder.path().join("copy"));
    assert!(matches!(standing_of(&restored).unwrap(), Standing::Unknown(_)));
    assert_eq!(plimsoll_stow::repair(&restored, &[]).unwrap(), 1);
    assert_eq!(standing_of(&restored).unwrap(), Standing::Original);
    assert_precious(&folder.path().join("copy"));
}

/// Whoever made the copy may have chosen the rights of its anchor.
#[test]
fn a_plain_file_of_a_copy_is_private() {
    let folder = copied();
    for (name, mode) in [("it", 0o644), ("copy", 0o600)] {
        let path = folder.path().join(name);
        fs::set_permissions(path.join("anchor"), fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::create(folder.path().join("flat")).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        open(&path).give_rights_to(&file).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, mode, "{name}");
    }
}

/// A number of an inode is given to another file once it is free.
#[test]
fn a_copy_with_the_number_of_the_original_is_still_a_copy() {
    let folder = copied();
    let copy = folder.path().join("copy");
    let inode = std::os::unix::fs::MetadataExt::ino(
        &fs::metadata(copy.join("plimsoll-container")).unwrap(),
    );
    let id = open(&copy).id();
    for target in ["t0", "t1"] {
        let note = folder.path().join(target).join(format!("plimsoll-stow-{id}/container"));
        let text = fs::read_to_string(&note).unwrap();
        let home = plimsoll_stow::Home::parse(&text).unwrap();
        assert!(home.born.is_some(), "this file system tells: {text}");
        fs::write(note, plimsoll_stow::Home { inode, ..home }.text()).unwrap();
    }
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    fs::rename(folder.path().join("it"), folder.path().join("elsewhere/it")).unwrap();
    assert!(matches!(standing_of(&open(&copy)).unwrap(), Standing::Unknown(_)));
}

/// Before anything is written, nothing but the id says what it is a copy of.
#[test]
fn a_copy_of_an_empty_container_does_not_take_the_logs_of_the_other() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let original = container(folder.path(), 2);
    let name = original.path().file_name().unwrap().to_str().unwrap().to_string();
    copy(&folder, &name, "copy");
    let mut writer = Writer::open(original.clone(), Placement::Striped).unwrap();
    writer.write_at(b"precious", 0).unwrap();
    writer.close().unwrap();
    let targets = support::targets(folder.path(), 2);
    let copy = Arc::new(Container::open(&folder.path().join("copy"), &targets).unwrap());
    let written =
        Writer::open(copy, Placement::Striped).and_then(|mut it| it.write_at(b"other", 0));
    assert_precious(original.path());
    if written.is_ok() {
        // On another target: it has logs of its own there.
        assert_eq!(fs::read_dir(folder.path().join("t1")).unwrap().count(), 1);
    }
}
