//! Where something may be mounted.
//!
//! Whoever can exchange a directory on the way to a mount point has another one mounted over, and another mount taken away at the end: the program that mounts for those who are not root (fusermount3(1))
//! takes a path, and looks it up again and again. So nobody else may be able to.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Refusal, Untrusted, acting_user, mount_of, open_trusted};
use rustix::fs::{Mode, OFlags, openat};

use crate::MountError;

/// Returns the whole path of a mount point, without links.
///
/// # Errors
/// As [`mount`](crate::mount), if it is not there or others can exchange it.
pub fn whole_point(point: &Path) -> Result<PathBuf, MountError> {
    open_point(point).map(|it| it.path().to_path_buf())
}

/// Opens a directory to mount on that nobody else can exchange.
pub(crate) fn open_point(point: &Path) -> Result<Directory, MountError> {
    let path = point.to_path_buf();
    match open_trusted(point) {
        Ok(trusted) if trusted.missing.is_empty() => Ok(trusted.directory),
        Ok(_) => Err(MountError::Refused { point: path, cause: io::ErrorKind::NotFound.into() }),
        Err(Untrusted::File { cause, .. }) => Err(MountError::Refused { point: path, cause }),
        Err(cause) => Err(MountError::Untrusted { point: path, cause }),
    }
}

/// Makes sure that whoever is not root hides nothing of theirs or of others by mounting here.
pub(crate) fn require_free(point: &Directory) -> io::Result<()> {
    let (owner, expected) = (point.facts()?.st_uid, acting_user());
    if expected == 0 {
        return Ok(());
    }
    if owner != expected {
        return Err(Refusal::Owner { owner, expected }.into());
    }
    match point.names()?.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("it is not empty")),
    }
}

/// Returns the whole path of a mount, if this mount is there, and nobody else can exchange anything on the way.
pub(crate) fn whole_path_of_mount(point: &Path, number: u64) -> io::Result<Option<PathBuf>> {
    let (Some(above), Some(name)) = (point.parent(), point.file_name()) else {
        return Err(Refusal::NotAName.into());
    };
    // The mount itself is only held: its server may be gone.
    let above = open_trusted(above).map_err(io::Error::other)?;
    if !above.missing.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(&above.directory, name, flags, Mode::empty())?;
    Ok((mount_of(&root) == Some(number)).then(|| above.directory.path().join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// The attack: what is above a mount point is exchanged for a link to where another mount is.
    #[test]
    fn where_others_can_exchange_names_nothing_is_mounted_or_taken_away() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("above/point")).unwrap();
        let number = Directory::open(&at("above/point")).unwrap().mount_number().unwrap();
        let real = fs::canonicalize(at("above/point")).unwrap();
        let found = || whole_path_of_mount(&at("above/point"), number);
        assert_eq!(whole_point(&at("above/point")).unwrap(), real);
        assert_eq!(found().unwrap(), Some(real));
        assert_eq!(whole_path_of_mount(&at("above/point"), number + 1).unwrap(), None);
        let mode = |mode| fs::set_permissions(at("above"), fs::Permissions::from_mode(mode));
        mode(0o777).unwrap();
        let refused = whole_point(&at("above/point")).unwrap_err().to_string();
        assert!(refused.contains("everyone can write to"), "{refused}");
        assert!(found().unwrap_err().to_string().contains("everyone can write to"));
        mode(0o755).unwrap();
        fs::rename(at("above/point"), at("above/other")).unwrap();
        symlink("other", at("above/point")).unwrap();
        assert!(found().is_err(), "a link is no mount");
        assert!(whole_point(&at("above/none")).is_err());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(at("above/point"), Some(65_533), None).unwrap();
            let refused = whole_point(&at("above/point")).unwrap_err().to_string();
            assert!(refused.contains("symlink of user 65533"), "{refused}");
        }
    }
}
