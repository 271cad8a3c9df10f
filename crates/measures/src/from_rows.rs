//! Instances from rows of the two Parquet files.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_table::{CellAt, FromCell, Table, TableReader};

use crate::columns::{
    Field, INSTANCE, PAIR, PAIRS_MEASURED, Read, SHARED, instances_table, pairs_table,
};
use crate::line::LINE_BYTES_MAX;
use crate::{INSTANCES, Instance, MeasuresError, Outcome, PAIRS, Pair};

/// The column that both files are ordered by.
const INSTANCE_NUMBER: &str = "instance";

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
        let shared: Vec<&str> = readable(SHARED).collect();
        if !instances.exists() {
            let names: Vec<&str> = shared.iter().copied().chain(readable(PAIR)).collect();
            let pairs = Cursor::open(&pairs, &pairs_table(), &names)?;
            return Ok(FromRows { instances: None, pairs, pair_columns: shared.len(), last: None });
        }
        let own = readable(INSTANCE).chain([PAIRS_MEASURED.name]);
        let names: Vec<&str> = shared.into_iter().chain(own).collect();
        let instances = Cursor::open(&instances, &instances_table(), &names)?;
        let names: Vec<&str> = [INSTANCE_NUMBER].into_iter().chain(readable(PAIR)).collect();
        let pairs = Cursor::open(&pairs, &pairs_table(), &names)?;
        Ok(FromRows { instances: Some(instances), pairs, pair_columns: 1, last: None })
    }

    /// Returns the next instance; nothing at the end.
    pub fn next(&mut self) -> Result<Option<Instance>, MeasuresError> {
        let Some(instances) = &mut self.instances else { return self.next_of_pairs() };
        while let Some(number) = instances.number()? {
            let mut instance = blank_instance();
            let own = instances.fill(0, SHARED, &mut instance)?;
            let measured = instances.fill(own, INSTANCE, &mut instance)?;
            let measured = u64::from_cell(instances.cell(measured))?;
            if self.last.replace(number) == Some(number) {
                let reason = format!("instance {number} comes twice");
                return Err(instances.cell(instances.order).bad(reason).into());
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
        if self.pairs.number()?.is_none() {
            return Ok(None);
        }
        let mut instance = blank_instance();
        self.pairs.fill(0, SHARED, &mut instance)?;
        take_pairs(&mut self.pairs, self.pair_columns, &mut instance)?;
        Ok(Some(instance))
    }
}

/// Names of the columns that are read back.
fn readable<T>(fields: &'static [Field<T>]) -> impl Iterator<Item = &'static str> {
    let is_read = |field: &&Field<T>| matches!(field.read, Read::Into(_));
    fields.iter().filter(is_read).map(|field| field.column.name)
}

/// A place in a table whose rows are in the order of their instances.
struct Cursor {
    table: TableReader,
    /// The column with the instance's number.
    order: usize,
    row: usize,
    rows: usize,
    /// Instance of the last row that was passed.
    passed: Option<u64>,
}

impl Cursor {
    fn open(path: &Path, table: &Table, names: &[&str]) -> Result<Self, MeasuresError> {
        let order = names.iter().position(|name| *name == INSTANCE_NUMBER).unwrap_or_default();
        let table = TableReader::open(path, table, names)?;
        Ok(Cursor { table, order, row: 0, rows: 0, passed: None })
    }

    /// Returns the instance's number in the current row; nothing at the end.
    fn number(&mut self) -> Result<Option<u64>, MeasuresError> {
        if self.row == self.rows {
            (self.row, self.rows) = (0, self.table.advance()?);
            if self.rows == 0 {
                return Ok(None);
            }
        }
        let number = u64::from_cell(self.cell(self.order))?;
        if self.passed.is_some_and(|passed| number < passed) {
            let reason = "rows are not in the order of instances; hint: ORDER BY instance";
            return Err(self.cell(self.order).bad(reason).into());
        }
        self.passed = Some(number);
        Ok(Some(number))
    }

    /// Returns a cell of the current row.
    fn cell(&self, column: usize) -> CellAt<'_> {
        self.table.cell(column, self.row)
    }

    /// Reads the fields that the columns from `first` on hold. Returns the number of the column behind them.
    fn fill<T>(
        &self,
        first: usize,
        fields: &[Field<T>],
        into: &mut T,
    ) -> Result<usize, MeasuresError> {
        let mut column = first;
        for field in fields {
            if let Read::Into(read) = field.read {
                read(into, self.cell(column))?;
                column += 1;
            }
        }
        Ok(column)
    }

    fn pass(&mut self) {
        self.row += 1;
    }
}

/// Returns an instance to be filled.
pub(crate) fn blank_instance() -> Instance {
    Instance {
        run: 0,
        group: 0,
        round: 0,
        instance: 0,
        setting: Setting::pairs(0, 0, Bytes::new(0)),
        varied: String::new(),
        outcome: Outcome::Complete,
        pairs: Vec::new(),
    }
}

/// Takes the pairs of an instance. Pairs of instances before it belong to none.
fn take_pairs(
    cursor: &mut Cursor,
    first: usize,
    instance: &mut Instance,
) -> Result<(), MeasuresError> {
    let mut room = LINE_BYTES_MAX;
    while let Some(number) = cursor.number()?.filter(|number| *number <= instance.instance) {
        if number == instance.instance {
            let mut pair = blank_pair();
            cursor.fill(first, PAIR, &mut pair)?;
            room = room.checked_sub(bytes_of(&pair)).ok_or_else(|| {
                cursor.cell(cursor.order).bad(format!("instance {number} has too many pairs"))
            })?;
            instance.pairs.push(pair);
        }
        cursor.pass();
    }
    Ok(())
}

/// Returns the bytes that a pair takes in memory, as long names do.
fn bytes_of(pair: &Pair) -> usize {
    let server = pair.server.as_ref().map_or(0, String::len);
    PAIR_BYTES + pair.client.len() + pair.target.len() + server
}

/// Returns a pair to be filled.
fn blank_pair() -> Pair {
    Pair {
        client: String::new(),
        target: String::new(),
        server: None,
        processes: 0,
        bytes: 0,
        start: 0,
        end: 0,
    }
}

/// Returns what a directory's Parquet files lack of what was measured, one sentence each.
pub(crate) fn what_is_left_out(directory: &Path) -> Result<Vec<String>, MeasuresError> {
    if !directory.join(INSTANCES).exists() {
        return Ok(Vec::new());
    }
    let names = [INSTANCE_NUMBER, PAIRS_MEASURED.name];
    let mut instances = Cursor::open(&directory.join(INSTANCES), &instances_table(), &names)?;
    let mut pairs = Cursor::open(&directory.join(PAIRS), &pairs_table(), &[INSTANCE_NUMBER])?;
    let (mut missing_pairs, mut fewer, mut emptied, mut orphans) = (0u64, 0u64, 0u64, 0u64);
    while let Some(number) = instances.number()? {
        let measured = u64::from_cell(instances.cell(1))?;
        instances.pass();
        let mut found = 0u64;
        while let Some(of) = pairs.number()? {
            match of.cmp(&number) {
                std::cmp::Ordering::Less => orphans += 1,
                std::cmp::Ordering::Equal => found += 1,
                std::cmp::Ordering::Greater => break,
            }
            pairs.pass();
        }
        // A damaged file may say anything.
        missing_pairs = missing_pairs.saturating_add(measured.saturating_sub(found));
        fewer += u64::from(0 < found && found < measured);
        emptied += u64::from(found == 0 && measured > 0);
    }
    while pairs.number()?.is_some() {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise long names, or very many pairs, would take more memory than a line of a journal may.
    #[test]
    fn every_name_of_a_pair_counts() {
        let short = bytes_of(&blank_pair());
        assert!((1..200).contains(&short));
        let (client, target) = ("c".repeat(1000), "t".repeat(2000));
        let long = Pair { client, target, server: Some("s".repeat(4000)), ..blank_pair() };
        assert_eq!(bytes_of(&long) - short, 7000);
    }
}
