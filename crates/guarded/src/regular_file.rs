//! Opening files that anybody may have put in their place.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{Directory, Refusal};

/// Opens a regular file to read it, wherever links lead, and waits for nobody: a pipe would wait for
/// somebody at its other end.
///
/// # Errors
/// If it is not a regular file, or if the system refuses.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, &fs::metadata(path)?, OFlags::empty())
}

/// Links that are followed, as the kernel does (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Does the same for a file of a directory that somebody else may have filled: a link of theirs could lead to any file
/// of this user's. Those of this user and of root are followed.
///
/// # Errors
/// As there, and if it is a link of somebody else.
pub fn open_by_own_links(path: &Path) -> io::Result<File> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_path_buf();
        let name = path.file_name().ok_or_else(|| io::Error::from(Refusal::NotAFile))?;
        match Directory::open(&parent)?.own_link(name)? {
            Some(target) => path = parent.join(target),
            None => return open(&path, &fs::symlink_metadata(&path)?, OFlags::NOFOLLOW),
        }
    }
    Err(Errno::LOOP.into())
}

fn open(path: &Path, facts: &Metadata, more: OFlags) -> io::Result<File> {
    let require_file = |facts: &Metadata| {
        if facts.is_file() { Ok(()) } else { Err(io::Error::from(Refusal::NotAFile)) }
    };
    // Some devices do something when they are opened.
    require_file(facts)?;
    let flags = more | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    require_file(&file.metadata()?)?;
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
        open_by_own_links(&file).unwrap();
        open_by_own_links(&link).unwrap();
        let found = fs::metadata(&file).unwrap();
        assert!(open(&link, &found, OFlags::NOFOLLOW).is_err(), "put there after it was looked at");
        if crate::acting_user() == 0 {
            std::os::unix::fs::lchown(&link, Some(65533), None).unwrap();
            let error = open_by_own_links(&link).unwrap_err();
            assert_eq!(Refusal::of(&error), Some(Refusal::LinkOf { owner: 65533 }));
        }
        let circle = directory.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(open_by_own_links(&circle).is_err());
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
