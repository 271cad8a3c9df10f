//! The bytes of a Parquet file that anybody may have written.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use plimsoll_guarded::{open_by_own_links, require_stored};

/// A file of up to this size is read whatever of it is a hole.
const QUICKLY_READ_BYTES: u64 = 16 << 20;

/// A file that refuses what lies outside of it before room is made for it.
pub(crate) struct Source {
    file: File,
    length: u64,
}

impl Source {
    /// Opens a regular file.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let file = open_by_own_links(path)?;
        require_stored(&file, QUICKLY_READ_BYTES)?;
        let length = file.metadata()?.len();
        Ok(Source { file, length })
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(At { file: self.file.try_clone()?, position: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("it refers to what is beyond its end".into()));
        }
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// Reads on from a position, whatever else is read from the file.
pub(crate) struct At {
    file: File,
    position: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
