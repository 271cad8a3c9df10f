//! LMT's database in a running MariaDB or MySQL.

use std::path::Path;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Value};
use plimsoll_history::Import;

use crate::lmt_copy::{LMT_TABLES, LmtCopy};
use crate::notes::Notes;
use crate::prometheus::one_line;
use crate::sql_value::SqlValue;
use crate::sqlite::{LENGTH_MAX, Sqlite};
use crate::{ImportError, Options, Outcome, lmt};

/// Largest packet: one row, which is far smaller.
const PACKET_BYTES_MAX: usize = 16 << 20;

/// How long to wait for a connection, and for a row.
const CONNECTED: Duration = Duration::from_secs(30);
const ANSWERED: Duration = Duration::from_secs(600);

/// Imports all of LMT's database that an address like `mysql://user@host/filesystem_scratch` names: all of it, or nothing. A socket is named by
/// `?socket=/run/mysqld/mysqld.sock` behind it.
///
/// # Errors
/// If it cannot be asked or is none of LMT, or if the store cannot be written.
pub fn import_from_mariadb(
    url: &str,
    password: Option<&str>,
    store: &Path,
    options: &Options,
) -> Result<Outcome, ImportError> {
    let path = Path::new(url);
    lmt::zone(path, options)?;
    let opts = connection(url, password)?;
    let name = opts.get_db_name().unwrap_or("lmt").to_owned();
    let mut connection = Conn::new(opts).map_err(|error| failed(path, &error))?;
    let copy = copy(path, &mut connection)?;
    drop(connection);
    let mut import = Import::begin(store, &name)?;
    if let Some(until) = options.until {
        import = import.until(until);
    }
    let mut notes = Notes::default();
    lmt::take(&copy, options, &mut import, &mut notes)?;
    let imported = import.finish()?;
    Ok(Outcome { format: "LMT in MariaDB".into(), imported, notes: notes.into_vec() })
}

fn connection(url: &str, password: Option<&str>) -> Result<Opts, ImportError> {
    let path = Path::new(url);
    let wrong = |reason: String| ImportError::content(path, reason);
    let url = url.replacen("mariadb://", "mysql://", 1);
    let opts = Opts::from_url(&url).map_err(|error| {
        wrong(format!(
            "it is no address: {}; hint: mysql://USER@HOST/DATABASE",
            one_line(&error.to_string())
        ))
    })?;
    if opts.get_pass().is_some_and(|it| !it.is_empty()) {
        return Err(ImportError::content(
            Path::new("the database"),
            "it has a password, which others see on the command line; hint: give it in the variable MYSQL_PWD",
        ));
    }
    if opts.get_db_name().is_none_or(str::is_empty) {
        return Err(wrong("it names no database; hint: mysql://USER@HOST/filesystem_NAME".into()));
    }
    let is_socket = opts.get_socket().is_some();
    let built = OptsBuilder::from_opts(opts)
        .pass(password)
        .prefer_socket(is_socket)
        .max_allowed_packet(Some(PACKET_BYTES_MAX))
        .tcp_connect_timeout(Some(CONNECTED))
        .read_timeout(Some(ANSWERED))
        .write_timeout(Some(ANSWERED));
    Ok(built.into())
}

/// Copies the rows of LMT's tables as they come.
fn copy(path: &Path, connection: &mut Conn) -> Result<Sqlite, ImportError> {
    let failed = |error: mysql::Error| failed(path, &error);
    let mut copy = LmtCopy::new(path)?;
    // What other tables have is of the same moment.
    let begin = "start transaction with consistent snapshot, read only";
    connection.query_drop(begin).map_err(failed)?;
    let tables: Vec<String> = connection.query("show tables").map_err(failed)?;
    for table in &LMT_TABLES {
        let Some(name) = tables.iter().find(|it| it.eq_ignore_ascii_case(table.name)) else {
            continue;
        };
        let columns: Vec<mysql::Row> =
            connection.query(format!("show columns from `{name}`")).map_err(failed)?;
        let columns: Vec<String> = columns.iter().filter_map(|it| it.get(0)).collect();
        let has = |it: &&&str| columns.iter().any(|column| column.eq_ignore_ascii_case(it));
        let wanted: Vec<&str> = table.columns.iter().filter(has).copied().collect();
        copy.begin(table, &wanted)?;
        if wanted.is_empty() {
            continue;
        }
        let sql = format!("select {} from `{name}`", wanted.join(", "));
        let rows = connection.query_iter(sql).map_err(failed)?;
        for row in rows {
            let values = row.map_err(failed)?.unwrap();
            let values: Option<Vec<SqlValue>> = values.into_iter().map(value).collect();
            let values = values.ok_or_else(|| {
                ImportError::content(path, "a value is longer than 64 KiB, as none of LMT is")
            })?;
            copy.row(&values)?;
        }
    }
    copy.finish()
}

/// Returns a value, which a server sends as text; nothing if it is too long.
fn value(value: Value) -> Option<SqlValue> {
    Some(match value {
        Value::Bytes(bytes) if bytes.len() > LENGTH_MAX as usize => return None,
        Value::Bytes(bytes) => SqlValue::Bytes(bytes),
        Value::Int(value) => SqlValue::Whole(value),
        Value::Float(value) => SqlValue::Real(f64::from(value)),
        Value::Double(value) => SqlValue::Real(value),
        _ => SqlValue::Null,
    })
}

fn failed(path: &Path, error: &mysql::Error) -> ImportError {
    ImportError::content(
        path,
        format!("MariaDB could not answer: {}", one_line(&error.to_string())),
    )
}
