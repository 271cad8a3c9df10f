//! Every call as a row of a Parquet file.
//!
//! Names and other things that repeat are numbers of dictionaries, times and offsets are
//! differences of the row before, and Snappy goes over the rest.

use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

use plimsoll_explain::{Clocks, Process, Recording, align};
use plimsoll_table::TableWriter;
use serde_json::Value;

use crate::batch::Batch;
use crate::calls::{Call, Exported, Sink, visit_calls};
use crate::columns::{COLUMNS, Rows, Texts, table};
use crate::facts::facts;

/// Rows of a row group: what other writers choose, and about 60 MiB while it is gathered.
pub const ROWS_PER_GROUP: usize = 1 << 20;

/// Writes every call of a recording as a row. Counts chunks of the recording in `chunks_done`.
///
/// # Errors
/// When the output cannot be written.
pub fn write_parquet(
    recording: &Recording,
    output: impl Write + Send,
    chunks_done: &AtomicU64,
) -> io::Result<Exported> {
    write_in_groups(recording, output, chunks_done, ROWS_PER_GROUP)
}

pub(crate) fn write_in_groups(
    recording: &Recording,
    output: impl Write + Send,
    chunks_done: &AtomicU64,
    rows_per_group: usize,
) -> io::Result<Exported> {
    let clocks = align(recording.processes());
    let mut sink = ParquetSink {
        file: TableWriter::new(output, &table(), metadata(recording, &clocks))?,
        recording,
        texts: Texts::new(recording),
        batch: Batch::default(),
        process: 0,
        rows_per_group,
    };
    let exported = visit_calls(recording, &clocks, chunks_done, &mut sink)?;
    sink.write_group()?;
    sink.file.finish()?;
    Ok(exported)
}

/// What the file says about the recording as a whole.
fn metadata(recording: &Recording, clocks: &Clocks) -> Vec<(String, String)> {
    let entry = |(name, value): (&str, Value)| {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        (format!("plimsoll.{name}"), text)
    };
    facts(recording, clocks).into_iter().map(entry).collect()
}

struct ParquetSink<'a, W: Write + Send> {
    file: TableWriter<W>,
    recording: &'a Recording,
    texts: Texts,
    batch: Batch,
    process: usize,
    rows_per_group: usize,
}

impl<W: Write + Send> Sink for ParquetSink<'_, W> {
    fn process(&mut self, index: usize, _: &Process) -> io::Result<()> {
        self.process = index;
        Ok(())
    }

    fn thread(&mut self, thread: u32) -> io::Result<()> {
        self.batch.begin(self.process, thread);
        Ok(())
    }

    #[inline]
    fn call(&mut self, call: &Call) {
        self.batch.push(call);
    }

    fn write(&mut self) -> io::Result<()> {
        if self.batch.rows() >= self.rows_per_group { self.write_group() } else { Ok(()) }
    }
}

impl<W: Write + Send> ParquetSink<'_, W> {
    fn write_group(&mut self) -> io::Result<()> {
        if self.batch.rows() == 0 {
            return Ok(());
        }
        let rows = Rows { batch: &self.batch, recording: self.recording, texts: &self.texts };
        self.file.write_group(|index, sink| (COLUMNS[index].fill)(&rows, sink))?;
        self.batch.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
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
