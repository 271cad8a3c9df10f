//! A file in a place that nobody else can change. SQLite opens what it reads by its name, even if it is given an open file: where others
//! may rename files, that may be another one by then, or a pipe that it waits for.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::working_file::DATABASE;
use plimsoll_guarded::{
    Directory, WorkingDirectory, copy_stored, is_without_nameless, open_trusted, open_trusted_file,
    remove_left_behind,
};
use rustix::fs::OFlags;

/// Where copies are made, if TMPDIR does not say it.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];

/// A file that no other user can exchange.
pub(crate) struct Unshared {
    path: PathBuf,
    /// Keeps the number in the path the file's.
    _file: File,
    /// What the copy is in, if it is one.
    folder: Option<Folder>,
}

impl Unshared {
    /// Takes a file as it is if no other user can change or rename it, or else a copy, which nobody else can read.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn new(path: &Path, file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        let key = (facts.dev(), facts.ino());
        let trusted = open_trusted_file(path).ok().and_then(|it| it.metadata().ok());
        if trusted.is_some_and(|it| (it.dev(), it.ino()) == key) {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            return Ok(Unshared { path, _file: file, folder: None });
        }
        let (copy, folder) = copied(&file, facts.len(), &place()?)?;
        Ok(Unshared {
            path: folder.0.directory().path().join(DATABASE),
            _file: copy,
            folder: Some(folder),
        })
    }

    /// Returns by what name it is opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It is open, and needs its name no longer: a copy is gone as soon as the program is, however that ends.
    pub fn forget_name(&mut self) {
        self.folder = None;
    }
}

/// A private directory that goes when this does, with the copy in it.
struct Folder(WorkingDirectory);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.0.directory().remove_file(DATABASE);
        let _ = self.0.remove();
    }
}

/// Copies a file. The copy has a name only once it is whole, so that nothing is left of it when the program is ended before.
fn copied(file: &File, length: u64, place: &Directory) -> io::Result<(File, Folder)> {
    // Those that were killed while it had its name.
    remove_left_behind(&[place.path().to_path_buf()]);
    let folder = || WorkingDirectory::make_in(place).map(Folder);
    match place.create_nameless(OFlags::RDWR) {
        Ok(copy) => {
            copy_stored(file, &copy, length)?;
            let folder = folder()?;
            folder.0.directory().give_name(&copy, DATABASE)?;
            Ok((copy, folder))
        }
        Err(errno) if is_without_nameless(errno) => {
            let folder = folder()?;
            let copy = folder.0.directory().create(DATABASE, OFlags::RDWR, 0o600)?;
            copy_stored(file, &copy, length)?;
            Ok((copy, folder))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the directory for a copy: one in which nobody else can replace what is this user's.
fn place() -> io::Result<Directory> {
    let named = std::env::var_os("TMPDIR").filter(|it| !it.is_empty()).map(PathBuf::from);
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for path in named.into_iter().chain(PLACES.map(PathBuf::from)) {
        match open_trusted(&path) {
            Ok(found) if found.missing.is_empty() => return Ok(found.directory),
            Ok(_) => {}
            Err(cause) => refused = io::Error::other(cause),
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_is_private_and_is_gone_once_it_is_open() {
        let shared = tempfile::tempdir().unwrap();
        let (path, place) = (shared.path().join("theirs"), shared.path().join("place"));
        fs::write(&path, "rows").unwrap();
        fs::create_dir(&place).unwrap();
        let mode = |it: &Path| fs::symlink_metadata(it).unwrap().permissions().mode() & 0o777;
        let place_held = Directory::open(&place).unwrap();
        let (mut copy, folder) = copied(&File::open(&path).unwrap(), 4, &place_held).unwrap();
        let held = folder.0.directory().path().to_owned();
        assert_eq!((mode(&held), mode(&held.join(DATABASE))), (0o700, 0o600));
        drop(folder);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        let mut bytes = String::new();
        io::Seek::rewind(&mut copy).unwrap();
        copy.read_to_string(&mut bytes).unwrap();
        assert_eq!(bytes, "rows");
    }
}
