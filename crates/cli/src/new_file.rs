//! A file that a command makes for its user: it never replaces another file unless the user wants that, never
//! follows a link, and is either complete or absent.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plimsoll_guarded::is_own_stream;
use rustix::fs::{CWD, OFlags, RenameFlags, fcntl_getfl, fcntl_setfl, renameat_with};
use rustix::io::Errno;

/// Options of commands that write a file named by their user.
#[derive(clap::Args)]
pub struct Replacing {
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Who may read a new file, as its mode.
#[derive(Clone, Copy)]
pub enum Readers {
    Owner = 0o600,
    /// Those whom the user's umask allows.
    ByMask = 0o666,
}

/// A file that is being written. It is removed if it is dropped before it is finished.
pub struct NewFile {
    path: PathBuf,
    file: File,
    /// The temporary name until the file is complete, or the name of a file that may have to be removed.
    draft: Option<PathBuf>,
    replaces: bool,
}

impl Replacing {
    /// Opens the file, so that a file that cannot be written is reported before any work is done.
    pub fn create(&self, path: &Path) -> Result<NewFile> {
        NewFile::create(path, self.force, Readers::ByMask)
    }

    /// Opens a file that is made from these directories: if others may not look into one of them, they may
    /// not read the file.
    pub fn create_from(&self, path: &Path, sources: &[PathBuf]) -> Result<NewFile> {
        let is_private =
            |source: &PathBuf| fs::metadata(source).is_ok_and(|it| it.mode() & 0o077 == 0);
        let readers = if sources.iter().any(is_private) { Readers::Owner } else { Readers::ByMask };
        NewFile::create(path, self.force, readers)
    }
}

impl NewFile {
    /// Opens a file that does not exist yet or, with `replace`, one that replaces an existing file.
    pub fn create(path: &Path, replace: bool, readers: Readers) -> Result<Self> {
        let failed = || format!("cannot create {}", path.display());
        let is_own_stream = is_own_stream(path);
        let there = match is_own_stream {
            true => None,
            false => fs::symlink_metadata(path).ok().map(|it| it.file_type()),
        };
        let is_channel = there.is_some_and(|it| it.is_fifo() || it.is_char_device());
        if is_own_stream || is_channel {
            let mut options = File::options();
            // A pipe that nobody reads would be waited for.
            options
                .write(true)
                .custom_flags(flags(is_own_stream) | OFlags::NONBLOCK.bits().cast_signed());
            let file = match options.open(path) {
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                    bail!("nobody reads from {}; hint: start its reader first", path.display())
                }
                opened => opened.with_context(failed)?,
            };
            let opened = file.metadata().with_context(failed)?.file_type();
            // Nothing is lost by writing to these; a file may have taken their place meanwhile.
            if is_channel && !opened.is_fifo() && !opened.is_char_device() {
                bail!("{} was replaced meanwhile; hint: give another name", path.display());
            }
            let waiting = fcntl_getfl(&file).map(|it| it - OFlags::NONBLOCK);
            waiting.and_then(|it| fcntl_setfl(&file, it)).with_context(failed)?;
            return Ok(NewFile { path: path.into(), file, draft: None, replaces: false });
        }
        match there {
            Some(it) if it.is_dir() => {
                bail!("{} is a directory; hint: give the name of a file", path.display())
            }
            Some(it) if !it.is_file() && !it.is_symlink() => {
                bail!("{} is not a file; hint: give another name", path.display())
            }
            Some(_) if !replace => {
                bail!(
                    "{} exists; hint: replace it with --force, or give another name",
                    path.display()
                )
            }
            _ => {}
        }
        let draft = draft_of(path).with_context(failed)?;
        let mut options = File::options();
        options.write(true).create_new(true).custom_flags(flags(false)).mode(readers as u32);
        let file = options.open(&draft).with_context(failed)?;
        Ok(NewFile { path: path.into(), file, draft: Some(draft), replaces: replace })
    }

    /// Writes all of it.
    pub fn write(self, text: &[u8]) -> Result<()> {
        let written = (&self).write_all(text);
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        self.finish()
    }

    /// It is whole: gives it its name.
    pub fn finish(mut self) -> Result<()> {
        if let Some(draft) = &self.draft {
            self.rename(draft).with_context(|| format!("cannot write {}", self.path.display()))?;
            self.draft = None;
        }
        Ok(())
    }

    fn rename(&self, draft: &Path) -> io::Result<()> {
        let flags = if self.replaces { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, draft, CWD, &self.path, flags) {
            // Some file systems only know how to replace. A further name is not given over another file.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::hard_link(draft, &self.path).and_then(|()| fs::remove_file(draft))
            }
            renamed => Ok(renamed?),
        }
    }

    /// Returns where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Write for &NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            // Half a file is worse than none; that it stays is no worse than why.
            let _ = fs::remove_file(draft);
        }
    }
}

fn flags(follow: bool) -> i32 {
    let flags = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    flags.bits().cast_signed()
}

/// Returns a name beside it that nobody else has.
fn draft_of(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(draft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, mkfifoat};

    #[test]
    fn what_exists_is_replaced_only_when_that_is_wanted_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("page"), folder.path().join("precious"));
        NewFile::create(&path, false, Readers::ByMask).unwrap().write(b"one").unwrap();
        let error = NewFile::create(&path, false, Readers::ByMask).err().unwrap().to_string();
        assert!(error.contains("exists; hint: replace it with --force"), "{error}");
        NewFile::create(&path, true, Readers::ByMask).unwrap().write(b"two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        fs::write(&precious, "thesis").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(NewFile::create(&path, false, Readers::ByMask).is_err());
        NewFile::create(&path, true, Readers::ByMask).unwrap().write(b"three").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        drop(NewFile::create(&folder.path().join("half"), false, Readers::ByMask).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
        assert!(NewFile::create(folder.path(), true, Readers::ByMask).is_err());
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let error = NewFile::create(&pipe, true, Readers::ByMask).err().unwrap().to_string();
        assert!(error.contains("nobody reads from"), "{error}");
        NewFile::create(Path::new("/dev/null"), false, Readers::ByMask)
            .unwrap()
            .write(b"four")
            .unwrap();
    }
}
