//! Files that make room for another one of the same name, step by step, where a file system cannot exchange names.
//!
//! Whoever is killed between the steps leaves such a file under a name that programs do not see: it gets its own back, unless something else has that by then.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;

use plimsoll_guarded::{Directory, acting_user, random_hex};
use rustix::fs::{FileType, OFlags, Stat};

/// What the names of files begin with that make room; a random number and the name follow.
const ASIDE_PREFIX: &str = ".plimsoll-stow-old-";

/// Returns a name under which a file makes room.
///
/// # Errors
/// If the system has no random numbers.
pub fn aside_name(name: &OsStr) -> io::Result<OsString> {
    let mut aside = OsString::from(format!("{ASIDE_PREFIX}{}-", random_hex(8)?));
    aside.push(name);
    Ok(aside)
}

/// Returns the name that a file had before it made room.
fn name_before(aside: &OsStr) -> Option<&OsStr> {
    let rest = aside.as_bytes().strip_prefix(ASIDE_PREFIX.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b'-')?;
    rest.get(end + 1..).filter(|it| !it.is_empty()).map(OsStr::from_bytes)
}

/// Gives a file that made room its name back if nothing has that. A plain file whose place was taken by one of this user's is removed; who can give such a name to another file
/// could remove that as well. Returns whether the name is that of such a file.
pub(crate) fn give_back(directory: &Directory, aside: &OsStr) -> bool {
    let Some(name) = name_before(aside) else { return false };
    let is_plain = directory.open_own_file_now(aside, OFlags::RDONLY | OFlags::NOFOLLOW).is_ok();
    let has_name = match directory.facts_of(name) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => match is_plain {
            true => directory.link(aside, name).is_ok(),
            false => {
                // Nothing that is in the way is replaced by a directory.
                let _ = is_own_directory(directory, aside) && directory.rename(aside, name).is_ok();
                false
            }
        },
        // What others put there did not come in its place.
        known => known.is_ok_and(|it| it.st_uid == acting_user()),
    };
    if is_plain && has_name {
        let _ = directory.remove_file(aside);
    }
    true
}

fn is_own_directory(directory: &Directory, name: &OsStr) -> bool {
    let is_it = |it: &Stat| {
        FileType::from_raw_mode(it.st_mode) == FileType::Directory && it.st_uid == acting_user()
    };
    directory.facts_of(name).is_ok_and(|it| is_it(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_made_room_gets_its_name_back_unless_that_was_taken() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let at = |name: &OsStr| folder.path().join(name);
        let names = ["plain", "a-b", "taken", "container"].map(OsStr::new);
        let asides = names.map(|name| aside_name(name).unwrap());
        for aside in &asides[..3] {
            std::fs::write(at(aside), "old").unwrap();
        }
        std::fs::create_dir(at(&asides[3])).unwrap();
        std::fs::write(at(&asides[3]).join("marker"), "old").unwrap();
        std::fs::write(at(names[2]), "new").unwrap();
        for aside in &asides {
            assert!(give_back(&directory, aside));
            assert!(!at(aside).exists(), "{aside:?}");
        }
        let read = |name: &OsStr| std::fs::read_to_string(at(name)).unwrap();
        assert_eq!(names[..3].iter().map(|it| read(it)).collect::<Vec<_>>(), ["old", "old", "new"]);
        assert_eq!(read(OsStr::new("container/marker")), "old");
        assert!(!give_back(&directory, names[0]));
        assert!(!give_back(&directory, OsStr::new(".plimsoll-stow-old-0123")));
    }

    #[test]
    fn a_container_whose_place_was_taken_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let aside = aside_name(OsStr::new("it")).unwrap();
        for name in [OsStr::new("it"), &aside] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("marker"), "words").unwrap();
        }
        assert!(give_back(&directory, &aside));
        assert!(folder.path().join(&aside).join("marker").exists());
    }
}
