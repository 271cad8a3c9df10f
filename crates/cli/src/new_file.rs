//! A file that a command makes for its user: it never replaces another file unless the user wants that, never
//! follows a link, and is either complete or absent.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plimsoll_guarded::{Directory, is_own_stream};
use rustix::fs::{
    FileType, Mode, OFlags, RenameFlags, fchmod, fcntl_getfl, fcntl_setfl, fstat, openat,
    renameat_with,
};
use rustix::io::Errno;

/// Options of commands that write a file named by their user.
#[derive(clap::Args)]
pub struct Replacing {
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Those whom the user's umask allows.
const BY_MASK: u32 = 0o666;

/// A file that is being written. It is removed if it is dropped before it is finished.
pub struct NewFile {
    path: PathBuf,
    file: File,
    /// The name that it gets when it is complete; `None` for a pipe or a device.
    draft: Option<Draft>,
}

/// A file with a temporary name.
struct Draft {
    directory: Directory,
    temporary: OsString,
    name: OsString,
    replaces: bool,
}

impl Replacing {
    /// Opens the file, so that a file that cannot be written is reported before any work is done.
    pub fn create(&self, path: &Path) -> Result<NewFile> {
        NewFile::create(path, self.force, BY_MASK)
    }

    /// Opens a file that is made from what has these modes: who may not read one of them may not read the file.
    pub fn create_from(&self, path: &Path, modes: &[u32]) -> Result<NewFile> {
        NewFile::create(path, self.force, mode_from(modes.iter().copied()))
    }
}

/// The mode of a file that is made from what has these modes. Its owner may always read it.
fn mode_from(sources: impl Iterator<Item = u32>) -> u32 {
    0o600
        | sources.fold(BY_MASK, |mode, source| {
            let readers = source & 0o044;
            // Who may read may also be allowed to write, by the umask.
            mode & (0o600 | readers | readers >> 1)
        })
}

impl NewFile {
    /// Opens a file that does not exist yet or, with `replace`, one that replaces an existing file.
    pub fn create(path: &Path, replace: bool, mode: u32) -> Result<Self> {
        let failed = || format!("cannot create {}", path.display());
        if is_own_stream(path) {
            let file = File::options().write(true).open(path).with_context(failed)?;
            return Ok(NewFile { path: path.into(), file, draft: None });
        }
        let Some(name) = path.file_name() else {
            bail!("{} is a directory; hint: give the name of a file", path.display())
        };
        let above = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = Directory::open_by_own_links(above.unwrap_or(Path::new(".")));
        let directory = directory.with_context(failed)?;
        match directory.kind_of(name).ok() {
            Some(FileType::Fifo | FileType::CharacterDevice) => {
                let file = open_channel(&directory, name, path)?;
                return Ok(NewFile { path: path.into(), file, draft: None });
            }
            Some(FileType::Directory) => {
                bail!("{} is a directory; hint: give the name of a file", path.display())
            }
            Some(it) if it != FileType::RegularFile && it != FileType::Symlink => {
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
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.part", std::process::id()));
        let file = directory.create(&temporary, OFlags::WRONLY, mode).with_context(failed)?;
        let draft = Draft { directory, temporary, name: name.to_owned(), replaces: replace };
        Ok(NewFile { path: path.into(), file, draft: Some(draft) })
    }

    /// Takes the file away from those who may not read what has this mode and goes into it. Before anything is
    /// written.
    pub fn narrow(&self, source: u32) -> Result<()> {
        let failed = || format!("cannot protect {}", self.path.display());
        if self.draft.is_none() {
            return Ok(());
        }
        let mode = fstat(&self.file).with_context(failed)?.st_mode & 0o777;
        let narrow = mode & mode_from([source].into_iter());
        fchmod(&self.file, Mode::from_raw_mode(narrow)).with_context(failed)
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
            draft
                .rename(&self.file)
                .with_context(|| format!("cannot write {}", self.path.display()))?;
            self.draft = None;
        }
        Ok(())
    }

    /// Returns where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Draft {
    /// Gives the file its name, and makes sure that the file has it. In a directory that others may write to, they
    /// can put another in its place at any moment before.
    fn rename(&self, file: &File) -> io::Result<()> {
        let Draft { directory, temporary, name, replaces } = self;
        directory.require_same(temporary, file)?;
        let flags = if *replaces { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(directory, temporary, directory, name, flags) {
            // Some file systems only know how to replace. A further name is not given over another file.
            Err(Errno::INVAL | Errno::NOSYS) => {
                directory.link(temporary, name)?;
                directory.remove_file(temporary)?;
            }
            renamed => renamed?,
        }
        directory.require_same(name, file)
    }
}

/// Opens a pipe or a device of this user's or of root's. What is written to one of somebody else is theirs.
fn open_channel(directory: &Directory, name: &OsStr, path: &Path) -> Result<File> {
    let failed = || format!("cannot create {}", path.display());
    // A pipe that nobody reads would be waited for.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Err(Errno::NXIO) => {
            bail!("nobody reads from {}; hint: start its reader first", path.display())
        }
        opened => File::from(opened.with_context(failed)?),
    };
    let opened = file.metadata().with_context(failed)?;
    if !opened.file_type().is_fifo() && !opened.file_type().is_char_device() {
        bail!("{} was replaced meanwhile; hint: give another name", path.display());
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&opened.uid()) {
        bail!(
            "{} belongs to user {}, who could read what is written to it; hint: give another name",
            path.display(),
            opened.uid()
        );
    }
    let waiting = fcntl_getfl(&file).map(|it| it - OFlags::NONBLOCK);
    waiting.and_then(|it| fcntl_setfl(&file, it)).with_context(failed)?;
    Ok(file)
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
        if let Some(draft) = &self.draft
            && draft.directory.require_same(&draft.temporary, &self.file).is_ok()
        {
            // Half a file is worse than none; that it stays is no worse than why.
            let _ = draft.directory.remove_file(&draft.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;

    #[test]
    fn who_may_not_list_a_source_may_not_read_what_is_made_of_it() {
        let mode = |modes: &[u32]| mode_from(modes.iter().copied());
        assert_eq!(mode(&[]), 0o666);
        assert_eq!(mode(&[0o40755]), 0o666);
        assert_eq!((mode(&[0o40700]), mode(&[0o40711])), (0o600, 0o600));
        assert_eq!((mode(&[0o40750]), mode(&[0o755, 0o750])), (0o660, 0o660));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let page = NewFile::create(&path, false, 0o640).unwrap();
        for (source, expected) in [(0o755, 0o640), (0o604, 0o600), (0o755, 0o600)] {
            page.narrow(source).unwrap();
            assert_eq!(page.file.metadata().unwrap().mode() & 0o777, expected);
        }
    }

    #[test]
    fn what_exists_is_replaced_only_when_that_is_wanted_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("page"), folder.path().join("precious"));
        NewFile::create(&path, false, BY_MASK).unwrap().write(b"one").unwrap();
        let error = NewFile::create(&path, false, BY_MASK).err().unwrap().to_string();
        assert!(error.contains("exists; hint: replace it with --force"), "{error}");
        NewFile::create(&path, true, BY_MASK).unwrap().write(b"two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        fs::write(&precious, "thesis").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(NewFile::create(&path, false, BY_MASK).is_err());
        NewFile::create(&path, true, BY_MASK).unwrap().write(b"three").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        drop(NewFile::create(&folder.path().join("half"), false, BY_MASK).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
        assert!(NewFile::create(folder.path(), true, BY_MASK).is_err());
        // Another file under the draft's name, whoever put it there, is not given the page's.
        let exchanged = folder.path().join("exchanged");
        let page = NewFile::create(&exchanged, false, BY_MASK).unwrap();
        fs::rename(&precious, folder.path().join(&page.draft.as_ref().unwrap().temporary)).unwrap();
        let error = format!("{:#}", page.write(b"five").unwrap_err());
        assert!(error.contains("not the file that was written"), "{error}");
        let kept = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
        let kept: Vec<_> = kept.filter(|it| fs::read(it).is_ok_and(|it| it == b"thesis")).collect();
        assert!(!exchanged.exists() && kept.len() == 1, "{kept:?}");
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let error = NewFile::create(&pipe, true, BY_MASK).err().unwrap().to_string();
        assert!(error.contains("nobody reads from"), "{error}");
        NewFile::create(Path::new("/dev/null"), false, BY_MASK).unwrap().write(b"four").unwrap();
    }
}
