//! The bytes of a Parquet file that anybody may have written, and a guard around its reader.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};

use crate::files::open_to_read;

/// A file that refuses what lies outside of it before room is made for it.
pub(crate) struct Source {
    file: File,
    length: u64,
}

impl Source {
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let file = open_to_read(path)?;
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
    type T = std::io::BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(std::io::BufReader::new(At { file: self.file.try_clone()?, position: start }))
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

impl std::io::Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// Refuses metadata that no writer makes: parquet 60.1 takes them as they are and asserts.
pub(crate) fn check_chunks(metadata: &ParquetMetaData, length: u64) -> Result<(), String> {
    let is_inside = |chunk: &ColumnChunkMetaData| {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let (start, bytes) =
            (u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?);
        start.checked_add(bytes).filter(|end| *end <= length)
    };
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err(format!("a row group has {} rows", group.num_rows()));
        }
        if let Some(chunk) = group.columns().iter().find(|chunk| is_inside(chunk).is_none()) {
            return Err(format!("column {} lies outside of it", chunk.column_path()));
        }
    }
    Ok(())
}

/// Calls into the Parquet reader. It has assertions that damaged files reach; these are errors of the
/// file and must not end the program.
pub(crate) fn guarded<T>(
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    outcome.unwrap_or_else(|_| Err(ParquetError::General("it is damaged".into())))
}
