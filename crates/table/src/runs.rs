//! Values that follow each other in runs, written as what they are: a dictionary, and for each run a number and a length.
//!
//! The Parquet library writes the same, but hashes and compares every value of a column for it. In a history this was most of what a monitor costs.
//! What is written so is also read in next to no time.

use std::collections::HashMap;

use parquet::basic::{Compression, Encoding, PageType, SortOrder, Type};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use crate::Text;

/// Rows that a run must have on average: below, a number for each row takes less room.
const ROWS_PER_RUN: u64 = 8;

/// Runs of a row group at most: what is held in memory has a bound.
const RUNS_MAX: usize = 1 << 14;

/// Longer texts are not said to be the least or the greatest of a row group, as the Parquet library does by default.
const STATISTICS_BYTES_MAX: usize = 64;

/// What the dictionary of a column of numbers may have whose values are otherwise not in one.
const NUMBERS_BYTES_MAX: usize = 1 << 20;

/// The runs of a column of a row group, as far as they are known: values as Parquet has them plainly, texts without their length.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<(Text, u64)>,
}

impl Runs {
    /// Adds a value so many times. Returns whether there may be more.
    pub fn add(&mut self, value: &[u8], times: u64) -> bool {
        match self.runs.last_mut() {
            Some((last, length)) if last.data() == value => *length += times,
            _ if times > 0 => self.runs.push((Text::from(value.to_vec()), times)),
            _ => {}
        }
        self.runs.len() < RUNS_MAX
    }

    /// Returns all runs, and forgets them.
    pub fn take(&mut self) -> Vec<(Text, u64)> {
        std::mem::take(&mut self.runs)
    }

    /// Writes a column that has these runs and nothing else, whose values cannot be missing. Returns nothing if it is better written otherwise:
    /// if runs are short, or the dictionary is larger than the column's may be.
    pub fn encode(
        &self,
        column: &ColumnDescPtr,
        properties: &WriterProperties,
    ) -> Result<Option<(Vec<u8>, ColumnCloseResult)>> {
        let rows: u64 = self.runs.iter().map(|(_, length)| length).sum();
        let path = column.path();
        let is_usual = column.max_def_level() == 0
            && column.max_rep_level() == 0
            && properties.compression(path) == Compression::SNAPPY;
        if !is_usual || rows == 0 || rows > i32::MAX as u64 || rows < ROWS_PER_RUN * self.count() {
            return Ok(None);
        }
        let (dictionary, numbers) = self.dictionary();
        let physical = column.physical_type();
        let plain = plain(&dictionary, physical);
        let most = match properties.dictionary_enabled(path) {
            true => properties.column_dictionary_page_size_limit(path),
            // Values that hardly repeat may come in runs all the same.
            false if physical != Type::BYTE_ARRAY => NUMBERS_BYTES_MAX,
            false => 0,
        };
        if plain.len() > most {
            return Ok(None);
        }
        let mut written = Written::default();
        let values = Page::DictionaryPage {
            buf: compressed(&plain)?.into(),
            num_values: dictionary.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let dictionary_offset = written.page(values, plain.len())?;
        let hybrid = self.hybrid(&numbers, dictionary.len());
        let data = Page::DataPage {
            buf: compressed(&hybrid)?.into(),
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data_offset = written.page(data, hybrid.len())?;
        let stats = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let mut chunk = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::SNAPPY)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_total_compressed_size(written.compressed as i64)
            .set_total_uncompressed_size(written.uncompressed as i64)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(dictionary_offset as i64))
            .set_data_page_offset(data_offset as i64);
        if let Some(statistics) = statistics(&dictionary, column) {
            chunk = chunk.set_statistics(statistics);
        }
        let mut offsets = OffsetIndexBuilder::new();
        offsets.append_row_count(rows as i64);
        offsets.append_offset_and_size(
            data_offset as i64,
            (written.bytes.len() - data_offset as usize) as i32,
        );
        let close = ColumnCloseResult {
            bytes_written: written.bytes.len() as u64,
            rows_written: rows,
            metadata: chunk.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        };
        Ok(Some((written.bytes, close)))
    }

    fn count(&self) -> u64 {
        self.runs.len() as u64
    }

    /// Returns the distinct values in the order in which they come, and the number of each run's.
    fn dictionary(&self) -> (Vec<&[u8]>, Vec<u32>) {
        let (mut texts, mut known) = (Vec::new(), HashMap::new());
        let numbers = self.runs.iter().map(|(text, _)| {
            *known.entry(text.data()).or_insert_with(|| {
                texts.push(text.data());
                texts.len() as u32 - 1
            })
        });
        let numbers = numbers.collect();
        (texts, numbers)
    }

    /// Returns the numbers in Parquet's hybrid encoding: how many bits they have, then runs.
    fn hybrid(&self, numbers: &[u32], distinct: usize) -> Vec<u8> {
        let bits = usize::BITS - (distinct - 1).leading_zeros();
        let mut bytes = vec![bits as u8];
        for (number, (_, length)) in numbers.iter().zip(&self.runs) {
            let mut head = length << 1;
            while head >= 0x80 {
                bytes.push(head as u8 | 0x80);
                head >>= 7;
            }
            bytes.push(head as u8);
            bytes.extend(&number.to_le_bytes()[..bits.div_ceil(8) as usize]);
        }
        bytes
    }
}

/// Pages that were written, and what they take.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    compressed: usize,
    uncompressed: usize,
}

impl Written {
    /// Appends a page. Returns where it begins.
    fn page(&mut self, page: Page, uncompressed: usize) -> Result<u64> {
        let mut sink = TrackedWrite::new(Vec::new());
        let spec = SerializedPageWriter::new(&mut sink)
            .write_page(CompressedPage::new(page, uncompressed))?;
        let start = self.bytes.len() as u64;
        self.bytes.extend(sink.into_inner()?);
        self.compressed += spec.compressed_size;
        self.uncompressed += spec.uncompressed_size;
        Ok(start)
    }
}

/// Returns values one behind the other, texts each behind its length.
fn plain(values: &[&[u8]], physical: Type) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.iter().map(|it| 4 + it.len()).sum());
    for value in values {
        if physical == Type::BYTE_ARRAY {
            bytes.extend((value.len() as u32).to_le_bytes());
        }
        bytes.extend(*value);
    }
    bytes
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let compressed = snap::raw::Encoder::new().compress_vec(bytes);
    compressed.map_err(|error| ParquetError::External(Box::new(error)))
}

/// Returns the least and the greatest value, unless one is a long text.
fn statistics(values: &[&[u8]], column: &ColumnDescPtr) -> Option<Statistics> {
    let is_unsigned = column.sort_order() == SortOrder::UNSIGNED;
    match column.physical_type() {
        Type::INT32 => {
            let numbers =
                values.iter().filter_map(|it| Some(i32::from_le_bytes((*it).try_into().ok()?)));
            let order = |it: &i32| if is_unsigned { i64::from(*it as u32) } else { (*it).into() };
            let (least, most) = (numbers.clone().min_by_key(order), numbers.max_by_key(order));
            Some(Statistics::int32(least, most, None, Some(0), false))
        }
        Type::INT64 => {
            let numbers =
                values.iter().filter_map(|it| Some(i64::from_le_bytes((*it).try_into().ok()?)));
            let order = |it: &i64| if is_unsigned { i128::from(*it as u64) } else { (*it).into() };
            let (least, most) = (numbers.clone().min_by_key(order), numbers.max_by_key(order));
            Some(Statistics::int64(least, most, None, Some(0), false))
        }
        _ => {
            let (least, greatest) = (values.iter().min()?, values.iter().max()?);
            let is_short = least.len().max(greatest.len()) <= STATISTICS_BYTES_MAX;
            let text = |it: &[u8]| Some(Text::from(it.to_vec()));
            is_short
                .then(|| Statistics::byte_array(text(least), text(greatest), None, Some(0), false))
        }
    }
}
