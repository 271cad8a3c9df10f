//! Instances from rows of the two Parquet files.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use serde::de::DeserializeOwned;

use crate::columns::{INSTANCES_TABLE, PAIRS_TABLE};
use crate::line::LINE_BYTES_MAX;
use crate::rows::{COMPLETE, FAILED};
use crate::table_reader::TableReader;
use crate::{INSTANCES, Instance, MeasuresError, Outcome, PAIRS, Pair};

/// What identifies an instance, in the order in which [`head`] reads it.
const HEAD: [&str; 18] = [
    "instance",
    "run",
    "group",
    "round",
    "varied",
    "operation",
    "clients",
    "processes_per_client",
    "targets",
    "burst",
    "transfer",
    "pattern",
    "sharing",
    "stripe_count",
    "stripe_size",
    "caching",
    "engine",
    "depth",
];
const ENDING: [&str; 3] = ["outcome", "reason", "pairs"];
const PAIR: [&str; 8] =
    ["instance", "client", "target", "server", "processes", "bytes", "start", "end"];

/// What the texts and numbers of a pair take at least, to bound those of an instance.
const PAIR_BYTES: usize = 120;

/// Streams instances out of a directory's Parquet files.
pub(crate) struct FromRows {
    /// Nothing when there is no file of instances: pairs tell what they belong to.
    instances: Option<Cursor>,
    pairs: Cursor,
    /// Columns of [`PAIR`] start here in the file of pairs.
    pair_columns: usize,
    /// Number of the instance before.
    last: Option<u64>,
}

impl FromRows {
    pub fn open(directory: &Path) -> Result<Self, MeasuresError> {
        let (pairs, instances) = (directory.join(PAIRS), directory.join(INSTANCES));
        if !instances.exists() {
            let names = [&HEAD[..], &PAIR[..]].concat();
            let pairs = Cursor::new(TableReader::open(&pairs, &PAIRS_TABLE, &names)?);
            return Ok(FromRows { instances: None, pairs, pair_columns: HEAD.len(), last: None });
        }
        let names = [&HEAD[..], &ENDING[..]].concat();
        let instances = Cursor::new(TableReader::open(&instances, &INSTANCES_TABLE, &names)?);
        let pairs = Cursor::new(TableReader::open(&pairs, &PAIRS_TABLE, &PAIR)?);
        Ok(FromRows { instances: Some(instances), pairs, pair_columns: 0, last: None })
    }

    /// The next instance; nothing at the end.
    pub fn next(&mut self) -> Result<Option<Instance>, MeasuresError> {
        let Some(instances) = &mut self.instances else { return self.next_of_pairs() };
        while let Some(row) = instances.row(0)? {
            let mut instance = head(&instances.table, row)?;
            let (outcome, measured) = ending(&instances.table, row)?;
            instance.outcome = outcome;
            if self.last.replace(instance.instance) == Some(instance.instance) {
                let reason = format!("instance {} comes twice", instance.instance);
                return Err(instances.table.bad_value(0, row, reason));
            }
            instances.pass();
            take_pairs(&mut self.pairs, self.pair_columns, &mut instance)?;
            // An instance all of whose pairs somebody filtered out is filtered out itself.
            if measured == 0 || !instance.pairs.is_empty() {
                return Ok(Some(instance));
            }
        }
        Ok(None)
    }

    fn next_of_pairs(&mut self) -> Result<Option<Instance>, MeasuresError> {
        let Some(row) = self.pairs.row(0)? else { return Ok(None) };
        let mut instance = head(&self.pairs.table, row)?;
        take_pairs(&mut self.pairs, self.pair_columns, &mut instance)?;
        Ok(Some(instance))
    }
}

/// A place in a table whose rows are in the order of their instances.
struct Cursor {
    table: TableReader,
    row: usize,
    rows: usize,
    /// Instance of the last row that was passed.
    passed: Option<u64>,
}

impl Cursor {
    fn new(table: TableReader) -> Self {
        Cursor { table, row: 0, rows: 0, passed: None }
    }

    /// The current row in the batch; nothing at the end. `instance` is the column that orders.
    fn row(&mut self, instance: usize) -> Result<Option<usize>, MeasuresError> {
        if self.row == self.rows {
            (self.row, self.rows) = (0, self.table.advance()?);
            if self.rows == 0 {
                return Ok(None);
            }
        }
        let number = self.table.whole(instance, self.row)?;
        if self.passed.is_some_and(|passed| number < passed) {
            let reason = "rows are not in the order of instances; hint: ORDER BY instance";
            return Err(self.table.bad_value(instance, self.row, reason));
        }
        self.passed = Some(number);
        Ok(Some(self.row))
    }

    fn pass(&mut self) {
        self.row += 1;
    }
}

fn head(table: &TableReader, row: usize) -> Result<Instance, MeasuresError> {
    let bytes = |column| table.whole(column, row).map(Bytes::new);
    Ok(Instance {
        instance: table.whole(0, row)?,
        run: table.count(1, row)?,
        group: table.count(2, row)?,
        round: table.count(3, row)?,
        varied: table.text(4, row)?.into(),
        setting: Setting {
            operation: word(table, 5, row)?,
            clients: table.count(6, row)?,
            processes: table.count(7, row)?,
            targets: table.count(8, row)?,
            burst: bytes(9)?,
            transfer: bytes(10)?,
            pattern: word(table, 11, row)?,
            sharing: word(table, 12, row)?,
            stripe_count: table.count(13, row)?,
            stripe_size: bytes(14)?,
            caching: word(table, 15, row)?,
            engine: word(table, 16, row)?,
            depth: table.count(17, row)?,
        },
        outcome: Outcome::Complete,
        pairs: Vec::new(),
    })
}

/// How the instance ended, and how many pairs it had.
fn ending(table: &TableReader, row: usize) -> Result<(Outcome, u64), MeasuresError> {
    let column = HEAD.len();
    let outcome = match table.text(column, row)? {
        COMPLETE => Outcome::Complete,
        FAILED => Outcome::Failed(table.optional_text(column + 1, row)?.unwrap_or_default().into()),
        other => {
            let reason = format!("{other:?} is neither {COMPLETE:?} nor {FAILED:?}");
            return Err(table.bad_value(column, row, reason));
        }
    };
    Ok((outcome, table.whole(column + 2, row)?))
}

/// Takes the pairs of an instance. Pairs of instances before it belong to none.
fn take_pairs(
    cursor: &mut Cursor,
    first: usize,
    instance: &mut Instance,
) -> Result<(), MeasuresError> {
    let mut room = LINE_BYTES_MAX;
    while let Some(row) = cursor.row(first)? {
        let table = &cursor.table;
        let number = table.whole(first, row)?;
        if number > instance.instance {
            break;
        }
        if number == instance.instance {
            let pair = pair(table, first, row)?;
            let texts = pair.client.len() + pair.target.len();
            let server = pair.server.as_ref().map_or(0, String::len);
            room = room.checked_sub(PAIR_BYTES + texts + server).ok_or_else(|| {
                table.bad_value(first, row, format!("instance {number} has too many pairs"))
            })?;
            instance.pairs.push(pair);
        }
        cursor.pass();
    }
    Ok(())
}

fn pair(table: &TableReader, first: usize, row: usize) -> Result<Pair, MeasuresError> {
    Ok(Pair {
        client: table.text(first + 1, row)?.into(),
        target: table.text(first + 2, row)?.into(),
        server: table.optional_text(first + 3, row)?.map(str::to_owned),
        processes: table.count(first + 4, row)?,
        bytes: table.whole(first + 5, row)?,
        start: table.whole(first + 6, row)?,
        end: table.whole(first + 7, row)?,
    })
}

/// A word of an enumeration.
fn word<T: DeserializeOwned>(
    table: &TableReader,
    column: usize,
    row: usize,
) -> Result<T, MeasuresError> {
    let word = table.text(column, row)?;
    serde_json::from_value(word.into()).map_err(|error| table.bad_value(column, row, error))
}

/// What a directory's Parquet files lack of what was measured, one sentence each.
pub(crate) fn what_is_left_out(directory: &Path) -> Result<Vec<String>, MeasuresError> {
    if !directory.join(INSTANCES).exists() {
        return Ok(Vec::new());
    }
    let open = |name: &str, table, columns: &[&str]| {
        TableReader::open(&directory.join(name), table, columns).map(Cursor::new)
    };
    let mut instances = open(INSTANCES, &INSTANCES_TABLE, &["instance", "pairs"])?;
    let mut pairs = open(PAIRS, &PAIRS_TABLE, &["instance"])?;
    let (mut missing_pairs, mut fewer, mut emptied, mut orphans) = (0u64, 0u64, 0u64, 0u64);
    while let Some(row) = instances.row(0)? {
        let number = instances.table.whole(0, row)?;
        let measured = instances.table.whole(1, row)?;
        instances.pass();
        let mut found = 0u64;
        while let Some(row) = pairs.row(0)? {
            match pairs.table.whole(0, row)?.cmp(&number) {
                std::cmp::Ordering::Less => orphans += 1,
                std::cmp::Ordering::Equal => found += 1,
                std::cmp::Ordering::Greater => break,
            }
            pairs.pass();
        }
        missing_pairs += measured.saturating_sub(found);
        fewer += u64::from(0 < found && found < measured);
        emptied += u64::from(found == 0 && measured > 0);
    }
    while pairs.row(0)?.is_some() {
        orphans += 1;
        pairs.pass();
    }
    let notes = [
        (missing_pairs > 0).then(|| {
            format!(
                "{PAIRS} lacks {missing_pairs} pairs that were measured: {fewer} instances have fewer, \
                 {emptied} have none and are left out"
            )
        }),
        (orphans > 0).then(|| {
            format!("{orphans} pairs belong to instances that {INSTANCES} does not have and are left out")
        }),
    ];
    Ok(notes.into_iter().flatten().collect())
}
