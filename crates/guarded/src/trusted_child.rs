//! A step from a directory to one in it that no other user can replace.

use std::ffi::OsStr;

use crate::trust::{check_directory, check_maker};
use crate::{Directory, Untrusted};

impl Directory {
    /// Opens the directory of that name in this one, and makes sure, as a step of [`open_trusted`](crate::open_trusted) does, that only this user and root could replace it or
    /// what is in it.
    ///
    /// # Errors
    /// If somebody else could, or if it cannot be opened.
    pub fn trusted_child(&self, name: impl AsRef<OsStr>) -> Result<Self, Untrusted> {
        let path = self.path().join(name.as_ref());
        let failed = |cause| Untrusted::of(&path, cause);
        let child = self.child(name).map_err(failed)?;
        let facts = child.facts().map_err(failed)?;
        check_maker(self, &facts, |owner| Untrusted::Owner { path: path.clone(), owner })?;
        check_directory(&child, &facts)?;
        Ok(child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn others_must_own_neither_it_nor_be_able_to_write_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        let at = folder.path().join("child");
        fs::create_dir(&at).unwrap();
        let mode = |mode| fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
        parent.trusted_child("child").unwrap();
        mode(0o777);
        assert!(matches!(parent.trusted_child("child"), Err(Untrusted::Everyone { .. })));
        mode(0o1777);
        parent.trusted_child("child").unwrap();
        assert!(matches!(parent.trusted_child("none"), Err(Untrusted::File { .. })));
        if rustix::process::geteuid().is_root() {
            mode(0o755);
            std::os::unix::fs::chown(&at, Some(65_533), None).unwrap();
            let owned = parent.trusted_child("child");
            assert!(matches!(owned, Err(Untrusted::Owner { owner: 65_533, .. })));
        }
    }
}
