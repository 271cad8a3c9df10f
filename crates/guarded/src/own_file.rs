//! A file of this user's with one name.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, StatxFlags, fchmod, fstat, statx};
use rustix::io::Errno;

use crate::directory::checked;
use crate::{Directory, Refusal, acting_user, is_of_one_node};

/// Some network file systems give a file that is renamed both names for a moment (GlusterFS), so that who finds two looks again.
const LOOKS_MAX: u32 = 50;
const LOOK_AGAIN: Duration = Duration::from_millis(4);

const OTHERS_WRITE: u32 = 0o022;

impl Directory {
    /// Opens a regular file that is there, as [`Directory::open_file`] does, if it is this user's and has no
    /// other name: where others may write, they can plant files of theirs, and names of ours.
    ///
    /// # Errors
    /// If it is not.
    pub fn open_own_file(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let (file, mut names) = self.opened_own(name.as_ref(), flags)?;
        // None is that of a file that was removed just now.
        if names > 1 && !is_of_one_node(&file) {
            for _ in 1..LOOKS_MAX {
                std::thread::sleep(LOOK_AGAIN);
                names = names_now(&file)?;
                if names <= 1 {
                    break;
                }
            }
        }
        with_one_name(file, names)
    }

    /// Does the same without waiting: who looks at many files, to which others may give further names, would wait for each.
    ///
    /// # Errors
    /// If it is not.
    pub fn open_own_file_now(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let (file, names) = self.opened_own(name.as_ref(), flags)?;
        with_one_name(file, names)
    }

    /// Opens a regular file of this user's; returns how many names it has, too.
    fn opened_own(&self, name: &OsStr, flags: OFlags) -> io::Result<(File, u64)> {
        let file = self.open_file(checked(name)?, flags)?;
        let facts = fstat(&file)?;
        self.require_owner(&facts)?;
        #[allow(clippy::useless_conversion, reason = "it has 32 bits on some machines")]
        Ok((file, u64::from(facts.st_nlink)))
    }
}

/// Takes the right to write to a file of this user's from all others: it may have come with it, as from an archive, while what it is a part of says that it is private.
/// Not if it has another name, by which it may be shared on purpose.
pub fn keep_writers_out(file: &File, facts: &Stat) {
    let is_own = facts.st_uid == acting_user() && facts.st_nlink == 1;
    if is_own && facts.st_mode & OTHERS_WRITE != 0 {
        // Some file systems have no permissions.
        let _ = fchmod(file, Mode::from_raw_mode(facts.st_mode & 0o7777 & !OTHERS_WRITE));
    }
}

fn with_one_name(file: File, names: u64) -> io::Result<File> {
    if names > 1 { Err(Refusal::SeveralNames { names }.into()) } else { Ok(file) }
}

/// Returns how many names a file has, as the server knows and not what is remembered here.
fn names_now(file: &File) -> io::Result<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match statx(file, "", flags, StatxFlags::NLINK) {
        Ok(facts) => Ok(facts.stx_nlink.into()),
        #[allow(clippy::useless_conversion, reason = "it has 32 bits on some machines")]
        Err(Errno::NOSYS) => Ok(fstat(file)?.st_nlink.into()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_has_two_names_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("one"), "").unwrap();
        let is_opened = || {
            let flags = OFlags::RDONLY;
            let opened =
                [directory.open_own_file("one", flags), directory.open_own_file_now("one", flags)];
            opened.map(|it| it.map(drop))
        };
        assert!(is_opened().iter().all(Result::is_ok));
        std::fs::hard_link(folder.path().join("one"), folder.path().join("two")).unwrap();
        let refusals = is_opened().map(refused);
        assert_eq!(refusals, [Refusal::SeveralNames { names: 2 }; 2]);
    }

    /// The attack: others link a file that its owner shares on purpose under a name of ours. It must not be theirs alone for that.
    #[test]
    fn writers_are_kept_out_of_what_has_no_other_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = File::create(at("one")).unwrap();
        file.set_permissions(Permissions::from_mode(0o666)).unwrap();
        std::fs::hard_link(at("one"), at("two")).unwrap();
        let rights = || {
            keep_writers_out(&file, &fstat(&file).unwrap());
            file.metadata().unwrap().permissions().mode() & 0o777
        };
        assert_eq!(rights(), 0o666);
        std::fs::remove_file(at("two")).unwrap();
        assert_eq!(rights(), 0o644);
    }
}
