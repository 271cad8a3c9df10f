//! Databases of SQLite that anybody may have written: tables only, read-only, within bounds.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::ImportError;

/// Longest value or row: names of hosts and devices are far shorter.
pub(crate) const LENGTH_MAX: i32 = 1 << 16;

/// A database that is open.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// What the connection reads: SQLite opens it again, by its number. Nothing for what was copied.
    _file: Option<File>,
}

impl Sqlite {
    /// Opens a database as it is in this file, without its journal: nothing is written beside it.
    pub fn open(path: &Path, file: File) -> Result<Self, ImportError> {
        let uri = format!("file:/proc/self/fd/{}?immutable=1", file.as_raw_fd());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(uri, flags)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LENGTH_MAX)?;
            connection.pragma_update(None, "cell_size_check", true)?;
            // What is sorted goes to a file and not to memory.
            connection.pragma_update(None, "temp_store", "FILE")?;
            Ok(connection)
        };
        let connection = opened().map_err(|error| damaged(path, &error))?;
        Ok(Sqlite { path: path.to_owned(), connection, _file: Some(file) })
    }

    /// Takes a database that was made of what came from `path`.
    pub fn made_of(path: &Path, connection: Connection) -> Self {
        Sqlite { path: path.to_owned(), connection, _file: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether there is such a table, and no virtual one.
    pub fn has_table(&self, name: &str) -> Result<bool, ImportError> {
        let sql = "select count(*) from sqlite_master where type = 'table' and name = ?1 collate nocase \
                   and sql not like 'create virtual%'";
        let found = self.connection.query_row(sql, [name], |row| row.get::<_, i64>(0));
        Ok(found.map_err(|error| damaged(&self.path, &error))? > 0)
    }

    /// Calls for each row that a query of ours gives.
    pub fn each(
        &self,
        sql: &str,
        mut each: impl FnMut(&Row<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let failed = |error: rusqlite::Error| damaged(&self.path, &error);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(row)?;
        }
        Ok(())
    }
}

fn damaged(path: &Path, error: &rusqlite::Error) -> ImportError {
    ImportError::content(path, format!("its database cannot be read: {error}"))
}

/// Returns a whole number that is not negative; nothing for anything else.
pub(crate) fn whole(row: &Row<'_>, column: usize) -> Option<u64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => u64::try_from(value).ok(),
        ValueRef::Real(value) => (0.0..9.2e18).contains(&value).then_some(value.round() as u64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Returns a number; nothing for anything else.
pub(crate) fn real(row: &Row<'_>, column: usize) -> Option<f64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Real(value) => Some(value),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Returns a text; nothing for anything else.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
        _ => None,
    }
}
