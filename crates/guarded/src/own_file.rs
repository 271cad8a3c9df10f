//! A file of this user's with one name.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fstat, statx};
use rustix::io::Errno;

use crate::directory::checked;
use crate::{Directory, Refusal};

/// Some network file systems give a file that is renamed both names for a moment (GlusterFS), so that who finds two looks again.
const LOOKS_MAX: u32 = 50;
const LOOK_AGAIN: Duration = Duration::from_millis(4);

impl Directory {
    /// Opens a regular file that is there, as [`Directory::open_file`] does, if it is this user's and has no
    /// other name: where others may write, they can plant files of theirs, and names of ours.
    ///
    /// # Errors
    /// If it is not.
    pub fn open_own_file(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<File> {
        let name = checked(name.as_ref())?;
        let file = self.open_file(name, flags)?;
        let facts = fstat(&file)?;
        self.require_owner(&facts)?;
        let mut looks = 1;
        #[allow(clippy::useless_conversion, reason = "it has 32 bits on some machines")]
        let mut names = u64::from(facts.st_nlink);
        // None is that of a file that was removed just now.
        while names > 1 {
            if looks == LOOKS_MAX {
                return Err(Refusal::SeveralNames { names }.into());
            }
            looks += 1;
            std::thread::sleep(LOOK_AGAIN);
            names = names_now(&file)?;
        }
        Ok(file)
    }
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
