//! LMT's database (schema 1.1): counters as servers showed them, by numbers of moments, whose times have no zone.

use std::collections::HashMap;
use std::path::Path;

use plimsoll_history::{Component, Import, Measure, Value};
use rusqlite::Row;

use crate::components::Components;
use crate::names::operation;
use crate::notes::Notes;
use crate::readings::Readings;
use crate::sqlite::{Sqlite, real, text, whole};
use crate::{ImportError, Options, Zone};

const TABLES: [&str; 3] = ["TIMESTAMP_INFO", "OST_DATA", "OST_INFO"];

/// Moments that a database may have: a dozen years at 5 s.
const MOMENTS_MAX: usize = 1 << 26;

/// Takes all of a database, which is LMT's own or what was copied of it.
pub(crate) fn take(
    database: &Sqlite,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    for table in TABLES {
        if !database.has_table(table)? {
            let reason = format!("it is a database, and none of LMT: it has no table {table}");
            return Err(ImportError::content(database.path(), reason));
        }
    }
    let moments = moments(database, options, notes)?;
    let file_system = file_system(database)?;
    let components = Components::named(&options.cluster, &file_system);
    for take in [targets, servers, metadata_targets, operations] {
        let mut readings = Readings::new(import);
        take(database, &components, &moments, &mut readings, notes)?;
        readings.finish(notes);
    }
    Ok(())
}

/// When moments were, in the order of their numbers.
#[derive(Default)]
struct Moments {
    all: Vec<(u64, u64)>,
}

impl Moments {
    fn get(&self, number: u64) -> Option<u64> {
        let place = self.all.binary_search_by_key(&number, |it| it.0).ok()?;
        Some(self.all[place].1)
    }
}

/// Returns where the clock was: LMT does not say it.
pub(crate) fn zone<'a>(path: &Path, options: &'a Options) -> Result<&'a Zone, ImportError> {
    options.zone.as_ref().ok_or_else(|| ImportError::NoZone { path: path.to_owned() })
}

/// Numbers of moments grow, so that an hour which a clock showed twice is told apart.
fn moments(
    database: &Sqlite,
    options: &Options,
    notes: &mut Notes,
) -> Result<Moments, ImportError> {
    let zone = zone(database.path(), options)?;
    let (mut all, mut unknown, mut last) = (Vec::new(), 0, None);
    let sql = "select TS_ID, TIMESTAMP from TIMESTAMP_INFO order by TS_ID";
    database.each(sql, |row| {
        let moment = text(row, 1).and_then(|shown| zone.moment(&shown, last));
        match (whole(row, 0), moment) {
            (Some(number), Some(moment)) if all.len() < MOMENTS_MAX => {
                all.push((number, moment));
                last = Some(moment);
            }
            _ => unknown += 1,
        }
        Ok(())
    })?;
    notes.repaired(all.len() as u64, "times without a zone, by the one that was given");
    notes.left_out(unknown, "moments whose time cannot be read");
    // Numbers that are texts are in another order.
    all.sort_by_key(|it| it.0);
    all.dedup_by_key(|it| it.0);
    Ok(Moments { all })
}

fn file_system(database: &Sqlite) -> Result<String, ImportError> {
    let mut found = String::new();
    if database.has_table("FILESYSTEM_INFO")? {
        database.each("select FILESYSTEM_NAME from FILESYSTEM_INFO order by 1 limit 1", |row| {
            found = text(row, 0).unwrap_or_default();
            Ok(())
        })?;
    }
    Ok(found)
}

/// Names by numbers: what something is called, and by whom it is served, where a row tells.
fn named(
    database: &Sqlite,
    table: &str,
    sql: &str,
    component: impl Fn(&str) -> (Component, String),
    host: impl Fn(&Row<'_>) -> Option<String>,
) -> Result<HashMap<u64, (Component, String)>, ImportError> {
    let mut found = HashMap::new();
    if !database.has_table(table)? {
        return Ok(found);
    }
    database.each(sql, |row| {
        if let (Some(number), Some(name)) = (whole(row, 0), text(row, 1)) {
            let (component, server) = component(&name);
            let server = host(row).unwrap_or(server);
            found.insert(number, (component, server));
        }
        Ok(())
    })?;
    Ok(found)
}

/// The host is often the third column.
fn third(row: &Row<'_>) -> Option<String> {
    text(row, 2)
}

/// Reads a table of counters of components: the number of the component, that of the moment, values.
fn counters(
    database: &Sqlite,
    (what, sql): (&str, &str),
    names: &HashMap<u64, (Component, String)>,
    moments: &Moments,
    readings: &mut Readings<'_>,
    notes: &mut Notes,
    values: impl Fn(&Row<'_>) -> Vec<Value>,
) -> Result<(), ImportError> {
    let (mut unknown, mut rows) = (0, 0);
    database.each(sql, |row| {
        let name = whole(row, 0).and_then(|number| names.get(&number));
        let moment = whole(row, 1).and_then(|number| moments.get(number));
        let (Some((component, server)), Some(moment)) = (name, moment) else {
            unknown += 1;
            return Ok(());
        };
        rows += 1;
        readings.take(component, server, moment, values(row))
    })?;
    notes.left_out(unknown, "rows of components or moments that the database does not name");
    notes.recognised(rows, format!("rows of {what}"));
    Ok(())
}

fn targets(
    database: &Sqlite,
    components: &Components,
    moments: &Moments,
    readings: &mut Readings<'_>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    // Put together here: a join of tables that somebody forged may have more rows than anybody waits for.
    let (mut hosts, mut sql) = (HashMap::new(), "select OST_ID, OST_NAME, HOSTNAME from OST_INFO");
    if database.has_table("OSS_INFO")? {
        sql = "select OST_ID, OST_NAME, HOSTNAME, OSS_ID from OST_INFO";
        database.each("select OSS_ID, HOSTNAME from OSS_INFO", |row| {
            if let (Some(number), Some(host)) = (whole(row, 0), text(row, 1)) {
                hosts.insert(number, host);
            }
            Ok(())
        })?;
    }
    let of_server = |row: &Row<'_>| hosts.get(&whole(row, 3)?).cloned();
    let host = |row: &Row<'_>| text(row, 2).or_else(|| of_server(row));
    let names = named(database, "OST_INFO", sql, |name| components.data_target(name), host)?;
    let sql = "select OST_ID, TS_ID, READ_BYTES, WRITE_BYTES, KBYTES_FREE, KBYTES_USED, INODES_FREE, INODES_USED \
               from OST_DATA order by OST_ID, TS_ID";
    counters(database, ("OST_DATA", sql), &names, moments, readings, notes, |row| {
        let mut values = Vec::new();
        let count = |column, measure| whole(row, column).map(|it| Value::new(measure, it));
        values.extend(count(2, Measure::ReadBytes));
        values.extend(count(3, Measure::WrittenBytes));
        fullness(row, 4, &mut values);
        values
    })
}

/// Adds fullness from four columns: KiB free and used, inodes free and used.
fn fullness(row: &Row<'_>, first: usize, values: &mut Vec<Value>) {
    let whole = |column| whole(row, first + column);
    if let (Some(free), Some(used)) = (whole(0), whole(1)) {
        let bytes = |kib: u64| kib.saturating_mul(1024);
        values.push(Value::new(Measure::CapacityBytes, bytes(free.saturating_add(used))));
        values.push(Value::new(Measure::FreeBytes, bytes(free)));
    }
    if let (Some(free), Some(used)) = (whole(2), whole(3)) {
        values.push(Value::new(Measure::Inodes, free.saturating_add(used)));
        values.push(Value::new(Measure::FreeInodes, free));
    }
}

/// Returns a load in percent as millionths.
fn load(row: &Row<'_>, column: usize) -> Option<Value> {
    let percent = real(row, column).filter(|it| (0.0..=1e6).contains(it))?;
    Some(Value::new(Measure::CpuLoad, (percent * 10_000.0).round() as u64))
}

/// A table of what servers did.
struct ServerTable {
    what: &'static str,
    data: &'static str,
    info: &'static str,
    names: &'static str,
    values: &'static str,
}

/// Servers of data, and those of metadata.
const SERVERS: [ServerTable; 2] = [
    ServerTable {
        what: "OSS_DATA",
        data: "OSS_DATA",
        info: "OSS_INFO",
        names: "select OSS_ID, HOSTNAME, HOSTNAME from OSS_INFO",
        values: "select OSS_ID, TS_ID, PCT_CPU from OSS_DATA order by OSS_ID, TS_ID",
    },
    ServerTable {
        what: "MDS_DATA, of servers",
        data: "MDS_DATA",
        info: "MDS_INFO",
        names: "select MDS_ID, HOSTNAME, HOSTNAME from MDS_INFO",
        values: "select MDS_ID, TS_ID, PCT_CPU from MDS_DATA order by MDS_ID, TS_ID",
    },
];

fn servers(
    database: &Sqlite,
    components: &Components,
    moments: &Moments,
    readings: &mut Readings<'_>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    for of in &SERVERS {
        if !database.has_table(of.data)? {
            continue;
        }
        let names = named(database, of.info, of.names, |name| components.server(name), third)?;
        counters(database, (of.what, of.values), &names, moments, readings, notes, |row| {
            load(row, 2).into_iter().collect()
        })?;
    }
    Ok(())
}

const METADATA_NAMES: &str = "select MDS_ID, MDS_NAME, HOSTNAME from MDS_INFO";

fn metadata_targets(
    database: &Sqlite,
    components: &Components,
    moments: &Moments,
    readings: &mut Readings<'_>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    if !database.has_table("MDS_DATA")? {
        return Ok(());
    }
    let target = |name: &str| components.metadata_target(name, false);
    let names = named(database, "MDS_INFO", METADATA_NAMES, target, third)?;
    let sql = "select MDS_ID, TS_ID, KBYTES_FREE, KBYTES_USED, INODES_FREE, INODES_USED \
               from MDS_DATA order by MDS_ID, TS_ID";
    counters(database, ("MDS_DATA, of targets", sql), &names, moments, readings, notes, |row| {
        let mut values = Vec::new();
        fullness(row, 2, &mut values);
        values
    })
}

/// Operations of a moment are one reading.
fn operations(
    database: &Sqlite,
    components: &Components,
    moments: &Moments,
    readings: &mut Readings<'_>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let target = |name: &str| components.metadata_target(name, false);
    let names = named(database, "MDS_INFO", METADATA_NAMES, target, third)?;
    let has_operations =
        database.has_table("MDS_OPS_DATA")? && database.has_table("OPERATION_INFO")?;
    if !has_operations {
        return Ok(());
    }
    let mut measures = HashMap::new();
    database.each("select OPERATION_ID, OPERATION_NAME from OPERATION_INFO", |row| {
        if let (Some(number), Some(name)) = (whole(row, 0), text(row, 1)) {
            measures.extend(operation(&name).map(|measure| (number, measure)));
        }
        Ok(())
    })?;
    let sql = "select MDS_ID, TS_ID, OPERATION_ID, SAMPLES from MDS_OPS_DATA order by MDS_ID, TS_ID, OPERATION_ID";
    let (mut unlike, mut unknown, mut rows) = (0, 0, 0);
    let mut reading: Option<((u64, u64), Vec<Value>)> = None;
    let mut give = |reading: Option<((u64, u64), Vec<Value>)>, unknown: &mut u64| {
        let Some(((number, moment), values)) = reading else { return Ok(()) };
        match (names.get(&number), moments.get(moment)) {
            (Some((component, server)), Some(moment)) => {
                readings.take(component, server, moment, values)
            }
            _ => {
                *unknown += values.len() as u64;
                Ok(())
            }
        }
    };
    database.each(sql, |row| {
        let (Some(number), Some(moment)) = (whole(row, 0), whole(row, 1)) else {
            unknown += 1;
            return Ok(());
        };
        let measure = whole(row, 2).and_then(|it| measures.get(&it)).copied();
        let (Some(measure), Some(count)) = (measure, whole(row, 3)) else {
            unlike += 1;
            return Ok(());
        };
        rows += 1;
        let value = Value::new(measure, count);
        match &mut reading {
            Some((of, values)) if *of == (number, moment) => values.push(value),
            other => give(other.replace(((number, moment), vec![value])), &mut unknown)?,
        }
        Ok(())
    })?;
    give(reading, &mut unknown)?;
    notes.recognised(rows, "rows of MDS_OPS_DATA");
    notes.left_out(unlike, "rows of operations that nothing in a store is like");
    notes.left_out(unknown, "rows of components or moments that the database does not name");
    Ok(())
}
