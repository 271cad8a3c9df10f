//! Opening files that anybody may have put in their place.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::Refusal;

/// Opens a regular file to read it, wherever links lead, and waits for nobody: a pipe would wait for
/// somebody at its other end.
///
/// # Errors
/// If it is not a regular file, or if the system refuses.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let require_file = |facts: Metadata| {
        if facts.is_file() { Ok(()) } else { Err(io::Error::from(Refusal::NotAFile)) }
    };
    // Some devices do something when they are opened.
    require_file(fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    require_file(file.metadata()?)?;
    require_stored(&file, QUICKLY_READ_BYTES)?;
    Ok(file)
}

/// Files up to this size are read in no time, whatever is in them.
pub(crate) const QUICKLY_READ_BYTES: u64 = 1 << 30;

/// No file system stores a file that is worth reading in a smaller part of its size.
const COMPRESSION_MAX: u64 = 1000;

/// Makes sure that a large file has something in it: one that is nothing but a hole may claim any size, and
/// would be read for days, or fill the memory. A file of up to `quickly_read` bytes is not looked at.
///
/// # Errors
/// If it is nearly all hole, or if the system refuses.
pub fn require_stored(file: &File, quickly_read: u64) -> io::Result<()> {
    let facts = file.metadata()?;
    let (bytes, stored) = (facts.len(), facts.blocks().saturating_mul(512));
    if bytes > quickly_read && stored.saturating_mul(COMPRESSION_MAX) < bytes {
        return Err(Refusal::Sparse { bytes, stored }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::io::Read;

    #[test]
    fn links_are_followed_and_nothing_else_than_a_file_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| directory.path().join(name));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut text = String::new();
        open_to_read(&link).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        // A hole of a terabyte, and one that is read in no time.
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        let error = open_to_read(&link).unwrap_err();
        assert!(matches!(Refusal::of(&error), Some(Refusal::Sparse { .. })), "{error}");
        File::create(&file).unwrap().set_len(1 << 20).unwrap();
        open_to_read(&link).unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for other in [&pipe, directory.path(), Path::new("/dev/zero")] {
            let error = open_to_read(other).unwrap_err();
            assert_eq!(Refusal::of(&error), Some(Refusal::NotAFile), "{}", other.display());
        }
    }
}
