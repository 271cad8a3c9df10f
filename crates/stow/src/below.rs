//! Directories that were looked through for containers.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;

use plimsoll_guarded::{Directory, Untrusted, open_trusted};
use rustix::fs::FileType;

use crate::Id;
use crate::marker::id_of;

/// Directories inside of each other that are looked through for containers.
const DEPTH_MAX: usize = 64;
/// How many of them: less than a gigabyte of memory, and some minutes.
const DIRECTORIES_MAX: usize = 1 << 22;

/// The containers below some directories, and whether there may be others.
///
/// Whoever may write to a directory on the way, or owns it, can hide a container there for as long as it is looked for. So what was not found is gone only if
/// everything was looked at, and nobody else could have moved it meanwhile.
#[derive(Debug, Default)]
pub struct Below {
    found: BTreeSet<Id>,
    /// Why something was not seen, as far as is known first.
    doubt: Option<String>,
}

impl Below {
    /// Looks through a directory. What cannot be looked into, and where others could have moved what is there, is a doubt.
    ///
    /// # Errors
    /// If it cannot be listed, or if there is more below it than is looked through: others may make directories there as fast as they are looked through.
    pub fn look(&mut self, path: &Path) -> io::Result<()> {
        let directory = match open_trusted(path) {
            Ok(trusted) if trusted.missing.is_empty() => trusted.directory,
            Ok(_) => return Err(io::ErrorKind::NotFound.into()),
            Err(Untrusted::File { cause, .. }) => return Err(cause),
            Err(untrusted) => {
                self.doubt_that(&untrusted);
                Directory::open_by_own_links(path)?
            }
        };
        directory.names()?;
        let mut walk = Walk { below: self, entered: HashSet::new(), most: DIRECTORIES_MAX };
        walk.enter(&directory, DEPTH_MAX)
    }

    /// Returns whether a container of this id was found.
    pub fn has(&self, id: Id) -> bool {
        self.found.contains(&id)
    }

    /// Returns why a container may be there that was not found, if so.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    fn doubt_that(&mut self, why: &impl ToString) {
        self.doubt.get_or_insert_with(|| why.to_string());
    }
}

/// A look through directories.
struct Walk<'a> {
    below: &'a mut Below,
    /// Whoever moves directories meanwhile has none of them looked through twice.
    entered: HashSet<(u64, u64)>,
    most: usize,
}

impl Walk<'_> {
    fn enter(&mut self, directory: &Directory, depth: usize) -> io::Result<()> {
        let place = directory.path().display();
        let facts = directory.facts()?;
        if !self.entered.insert((facts.st_dev, facts.st_ino)) {
            return Ok(());
        }
        match id_of(directory) {
            Ok(None) => {}
            Ok(Some(id)) => {
                self.below.found.insert(id);
                return Ok(());
            }
            // It may be one, and others may have made it look so: there may be more in it.
            Err(cause) => self.below.doubt_that(&format!("cannot tell what {place} is: {cause}")),
        }
        let too_much = |what: &str| {
            Err(io::Error::other(format!("{what} than are looked through, at {place}")))
        };
        if self.entered.len() > self.most {
            return too_much("there are more directories");
        }
        let names = folders_in(directory).unwrap_or_else(|cause| {
            self.below.doubt_that(&format!("cannot look into {place}: {cause}"));
            Vec::new()
        });
        for name in names {
            if depth == 0 {
                return too_much("there are more directories inside of each other");
            }
            let child = match directory.trusted_child(&name) {
                Ok(child) => Ok(child),
                Err(untrusted) => {
                    self.below.doubt_that(&untrusted);
                    directory.child(&name)
                }
            };
            if let Ok(child) = child {
                self.enter(&child, depth - 1)?;
            }
        }
        Ok(())
    }
}

/// Returns the names of the directories in one. What is gone before it is looked at may have been moved, and is an error.
fn folders_in(directory: &Directory) -> io::Result<Vec<OsString>> {
    let mut folders = Vec::new();
    for name in directory.names()? {
        if directory.kind_of(&name)? == FileType::Directory {
            folders.push(name);
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{MARKER, text};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn walked(folder: &Path, depth: usize, most: usize) -> Result<usize, String> {
        let mut below = Below::default();
        let mut walk = Walk { below: &mut below, entered: HashSet::new(), most };
        let directory = Directory::open(folder).unwrap();
        let walked = walk.enter(&directory, depth).map(|()| walk.entered.len());
        walked.map_err(|it| it.to_string())
    }

    /// A container that is not found would lose its logs.
    #[test]
    fn what_is_too_much_to_be_looked_through_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        assert_eq!(walked(folder.path(), 3, 5), Ok(5));
        let deep = walked(folder.path(), 2, 5).unwrap_err();
        assert!(deep.contains("inside of each other") && deep.contains("a/b"), "{deep}");
        assert!(walked(folder.path(), 3, 4).unwrap_err().contains("more directories than"));
        let mut below = Below::default();
        below.look(folder.path()).unwrap();
        assert!(below.found.is_empty() && below.doubt().is_none());
        assert!(below.look(&folder.path().join("none")).is_err());
    }

    /// The attack: in a directory that everybody may write to, somebody plants what tells a container.
    #[test]
    fn what_others_planted_hides_no_container() {
        let (folder, _) = folder();
        let planted = folder.path().join(MARKER);
        fs::write(&planted, text(Id::from_bytes([4; 16]))).unwrap();
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can make files of other users");
            return;
        }
        std::os::unix::fs::chown(&planted, Some(65_533), None).unwrap();
        let (found, doubt) = seen(folder.path());
        assert!(found == 1 && doubt.contains("belongs to user 65533"), "{doubt}");
        let directory = Directory::open(folder.path()).unwrap();
        assert!(!crate::Container::is_in(&directory).unwrap());
    }

    fn seen(path: &Path) -> (usize, String) {
        let mut below = Below::default();
        below.look(path).unwrap();
        (below.found.len(), below.doubt().unwrap_or_default().into())
    }

    /// A directory with a container, a file, a pipe, and links that lead nowhere and round.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("sub");
        fs::create_dir_all(sub.join("it")).unwrap();
        fs::write(sub.join("it").join(MARKER), text(Id::from_bytes([3; 16]))).unwrap();
        fs::write(sub.join("file"), "").unwrap();
        symlink("nowhere", sub.join("dangling")).unwrap();
        symlink("..", sub.join("round")).unwrap();
        (folder, sub)
    }

    /// What cannot be known is no proof that nothing is there.
    #[test]
    fn what_cannot_be_looked_at_is_a_doubt() {
        let (folder, sub) = folder();
        assert_eq!(seen(folder.path()), (1, String::new()));
        for marker in ["", "plimsoll container 9\nid x\n", &"x".repeat(1 << 17)] {
            fs::write(sub.join("it").join(MARKER), marker).unwrap();
            let (found, doubt) = seen(folder.path());
            assert!(found == 0 && doubt.contains("sub/it"), "{doubt}");
        }
        fs::remove_file(sub.join("it").join(MARKER)).unwrap();
        assert_eq!(seen(folder.path()), (0, String::new()));
    }

    /// The attack: whoever may write there hides the container while it is looked for.
    #[test]
    fn where_others_could_have_moved_something_is_a_doubt() {
        let (folder, sub) = folder();
        let mode = |mode| fs::set_permissions(&sub, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        for path in [folder.path(), &sub] {
            let (found, doubt) = seen(path);
            assert!(found == 1 && doubt.contains("everyone can write to"), "{doubt}");
        }
        mode(0o1777);
        assert_eq!(seen(&sub), (1, String::new()));
        mode(0o755);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&sub, Some(65_533), None).unwrap();
            for path in [folder.path(), &sub] {
                let (found, doubt) = seen(path);
                assert!(found == 1 && doubt.contains("belongs to user 65533"), "{doubt}");
            }
        } else {
            mode(0o000);
            let (found, doubt) = seen(folder.path());
            assert!(found == 0 && doubt.contains("sub"), "{doubt}");
            mode(0o755);
        }
    }
}
