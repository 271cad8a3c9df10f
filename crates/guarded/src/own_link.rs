//! Links that this user made on purpose, and no others.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, fstat, openat, readlinkat};
use rustix::io::Errno;

use crate::directory::{HELD, checked};
use crate::{Directory, Refusal};

/// Links that are followed on the way, as the kernel does (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Whose links are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// This user's and root's.
    Own,
    All,
}

/// Returns where a path begins. The working directory may be one that cannot be entered any more.
fn beginning(path: &Path) -> &'static Path {
    Path::new(if path.is_absolute() { "/" } else { "." })
}

impl Directory {
    /// Opens the directory where something is to be put that the user named. Links on the way are followed if they
    /// are this user's or root's: those of others could lead to any directory of this user's, now or later.
    ///
    /// # Errors
    /// If it is not there or cannot be entered, or if somebody else's link leads there.
    pub fn open_by_own_links(path: &Path) -> io::Result<Self> {
        let here = Self::open(beginning(path))?;
        Ok(here.walk(path, None, Links::Own)?.renamed(path.to_path_buf()))
    }

    /// Opens a directory to read in it what somebody else may have named: links lead wherever they lead, but no file system is
    /// entered that another user serves, who may never answer.
    ///
    /// # Errors
    /// If it is not there or cannot be entered, or if another user serves it or what is above it ([`Refusal::ServedBy`]).
    pub fn open_unserved(path: &Path) -> io::Result<Self> {
        let here = Self::open(beginning(path))?;
        Ok(here.walk(path, None, Links::All)?.renamed(path.to_path_buf()))
    }

    /// Holds what a path leads to, a directory or not, in the same way; nothing is opened.
    ///
    /// # Errors
    /// As [`Directory::open_unserved`].
    pub fn hold_unserved(path: &Path) -> io::Result<OwnedFd> {
        match (Self::open_unserved(path), path.parent(), path.file_name()) {
            (Ok(directory), ..) => directory.as_fd().try_clone_to_owned(),
            (Err(cause), Some(above), Some(name))
                if Refusal::of(&cause) == Some(Refusal::NotADirectory) =>
            {
                Self::open_unserved(above)?.held(name)
            }
            (Err(cause), ..) => Err(cause),
        }
    }

    /// Opens what a path leads to, and says where that is from the root, without links, as `fs::canonicalize` does.
    ///
    /// # Errors
    /// As [`Directory::open_unserved`], or if /proc is not there.
    pub fn hold_unserved_with_path(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        let held = Self::hold_unserved(path)?;
        let real = std::fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd()))?;
        Ok((held, real))
    }

    /// Does the same as [`Directory::open_by_own_links`], and makes directories that are missing.
    ///
    /// # Errors
    /// As [`Directory::open_by_own_links`], or if one cannot be made.
    pub fn make_by_own_links(path: &Path, mode: u32) -> io::Result<Self> {
        let here = Self::open(beginning(path))?;
        Ok(here.walk(path, Some(mode), Links::Own)?.renamed(path.to_path_buf()))
    }

    /// Returns the directory of that name in this one, or where a link of that name leads if it is this user's or
    /// root's, as all further links.
    ///
    /// # Errors
    /// If it is not there, is no directory, or is a link of somebody else.
    pub fn child_or_own_link(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        let here = Self::opened(openat(self, ".", HELD, Mode::empty())?, self.path().to_path_buf());
        Ok(here.walk(Path::new(name), None, Links::Own)?.renamed(self.path().join(name)))
    }

    /// Goes from here to where a path leads, and makes what is missing if there is a mode for it.
    fn walk(self, path: &Path, mode: Option<u32>, links_of: Links) -> io::Result<Self> {
        let parts = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|part| part.as_os_str().to_os_string()).collect()
        };
        if path.is_relative() {
            self.require_served_by_none_else()?;
        }
        let (mut at, mut left, mut links) = (self, parts(path), 0);
        while let Some(part) = left.pop() {
            if part == "/" || part == ".." || part == "." {
                let descriptor = openat(&at, &part, HELD, Mode::empty())?;
                let next = Self::opened(descriptor, at.path().join(&part));
                if part != "/" && !next.is_on_mount_of(&at) {
                    next.require_served_by_none_else()?;
                }
                at = next;
            } else if let Some(target) = at.link_of(&part, links_of)? {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                left.extend(parts(&target));
            } else {
                at = match (at.child(&part), mode) {
                    (Err(cause), Some(mode)) if cause.kind() == io::ErrorKind::NotFound => {
                        match at.make(&part, mode) {
                            // By another process, just now.
                            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                                at.child(&part)
                            }
                            made => made,
                        }
                    }
                    (child, _) => child,
                }?;
            }
        }
        Ok(at)
    }

    /// Returns where a link of that name leads, if it is this user's or root's; `None` if there is no link of that
    /// name.
    ///
    /// # Errors
    /// If it is a link of somebody else.
    pub fn own_link(&self, name: impl AsRef<OsStr>) -> io::Result<Option<PathBuf>> {
        self.link_of(checked(name.as_ref())?, Links::Own)
    }

    fn link_of(&self, name: &OsStr, links_of: Links) -> io::Result<Option<PathBuf>> {
        // The link itself is held while it is looked at and read, so that it is one and the same.
        let link = match self.held(name) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            held => held?,
        };
        let facts = fstat(&link)?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        let is_followed = links_of == Links::All || facts.st_uid == 0;
        if !is_followed && self.require_owner(&facts).is_err() {
            return Err(Refusal::LinkOf { owner: facts.st_uid }.into());
        }
        let target = readlinkat(&link, "", Vec::new())?.into_bytes();
        Ok(Some(PathBuf::from(OsString::from_vec(target))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_followed_if_they_are_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("real/inner")).unwrap();
        symlink("real", at("relative")).unwrap();
        symlink(at("real"), at("absolute")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let inner = fs::canonicalize(at("real/inner")).unwrap();
        for name in ["real/inner", "relative/inner", "absolute/./inner", "relative/inner/../inner"]
        {
            let opened = Directory::open_by_own_links(&at(name)).unwrap();
            assert_eq!(opened.path(), at(name));
            assert_eq!(opened.with_whole_path().unwrap().path(), inner, "{name}");
        }
        assert!(Directory::open_by_own_links(Path::new(".")).is_ok());
        Directory::make_by_own_links(&at("relative/new/deep"), 0o755).unwrap();
        assert!(at("real/new/deep").is_dir());
        assert!(Directory::open_by_own_links(&at("loop")).is_err());
        assert!(Directory::open_by_own_links(&at("real/none")).is_err());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(at("relative"), Some(65_533), None).unwrap();
            let refused = refused(Directory::open_by_own_links(&at("relative/inner")));
            assert_eq!(refused, Refusal::LinkOf { owner: 65_533 });
            Directory::open_unserved(&at("relative/inner")).unwrap();
            // Neither is anything made there, nor is a link of one's own that leads to theirs followed.
            assert!(Directory::make_by_own_links(&at("relative/made"), 0o755).is_err());
            assert!(!at("real/made").exists());
            symlink("relative", at("onward")).unwrap();
            let folder = Directory::open(folder.path()).unwrap();
            assert!(folder.child_or_own_link("onward").is_err());
        }
    }

    #[test]
    fn links_of_ones_own_lead_on_and_those_of_others_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for (target, link) in [("real", "link"), ("file", "to-file"), ("none", "dangling")] {
            symlink(target, folder.path().join(link)).unwrap();
        }
        let real = directory.child("real").unwrap().facts().unwrap().st_ino;
        let found = directory.child_or_own_link("link").unwrap();
        assert_eq!(found.facts().unwrap().st_ino, real);
        let whole = fs::canonicalize(folder.path()).unwrap().join("real");
        assert_eq!(found.with_whole_path().unwrap().path(), whole);
        assert!(directory.child_or_own_link("to-file").is_err());
        let missing = directory.child_or_own_link("dangling").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(folder.path().join("link"), Some(65_533), None).unwrap();
            let refused = refused(directory.child_or_own_link("link"));
            assert_eq!(refused, Refusal::LinkOf { owner: 65_533 });
        }
    }
}
