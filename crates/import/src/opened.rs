//! A file that is imported: as it is, or packed by gzip.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use flate2::bufread::MultiGzDecoder;

use crate::Format;

/// Bytes that are looked at to tell what a file is.
const HEAD_BYTES: usize = 4096;

const GZIP: &[u8] = b"\x1f\x8b";

/// What a packed file may become whatever its size, and how many times its size beyond that. Real histories shrink to a tenth, rarely to a hundredth;
/// a thousandth is what gzip makes of nothing but zeros.
const UNPACKED_EASILY: u64 = 64 << 20;
const EXPANSION_MAX: u64 = 250;

/// A file that is open, and what it begins with.
pub(crate) struct Opened {
    file: File,
    /// Its size when it was opened: what somebody appends meanwhile is not of it.
    bytes: u64,
    is_packed: bool,
    /// The first bytes, unpacked.
    head: Vec<u8>,
}

impl Opened {
    /// Looks at the beginning of a file.
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let mut first = [0; GZIP.len()];
        let read = Beginning { file: &file, at: 0 }.take(first.len() as u64).read(&mut first)?;
        let is_packed = &first[..read] == GZIP;
        let mut opened = Opened { file, bytes, is_packed, head: Vec::new() };
        let mut head = Vec::new();
        let looked = opened.stream().take(HEAD_BYTES as u64).read_to_end(&mut head);
        if !is_packed {
            looked?;
        }
        // What is packed and damaged from the first bytes on is said by whoever reads it, or is nothing known.
        opened.head = head;
        Ok(opened)
    }

    /// Returns what the file is; nothing if no format begins so. Of packed files only texts are read.
    pub fn format(&self) -> Option<Format> {
        let format = Format::of_head(&self.head);
        match format {
            Some(Format::Hdf5 | Format::Sqlite | Format::Parquet | Format::Empty)
                if self.is_packed =>
            {
                None
            }
            format => format,
        }
    }

    /// Returns the first bytes, unpacked.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Reads the file from its beginning, unpacked.
    pub fn stream(&self) -> Box<dyn Read + '_> {
        let whole = Beginning { file: &self.file, at: 0 }.take(self.bytes);
        let plain = BufReader::with_capacity(1 << 16, whole);
        if !self.is_packed {
            return Box::new(plain);
        }
        let most = UNPACKED_EASILY.max(self.bytes.saturating_mul(EXPANSION_MAX));
        Box::new(Unpacked { input: MultiGzDecoder::new(plain), left: most })
    }

    /// Returns the file itself.
    pub fn into_file(self) -> File {
        self.file
    }
}

/// Reads a file by places, so that it can be read from its beginning again.
struct Beginning<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Beginning<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// What was packed, within a bound.
struct Unpacked<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData => {
                io::Error::new(io::ErrorKind::InvalidData, "its gzip is damaged or cut off")
            }
            _ => cause,
        })?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            let reason =
                "it becomes more than 250 times as large when it is unpacked: it is no history";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        };
        self.left = left;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Somebody who appended faster than it was read kept an import from ending.
    #[test]
    fn what_is_appended_meanwhile_is_not_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"time,value\n1,2\n").unwrap();
        let opened = Opened::new(file.reopen().unwrap()).unwrap();
        let mut text = String::new();
        let mut stream = opened.stream();
        file.write_all(b"3,4\n").unwrap();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "time,value\n1,2\n");
    }
}
