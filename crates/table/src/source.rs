//! The bytes of a Parquet file that anybody may have written.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::FOOTER_SIZE;
use parquet::file::reader::{ChunkReader, Length};
use plimsoll_guarded::{open_by_own_links, require_stored};

use crate::page_header::check_page_header;
use crate::schema_depth::check_schema_depth;

/// A file of up to this size is read whatever of it is a hole.
const QUICKLY_READ_BYTES: u64 = 16 << 20;

/// Most headers of pages are shorter.
const USUAL_HEADER_BYTES: usize = 256;

/// A file that refuses what lies outside of it before room is made for it.
pub(crate) struct Source {
    file: File,
    length: u64,
}

impl Source {
    /// Opens a regular file.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Self::of(open_by_own_links(path)?)
    }

    /// Takes a regular file that is open.
    pub fn of(file: File) -> std::io::Result<Self> {
        require_stored(&file, QUICKLY_READ_BYTES)?;
        let length = file.metadata()?.len();
        Ok(Source { file, length })
    }

    /// Looks at the schema before it is built. What is no Parquet file at all is left to the reader, who says so.
    pub fn check_schema(&self) -> Result<(), ParquetError> {
        let mut footer = [0; FOOTER_SIZE];
        let Some(end) = self.length.checked_sub(FOOTER_SIZE as u64) else { return Ok(()) };
        self.file.read_exact_at(&mut footer, end)?;
        let [a, b, c, d, ..] = footer;
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        let Some(position) = end.checked_sub(length) else { return Ok(()) };
        let metadata = At { file: self.file.try_clone()?, position, empty: 0 };
        check_schema_depth(metadata.take(length))
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<At>;

    /// Is called for the end of the file and for headers of pages.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let reader = || {
            let file = self.file.try_clone()?;
            std::io::Result::Ok(At { file, position: start, empty: 0 })
        };
        if start.checked_add(FOOTER_SIZE as u64) != Some(self.length) {
            check_page_header(BufReader::with_capacity(USUAL_HEADER_BYTES, reader()?))?;
        }
        Ok(BufReader::new(reader()?))
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
    /// How often there was nothing more.
    empty: u32,
}

/// Whoever asks more often does not notice that it is at the end: parquet 60.1 skips the thousands of millions of bytes that a damaged header claims.
const EMPTY_READS_MAX: u32 = 100;

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        if read == 0 && !buffer.is_empty() {
            self.empty += 1;
            if self.empty > EMPTY_READS_MAX {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(read)
    }
}
