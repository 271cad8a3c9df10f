//! Files that are either complete or absent.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::OFlags;

use crate::Directory;

/// A file that is written under another name and gets its own once it is complete, so that readers find
/// the old one or the new one. It is removed if it is dropped before that.
#[derive(Debug)]
pub struct Draft<'a> {
    directory: &'a Directory,
    name: String,
    file: File,
    has_its_name: bool,
}

impl<'a> Draft<'a> {
    /// Begins the file of that name. What a killed process left of it, or somebody planted there, goes
    /// first, and is not followed if it is a link.
    ///
    /// # Errors
    /// If the system refuses to remove or to create.
    pub fn create(directory: &'a Directory, name: &str, mode: u32) -> io::Result<Self> {
        let temporary = temporary_name(name);
        directory.remove_file_if_there(&temporary)?;
        let file = directory.create(&temporary, OFlags::WRONLY, mode)?;
        Ok(Draft { directory, name: name.into(), file, has_its_name: false })
    }

    /// Returns where it is until it is complete.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(temporary_name(&self.name))
    }

    /// Returns a second handle to write through.
    ///
    /// # Errors
    /// If there are too many open files.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Makes what was written durable, still under the other name.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file its name, in place of what has it. The name is durable after
    /// [`Directory::sync`].
    ///
    /// # Errors
    /// If the system refuses.
    pub fn publish(mut self) -> io::Result<()> {
        self.directory.require_same(temporary_name(&self.name), &self.file)?;
        self.directory.rename(temporary_name(&self.name), &self.name)?;
        self.directory.require_same(&self.name, &self.file)?;
        self.has_its_name = true;
        Ok(())
    }
}

impl Write for Draft<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        let temporary = temporary_name(&self.name);
        if !self.has_its_name && self.directory.require_same(&temporary, &self.file).is_ok() {
            // Half a file is worse than none; that it stays is no worse than why.
            let _ = self.directory.remove_file_if_there(temporary);
        }
    }
}

fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn readers_find_the_old_file_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, path) = (Directory::open(folder.path()).unwrap(), folder.path().join("it"));
        fs::write(&path, "old").unwrap();
        fs::write(folder.path().join("precious"), "thesis").unwrap();
        std::os::unix::fs::symlink("precious", folder.path().join(".it.tmp")).unwrap();
        let mut draft = Draft::create(&directory, "it", 0o600).unwrap();
        draft.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_to_string(draft.path()).unwrap(), "new");
        draft.sync().unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        drop(Draft::create(&directory, "half", 0o600).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "thesis");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
    }
}
