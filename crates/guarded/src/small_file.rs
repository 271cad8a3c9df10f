//! Reading small files, whatever somebody may have put in their place.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::OFlags;

use crate::{Directory, Refusal};

/// Far more than any marker, owner or state file has.
pub const SMALL_BYTES_MAX: u64 = 64 << 10;

/// Returns the text of a regular file of modest size.
///
/// # Errors
/// If it is a link, a pipe, a device or a directory, which is neither followed nor waited for; if
/// it is larger than [`SMALL_BYTES_MAX`]; if it is not text.
pub fn read_small(path: &Path) -> io::Result<String> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(Refusal::NotAFile)?;
    Directory::open(parent)?.read_small(name)
}

impl Directory {
    /// Returns the text of a small file in it, as [`read_small`] does.
    ///
    /// # Errors
    /// As there.
    pub fn read_small(&self, name: impl AsRef<std::ffi::OsStr>) -> io::Result<String> {
        text_of(&self.open_file(name, OFlags::RDONLY)?)
    }
}

/// Returns the text from the file's position on.
pub(crate) fn text_of(file: &File) -> io::Result<String> {
    let bytes = read_at_most(SMALL_BYTES_MAX, file)?.ok_or(Refusal::TooLarge)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns all that there is to read; `None` if that is more than this number of bytes. This also bounds pipes and
/// devices, whose length says nothing.
///
/// # Errors
/// If reading fails.
pub fn read_at_most(most: u64, from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;

    #[test]
    fn what_is_read_has_an_end() {
        assert_eq!(read_at_most(3, &b"abc"[..]).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(read_at_most(2, &b"abc"[..]).unwrap(), None);
        assert_eq!(read_at_most(0, io::empty()).unwrap(), Some(Vec::new()));
        assert_eq!(read_at_most(1 << 20, io::repeat(0)).unwrap(), None);
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert_eq!(read_small(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "text").unwrap();
        assert_eq!(read_small(&path).unwrap(), "text");
        fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert!(read_small(&path).unwrap_err().to_string().contains("too large"));
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_small(&path).is_err(), "a sparse terabyte is not read");
        let fifo = directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", directory.path().join("link")).unwrap();
        for (name, reason) in [("fifo", "regular file"), ("link", "symlink"), (".", "regular")] {
            let error = read_small(&directory.path().join(name)).unwrap_err();
            assert!(error.to_string().contains(reason), "{name}: {error}");
        }
        assert!(read_small(Path::new("/dev/zero")).unwrap_err().to_string().contains("regular"));
    }
}
