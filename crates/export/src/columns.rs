//! The columns of a Parquet file of calls: their types, and how a batch fills them.

use parquet::basic::Encoding;
use parquet::column::writer::{ColumnWriter, get_typed_column_writer_mut};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use plimsoll_explain::{FileId, Recording};
use plimsoll_trace::{Layer, Op};

use crate::batch::{Batch, Run};

/// One column.
pub(crate) struct Column {
    pub name: &'static str,
    /// Its type in Parquet's schema language, with the name in the place of `{}`.
    pub schema: &'static str,
    /// Of values that are not kept in a dictionary.
    pub encoding: Encoding,
    /// Few distinct values: numbers of a dictionary are shorter.
    pub has_dictionary: bool,
    pub fill: fn(&Rows<'_>, &mut ColumnWriter<'_>) -> Result<()>,
}

/// What columns are filled from.
pub(crate) struct Rows<'a> {
    pub batch: &'a Batch,
    pub recording: &'a Recording,
    pub texts: &'a Texts,
}

/// Texts in the form in which they are written, made once.
pub(crate) struct Texts {
    hosts: Vec<ByteArray>,
    layers: Vec<(Layer, ByteArray)>,
    ops: Vec<ByteArray>,
    files: Vec<ByteArray>,
}

impl Texts {
    pub fn new(recording: &Recording) -> Self {
        let mut ops = vec![ByteArray::from(""); 256];
        for op in Op::ALL {
            ops[*op as usize] = ByteArray::from(op.name());
        }
        let files = recording.files();
        Texts {
            hosts: recording.processes().iter().map(|it| it.host.as_str().into()).collect(),
            layers: Layer::ALL.iter().map(|layer| (*layer, layer.name().into())).collect(),
            ops,
            files: (0..files.len() as u32).map(|id| files.path(FileId(id)).into()).collect(),
        }
    }

    fn layer(&self, layer: Layer) -> ByteArray {
        let found = self.layers.iter().find(|(known, _)| *known == layer);
        found.map_or_else(|| ByteArray::from(layer.name()), |(_, text)| text.clone())
    }
}

const fn named(
    name: &'static str,
    schema: &'static str,
    fill: fn(&Rows<'_>, &mut ColumnWriter<'_>) -> Result<()>,
) -> Column {
    // Where a dictionary would be too large, numbers are written as differences.
    Column { name, schema, encoding: Encoding::PLAIN, has_dictionary: true, fill }
}

const fn counted(
    name: &'static str,
    schema: &'static str,
    has_dictionary: bool,
    fill: fn(&Rows<'_>, &mut ColumnWriter<'_>) -> Result<()>,
) -> Column {
    Column { name, schema, encoding: Encoding::DELTA_BINARY_PACKED, has_dictionary, fill }
}

/// All columns, in their order. A change of any is a change of [`crate::SCHEMA_VERSION`].
pub(crate) const COLUMNS: &[Column] = &[
    counted("process", "required int32 {} (INTEGER(32,false))", true, |rows, writer| {
        by_run(rows, writer, |run| Some(run.process as i32))
    }),
    counted("pid", "required int32 {} (INTEGER(32,false))", true, |rows, writer| {
        by_run(rows, writer, |run| Some(rows.recording.processes()[run.process].pid as i32))
    }),
    counted("rank", "optional int32 {} (INTEGER(32,false))", true, |rows, writer| {
        let rank = |run: &Run| rows.recording.processes()[run.process].rank;
        by_run(rows, writer, |run| rank(run).map(|rank| rank as i32))
    }),
    named("host", "required binary {} (STRING)", |rows, writer| {
        let hosts = &rows.texts.hosts;
        fill_runs::<ByteArrayType>(rows, writer, |run| Some(hosts[run.process].clone()))
    }),
    counted("thread", "required int32 {} (INTEGER(32,false))", true, |rows, writer| {
        by_run(rows, writer, |run| Some(run.thread as i32))
    }),
    named("layer", "required binary {} (STRING)", |rows, writer| {
        fill_texts(writer, &rows.batch.ops, None, |op| rows.texts.layer(op.layer()))
    }),
    named("operation", "required binary {} (STRING)", |rows, writer| {
        fill_texts(writer, &rows.batch.ops, None, |op| rows.texts.ops[*op as usize].clone())
    }),
    named("file", "optional binary {} (STRING)", |rows, writer| {
        let (files, levels) = (&rows.batch.files, &rows.batch.file_levels);
        fill_texts(writer, files, Some(levels), |file| rows.texts.files[file.0 as usize].clone())
    }),
    counted("offset", "optional int64 {} (INTEGER(64,false))", false, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.offsets, Some(&rows.batch.offset_levels))
    }),
    counted("length", "required int64 {} (INTEGER(64,false))", true, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.lengths, None)
    }),
    counted("bytes", "required int64 {} (INTEGER(64,false))", true, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.bytes, None)
    }),
    counted("errno", "optional int32 {}", true, |rows, writer| {
        fill::<Int32Type>(writer, &rows.batch.errnos, Some(&rows.batch.errno_levels))
    }),
    counted("argument", "required int64 {} (INTEGER(64,false))", true, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.arguments, None)
    }),
    counted("start_ns", "required int64 {}", false, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.starts, None)
    }),
    counted("duration_ns", "required int64 {}", false, |rows, writer| {
        fill::<Int64Type>(writer, &rows.batch.durations, None)
    }),
    counted("depth", "required int32 {} (INTEGER(8,false))", true, |rows, writer| {
        fill::<Int32Type>(writer, &rows.batch.depths, None)
    }),
];

/// Rows that are prepared at a time, so that columns of texts need little memory.
const ROWS_AT_A_TIME: usize = 8192;

fn fill<T: DataType>(
    writer: &mut ColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    get_typed_column_writer_mut::<T>(writer).write_batch(values, levels, None)?;
    Ok(())
}

/// A text for each key; with levels, keys are there only where the level is 1.
fn fill_texts<K>(
    writer: &mut ColumnWriter<'_>,
    keys: &[K],
    levels: Option<&[i16]>,
    text: impl Fn(&K) -> ByteArray,
) -> Result<()> {
    let writer = get_typed_column_writer_mut::<ByteArrayType>(writer);
    let (mut keys, mut texts) = (keys.iter(), Vec::with_capacity(ROWS_AT_A_TIME));
    let Some(levels) = levels else {
        for some in keys.as_slice().chunks(ROWS_AT_A_TIME) {
            texts.clear();
            texts.extend(some.iter().map(&text));
            writer.write_batch(&texts, None, None)?;
        }
        return Ok(());
    };
    for some in levels.chunks(ROWS_AT_A_TIME) {
        let present = some.iter().filter(|level| **level == 1).count();
        texts.clear();
        texts.extend(keys.by_ref().take(present).map(&text));
        writer.write_batch(&texts, Some(some), None)?;
    }
    Ok(())
}

fn by_run(
    rows: &Rows<'_>,
    writer: &mut ColumnWriter<'_>,
    value: impl Fn(&Run) -> Option<i32>,
) -> Result<()> {
    fill_runs::<Int32Type>(rows, writer, value)
}

/// One value for all rows of a run; none is null, which only nullable columns may have.
fn fill_runs<T: DataType>(
    rows: &Rows<'_>,
    writer: &mut ColumnWriter<'_>,
    value: impl Fn(&Run) -> Option<T::T>,
) -> Result<()> {
    let writer = get_typed_column_writer_mut::<T>(writer);
    let is_nullable = writer.get_descriptor().max_def_level() > 0;
    for run in &rows.batch.runs {
        let value = value(run);
        let mut left = run.rows;
        while left > 0 {
            let count = left.min(ROWS_AT_A_TIME);
            let levels = is_nullable.then(|| vec![i16::from(value.is_some()); count]);
            let values = value.clone().map_or_else(Vec::new, |value| vec![value; count]);
            writer.write_batch(&values, levels.as_deref(), None)?;
            left -= count;
        }
    }
    Ok(())
}
