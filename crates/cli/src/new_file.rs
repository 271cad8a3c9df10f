//! A file that a command makes for its user: it never replaces another file unless the user wants that, never
//! follows a link, and is either complete or absent.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plimsoll_guarded::{Directory, Draft, Readers, is_own_stream, open_own_stream, random_hex};
use rustix::fs::{FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, openat};
use rustix::io::Errno;

use crate::harmless::Harmless;
use crate::output;

/// Options of commands that write a file named by their user.
#[derive(clap::Args)]
pub struct Replacing {
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// A file that is being written, which nobody else can open: who has opened a file reads on, whatever becomes of its permissions. Nothing is left of it if it is
/// dropped before it is finished, and where files can be without names, also if the program ends before.
pub struct NewFile {
    path: PathBuf,
    destination: Destination,
    /// Those who may read it when it is complete.
    readers: Readers,
}

enum Destination {
    /// A pipe, a device or a stream of this process.
    Channel(Harmless<File>),
    /// A file that gets its name when it is complete.
    Draft { draft: Draft<Directory>, replaces: bool },
}

impl Destination {
    fn channel(file: File) -> Self {
        Destination::Channel(Harmless::text(file))
    }
}

impl Replacing {
    /// Opens the file, so that a file that cannot be written is reported before any work is done.
    pub fn create(&self, path: &Path) -> Result<NewFile> {
        NewFile::create(path, self.force, Readers::Everyone)
    }

    /// Opens a file that is made from what these may read, and nobody else.
    pub fn create_from(&self, path: &Path, readers: Readers) -> Result<NewFile> {
        NewFile::create(path, self.force, readers)
    }
}

impl NewFile {
    /// Opens a file that does not exist yet or, with `replace`, one that replaces an existing file. When it is
    /// complete, these may read it if the user's umask allows it.
    pub fn create(path: &Path, replace: bool, readers: Readers) -> Result<Self> {
        let failed = || format!("cannot create {}", path.display());
        if is_own_stream(path) {
            let file = open_own_stream(path, File::options().append(true)).with_context(failed)?;
            if is_stdout(&file) {
                output::leave_stdout_to_a_file();
            }
            return Ok(NewFile {
                path: path.into(),
                destination: Destination::channel(file),
                readers,
            });
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
                return Ok(NewFile {
                    path: path.into(),
                    destination: Destination::channel(file),
                    readers,
                });
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
            None if name.len() > NAME_BYTES => {
                bail!("{} is too long a name; hint: give another one", path.display())
            }
            _ => {}
        }
        let temporary = draft_of(name).with_context(failed)?;
        let draft = Draft::create_unseen(directory, temporary, name).with_context(failed)?;
        let destination = Destination::Draft { draft, replaces: replace };
        Ok(NewFile { path: path.into(), destination, readers })
    }

    /// Takes the file away from those who may not read what goes into it as well.
    pub fn narrow(&mut self, readers: Readers) {
        self.readers = self.readers.and(readers);
    }

    /// Writes all of it, and says so.
    pub fn write(mut self, text: &[u8]) -> Result<()> {
        let written = self.write_all(text);
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        let told = match self.destination {
            Destination::Draft { .. } => Some(format!("plimsoll: wrote {}", self.path.display())),
            Destination::Channel(_) => None,
        };
        self.finish()?;
        told.iter().for_each(|told| output::message(told));
        Ok(())
    }

    /// Leaves out so many bytes, which are zeros: a hole, where there can be one.
    pub fn leave_hole(&mut self, bytes: u64) -> io::Result<()> {
        match &mut self.destination {
            Destination::Channel(channel) => {
                io::copy(&mut io::repeat(0).take(bytes), channel).map(drop)
            }
            Destination::Draft { draft, .. } => {
                let mut file = draft.file();
                let end = file.stream_position()? + bytes;
                file.set_len(end)?;
                file.seek(SeekFrom::Start(end)).map(drop)
            }
        }
    }

    /// It is whole: gives it its name.
    pub fn finish(self) -> Result<()> {
        let NewFile { path, destination, readers } = self;
        let Destination::Draft { draft, replaces } = destination else { return Ok(()) };
        let publish = if replaces { Draft::publish } else { Draft::publish_new };
        let named = readers.let_in(draft.file()).and_then(|()| publish(draft));
        named.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Returns where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the name of a draft: what is too long of the file's own is left out.
fn draft_of(name: &OsStr) -> io::Result<OsString> {
    let end = format!(".{}.part", random_hex(4)?);
    let room = NAME_BYTES - 1 - end.len();
    let begin = name.as_bytes().get(..room).unwrap_or(name.as_bytes());
    Ok(OsString::from_vec([b".", begin, end.as_bytes()].concat()))
}

/// limits.h, NAME_MAX
const NAME_BYTES: usize = 255;

/// Returns whether a stream that the user named is the one that results go to.
fn is_stdout(file: &File) -> bool {
    let key = |it: Result<Stat, Errno>| it.ok().map(|it| (it.st_dev, it.st_ino));
    key(fstat(file)).is_some_and(|it| key(fstat(io::stdout())) == Some(it))
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

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.destination {
            Destination::Channel(channel) => channel.write(bytes),
            Destination::Draft { draft, .. } => draft.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.destination {
            Destination::Channel(channel) => channel.flush(),
            Destination::Draft { draft, .. } => draft.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;

    #[test]
    fn a_file_is_private_until_it_is_complete_and_then_for_those_who_may_read_all_sources() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let facts = fs::metadata(folder.path().join(name));
            facts.unwrap().mode() & 0o777
        };
        for (name, second) in [("all", Readers::Everyone), ("one", Readers::OwnerAlone)] {
            let mut page =
                NewFile::create(&folder.path().join(name), false, Readers::Everyone).unwrap();
            page.narrow(second);
            page.narrow(Readers::Everyone);
            let Destination::Draft { draft, .. } = &page.destination else { panic!("a file") };
            assert_eq!(draft.file().metadata().unwrap().mode() & 0o777, 0o600);
            page.write(b"text").unwrap();
        }
        fs::write(folder.path().join("by-mask"), "").unwrap();
        assert_eq!((mode("all"), mode("one")), (mode("by-mask"), 0o600));
    }

    #[test]
    fn what_exists_is_replaced_only_when_that_is_wanted_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("page"), folder.path().join("precious"));
        NewFile::create(&path, false, Readers::Everyone).unwrap().write(b"one").unwrap();
        let error = NewFile::create(&path, false, Readers::Everyone).err().unwrap().to_string();
        assert!(error.contains("exists; hint: replace it with --force"), "{error}");
        NewFile::create(&path, true, Readers::Everyone).unwrap().write(b"two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        fs::write(&precious, "thesis").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(NewFile::create(&path, false, Readers::Everyone).is_err());
        NewFile::create(&path, true, Readers::Everyone).unwrap().write(b"three").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        let half = NewFile::create(&folder.path().join("half"), false, Readers::Everyone).unwrap();
        let names = fs::read_dir(folder.path()).unwrap().count();
        let nameless = Directory::open(folder.path()).unwrap().create_nameless(OFlags::WRONLY);
        assert_eq!(names, if nameless.is_ok() { 2 } else { 3 }, "nothing that a kill would leave");
        drop(half);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
        assert!(NewFile::create(folder.path(), true, Readers::Everyone).is_err());
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let error = NewFile::create(&pipe, true, Readers::Everyone).err().unwrap().to_string();
        assert!(error.contains("nobody reads from"), "{error}");
        NewFile::create(Path::new("/dev/null"), false, Readers::Everyone)
            .unwrap()
            .write(b"four")
            .unwrap();
    }
}
