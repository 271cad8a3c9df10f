//! An open directory, and what is in it by name.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, linkat,
    mkdirat, openat, openat2, renameat,
};
use rustix::io::Errno;

use crate::acting_user::NOBODY;
use crate::descriptors::moved;
use crate::mount::mount_of;
use crate::trust::is_writable_by_others;
use crate::working::{NEW_PREFIX, random_hex};
use crate::{Refusal, acting_user, owner_rights};

/// A directory is only held, which needs no right to list it.
pub(crate) const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open directory. It stays the same one even if somebody renames or replaces it.
///
/// Names are names of files in it: one that has a slash, or leads elsewhere, is refused
/// ([`Refusal::NotAName`]).
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
    /// What it is on, if the kernel tells.
    pub(crate) mount: Option<u64>,
}

impl Directory {
    /// Opens a directory that the user named, wherever that leads.
    ///
    /// # Errors
    /// If it is not there or cannot be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let descriptor = rustix::fs::open(path, HELD, Mode::empty())?;
        Ok(Self::opened(descriptor, path.to_path_buf()))
    }

    /// Returns the directory of that name in this one.
    ///
    /// # Errors
    /// If it is not there, is no directory, or is a link to one; if another user serves what is mounted there
    /// ([`Refusal::ServedBy`]), who is not asked.
    pub fn child(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        match openat(self, name, HELD | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(descriptor) => {
                let mount = self.require_mount(&descriptor)?;
                Ok(Self::opened_on(mount, descriptor, self.path.join(name)))
            }
            Err(errno) => Err(self.no_child(name, errno)),
        }
    }

    /// Returns why a directory could not be opened, in words if possible.
    pub(crate) fn no_child(&self, name: &OsStr, errno: Errno) -> io::Error {
        match (errno, self.kind_of(name)) {
            (Errno::NOTDIR | Errno::LOOP, Ok(FileType::Symlink)) => Refusal::Symlink.into(),
            (Errno::NOTDIR | Errno::LOOP, Ok(_)) => Refusal::NotADirectory.into(),
            _ => errno.into(),
        }
    }

    /// Makes a directory, and opens it. Its owner may do what the mode says, whatever the umask. Where others may write to this one, the caller must check who owns
    /// the new one: it may be replaced before it is opened.
    ///
    /// # Errors
    /// If there is anything of that name, or nothing can be made here.
    pub fn make(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        mkdirat(self, name, Mode::from_raw_mode(mode))?;
        let made = self.child(name)?;
        owner_rights::restore(&made, mode)?;
        Ok(made)
    }

    /// Creates a file that was not there before. Its owner may do what the mode says, whatever the umask.
    ///
    /// # Errors
    /// If there is anything of that name, even a link that leads nowhere.
    pub fn create(&self, name: impl AsRef<OsStr>, flags: OFlags, mode: u32) -> io::Result<File> {
        let exclusive = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = checked(name.as_ref())?;
        let file: File =
            moved(openat(self, name, flags | exclusive, Mode::from_raw_mode(mode))?).into();
        owner_rights::restore(&file, mode)?;
        Ok(file)
    }

    /// Opens an existing regular file, and waits for nobody. Neither creates nor truncates.
    ///
    /// # Errors
    /// If it is not there, or is anything but a regular file.
    pub fn open_file(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let name = checked(name.as_ref())?;
        // Some devices do something when they are opened.
        let held = self.held(name)?;
        require_file(&fstat(&held)?)?;
        // A pipe would wait for somebody at its other end.
        let quick = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        let opened = match openat2(self, name, flags | quick, Mode::empty(), resolve) {
            // A file that is mounted there, as containers do: the very one that was looked at.
            Err(Errno::XDEV) => {
                let path = format!("/proc/self/fd/{}", held.as_raw_fd());
                rustix::fs::open(path, (flags | quick) - OFlags::NOFOLLOW, Mode::empty())
            }
            Err(Errno::NOSYS | Errno::PERM) => openat(self, name, flags | quick, Mode::empty()),
            opened => opened,
        };
        let file = match opened {
            Err(Errno::LOOP) => return Err(Refusal::Symlink.into()),
            opened => File::from(moved(opened?)),
        };
        require_file(&fstat(&file)?)?;
        // With this flag io_uring would give up where it should wait.
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file)
    }

    /// Makes sure that something in this directory, or the directory itself, belongs to this user. A server may
    /// treat this process as another user (root squash): then it is the one to whom a new file belongs.
    pub(crate) fn require_owner(&self, facts: &Stat) -> io::Result<()> {
        let (owner, expected) = (facts.st_uid, acting_user());
        if expected == NOBODY {
            return Err(Refusal::UnknownUser.into());
        }
        if owner == expected || self.owner_of_new_files().is_ok_and(|it| it == owner) {
            return Ok(());
        }
        Err(Refusal::Owner { owner, expected }.into())
    }

    /// Whom this process is to the file system.
    fn owner_of_new_files(&self) -> io::Result<u32> {
        Ok(self.facts_of_new_files()?.st_uid)
    }

    /// What becomes of a mode that lets nobody else in.
    pub(crate) fn mode_of_new_files(&self) -> io::Result<u32> {
        Ok(self.facts_of_new_files()?.st_mode)
    }

    fn facts_of_new_files(&self) -> io::Result<Stat> {
        let name = format!("{NEW_PREFIX}{}", random_hex(8)?);
        let file = self.create(&name, OFlags::WRONLY, 0o600)?;
        let facts = fstat(&file)?;
        self.remove_file(&name)?;
        Ok(facts)
    }

    /// Renames a file or directory; replaces a file or an empty directory of the new name.
    ///
    /// # Errors
    /// If the old one is not there, or the new one cannot be replaced.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(self, checked(from.as_ref())?, self, checked(to.as_ref())?)?)
    }

    /// Makes its names durable.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&self) -> io::Result<()> {
        File::from(self.reopened()?).sync_all()
    }

    /// Waits until its file system has written everything down.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self.reopened()?)?)
    }

    /// Returns its owner, mode and other metadata.
    ///
    /// # Errors
    /// If its file system does not answer.
    pub fn facts(&self) -> io::Result<Stat> {
        Ok(fstat(self)?)
    }

    /// Returns the metadata of what has that name; of a link, its own.
    ///
    /// # Errors
    /// If it is not there.
    pub fn facts_of(&self, name: impl AsRef<OsStr>) -> io::Result<Stat> {
        Ok(fstat(self.held(checked(name.as_ref())?)?)?)
    }

    /// Holds what has that name, even a link, to look at it. Another user who serves it is not asked.
    pub(crate) fn held(&self, name: &OsStr) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(self, name, flags, Mode::empty())?;
        self.require_mount(&held)?;
        Ok(held)
    }

    /// Makes sure that it is this user's and that nobody else may write to it.
    ///
    /// # Errors
    /// If somebody else could put something into it.
    pub fn require_own(&self) -> io::Result<()> {
        let facts = self.facts()?;
        self.require_owner(&facts)?;
        let mode = facts.st_mode & 0o7777;
        if is_writable_by_others(self, &facts) {
            Err(Refusal::Writable { mode }.into())
        } else {
            Ok(())
        }
    }

    /// Gives a file a further name, unless there is something of that name: of several that do so at once,
    /// one succeeds.
    ///
    /// # Errors
    /// If there is anything of that name, or the file system knows no further names.
    pub fn link(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (checked(from.as_ref())?, checked(to.as_ref())?);
        Ok(linkat(self, from, self, to, AtFlags::empty())?)
    }

    /// Returns the kind of what has that name.
    ///
    /// # Errors
    /// If it is not there.
    pub fn kind_of(&self, name: impl AsRef<OsStr>) -> io::Result<FileType> {
        Ok(FileType::from_raw_mode(self.facts_of(name)?.st_mode))
    }

    /// Returns the number of the mount that it is on, which no other has at the same time; `None` where the kernel does not tell.
    pub fn mount_number(&self) -> Option<u64> {
        self.mount
    }

    /// Returns where it was found: for messages, and for those who cannot be handed a descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path that leads to this very directory while this value lives (proc(5), /proc/self/fd), for
    /// system calls that take no descriptor.
    pub fn path_by_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()))
    }

    /// One that was opened by other means.
    pub(crate) fn opened(descriptor: OwnedFd, path: PathBuf) -> Self {
        Self::opened_on(mount_of(&descriptor), descriptor, path)
    }

    /// The same, where it is known on which mount.
    fn opened_on(mount: Option<u64>, descriptor: OwnedFd, path: PathBuf) -> Self {
        Self { descriptor: moved(descriptor), path, mount }
    }

    /// Returns the same one with the path that leads to it from the root, without links (proc(5), /proc/self/fd).
    ///
    /// # Errors
    /// If /proc is not there.
    pub fn with_whole_path(self) -> io::Result<Self> {
        let path = std::fs::read_link(self.path_by_descriptor())?;
        Ok(self.renamed(path))
    }

    /// Returns the same one, open once more.
    ///
    /// # Errors
    /// If there are no descriptors left.
    pub fn again(&self) -> io::Result<Self> {
        let descriptor = self.descriptor.try_clone()?;
        Ok(Self { descriptor, path: self.path.clone(), mount: self.mount })
    }

    /// Returns the same one, which was given another name.
    #[must_use]
    pub fn renamed(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// With the right to list it, and a position of its own.
    pub(crate) fn reopened(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(self, ".", flags, Mode::empty())?)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Checks that a name cannot lead out of its directory.
pub(crate) fn checked(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
        Err(Refusal::NotAName.into())
    } else {
        Ok(name)
    }
}

fn require_file(facts: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Refusal::Symlink.into()),
        _ => Err(Refusal::NotAFile.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        for name in ["", ".", "..", "a/b", "/etc", "../x"] {
            assert_eq!(refused(directory.child(name)), Refusal::NotAName, "{name:?}");
            assert_eq!(refused(directory.create(name, OFlags::WRONLY, 0o600)), Refusal::NotAName);
            assert_eq!(refused(directory.remove_tree(name)), Refusal::NotAName);
        }
    }

    #[test]
    fn links_are_not_followed_and_pipes_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(folder.path().join("file"), "precious").unwrap();
        symlink("real", folder.path().join("link")).unwrap();
        symlink("file", folder.path().join("file-link")).unwrap();
        symlink("nowhere", folder.path().join("dangling")).unwrap();
        let fifo = FileType::Fifo;
        rustix::fs::mknodat(&directory, "pipe", fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(refused(directory.child("link")), Refusal::Symlink);
        assert_eq!(refused(directory.child("file")), Refusal::NotADirectory);
        for flags in [OFlags::RDONLY, OFlags::WRONLY] {
            assert_eq!(refused(directory.open_file("file-link", flags)), Refusal::Symlink);
            assert_eq!(refused(directory.open_file("pipe", flags)), Refusal::NotAFile);
            assert_eq!(refused(directory.open_file("real", flags)), Refusal::NotAFile);
        }
        for name in ["file", "file-link", "dangling", "pipe"] {
            let error = directory.create(name, OFlags::WRONLY, 0o600).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{name}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "precious");
        let opened = directory.open_file("file", OFlags::RDONLY).unwrap();
        assert!(!fcntl_getfl(&opened).unwrap().contains(OFlags::NONBLOCK));
    }

    #[test]
    fn a_renamed_directory_stays_the_same_one() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        let ours = parent.make("ours", 0o700).unwrap();
        fs::rename(folder.path().join("ours"), folder.path().join("moved")).unwrap();
        symlink("/etc", folder.path().join("ours")).unwrap();
        ours.create("file", OFlags::WRONLY, 0o600).unwrap();
        assert!(folder.path().join("moved/file").exists());
        assert_eq!(ours.names().unwrap(), ["file"]);
        assert_eq!(refused(parent.child("ours")), Refusal::Symlink);
    }
}
