//! Reading the bed's own small files, whatever somebody may have put in their place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Far more than any of these files has.
const LARGEST: u64 = 64 << 10;

/// The text of a regular file of modest size. A FIFO or a device in its place is an
/// error, and neither opened nor waited for.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    require_regular(&fs::symlink_metadata(path)?)?;
    let file = open_quickly(OpenOptions::new().read(true), path)?;
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST {
        true => Err(io::Error::other("it is too large to be what it should be")),
        false => Ok(text),
    }
}

/// Opens a regular file without following symlinks and without waiting for anybody.
pub(crate) fn open_quickly(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits() as i32).open(path)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

fn require_regular(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_small_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap(), "text");
        fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("too large"));
        let fifo = directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::os::unix::fs::symlink(&path, directory.path().join("link")).unwrap();
        for name in ["fifo", "link", "."] {
            let error = read(&directory.path().join(name)).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{name}: {error}");
        }
    }
}
