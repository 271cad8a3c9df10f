//! Every call as a row of a Parquet file.
//!
//! Names and other things that repeat are numbers of dictionaries, times and offsets are
//! differences of the row before, and Snappy goes over the rest.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::writer::{ColumnCloseResult, get_column_writer};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};
use plimsoll_explain::{Clocks, Process, Recording, align};
use serde_json::Value;

use crate::batch::Batch;
use crate::calls::{Call, Exported, Sink, visit_calls};
use crate::columns::{COLUMNS, Column, Rows, Texts};
use crate::error::ExportError;
use crate::facts::facts;

/// Rows of a row group: what other writers choose, and about 60 MiB while it is gathered.
pub const ROWS_PER_GROUP: usize = 1 << 20;

/// Largest dictionary of paths; beyond it they are written in full.
const PATHS_BYTES_MAX: usize = 16 << 20;

/// More threads than this have nothing to do: a few columns take most of the time.
const THREADS_MAX: usize = 4;

/// Writes every call of a recording as a row. Counts chunks of the recording in `chunks_done`.
///
/// # Errors
/// When the output cannot be written.
pub fn write_parquet(
    recording: &Recording,
    output: impl Write + Send,
    chunks_done: &AtomicU64,
) -> Result<Exported, ExportError> {
    write_in_groups(recording, output, chunks_done, ROWS_PER_GROUP)
}

pub(crate) fn write_in_groups(
    recording: &Recording,
    output: impl Write + Send,
    chunks_done: &AtomicU64,
    rows_per_group: usize,
) -> Result<Exported, ExportError> {
    let clocks = align(recording.processes());
    let schema = Arc::new(parse_message_type(&schema())?);
    let properties = Arc::new(properties(recording, &clocks));
    let mut sink = ParquetSink {
        file: SerializedFileWriter::new(output, schema, properties)?,
        recording,
        texts: Texts::new(recording),
        batch: Batch::default(),
        process: 0,
        rows_per_group,
        threads: std::thread::available_parallelism().map_or(1, |it| it.get().min(THREADS_MAX)),
    };
    let exported = visit_calls(recording, &clocks, chunks_done, &mut sink)?;
    sink.write_group()?;
    sink.file.close()?;
    Ok(exported)
}

fn schema() -> String {
    let fields: Vec<String> =
        COLUMNS.iter().map(|column| column.schema.replace("{}", column.name) + ";").collect();
    format!("message plimsoll_call {{ {} }}", fields.join(" "))
}

fn properties(recording: &Recording, clocks: &Clocks) -> WriterProperties {
    let entries = facts(recording, clocks).into_iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        KeyValue::new(format!("plimsoll.{name}"), text)
    });
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("plimsoll {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_page_size_limit(1 << 20)
        .set_column_dictionary_page_size_limit(ColumnPath::from("file"), PATHS_BYTES_MAX)
        .set_key_value_metadata(Some(entries.collect()));
    for column in COLUMNS {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_encoding(path.clone(), column.encoding)
            .set_column_dictionary_enabled(path, column.has_dictionary);
    }
    properties.build()
}

struct ParquetSink<'a, W: Write + Send> {
    file: SerializedFileWriter<W>,
    recording: &'a Recording,
    texts: Texts,
    batch: Batch,
    process: usize,
    rows_per_group: usize,
    threads: usize,
}

impl<W: Write + Send> Sink for ParquetSink<'_, W> {
    fn process(&mut self, index: usize, _: &Process) -> Result<(), ExportError> {
        self.process = index;
        Ok(())
    }

    fn thread(&mut self, thread: u32) -> Result<(), ExportError> {
        self.batch.begin(self.process, thread);
        Ok(())
    }

    #[inline]
    fn call(&mut self, call: &Call) {
        self.batch.push(call);
    }

    fn write(&mut self) -> Result<(), ExportError> {
        if self.batch.rows() >= self.rows_per_group { self.write_group() } else { Ok(()) }
    }
}

impl<W: Write + Send> ParquetSink<'_, W> {
    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.batch.rows() == 0 {
            return Ok(());
        }
        let rows = Rows { batch: &self.batch, recording: self.recording, texts: &self.texts };
        let schema = self.file.schema_descr().columns();
        let encoded = encode_all(&rows, schema, self.file.properties(), self.threads)?;
        let mut group = self.file.next_row_group()?;
        for (bytes, close) in encoded {
            group.append_column(&bytes, close)?;
        }
        group.close()?;
        self.batch.clear();
        Ok(())
    }
}

type Encoded = Result<(Bytes, ColumnCloseResult), ParquetError>;

/// Encodes all columns, each in memory of its own and some at the same time.
fn encode_all(
    rows: &Rows<'_>,
    schema: &[ColumnDescPtr],
    properties: &WriterPropertiesPtr,
    threads: usize,
) -> Result<Vec<(Bytes, ColumnCloseResult)>, ParquetError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(column), Some(descriptor)) = (COLUMNS.get(index), schema.get(index)) else {
                return done;
            };
            done.push((index, encode(rows, column, descriptor, properties)));
        }
    };
    let mut encoded: Vec<(usize, Encoded)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    encoded.sort_by_key(|(index, _)| *index);
    encoded.into_iter().map(|(_, column)| column).collect()
}

fn encode(
    rows: &Rows<'_>,
    column: &Column,
    descriptor: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
) -> Encoded {
    let mut buffer = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut buffer));
    let mut writer = get_column_writer(descriptor.clone(), properties.clone(), pages);
    (column.fill)(rows, &mut writer)?;
    let close = writer.close()?;
    Ok((buffer.into_inner()?.into(), close))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use plimsoll_trace::encode::{Call as Written, Outcome};
    use plimsoll_trace::layout::Anchor;
    use plimsoll_trace::{Op, ProcessWriter, Program};

    /// Threads, and null and other values, change within groups and between them.
    #[test]
    fn row_groups_follow_each_other() {
        const CALLS: u64 = 50_000;
        let directory = tempfile::tempdir().unwrap();
        let (start, program) = (Anchor::default(), Program::default());
        let path = directory.path().join("a.rec");
        let mut writer = ProcessWriter::create(&path, &program, start).unwrap();
        for thread in 0..3 {
            for n in 0..CALLS {
                let length = n % 11;
                let outcome = if n % 3 == 0 { Outcome::Error(5) } else { Outcome::Value(length) };
                let (op, offset) = (if n % 2 == 0 { Op::Pwrite } else { Op::Fsync }, n * n);
                let (start, end) = (n * 10, n * 10 + 3);
                let call =
                    Written { op, file: 0, offset, length, outcome, argument: n, start, end };
                writer.call(thread, &call).unwrap();
            }
        }
        writer.finish().unwrap();
        let recording = Recording::open(directory.path()).unwrap();
        let mut file = Vec::new();
        write_in_groups(&recording, &mut file, &AtomicU64::new(0), 20_000).unwrap();
        let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
        assert!(reader.num_row_groups() > 4, "{}", reader.num_row_groups());
        let mut expected = (0..3u32).flat_map(|thread| (0..CALLS).map(move |n| (thread, n)));
        for row in reader.get_row_iter(None).unwrap() {
            let (row, (thread, n)) = (row.unwrap(), expected.next().unwrap());
            assert_eq!((row.get_uint(4).unwrap(), row.get_ulong(12).unwrap()), (thread, n));
            assert_eq!(row.get_long(13).unwrap(), n as i64 * 10);
            assert_eq!(row.get_ulong(8).ok(), (n % 2 == 0).then_some(n * n));
            assert_eq!(row.get_int(11).ok(), (n % 3 == 0).then_some(5));
        }
        assert_eq!(expected.next(), None);
    }
}
