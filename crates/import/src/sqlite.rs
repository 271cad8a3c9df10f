//! Databases of SQLite that anybody may have written: tables only, read-only, within bounds.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use crate::ImportError;
use crate::unshared::Unshared;

/// Longest value or row: names of hosts and devices are far shorter. And so is what says how a table was made.
pub(crate) const LENGTH_MAX: i32 = 1 << 16;

/// The same of a database that anybody may have made: rows are sorted in a file, and pages of a forged one may have any number of them.
const ROW_BYTES_MAX: i32 = 1 << 10;

/// How deep an expression may be: ours have a few levels.
const EXPRESSION_DEPTH_MAX: i32 = 32;

/// Steps of SQLite's machine that reading takes at most: so many whatever the size of a database, and for each of its bytes. A row of LMT's has dozens
/// of bytes and takes about thirty. In a forged database, pages may lead to the same pages again, so that a few of them have more rows than anybody waits for.
const STEPS_EASILY: u64 = 1 << 22;
const STEPS_PER_BYTE: u64 = 50;

/// How many steps are taken between two looks at them.
const STEPS_AT_A_TIME: u64 = 1 << 16;

/// A database that is open.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// What the connection reads. Nothing for what was copied.
    _file: Option<Unshared>,
}

impl Sqlite {
    /// Opens a database as it is in this file, without its journal: nothing is written beside it.
    pub fn open(path: &Path, file: File) -> Result<Self, ImportError> {
        let bytes = file.metadata().map_or(0, |it| it.len());
        let mut file = Unshared::new(path, file).map_err(|cause| ImportError::io(path, cause))?;
        let uri = format!("file:{}?immutable=1", in_uri(file.path()));
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
            connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH_MAX)?;
            connection.pragma_update(None, "cell_size_check", true)?;
            // What is sorted goes to a file and not to memory.
            connection.pragma_update(None, "temp_store", "FILE")?;
            Ok(connection)
        };
        let mut connection = opened().map_err(|error| damaged(path, &error))?;
        file.forget_name();
        let most = STEPS_EASILY.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE));
        let mut taken: u64 = 0;
        let is_too_much = move || {
            taken += STEPS_AT_A_TIME;
            taken > most
        };
        let watched = connection.progress_handler(STEPS_AT_A_TIME as i32, Some(is_too_much));
        watched.map_err(|error| damaged(path, &error))?;
        // What tables there are is read now, and rows only afterwards.
        let known = connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()));
        known.map_err(|error| damaged(path, &error))?;
        let bounded = connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);
        bounded.map_err(|error| damaged(path, &error))?;
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
    ///
    /// # Errors
    /// If a column of it is computed: whoever wrote it says how, and may have made that take for ever.
    pub fn has_table(&self, name: &str) -> Result<bool, ImportError> {
        let tables =
            "select count(*) from pragma_table_list(?1) where type = 'table' and schema = 'main'";
        let computed = "select count(*) from pragma_table_xinfo(?1, 'main') where hidden > 1";
        if self.count(tables, name)? == 0 {
            return Ok(false);
        }
        match self.count(computed, name)? {
            0 => Ok(true),
            _ => {
                let reason =
                    format!("its table {name} has columns that are computed; LMT's has none");
                Err(ImportError::content(&self.path, reason))
            }
        }
    }

    fn count(&self, sql: &str, table: &str) -> Result<i64, ImportError> {
        let counted = self.connection.query_row(sql, [table], |row| row.get(0));
        counted.map_err(|error| damaged(&self.path, &error))
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

/// Returns a path as a part of a URI.
fn in_uri(path: &Path) -> String {
    let escaped = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
            char::from(*byte).to_string()
        }
        _ => format!("%{byte:02x}"),
    };
    path.as_os_str().as_bytes().iter().map(escaped).collect()
}

fn damaged(path: &Path, error: &rusqlite::Error) -> ImportError {
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        let reason = "it has more rows than its size can hold: its pages lead to each other";
        return ImportError::content(path, reason);
    }
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
