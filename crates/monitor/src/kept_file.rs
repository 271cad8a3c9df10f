//! A file that is read again and again.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use plimsoll_guarded::Refusal;
use plimsoll_machine::Machine;

/// No text is taken that is longer. The jobs of a busy target have some megabytes.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// A captured text that is longer takes a part of its length on its file system, which may pack it.
const QUICKLY_READ_BYTES: u64 = 1 << 20;
const PACKED_TIMES: u64 = 32;

/// The buffer grows by at least this much: most texts come in one piece.
const PIECE_BYTES: usize = 16 << 10;

/// A file that is read again and again through one descriptor. Files of the kernel write their text anew whenever they are
/// read from their beginning.
#[derive(Debug)]
pub struct KeptFile {
    path: PathBuf,
    file: Option<File>,
}

impl KeptFile {
    /// A file of that machine, not opened yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all of it into the buffer, in place of what was there. Keeps it open unless `keep` is false.
    ///
    /// Fails if it is gone; the next time it is looked for again.
    pub fn read(&mut self, machine: &Machine, keep: bool, buffer: &mut Vec<u8>) -> io::Result<()> {
        // Files of a tree that somebody keeps up to date are often replaced; those of the kernel never are.
        let is_live = machine.root() == Path::new("/");
        let is_there = |it: &File| is_live || it.metadata().is_ok_and(|it| it.nlink() > 0);
        let file = match self.file.take().filter(is_there) {
            Some(file) => file,
            None => machine.open(&self.path)?,
        };
        if !is_live {
            require_text(&file)?;
        }
        read_whole(&file, buffer)?;
        self.file = Some(file).filter(|_| keep);
        Ok(())
    }
}

/// Makes sure that a file of a tree that somebody captured is no text of which hardly anything is there: thousands of such take no room, and are all
/// read again each second.
fn require_text(file: &File) -> io::Result<()> {
    let facts = file.metadata()?;
    let (bytes, stored) = (facts.len(), facts.blocks().saturating_mul(512));
    if bytes > QUICKLY_READ_BYTES && stored.saturating_mul(PACKED_TIMES) < bytes {
        return Err(Refusal::Sparse { bytes, stored }.into());
    }
    Ok(())
}

fn read_whole(file: &File, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut length = 0;
    loop {
        if buffer.len() < length + PIECE_BYTES {
            buffer.resize(length + PIECE_BYTES, 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length > TEXT_BYTES_MAX {
            return Err(io::Error::other(format!("it is longer than {TEXT_BYTES_MAX} bytes")));
        }
    }
    buffer.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_changed_is_read_anew_and_what_is_gone_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path(), "");
        let place = root.path().join("stats");
        fs::write(&place, "one").unwrap();
        let mut file = KeptFile::new("/stats".into());
        let mut buffer = Vec::new();
        file.read(&machine, true, &mut buffer).unwrap();
        assert_eq!(buffer, b"one");
        let long = vec![b'x'; 3 * PIECE_BYTES + 1];
        fs::write(&place, &long).unwrap();
        file.read(&machine, false, &mut buffer).unwrap();
        assert_eq!(buffer, long);
        fs::write(&place, "").unwrap();
        file.read(&machine, false, &mut buffer).unwrap();
        assert_eq!(buffer, b"");
        fs::remove_file(&place).unwrap();
        assert!(file.read(&machine, true, &mut buffer).is_err());
        fs::write(&place, "back").unwrap();
        file.read(&machine, true, &mut buffer).unwrap();
        assert_eq!(buffer, b"back");
        // Replaced by a rename, as what copies a tree does.
        fs::write(root.path().join("new"), "new").unwrap();
        fs::rename(root.path().join("new"), &place).unwrap();
        file.read(&machine, true, &mut buffer).unwrap();
        assert_eq!(buffer, b"new");
    }

    /// The attack: a captured tree of holes that claim to be texts, each of which was read for a second.
    #[test]
    fn a_text_of_a_captured_tree_is_there() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        let machine = Machine::at(root.path(), "");
        let place = root.path().join("stats");
        let file = File::create(&place).unwrap();
        let mut buffer = Vec::new();
        let mut read = || KeptFile::new("/stats".into()).read(&machine, true, &mut buffer);
        file.set_len(QUICKLY_READ_BYTES).unwrap();
        read().unwrap();
        file.set_len(QUICKLY_READ_BYTES + 1).unwrap();
        let error = read().unwrap_err();
        assert!(matches!(Refusal::of(&error), Some(Refusal::Sparse { .. })), "{error}");
        fs::write(&place, vec![b'x'; 2 * QUICKLY_READ_BYTES as usize]).unwrap();
        read().unwrap();
    }

    #[test]
    fn files_of_the_kernel_can_be_read_again_through_one_descriptor() {
        let machine = Machine::host();
        for path in ["/proc/stat", "/proc/meminfo", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let mut file = KeptFile::new(path.into());
            let mut buffer = Vec::new();
            if file.read(&machine, true, &mut buffer).is_err() {
                continue;
            }
            let first = buffer.clone();
            file.read(&machine, true, &mut buffer).unwrap();
            assert!(!buffer.is_empty(), "{path}");
            assert_eq!(first[..4], buffer[..4], "{path}");
        }
    }
}
