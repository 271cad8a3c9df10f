//! Instances as rows of the two Parquet files.

use plimsoll_guarded::{Directory, Draft};
use plimsoll_table::{Cell, RowFile};

use crate::columns::{Field, INSTANCE, PAIR, SHARED, instances_table, pairs_table};
use crate::files::mode_beside_plan;
use crate::{INSTANCES, Instance, MeasuresError, PAIRS};

/// Both Parquet files in the making.
pub(crate) struct RowWriter<'a> {
    experiment: String,
    pairs: RowFile<'a>,
    instances: RowFile<'a>,
}

impl<'a> RowWriter<'a> {
    /// Begins both files.
    pub fn create(directory: &'a Directory, experiment: &str) -> Result<Self, MeasuresError> {
        let facts = || vec![("plimsoll.experiment".to_string(), experiment.to_string())];
        let mode = mode_beside_plan(directory);
        Ok(RowWriter {
            experiment: experiment.into(),
            pairs: RowFile::create(directory, PAIRS, mode, &pairs_table(), facts())?,
            instances: RowFile::create(directory, INSTANCES, mode, &instances_table(), facts())?,
        })
    }

    /// Appends an instance and its pairs.
    pub fn push(&mut self, instance: &Instance) -> Result<(), MeasuresError> {
        let mut shared = vec![Cell::Text(self.experiment.as_str().into())];
        shared.extend(cells(SHARED, instance));
        let own: Vec<Cell<'_>> = cells(INSTANCE, instance).collect();
        self.instances.row(shared.iter().chain(&own))?;
        for pair in &instance.pairs {
            let own: Vec<Cell<'_>> = cells(PAIR, pair).collect();
            self.pairs.row(shared.iter().chain(&own))?;
        }
        Ok(())
    }

    /// Returns both files, whole and durable, but still without their names.
    pub fn finish(self) -> Result<[Draft<&'a Directory>; 2], MeasuresError> {
        Ok([self.pairs.finish()?, self.instances.finish()?])
    }
}

fn cells<'a, T>(fields: &'static [Field<T>], of: &'a T) -> impl Iterator<Item = Cell<'a>> {
    fields.iter().map(|field| (field.write)(of))
}
