//! HDF5 files that anybody may have written: objects by path, numbers as matrices, all within bounds.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hdf5_reader::group::Group;
use hdf5_reader::{
    Attribute, Dataset, Datatype, FileStorage, H5Type, Hdf5File, OpenOptions, SliceInfo,
    SliceInfoElem,
};
use plimsoll_table::without_panic;

use crate::ImportError;
use crate::unpacking::{EXPANSION_MAX, add, filters};

/// Largest chunk and largest part of a dataset that is held: a day of 3,000 targets at 5 s is smaller.
const CHUNK_BYTES_MAX: usize = 512 << 20;

/// Chunks that are kept for the next part.
const CACHE_BYTES: usize = 8 << 20;

/// Values of eight bytes that a dataset may have whatever the size of its file: 1 GiB.
const VALUES_EASILY: u64 = 1 << 27;

/// The same of all datasets of a file, each counted as often as it is taken: a day of 3,000 targets at 5 s has half of it.
const VALUES_OF_FILE_EASILY: u64 = 1 << 30;

/// How often as many may be unpacked as are taken: chunks that do not fit into the cache are unpacked for each part of them. A small file that is made so that each
/// column takes all of a chunk is refused after some minutes, and not after hours.
const UNPACKED_TIMES: u64 = 4;

/// Series of a day that a file may have whatever its size, and bytes that one more takes at least: a day of zeros at 5 s is packed into more.
const SERIES_EASILY: u64 = 1 << 20;
const BYTES_OF_SERIES: u64 = 64;

/// Steps and columns of a matrix: two years at a second, and more targets than any file system has.
const STEPS_MAX: u64 = 1 << 26;
const COLUMNS_MAX: u64 = 1 << 20;

/// Values that are read at a time, about: they are turned while they are in the cache. And those of a chunk that several threads may have at a time: 16 MiB.
const VALUES_OF_PIECE: usize = 1 << 16;
const CHUNK_VALUES_SHARED: usize = 1 << 21;

/// A file that is open.
pub(crate) struct Hdf5 {
    path: PathBuf,
    bytes: u64,
    file: Hdf5File,
    /// Values of the matrices that were taken, and those that were unpacked.
    taken: AtomicU64,
    unpacked: AtomicU64,
}

impl Hdf5 {
    pub fn open(path: &Path, file: File) -> Result<Self, ImportError> {
        let bytes = file.metadata().map_err(|cause| ImportError::io(path, cause))?.len();
        let options = OpenOptions::default()
            .with_chunk_cache_bytes(CACHE_BYTES)
            .with_max_chunk_bytes(CHUNK_BYTES_MAX)
            .with_max_read_bytes(CHUNK_BYTES_MAX)
            .with_max_object_header_bytes(8 << 20)
            .with_filter_registry(filters(CHUNK_BYTES_MAX, unpacked_max(bytes).saturating_mul(8)));
        let open = || {
            let storage = Arc::new(FileStorage::from_file(file)?);
            Hdf5File::from_storage_with_options(storage, options)
        };
        let file = calling(path, open)?;
        let (taken, unpacked) = Default::default();
        Ok(Hdf5 { path: path.to_owned(), bytes, file, taken, unpacked })
    }

    pub fn error(&self, reason: impl ToString) -> ImportError {
        ImportError::content(&self.path, reason)
    }

    /// Fails if so many series, each counted once for each of its days, are more than the file could have: the days of a store list theirs.
    pub fn require_stored(&self, series_of_days: u64) -> Result<(), ImportError> {
        if series_of_days <= SERIES_EASILY.saturating_add(self.bytes / BYTES_OF_SERIES) {
            return Ok(());
        }
        Err(self.error(format!(
            "it claims {series_of_days} series, each counted once for each of its days, more than a file of {} bytes can have",
            self.bytes
        )))
    }

    /// Returns the groups of the root, by name.
    pub fn groups(&self) -> Result<Vec<Group>, ImportError> {
        calling(&self.path, || self.file.root_group()?.groups())
    }

    /// Returns the datasets of a group.
    pub fn datasets(&self, group: &Group) -> Result<Vec<Dataset>, ImportError> {
        calling(&self.path, || group.datasets())
    }

    /// Returns the dataset of that path, if it can be read.
    pub fn dataset(&self, path: &str) -> Option<Dataset> {
        without_panic(|| self.file.dataset(path).ok()).flatten()
    }

    /// Returns an attribute of the root as text.
    pub fn root_text(&self, name: &str) -> Option<String> {
        without_panic(|| self.file.root_group().ok()?.attribute(name).ok()?.read_string().ok())
            .flatten()
    }

    /// Returns the numbers of a dataset as a matrix of one or two dimensions.
    pub fn matrix(&self, dataset: Dataset) -> Result<Matrix<'_>, ImportError> {
        let (rows, columns) = match *dataset.shape() {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => {
                let dimensions = dataset.shape().len();
                let reason = format!("{} has {dimensions} dimensions", dataset.name());
                return Err(self.error(reason));
            }
        };
        let values = rows.saturating_mul(columns);
        let most = VALUES_EASILY.max(self.bytes.saturating_mul(EXPANSION_MAX) / 8);
        if values > most || rows.max(columns) > STEPS_MAX || rows.min(columns) > COLUMNS_MAX {
            let reason = format!(
                "{} claims {rows} times {columns} values, more than a file of {} bytes can have",
                dataset.name(),
                self.bytes
            );
            return Err(self.error(reason));
        }
        if add(&self.taken, values) > values_max(self.bytes) {
            return Err(self.error(format!(
                "its datasets claim more values than a file of {} bytes can have",
                self.bytes
            )));
        }
        Ok(Matrix { file: self, dataset, rows: rows as usize, columns: columns as usize })
    }
}

/// Returns how many values may be taken of all of a file of so many bytes.
fn values_max(bytes: u64) -> u64 {
    // Times and totals are taken again with what they belong to.
    let stored = bytes.saturating_mul(EXPANSION_MAX) / 8;
    VALUES_OF_FILE_EASILY.max(stored.saturating_mul(4))
}

/// Returns how many may be unpacked for that.
fn unpacked_max(bytes: u64) -> u64 {
    values_max(bytes).saturating_mul(UNPACKED_TIMES)
}

/// Returns texts of an attribute; nothing if it is none of texts.
pub(crate) fn texts(dataset: &Dataset, attribute: &str) -> Option<Vec<String>> {
    without_panic(|| dataset.attribute(attribute).ok()?.read_strings().ok()).flatten()
}

/// Returns the text of an attribute; nothing if it is none.
pub(crate) fn text(attribute: Option<Attribute>) -> Option<String> {
    without_panic(|| attribute?.read_string().ok()).flatten()
}

/// Calls the library, whose errors are those of the file.
fn calling<T>(
    path: &Path,
    call: impl FnOnce() -> Result<T, hdf5_reader::error::Error>,
) -> Result<T, ImportError> {
    match without_panic(call) {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => {
            Err(ImportError::content(path, format!("its HDF5 is damaged: {error}")))
        }
        None => Err(ImportError::content(path, "its HDF5 is damaged")),
    }
}

/// Numbers of one or two dimensions.
pub(crate) struct Matrix<'a> {
    file: &'a Hdf5,
    dataset: Dataset,
    pub rows: usize,
    pub columns: usize,
}

impl Matrix<'_> {
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Divides rows into pieces that are read at a time, between chunks, so that none is unpacked twice. Where chunks are large, they are one piece.
    pub fn pieces(&self, rows: Range<usize>, columns: usize) -> Vec<Range<usize>> {
        let chunk = self.dataset.chunks().unwrap_or_default();
        let values = chunk.iter().fold(1, |all: usize, it| all.saturating_mul(*it as usize));
        // Each thread has a chunk in memory.
        if values > CHUNK_VALUES_SHARED {
            return vec![rows];
        }
        let of_chunk = self.rows_of_chunk();
        let wanted = VALUES_OF_PIECE / columns.max(1);
        let of_piece = (wanted / of_chunk).max(1).saturating_mul(of_chunk);
        let (mut pieces, mut start) = (Vec::new(), rows.start);
        while start < rows.end {
            let end = (start / of_piece + 1).saturating_mul(of_piece).min(rows.end);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    /// Divides all rows into pieces between chunks, however large these are.
    pub fn pieces_of_column(&self) -> impl Iterator<Item = Range<usize>> {
        let of_chunk = self.rows_of_chunk();
        let of_piece = (VALUES_OF_PIECE / of_chunk).max(1).saturating_mul(of_chunk);
        let rows = self.rows;
        (0..rows)
            .step_by(of_piece)
            .map(move |start| start..rows.min(start.saturating_add(of_piece)))
    }

    /// Returns how many values are unpacked for a part of rows and columns.
    fn unpacked_for(&self, rows: &Range<usize>, columns: &Range<usize>) -> u64 {
        let whole = |part: &Range<usize>, of_chunk: usize| {
            let chunks = part.end.div_ceil(of_chunk).saturating_sub(part.start / of_chunk);
            chunks.saturating_mul(of_chunk) as u64
        };
        let columns = whole(columns, self.columns_of_chunk());
        whole(rows, self.rows_of_chunk()).saturating_mul(columns)
    }

    /// Returns how many rows are unpacked together,
    pub fn rows_of_chunk(&self) -> usize {
        self.of_chunk(0)
    }

    /// and how many columns.
    pub fn columns_of_chunk(&self) -> usize {
        self.of_chunk(1)
    }

    fn of_chunk(&self, dimension: usize) -> usize {
        let chunk = self.dataset.chunks().unwrap_or_default();
        chunk.get(dimension).map_or(1, |it| (*it as usize).max(1))
    }

    /// Reads a part, row by row.
    pub fn read(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<f64>, ImportError> {
        let unpacked = add(&self.file.unpacked, self.unpacked_for(&rows, &columns));
        if unpacked > unpacked_max(self.file.bytes) {
            let reason = format!(
                "the chunks of {} are so that it takes far more to read it than a file of {} bytes can have",
                self.dataset.name(),
                self.file.bytes
            );
            return Err(self.file.error(reason));
        }
        let part = |range: &Range<usize>| SliceInfoElem::Slice {
            start: range.start as u64,
            end: range.end as u64,
            step: 1,
        };
        let mut selections = vec![part(&rows)];
        if self.dataset.shape().len() > 1 {
            selections.push(part(&columns));
        }
        let selection = SliceInfo { selections };
        let expected = rows.len() * columns.len();
        let values = match self.dataset.dtype() {
            Datatype::FloatingPoint { size: 8, .. } => self.read_as::<f64>(&selection, |it| it),
            Datatype::FloatingPoint { size: 4, .. } => self.read_as::<f32>(&selection, f64::from),
            Datatype::FixedPoint { size: 8, signed: true, .. } => {
                self.read_as::<i64>(&selection, |it| it as f64)
            }
            Datatype::FixedPoint { size: 4, signed: true, .. } => {
                self.read_as::<i32>(&selection, f64::from)
            }
            Datatype::FixedPoint { size: 8, .. } => self.read_as::<u64>(&selection, |it| it as f64),
            Datatype::FixedPoint { size: 4, .. } => self.read_as::<u32>(&selection, f64::from),
            Datatype::FixedPoint { size: 1, signed: true, .. } => {
                self.read_as::<i8>(&selection, f64::from)
            }
            Datatype::FixedPoint { size: 1, .. } => self.read_as::<u8>(&selection, f64::from),
            other => {
                let reason = format!("{} has no numbers but {other:?}", self.dataset.name());
                return Err(self.file.error(reason));
            }
        }?;
        if values.len() != expected {
            let reason = format!("{} has fewer values than it claims", self.dataset.name());
            return Err(self.file.error(reason));
        }
        Ok(values)
    }

    fn read_as<T: H5Type + Copy>(
        &self,
        selection: &SliceInfo,
        number: impl Fn(T) -> f64,
    ) -> Result<Vec<f64>, ImportError> {
        let array = calling(&self.file.path, || self.dataset.read_slice::<T>(selection))?;
        if !array.is_standard_layout() {
            return Ok(array.iter().copied().map(number).collect());
        }
        // Far faster than to go through its dimensions.
        Ok(array.into_raw_vec_and_offset().0.into_iter().map(number).collect())
    }
}
