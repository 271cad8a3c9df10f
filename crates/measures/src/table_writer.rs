//! Writing a table row by row as a Parquet file, in memory that does not grow with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, IntoInnerError};
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::writer::{ColumnWriter, get_typed_column_writer_mut};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use plimsoll_guarded::Directory;

use crate::MeasuresError;
use crate::columns::{Kind, SCHEMA_KEY, SCHEMA_VERSION, Table};
use crate::files;

/// Rows of a row group: about 30 MiB while it is gathered, and still few groups for millions.
const ROWS_PER_GROUP: usize = 1 << 16;

/// A value of a row.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Whole(u64),
    Real(f64),
    Text(ByteArray),
    Null,
}

/// A Parquet file in the making.
pub(crate) struct TableWriter {
    path: PathBuf,
    file: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Gathered>,
    rows: usize,
    /// Texts of the row group, so that equal ones share their memory.
    texts: HashMap<String, ByteArray>,
}

impl TableWriter {
    /// Begins the file in that directory that gets this name once it is whole.
    pub fn create(
        directory: &Directory,
        name: &str,
        table: &Table,
        experiment: &str,
    ) -> Result<Self, MeasuresError> {
        let (file, path) = files::create_temporary(directory, name)?;
        let fields: String = table.columns().map(|column| column.schema()).collect();
        let failed = |error| MeasuresError::parquet("write", &path, error);
        let name = table.schema.replace('.', "_");
        let schema = parse_message_type(&format!("message {name} {{ {fields} }}"));
        let file = SerializedFileWriter::new(
            BufWriter::new(file),
            Arc::new(schema.map_err(failed)?),
            Arc::new(properties(table, experiment)),
        );
        let columns = table.columns().map(|column| Gathered::new(column.kind)).collect();
        Ok(TableWriter {
            file: file.map_err(failed)?,
            path,
            columns,
            rows: 0,
            texts: HashMap::new(),
        })
    }

    /// The text as a cell.
    pub fn text(&mut self, text: &str) -> Cell {
        if let Some(known) = self.texts.get(text) {
            return Cell::Text(known.clone());
        }
        let value = ByteArray::from(text);
        self.texts.insert(text.into(), value.clone());
        Cell::Text(value)
    }

    /// Appends a row, whose cells are in the order of the table's columns.
    pub fn row<'a>(&mut self, cells: impl Iterator<Item = &'a Cell>) -> Result<(), MeasuresError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows < ROWS_PER_GROUP {
            return Ok(());
        }
        self.write_group().map_err(|error| MeasuresError::parquet("write", &self.path, error))
    }

    /// Writes what is left, and makes it durable.
    pub fn finish(mut self) -> Result<(), MeasuresError> {
        let path = self.path.clone();
        let failed = |error| MeasuresError::parquet("write", &path, error);
        self.write_group().map_err(failed)?;
        let output = self.file.into_inner().map_err(failed)?;
        let file = output.into_inner().map_err(IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|it| MeasuresError::io("write", &path, it))
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            column.write(writer.untyped())?;
            writer.close()?;
        }
        group.close()?;
        self.texts.clear();
        self.rows = 0;
        Ok(())
    }
}

fn properties(table: &Table, experiment: &str) -> WriterProperties {
    let version = env!("CARGO_PKG_VERSION");
    let entry = |key: &str, value: String| KeyValue::new(key.to_string(), value);
    let entries = vec![
        entry(SCHEMA_KEY, format!("{}/{SCHEMA_VERSION}", table.schema)),
        entry("plimsoll.version", version.into()),
        entry("plimsoll.experiment", experiment.into()),
    ];
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("plimsoll {version}"))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(entries));
    for column in table.columns() {
        let path = ColumnPath::from(column.name);
        // Bytes and settings repeat; times and what is computed from them do not.
        let repeats = !matches!(column.kind, Kind::Moment | Kind::Real);
        let encoding = match column.kind {
            Kind::Real | Kind::Text => Encoding::PLAIN,
            _ => Encoding::DELTA_BINARY_PACKED,
        };
        properties = properties
            .set_column_dictionary_enabled(path.clone(), repeats)
            .set_column_encoding(path, encoding);
    }
    properties.build()
}

/// A column of the row group in the making: a level for each row, 1 where there is a value, and
/// the values.
struct Gathered {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Count32 => Values::Narrow(Vec::new()),
            Kind::Count64 | Kind::Moment => Values::Wide(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Gathered { levels: Vec::new(), values }
    }

    fn push(&mut self, cell: &Cell) {
        self.levels.push(i16::from(!matches!(cell, Cell::Null)));
        match (&mut self.values, cell) {
            // Unsigned columns are stored as signed integers of the same bits.
            (Values::Narrow(values), Cell::Whole(value)) => values.push(*value as i32),
            (Values::Wide(values), Cell::Whole(value)) => values.push(*value as i64),
            (Values::Real(values), Cell::Real(value)) => values.push(*value),
            (Values::Text(values), Cell::Text(value)) => values.push(value.clone()),
            (_, Cell::Null) => {}
            (_, cell) => unreachable!("no column takes {cell:?} here"),
        }
    }

    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        match &mut self.values {
            Values::Narrow(values) => write::<Int32Type>(writer, values, &self.levels)?,
            Values::Wide(values) => write::<Int64Type>(writer, values, &self.levels)?,
            Values::Real(values) => write::<DoubleType>(writer, values, &self.levels)?,
            Values::Text(values) => write::<ByteArrayType>(writer, values, &self.levels)?,
        }
        self.levels.clear();
        Ok(())
    }
}

fn write<T: DataType>(
    writer: &mut ColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    let writer = get_typed_column_writer_mut::<T>(writer);
    let is_nullable = writer.get_descriptor().max_def_level() > 0;
    writer.write_batch(values, is_nullable.then_some(levels), None)?;
    values.clear();
    Ok(())
}
