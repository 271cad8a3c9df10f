//! The private directories that measuring commands write in: one on each target, gone when it ends.
//!
//! Each holds a file that its owner keeps locked, with the owner's host and a secret in it. By the lock
//! the next command of that host on a target tells what a killed one left behind from what another
//! one is using, and removes the former. Locks are not trusted between hosts: Lustre may keep them on
//! each node. By the secret other processes, also those of other nodes, find out that a directory
//! of that name is the one that was made, and not one that was put in its place: numbers of users
//! and inodes differ between nodes, and servers change owners (root squash).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, flock, fstat, lstat};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::small_file::text_of;
use crate::{Directory, Refusal};

const PREFIX: &str = ".plimsoll-work-";
/// Before it is complete.
const NEW_PREFIX: &str = ".plimsoll-new-";
const OWNER: &str = "owner";

/// Only its maker enters it.
const MODE: u32 = 0o700;
const OWNER_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;

/// A working directory as other processes are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Where it is.
    pub path: PathBuf,
    /// What only those know whom its maker told.
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
    /// If nothing can be made there, or somebody exchanges it meanwhile.
    pub fn make(target: &Path) -> io::Result<Self> {
        let name = format!("{PREFIX}{}-{}", random_hex(4)?, std::process::id());
        Self::make_named(Directory::open(target)?, name.into(), random_hex(16)?)
    }

    /// Opens the one that another process made.
    ///
    /// # Errors
    /// If it is not there, or something else is in its place.
    pub fn join(claim: &Claim) -> io::Result<Self> {
        let (target, name) = split(&claim.path)?;
        Self::open(Directory::open(target)?, name, claim.secret.clone())
    }

    /// Opens the one that another process made, or makes it where it is not to be seen: on a node that
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
        let made = Self::make_named(Directory::open(target)?, name.into(), claim.secret.clone());
        match made {
            // Another process of this node was faster.
            Err(cause) if is_taken(&cause) => Self::join(claim),
            made => made,
        }
    }

    /// What other processes have to know.
    pub fn claim(&self) -> Claim {
        Claim { path: self.path().to_path_buf(), secret: self.secret.clone() }
    }

    /// Where it is, as long as nobody moves it.
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
        let (there, here) = (lstat(self.path())?, self.directory.facts()?);
        match (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino) {
            true => Ok(()),
            false => Err(Refusal::Exchanged.into()),
        }
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

/// Working directories on several targets, removed when dropped.
#[derive(Debug)]
pub struct WorkingDirectories {
    /// One for each different path.
    made: Vec<Arc<WorkingDirectory>>,
    /// Which of them each target has.
    of_target: Vec<usize>,
}

impl WorkingDirectories {
    /// Makes one on each of these targets; those with one path share theirs.
    ///
    /// # Errors
    /// With the target that failed. What was made before is removed.
    pub fn make(targets: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let mut all = Self { made: Vec::new(), of_target: Vec::new() };
        for (at, target) in targets.iter().enumerate() {
            let of_target = match targets[..at].iter().position(|earlier| earlier == target) {
                Some(earlier) => all.of_target[earlier],
                None => {
                    let made = WorkingDirectory::make(target);
                    all.made.push(Arc::new(made.map_err(|cause| (target.clone(), cause))?));
                    all.made.len() - 1
                }
            };
            all.of_target.push(of_target);
        }
        Ok(all)
    }

    /// That of each target, in their order.
    pub fn of_targets(&self) -> Vec<Arc<WorkingDirectory>> {
        self.of_target.iter().map(|made| self.made[*made].clone()).collect()
    }

    /// Where that of each target is.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.of_target.iter().map(|made| self.made[*made].path().to_path_buf()).collect()
    }

    /// Each once.
    pub fn all(&self) -> &[Arc<WorkingDirectory>] {
        &self.made
    }

    /// What other processes have to know to work in them.
    pub fn claims(&self) -> Vec<Claim> {
        self.made.iter().map(|made| made.claim()).collect()
    }
}

impl Drop for WorkingDirectories {
    fn drop(&mut self) {
        for made in &self.made {
            // A target that vanished took it along.
            let _ = made.remove();
        }
    }
}

/// Removes what killed commands of this user and this host left behind on targets, and tells how many
/// there were.
pub fn remove_left_behind(targets: &[PathBuf]) -> usize {
    let of_target = |target: &PathBuf| -> io::Result<usize> {
        let directory = Directory::open(target)?;
        let names = directory.names()?;
        let stale = names.into_iter().filter(|name| is_prefixed(name));
        Ok(stale.filter(|name| remove_stale(&directory, name).unwrap_or(false)).count())
    };
    targets.iter().map(|target| of_target(target).unwrap_or(0)).sum()
}

fn is_prefixed(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(PREFIX)
}

/// Removes a directory if it is one that this user left behind.
fn remove_stale(target: &Directory, name: &OsStr) -> io::Result<bool> {
    let directory = target.child(name)?;
    // Writable: NFS takes an exclusive lock for no less (flock(2)).
    let owner = directory.open_file(OWNER, OFlags::RDWR)?;
    let (directory_facts, owner_facts) = (directory.facts()?, fstat(&owner)?);
    let is_ours = directory_facts.st_uid == owner_facts.st_uid
        && directory_facts.st_mode & OTHERS_WRITE == 0
        && (owner_facts.st_uid == rustix::process::geteuid().as_raw()
            || owner_facts.st_uid == owner_of_new_files(&directory)?);
    let is_of_host = || text_of(&owner).is_ok_and(|text| owner_host(&text) == host());
    let is_free = || flock(&owner, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !(is_ours && is_of_host() && is_free()) {
        return Ok(false);
    }
    empty_owner_last(&directory)?;
    target.remove_directory(name)?;
    Ok(true)
}

/// A killed removal can then be repeated.
fn empty_owner_last(directory: &Directory) -> io::Result<()> {
    directory.empty_but(OsStr::new(OWNER))?;
    directory.remove_file_if_there(OWNER)
}

/// Whom this process is to the file system: a server may make it somebody else.
fn owner_of_new_files(directory: &Directory) -> io::Result<u32> {
    let name = format!("{NEW_PREFIX}{}", random_hex(8)?);
    let file = directory.create(&name, OFlags::WRONLY, OWNER_MODE)?;
    let owner = fstat(&file)?.st_uid;
    directory.remove_file(&name)?;
    Ok(owner)
}

/// Locks a directory that was just made, for as long as the file is open.
fn own(directory: &Directory, secret: &str) -> io::Result<File> {
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
    // Where locks are not to be had, nothing can be taken for left behind either.
    let _ = flock(&owner, FlockOperation::NonBlockingLockExclusive);
    owner.write_all(owner_text(&host(), secret).as_bytes())?;
    Ok(owner)
}

fn owner_text(host: &str, secret: &str) -> String {
    format!("{host}\n{secret}\n")
}

/// Of the host, the first line alone.
fn owner_host(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    Ok(path.parent().zip(path.file_name()).ok_or(Refusal::NotAName)?)
}

/// NFS says the latter of what another node removed.
fn is_gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle)
}

/// The name has a complete directory already.
fn is_taken(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// As many random bytes, as text.
fn random_hex(bytes: usize) -> io::Result<String> {
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_left_behind_goes_and_what_is_in_use_stays() {
        let target = tempfile::tempdir().unwrap();
        let targets = [target.path().to_path_buf()];
        let first = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 0);
        let left_behind = target.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&left_behind).unwrap();
        fs::write(left_behind.join(OWNER), owner_text(&host(), "secret")).unwrap();
        fs::write(left_behind.join("burst"), "data").unwrap();
        let foreign = target.path().join(format!("{PREFIX}foreign"));
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(OWNER), "another host").unwrap();
        let second = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 1);
        assert!(first.all()[0].path().exists() && second.all()[0].path().exists());
        assert!(foreign.exists());
        drop((first, second));
        assert_eq!(count(target.path()), 1, "only the foreign one stays");
    }

    #[test]
    fn targets_with_one_path_share_and_a_failure_leaves_nothing() {
        let target = tempfile::tempdir().unwrap();
        let path = target.path().to_path_buf();
        let shared = WorkingDirectories::make(&[path.clone(), path.clone()]).unwrap();
        assert_eq!(shared.all().len(), 1);
        assert_eq!(shared.of_targets()[0].path(), shared.of_targets()[1].path());
        let facts = shared.all()[0].path().metadata().unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o700);
        drop(shared);
        let missing = path.join("missing");
        let result = WorkingDirectories::make(&[path, missing.clone()]);
        assert!(result.is_err_and(|(path, _)| path == missing));
        assert_eq!(count(target.path()), 0);
    }

    #[test]
    fn others_join_by_the_secret_and_what_was_put_in_its_place_is_refused() {
        let target = tempfile::tempdir().unwrap();
        let made = WorkingDirectory::make(target.path()).unwrap();
        let claim = made.claim();
        let told = serde_json::to_string(&claim).unwrap();
        let joined = WorkingDirectory::join(&serde_json::from_str(&told).unwrap()).unwrap();
        joined.directory().create("burst", OFlags::WRONLY, 0o600).unwrap();
        assert!(made.path().join("burst").exists());
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

    #[test]
    fn a_pipe_or_a_link_as_owner_is_neither_waited_for_nor_read() {
        let target = tempfile::tempdir().unwrap();
        let planted = target.path().join(format!("{PREFIX}planted"));
        fs::create_dir(&planted).unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
        rustix::fs::mknodat(rustix::fs::CWD, planted.join(OWNER), kind, mode, 0).unwrap();
        let targets = [target.path().to_path_buf()];
        assert_eq!(remove_left_behind(&targets), 0);
        fs::remove_file(planted.join(OWNER)).unwrap();
        symlink("/dev/zero", planted.join(OWNER)).unwrap();
        assert_eq!(remove_left_behind(&targets), 0);
        assert_eq!(count(target.path()), 1);
    }
}
