//! Links that this user made on purpose, and no others.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, fstat, openat, readlinkat};

use crate::directory::{HELD, checked};
use crate::{Directory, Refusal};

impl Directory {
    /// Returns the directory of that name in this one, or where a link of that name leads if it is this user's own.
    ///
    /// # Errors
    /// If it is not there, is no directory, or is a link of somebody else.
    pub fn child_or_own_link(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        match self.child(name) {
            Err(cause) if Refusal::of(&cause) == Some(Refusal::Symlink) => {}
            found => return found,
        }
        // The link itself is held while it is looked at and read, so that it is one and the same.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = openat(self, name, flags, Mode::empty())?;
        let facts = fstat(&link)?;
        if self.require_owner(&facts).is_err() {
            return Err(Refusal::LinkOf { owner: facts.st_uid }.into());
        }
        let target =
            PathBuf::from(OsString::from_vec(readlinkat(&link, "", Vec::new())?.into_bytes()));
        let descriptor = openat(self, &target, HELD, Mode::empty())?;
        Ok(Self::opened(descriptor, self.path().join(target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

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
