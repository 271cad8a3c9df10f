//! What is in a directory.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{Dir, FileType};

use crate::Directory;

impl Directory {
    /// Returns the names of all that is in it, sorted.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        Ok(self.names_and_kinds()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the names that begin so, in order of bytes, without looking at more than some others: those whose directory it is not may make many.
    ///
    /// # Errors
    /// If it cannot be listed, or there are more names in it.
    pub fn names_that_begin(&self, begin: &str, most: usize) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for (at, entry) in Dir::new(self.reopened()?)?.enumerate() {
            if at > most {
                return Err(io::Error::other(format!("it has more than {most} names")));
            }
            let name = entry?.file_name().to_bytes().to_vec();
            if name.starts_with(begin.as_bytes()) {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the same with the kind of each as it is listed, which takes no look at it; [`FileType::Unknown`] where the file system does not list kinds. Something else may
    /// have the name by now.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn names_and_kinds(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let mut names = self.entries(|name, kind, _| Some((name, kind)))?;
        names.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(names)
    }

    /// Returns what is wanted of the names in it, in any order: each is given with its kind, as above, and the number of the file in its file system.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn entries<T>(
        &self,
        mut wanted: impl FnMut(OsString, FileType, u64) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut entries = Vec::new();
        for entry in Dir::new(self.reopened()?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                entries.extend(wanted(OsString::from_vec(name), entry.file_type(), entry.ino()));
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn kinds_are_listed_with_the_names() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        File::create(folder.path().join("file")).unwrap();
        fs::create_dir(folder.path().join("directory")).unwrap();
        symlink("directory", folder.path().join("link")).unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let listed = directory.names_and_kinds().unwrap();
        assert_eq!(
            listed.iter().map(|it| &it.0).collect::<Vec<_>>(),
            ["directory", "file", "link"]
        );
        let kinds = [FileType::Directory, FileType::RegularFile, FileType::Symlink];
        for ((name, listed), kind) in listed.iter().zip(kinds) {
            assert!([kind, FileType::Unknown].contains(listed), "{name:?}");
        }
    }
}
