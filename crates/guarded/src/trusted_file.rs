//! Files that no other user can change or replace.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{OFlags, fstat};

use crate::trust::{self, EVERYONE_WRITES, check_maker, is_writable_by_others};
use crate::{Directory, Refusal, Untrusted, open_trusted};

/// Opens a regular file to read it that only this user and root could put there, change or replace: the same holds of all
/// directories above it, as [`open_trusted`] makes sure. A link in its place is none, and neither is a file in a directory
/// such as `/tmp`, however sticky: others cannot replace it there, but they may have moved it there, from where they
/// may rename what is this user's.
///
/// # Errors
/// With the first step at which somebody else could, or if it is not there.
pub fn open_trusted_file(path: &Path) -> Result<File, Untrusted> {
    let failed = |cause: io::Error| match Refusal::of(&cause) {
        Some(Refusal::ServedBy { user }) => Untrusted::Served { path: path.to_path_buf(), user },
        _ => Untrusted::File { path: path.to_path_buf(), cause },
    };
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let above = open_trusted(path.parent().unwrap_or(path))?;
    if !above.missing.is_empty() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    refuse_shared(&above.directory)?;
    let file = above.directory.open_file(name, OFlags::RDONLY).map_err(failed)?;
    let facts = fstat(&file).map_err(|cause| failed(cause.into()))?;
    let (path, mode) = (path.to_path_buf(), facts.st_mode & 0o7777);
    check_maker(&above.directory, &facts, |owner| Untrusted::Owner { path: path.clone(), owner })?;
    if mode & EVERYONE_WRITES != 0 {
        Err(Untrusted::Everyone { path, mode })
    } else if is_writable_by_others(&file, &facts) {
        Err(Untrusted::Group { path, group: facts.st_gid, mode })
    } else {
        Ok(file)
    }
}

/// Returns true if this user or root made what is open, and that can be told.
pub fn is_mine_or_roots(opened: &impl AsFd) -> bool {
    fstat(opened).is_ok_and(|facts| trust::is_mine_or_roots(&facts))
}

/// Fails if others may put something into the directory.
fn refuse_shared(directory: &Directory) -> Result<(), Untrusted> {
    let path = directory.path().to_path_buf();
    match directory.facts() {
        Err(cause) => Err(Untrusted::File { path, cause }),
        Ok(facts) if is_writable_by_others(directory, &facts) => {
            Err(Untrusted::Everyone { path, mode: facts.st_mode & 0o7777 })
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_is_trusted_if_nobody_else_could_change_it() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (inner, file) = (folder.path().join("inner"), folder.path().join("inner/file"));
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "").unwrap();
        mode(&inner, 0o755);
        mode(&file, 0o644);
        assert!(open_trusted_file(&file).is_ok());
        for name in ["inner/none", "no/such", "inner"] {
            let error = open_trusted_file(&folder.path().join(name)).unwrap_err();
            assert!(matches!(error, Untrusted::File { .. }), "{name}: {error}");
        }
        mode(&file, 0o666);
        assert!(matches!(open_trusted_file(&file), Err(Untrusted::Everyone { .. })));
        mode(&file, 0o644);
        mode(&inner, 0o1777);
        assert!(matches!(open_trusted_file(&file), Err(Untrusted::Everyone { .. })), "moved there");
        mode(&inner, 0o755);
        symlink("file", inner.join("link")).unwrap();
        assert!(open_trusted_file(&inner.join("link")).is_err(), "a link may lead anywhere");
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: groups and owners need root");
            return;
        }
        mode(&file, 0o664);
        assert!(matches!(open_trusted_file(&file), Err(Untrusted::Group { .. })), "the file");
        mode(&file, 0o644);
        mode(&inner, 0o2775);
        assert!(matches!(open_trusted_file(&file), Err(Untrusted::Group { .. })), "its directory");
        mode(&inner, 0o755);
        std::os::unix::fs::chown(&file, Some(65_533), None).unwrap();
        assert!(matches!(open_trusted_file(&file), Err(Untrusted::Owner { owner: 65_533, .. })));
    }
}
