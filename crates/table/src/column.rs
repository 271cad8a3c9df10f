//! What a table has: columns of kinds, in units.

use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};

/// A table that files hold.
#[derive(Debug, Clone)]
pub struct Table {
    /// What it is called in its files, such as `plimsoll.pairs`.
    pub name: &'static str,
    /// A changed meaning is a new version; a new column is not.
    pub version: u64,
    /// Where people read what its columns mean.
    pub documentation: &'static str,
    /// All columns, in their order.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Of its values: `bytes`, `seconds`, `bytes/s`; empty for what is only counted or named.
    pub unit: &'static str,
    /// Whether values may be missing.
    pub is_nullable: bool,
    /// Largest dictionary of distinct values in a row group; 0 for values that hardly repeat.
    dictionary_bytes_max: usize,
    /// Whether files tell the least and the greatest value of each row group.
    has_ends: bool,
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers that fit in 8 bits.
    Count8,
    /// Whole numbers that fit in 32 bits.
    Count32,
    /// Whole numbers.
    Count64,
    /// Whole numbers that may be negative and fit in 32 bits.
    Signed32,
    /// Whole numbers that may be negative.
    Signed64,
    /// Nanoseconds since 1970.
    Moment,
    /// Milliseconds since 1970: what ticks regularly takes a byte less for each moment than in nanoseconds.
    MomentMillis,
    /// Measured numbers.
    Real,
    /// Texts.
    Text,
}

/// What a dictionary may have unless a column says otherwise.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;

impl Column {
    /// Returns a column whose values are never missing.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        // Settings and sizes repeat; times and what is computed from them do not.
        let dictionary_bytes_max = match kind {
            Kind::Moment | Kind::MomentMillis | Kind::Real => 0,
            _ => DICTIONARY_BYTES_MAX,
        };
        Column { name, kind, unit: "", is_nullable: false, dictionary_bytes_max, has_ends: true }
    }

    /// Returns the column with the unit of its values.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Returns the column as one whose values may be missing.
    pub const fn nullable(mut self) -> Self {
        self.is_nullable = true;
        self
    }

    /// Returns the column with room for another number of distinct values: 0 if they hardly repeat.
    pub const fn dictionary_bytes_max(mut self, bytes: usize) -> Self {
        self.dictionary_bytes_max = bytes;
        self
    }

    /// Returns the column as one of which nobody looks for rows by its values: files do not tell its ends.
    pub const fn without_ends(mut self) -> Self {
        self.has_ends = false;
        self
    }

    /// Returns the column in Parquet's schema language.
    fn schema(&self) -> String {
        let repetition = if self.is_nullable { "optional" } else { "required" };
        let (physical, logical) = match self.kind {
            Kind::Count8 => ("int32", " (INTEGER(8,false))"),
            Kind::Count32 => ("int32", " (INTEGER(32,false))"),
            Kind::Count64 => ("int64", " (INTEGER(64,false))"),
            Kind::Signed32 => ("int32", ""),
            Kind::Signed64 => ("int64", ""),
            Kind::Moment => ("int64", " (TIMESTAMP(NANOS,true))"),
            Kind::MomentMillis => ("int64", " (TIMESTAMP(MILLIS,true))"),
            Kind::Real => ("double", ""),
            Kind::Text => ("binary", " (STRING)"),
        };
        format!("{repetition} {physical} {}{logical};", self.name)
    }

    /// Returns the encoding of values that no dictionary has.
    fn encoding(&self) -> Encoding {
        match self.kind {
            Kind::Real | Kind::Text => Encoding::PLAIN,
            _ => Encoding::DELTA_BINARY_PACKED,
        }
    }
}

/// The entry of a file's metadata that names table and version.
pub(crate) const SCHEMA_KEY: &str = "plimsoll.schema";
/// The entry that has the units of columns, as a JSON object.
const UNITS_KEY: &str = "plimsoll.units";
const VERSION_KEY: &str = "plimsoll.version";

impl Table {
    /// Returns the table as Parquet's schema.
    pub(crate) fn schema(&self) -> Result<Type, ParquetError> {
        let fields: String = self.columns.iter().map(Column::schema).collect();
        parse_message_type(&format!("message {} {{ {fields} }}", self.name.replace('.', "_")))
    }

    /// Returns how its files are written, and what they say of themselves: `facts` and what the table
    /// knows itself.
    pub(crate) fn properties(&self, facts: Vec<(String, String)>) -> WriterProperties {
        let version = env!("CARGO_PKG_VERSION");
        let entry = |key: &str, value: String| KeyValue::new(key.to_string(), value);
        let mut entries = vec![
            entry(SCHEMA_KEY, format!("{}/{}", self.name, self.version)),
            entry(VERSION_KEY, version.into()),
            entry(UNITS_KEY, self.units()),
        ];
        entries.extend(facts.into_iter().map(|(key, value)| KeyValue::new(key, value)));
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("plimsoll {version}"))
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(entries));
        for column in &self.columns {
            let (path, bytes) = (ColumnPath::from(column.name), column.dictionary_bytes_max);
            let ends =
                if column.has_ends { EnabledStatistics::Chunk } else { EnabledStatistics::None };
            properties = properties
                .set_column_statistics_enabled(path.clone(), ends)
                .set_column_encoding(path.clone(), column.encoding())
                .set_column_dictionary_enabled(path.clone(), bytes > 0)
                .set_column_dictionary_page_size_limit(path, bytes.max(1));
        }
        properties.build()
    }

    /// Names and units are ours: nothing in them needs an escape.
    fn units(&self) -> String {
        let with_unit = self.columns.iter().filter(|column| !column.unit.is_empty());
        let pairs = with_unit.map(|column| format!("\"{}\":\"{}\"", column.name, column.unit));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    }
}
