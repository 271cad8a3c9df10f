//! The private directories that measuring commands write in: one on each target, removed when the command ends.
//!
//! Each holds a file that its owner keeps locked, with the owner's host and a secret in it. The lock lets
//! the next command of that host on a target distinguish what a killed command left behind from what another
//! one is using, and remove the former. Locks are not trusted between hosts: Lustre may keep them on
//! each node. The secret lets other processes, also those of other nodes, recognize the directory
//! that was made, and not one that was put in its place: numbers of users
//! and inodes differ between nodes, and servers change owners (root squash).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock, fstat};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::working_file::is_working_file;
use crate::{Directory, Refusal};

pub(crate) const PREFIX: &str = ".plimsoll-work-";
/// Before it is complete.
pub(crate) const NEW_PREFIX: &str = ".plimsoll-new-";
pub(crate) const OWNER: &str = "owner";

/// Only its maker enters it.
const MODE: u32 = 0o700;
pub(crate) const OWNER_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// A working directory as other processes are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Where it is.
    pub path: PathBuf,
    /// A secret known only to those whom its maker told.
    secret: String,
}

/// A private directory on a target, open as long as this lives.
#[derive(Debug)]
pub struct WorkingDirectory {
    target: Directory,
    name: OsString,
    directory: Directory,
    secret: String,
    /// Locked, in the process that made it.
    _lock: Option<File>,
}

impl WorkingDirectory {
    /// Makes one in that target, and locks it.
    ///
    /// # Errors
    /// If nothing can be made there, somebody else's link leads there, or somebody replaces it meanwhile.
    pub fn make(target: &Path) -> io::Result<Self> {
        Self::make_in(&Directory::open_by_own_links(target)?)
    }

    /// Makes one in a target that is open, and locks it.
    ///
    /// # Errors
    /// If nothing can be made there, or somebody replaces it meanwhile.
    pub fn make_in(target: &Directory) -> io::Result<Self> {
        let name = format!("{PREFIX}{}-{}", random_hex(4)?, std::process::id());
        Self::make_named(target.again()?, name.into(), random_hex(16)?)
    }

    /// Opens the one that another process made.
    ///
    /// # Errors
    /// If it is not there, or something else is in its place.
    pub fn join(claim: &Claim) -> io::Result<Self> {
        let (target, name) = split(&claim.path)?;
        Self::open(Directory::open_by_own_links(target)?, name, claim.secret.clone())
    }

    /// Opens the one that another process made, or makes it where it is not visible: on a node that
    /// does not share the target's storage.
    ///
    /// # Errors
    /// If something else is in its place, or nothing can be made.
    pub fn join_or_make(claim: &Claim) -> io::Result<Self> {
        match Self::join(claim) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            joined => return joined,
        }
        let (target, name) = split(&claim.path)?;
        let made = Self::make_named(
            Directory::open_by_own_links(target)?,
            name.into(),
            claim.secret.clone(),
        );
        match made {
            // Another process of this node was faster.
            Err(cause) if is_taken(&cause) => Self::join(claim),
            made => made,
        }
    }

    /// Returns what other processes have to know.
    pub fn claim(&self) -> Claim {
        Claim { path: self.path().to_path_buf(), secret: self.secret.clone() }
    }

    /// Returns where it is, as long as nobody moves it.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// To work in.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Makes sure that its path still leads to it.
    ///
    /// # Errors
    /// If nothing is there any more, or something else is.
    pub fn check_in_place(&self) -> io::Result<()> {
        // Whoever serves what is mounted above it since may never answer.
        Directory::open_unserved(self.target.path())?
            .require_same_directory(&self.name, &self.directory)
    }

    /// Removes it with all that is in it. What is in it goes by the open directory, its name only if it
    /// is empty: something that was put in its place stays.
    ///
    /// # Errors
    /// If something stays. What another process removed meanwhile is fine.
    pub fn remove(&self) -> io::Result<()> {
        let emptied = empty_owner_last(&self.directory);
        match emptied.and_then(|()| self.target.remove_directory(&self.name)) {
            Err(cause) if is_gone(&cause) => Ok(()),
            removed => removed,
        }
    }

    fn open(target: Directory, name: &OsStr, secret: String) -> io::Result<Self> {
        let directory = target.child(name)?;
        let owner = directory.read_small(OWNER).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Refusal::Exchanged.into(),
            _ => cause,
        })?;
        if owner != owner_text(&owner_host(&owner), &secret) {
            return Err(Refusal::Exchanged.into());
        }
        Ok(Self { target, name: name.to_os_string(), directory, secret, _lock: None })
    }

    /// It is complete and locked before it has its name.
    fn make_named(target: Directory, name: OsString, secret: String) -> io::Result<Self> {
        let new_name = format!("{NEW_PREFIX}{}", random_hex(8)?);
        let new = target.make(&new_name, MODE)?;
        let named = own(&new, &secret).and_then(|lock| {
            target.rename(&new_name, &name)?;
            Ok(lock)
        });
        match named {
            Ok(lock) => {
                let directory = new.renamed(target.path().join(&name));
                Ok(Self { target, name, directory, secret, _lock: Some(lock) })
            }
            Err(cause) => {
                let _ = new.remove_file_if_there(OWNER);
                let _ = target.remove_directory(&new_name);
                Err(cause)
            }
        }
    }
}

/// Removes the files of measurements, and the owner's file last: a killed removal can then be repeated.
///
/// # Errors
/// If something else is there, which stays.
pub(crate) fn empty_owner_last(directory: &Directory) -> io::Result<()> {
    let is_other = |name: &OsString| name != OWNER && !is_working_file(name);
    let names = directory.names()?;
    for name in names.iter().filter(|name| is_working_file(name)) {
        directory.remove_file_if_there(name)?;
    }
    if names.iter().any(is_other) {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    directory.remove_file_if_there(OWNER)
}

/// Locks a directory that was just made, for as long as the file is open.
fn own(directory: &Directory, secret: &str) -> io::Result<File> {
    // Whoever may write beside it can put another directory of this user in its place, whose contents
    // would be removed at the end.
    if !directory.names()?.is_empty() {
        return Err(Refusal::Exchanged.into());
    }
    let mut owner = directory.create(OWNER, OFlags::WRONLY, OWNER_MODE)?;
    let (of_directory, of_file) = (directory.facts()?, fstat(&owner)?);
    if of_directory.st_uid != of_file.st_uid {
        return Err(Refusal::Exchanged.into());
    }
    // Some file systems have no permissions at all, and show any.
    let has_permissions = of_file.st_mode & OTHERS == 0;
    if has_permissions && of_directory.st_mode & OTHERS != 0 {
        return Err(Refusal::Exchanged.into());
    }
    // Where locks are not available, nothing can be recognized as left behind either.
    let _ = flock(&owner, FlockOperation::NonBlockingLockExclusive);
    owner.write_all(owner_text(&host(), secret).as_bytes())?;
    Ok(owner)
}

pub(crate) fn owner_text(host: &str, secret: &str) -> String {
    format!("{host}\n{secret}\n")
}

/// Of the host, the first line alone.
pub(crate) fn owner_host(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    Ok(path.parent().zip(path.file_name()).ok_or(Refusal::NotAName)?)
}

/// NFS says the latter of what another node removed.
fn is_gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle)
}

/// Returns whether the error says that the name has a complete directory already.
fn is_taken(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// Returns as many random bytes, as text.
///
/// # Errors
/// If the system has none.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0u8; bytes];
    let mut filled = 0;
    while filled < bytes {
        filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
    }
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn others_join_by_the_secret_and_what_was_put_in_its_place_is_refused() {
        let target = tempfile::tempdir().unwrap();
        let made = WorkingDirectory::make(target.path()).unwrap();
        let claim = made.claim();
        let told = serde_json::to_string(&claim).unwrap();
        let joined = WorkingDirectory::join(&serde_json::from_str(&told).unwrap()).unwrap();
        joined.directory().create("0.0.0", OFlags::WRONLY, 0o600).unwrap();
        assert!(made.path().join("0.0.0").exists());
        let refused = |claim: &Claim| Refusal::of(&WorkingDirectory::join(claim).unwrap_err());
        // An attacker who may write beside it: a directory, a link, a directory with a link in it.
        made.check_in_place().unwrap();
        let moved = target.path().join("moved");
        fs::rename(made.path(), &moved).unwrap();
        assert_eq!(made.check_in_place().unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::create_dir(made.path()).unwrap();
        assert_eq!(Refusal::of(&made.check_in_place().unwrap_err()), Some(Refusal::Exchanged));
        assert_eq!(refused(&claim), Some(Refusal::Exchanged));
        symlink(moved.join(OWNER), made.path().join(OWNER)).unwrap();
        assert_eq!(refused(&claim), Some(Refusal::Symlink));
        fs::remove_dir_all(made.path()).unwrap();
        symlink(&moved, made.path()).unwrap();
        assert_eq!(refused(&claim), Some(Refusal::Symlink));
        assert!(WorkingDirectory::join_or_make(&claim).is_err());
        // What was written is removed where it is, and nothing else.
        made.remove().unwrap_err();
        assert_eq!(count(&moved), 0);
        assert!(made.path().is_symlink());
    }

    #[test]
    fn a_directory_that_is_not_the_one_just_made_is_not_owned() {
        let target = tempfile::tempdir().unwrap();
        let parent = Directory::open(target.path()).unwrap();
        let refused = |directory: &Directory| Refusal::of(&own(directory, "secret").unwrap_err());
        let private = parent.make("private", MODE).unwrap();
        fs::write(target.path().join("private/thesis"), "precious").unwrap();
        assert_eq!(refused(&private), Some(Refusal::Exchanged), "it has something in it");
        let open = parent.make("open", 0o755).unwrap();
        assert_eq!(refused(&open), Some(Refusal::Exchanged), "others may look into it");
        if rustix::process::geteuid().is_root() {
            let theirs = parent.make("theirs", MODE).unwrap();
            std::os::unix::fs::chown(theirs.path(), Some(65_533), None).unwrap();
            assert_eq!(refused(&theirs), Some(Refusal::Exchanged), "it is another user's");
        }
        assert!(target.path().join("private/thesis").exists());
    }

    #[test]
    fn nodes_that_do_not_share_make_their_own_with_the_same_secret() {
        let target = tempfile::tempdir().unwrap();
        let path = target.path().join(format!("{PREFIX}elsewhere"));
        let claim = Claim { path, secret: "secret".into() };
        let all: Vec<WorkingDirectory> = std::thread::scope(|scope| {
            let join = || scope.spawn(|| WorkingDirectory::join_or_make(&claim).unwrap());
            let threads: Vec<_> = (0..16).map(|_| join()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let inode = claim.path.metadata().unwrap().ino();
        assert!(all.iter().all(|it| it.directory().facts().unwrap().st_ino == inode));
        assert_eq!(count(target.path()), 1);
        all.iter().for_each(|it| it.remove().unwrap());
        assert_eq!(count(target.path()), 0);
    }
}
