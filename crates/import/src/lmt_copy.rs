//! What is read of an LMT database that is not one of SQLite: its rows, copied to a database that nobody else sees and that is gone with it.

use std::path::Path;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::ImportError;
use crate::sql_value::SqlValue;
use crate::sqlite::Sqlite;

/// A table of LMT, and the columns that are read.
pub(crate) struct LmtTable {
    pub name: &'static str,
    pub columns: &'static [&'static str],
}

const fn table(name: &'static str, columns: &'static [&'static str]) -> LmtTable {
    LmtTable { name, columns }
}

/// All tables that are read; others are passed over.
pub(crate) const LMT_TABLES: [LmtTable; 10] = [
    table("TIMESTAMP_INFO", &["TS_ID", "TIMESTAMP"]),
    table("FILESYSTEM_INFO", &["FILESYSTEM_NAME"]),
    table("OPERATION_INFO", &["OPERATION_ID", "OPERATION_NAME"]),
    table("OST_INFO", &["OST_ID", "OSS_ID", "OST_NAME", "HOSTNAME"]),
    table("OSS_INFO", &["OSS_ID", "HOSTNAME"]),
    table("MDS_INFO", &["MDS_ID", "MDS_NAME", "HOSTNAME"]),
    table(
        "OST_DATA",
        &[
            "OST_ID",
            "TS_ID",
            "READ_BYTES",
            "WRITE_BYTES",
            "KBYTES_FREE",
            "KBYTES_USED",
            "INODES_FREE",
            "INODES_USED",
        ],
    ),
    table("OSS_DATA", &["OSS_ID", "TS_ID", "PCT_CPU"]),
    table(
        "MDS_DATA",
        &["MDS_ID", "TS_ID", "PCT_CPU", "KBYTES_FREE", "KBYTES_USED", "INODES_FREE", "INODES_USED"],
    ),
    table("MDS_OPS_DATA", &["MDS_ID", "TS_ID", "OPERATION_ID", "SAMPLES"]),
];

/// Memory for pages of the copy, in KiB: what is more goes to a file without a name.
const CACHE_KIB: i64 = 32 << 10;

/// Takes rows of LMT's tables.
pub(crate) struct LmtCopy<'a> {
    path: &'a Path,
    connection: Connection,
    made: Vec<&'static str>,
    /// How a row of the table at hand is added, and where its columns are in the rows that come.
    insert: String,
    places: Vec<Option<usize>>,
    rows: u64,
}

impl<'a> LmtCopy<'a> {
    /// Begins a copy of what comes from `path`.
    pub fn new(path: &'a Path) -> Result<Self, ImportError> {
        let made = || -> rusqlite::Result<Connection> {
            // A database without a name is in a file of a private mode, which is removed as soon as it is open.
            let connection = Connection::open("")?;
            connection.pragma_update(None, "temp_store", "FILE")?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.execute_batch("begin")?;
            Ok(connection)
        };
        let connection = made().map_err(|error| failed(path, &error))?;
        let (made, insert, places) = Default::default();
        Ok(LmtCopy { path, connection, made, insert, places, rows: 0 })
    }

    /// Returns the table of LMT that has this name, if any.
    pub fn table(name: &str) -> Option<&'static LmtTable> {
        LMT_TABLES.iter().find(|it| it.name.eq_ignore_ascii_case(name))
    }

    /// Says that rows of a table come now, whose columns have these names.
    pub fn begin<S: AsRef<str>>(
        &mut self,
        table: &'static LmtTable,
        columns: &[S],
    ) -> Result<(), ImportError> {
        if !self.made.contains(&table.name) {
            // Rows are sorted by numbers, also where those came as texts. Counters stay as they came: SQLite has no whole numbers of 64 bits without a sign.
            let column = |it: &&str| match it.ends_with("_ID") {
                true => format!("{it} integer"),
                false => (*it).to_owned(),
            };
            let columns: Vec<String> = table.columns.iter().map(column).collect();
            let sql = format!("create table {} ({})", table.name, columns.join(", "));
            let made = self.connection.execute(&sql, []);
            made.map_err(|error| failed(self.path, &error))?;
            self.made.push(table.name);
        }
        let place =
            |name: &&str| columns.iter().position(|it| it.as_ref().eq_ignore_ascii_case(name));
        self.places = table.columns.iter().map(place).collect();
        let marks = vec!["?"; table.columns.len()].join(", ");
        self.insert = format!("insert into {} values ({marks})", table.name);
        Ok(())
    }

    /// Takes a row of the table that [`LmtCopy::begin`] named.
    pub fn row(&mut self, values: &[SqlValue]) -> Result<(), ImportError> {
        let null = SqlValue::Null;
        let wanted = self.places.iter().map(|place| {
            let value = place.and_then(|place| values.get(place));
            value.unwrap_or(&null)
        });
        let mut statement = self
            .connection
            .prepare_cached(&self.insert)
            .map_err(|error| failed(self.path, &error))?;
        let added = statement.execute(params_from_iter(wanted));
        added.map_err(|error| failed(self.path, &error))?;
        self.rows += 1;
        Ok(())
    }

    /// Returns how many rows came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the database.
    pub fn finish(self) -> Result<Sqlite, ImportError> {
        let done = self.connection.execute_batch("commit");
        done.map_err(|error| failed(self.path, &error))?;
        Ok(Sqlite::made_of(self.path, self.connection))
    }
}

fn failed(path: &Path, error: &rusqlite::Error) -> ImportError {
    let reason = format!(
        "its tables cannot be copied: {error}; hint: they need room where TMPDIR leads (/var/tmp)"
    );
    ImportError::content(path, reason)
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        use rusqlite::types::ValueRef;
        Ok(ToSqlOutput::Borrowed(match self {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Whole(value) => ValueRef::Integer(*value),
            SqlValue::Real(value) => ValueRef::Real(*value),
            SqlValue::Bytes(bytes) => ValueRef::Text(bytes),
        }))
    }
}
