//! The columns of a Parquet file of calls: their types, and how a batch fills them.

use std::io;

use plimsoll_explain::{FileId, Recording};
use plimsoll_table::{Column, ColumnSink, Kind, Stored, Table, Text};
use plimsoll_trace::{Layer, Op};

use crate::SCHEMA_VERSION;
use crate::batch::{Batch, RowsOfThread};

/// One column, and how a batch fills it.
pub(crate) struct Filled {
    pub column: Column,
    pub fill: Fill,
}

type Fill = fn(&Rows<'_>, &mut ColumnSink<'_>) -> io::Result<()>;

/// What columns are filled from.
pub(crate) struct Rows<'a> {
    pub batch: &'a Batch,
    pub recording: &'a Recording,
    pub texts: &'a Texts,
}

/// Texts in the form in which they are written, made once.
pub(crate) struct Texts {
    hosts: Vec<Text>,
    layers: Vec<(Layer, Text)>,
    ops: Vec<Text>,
    files: Vec<Text>,
}

impl Texts {
    pub fn new(recording: &Recording) -> Self {
        let mut ops = vec![Text::from(""); 256];
        for op in Op::ALL {
            ops[*op as usize] = Text::from(op.name());
        }
        let files = recording.files();
        Texts {
            hosts: recording.processes().iter().map(|it| it.host.as_str().into()).collect(),
            layers: Layer::ALL.iter().map(|layer| (*layer, layer.name().into())).collect(),
            ops,
            files: (0..files.len() as u32).map(|id| files.path(FileId(id)).into()).collect(),
        }
    }

    fn layer(&self, layer: Layer) -> Text {
        let found = self.layers.iter().find(|(known, _)| *known == layer);
        found.map_or_else(|| Text::from(layer.name()), |(_, text)| text.clone())
    }
}

const fn filled(column: Column, fill: Fill) -> Filled {
    Filled { column, fill }
}

const fn text(name: &'static str) -> Column {
    Column::new(name, Kind::Text)
}

const fn count(name: &'static str) -> Column {
    Column::new(name, Kind::Count32)
}

const fn whole(name: &'static str) -> Column {
    Column::new(name, Kind::Count64)
}

/// Times hardly repeat.
const fn nanoseconds(name: &'static str) -> Column {
    Column::new(name, Kind::Signed64).unit("ns").dictionary_bytes_max(0)
}

/// Largest dictionary of paths; beyond it they are written in full.
const PATHS_BYTES_MAX: usize = 16 << 20;

/// The table of calls.
pub(crate) fn table() -> Table {
    Table {
        name: "plimsoll.call",
        version: SCHEMA_VERSION.into(),
        documentation: "plimsoll export --help",
        columns: COLUMNS.iter().map(|it| it.column).collect(),
    }
}

/// All columns, in their order. A change of any is a change of [`crate::SCHEMA_VERSION`].
pub(crate) const COLUMNS: &[Filled] = &[
    filled(count("process"), |rows, sink| by_run(rows, sink, |run| Some(run.process as i32))),
    filled(count("pid"), |rows, sink| {
        by_run(rows, sink, |run| Some(rows.recording.processes()[run.process].pid as i32))
    }),
    filled(count("rank").nullable(), |rows, sink| {
        let rank = |run: &RowsOfThread| rows.recording.processes()[run.process].rank;
        by_run(rows, sink, |run| rank(run).map(|rank| rank as i32))
    }),
    filled(text("host"), |rows, sink| {
        by_run(rows, sink, |run| Some(rows.texts.hosts[run.process].clone()))
    }),
    filled(count("thread"), |rows, sink| by_run(rows, sink, |run| Some(run.thread as i32))),
    filled(text("layer"), |rows, sink| {
        texts(sink, &rows.batch.ops, |op| rows.texts.layer(op.layer()))
    }),
    filled(text("operation"), |rows, sink| {
        texts(sink, &rows.batch.ops, |op| rows.texts.ops[*op as usize].clone())
    }),
    filled(text("file").nullable().dictionary_bytes_max(PATHS_BYTES_MAX), |rows, sink| {
        let path = |file: &FileId| rows.texts.files[file.0 as usize].clone();
        nullable_texts(sink, &rows.batch.files, &rows.batch.file_levels, path)
    }),
    filled(whole("offset").unit("bytes").nullable().dictionary_bytes_max(0), |rows, sink| {
        sink.write(&rows.batch.offsets, &rows.batch.offset_levels)
    }),
    filled(whole("length").unit("bytes"), |rows, sink| sink.write(&rows.batch.lengths, &[])),
    filled(whole("bytes").unit("bytes"), |rows, sink| sink.write(&rows.batch.bytes, &[])),
    filled(Column::new("errno", Kind::Signed32).nullable(), |rows, sink| {
        sink.write(&rows.batch.errnos, &rows.batch.errno_levels)
    }),
    filled(whole("argument"), |rows, sink| sink.write(&rows.batch.arguments, &[])),
    filled(nanoseconds("start_ns"), |rows, sink| sink.write(&rows.batch.starts, &[])),
    filled(nanoseconds("duration_ns"), |rows, sink| sink.write(&rows.batch.durations, &[])),
    filled(Column::new("depth", Kind::Count8), |rows, sink| sink.write(&rows.batch.depths, &[])),
];

/// Rows that are prepared at a time, so that columns of texts need little memory.
const ROWS_AT_A_TIME: usize = 8192;

/// A text for each key.
fn texts<K>(sink: &mut ColumnSink<'_>, keys: &[K], text: impl Fn(&K) -> Text) -> io::Result<()> {
    for some in keys.chunks(ROWS_AT_A_TIME) {
        let texts: Vec<Text> = some.iter().map(&text).collect();
        sink.write(&texts, &[])?;
    }
    Ok(())
}

/// A text for each key; keys are there only where the level is 1.
fn nullable_texts<K>(
    sink: &mut ColumnSink<'_>,
    keys: &[K],
    levels: &[i16],
    text: impl Fn(&K) -> Text,
) -> io::Result<()> {
    let mut keys = keys.iter();
    for some in levels.chunks(ROWS_AT_A_TIME) {
        let present = some.iter().filter(|level| **level == 1).count();
        let texts: Vec<Text> = keys.by_ref().take(present).map(&text).collect();
        sink.write(&texts, some)?;
    }
    Ok(())
}

/// One value for all rows of a run; none is null, which only nullable columns may have.
fn by_run<T: Stored + Clone>(
    rows: &Rows<'_>,
    sink: &mut ColumnSink<'_>,
    value: impl Fn(&RowsOfThread) -> Option<T>,
) -> io::Result<()> {
    for run in &rows.batch.runs {
        let value = value(run);
        let mut left = run.rows;
        while left > 0 {
            let count = left.min(ROWS_AT_A_TIME);
            let levels = vec![i16::from(value.is_some()); count];
            let values = value.clone().map_or_else(Vec::new, |value| vec![value; count]);
            sink.write(&values, &levels)?;
            left -= count;
        }
    }
    Ok(())
}
