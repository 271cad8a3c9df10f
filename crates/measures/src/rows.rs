//! Instances as rows of the two Parquet files.

use plimsoll_domain::burst::Setting;
use plimsoll_guarded::Directory;
use serde::Serialize;

use crate::columns::{INSTANCES_TABLE, PAIRS_TABLE};
use crate::table_writer::{Cell, TableWriter};
use crate::{INSTANCES, Instance, MeasuresError, Outcome, PAIRS, Pair};

/// Both Parquet files in the making.
pub(crate) struct RowWriter {
    experiment: String,
    pairs: TableWriter,
    instances: TableWriter,
}

impl RowWriter {
    pub fn create(directory: &Directory, experiment: &str) -> Result<Self, MeasuresError> {
        Ok(RowWriter {
            experiment: experiment.into(),
            pairs: TableWriter::create(directory, PAIRS, &PAIRS_TABLE, experiment)?,
            instances: TableWriter::create(directory, INSTANCES, &INSTANCES_TABLE, experiment)?,
        })
    }

    pub fn push(&mut self, instance: &Instance) -> Result<(), MeasuresError> {
        let shared = shared(&mut self.instances, &self.experiment, instance);
        let own = instance_cells(&mut self.instances, instance);
        self.instances.row(shared.iter().chain(&own))?;
        let shared = self::shared(&mut self.pairs, &self.experiment, instance);
        for pair in &instance.pairs {
            let own = pair_cells(&mut self.pairs, pair);
            self.pairs.row(shared.iter().chain(&own))?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<(), MeasuresError> {
        self.pairs.finish()?;
        self.instances.finish()
    }
}

/// In the order of [`crate::columns::SHARED`].
fn shared(texts: &mut TableWriter, experiment: &str, instance: &Instance) -> [Cell; 19] {
    let count = |value: u32| Cell::Whole(value.into());
    let Setting {
        operation,
        clients,
        processes,
        targets,
        burst,
        transfer,
        pattern,
        sharing,
        stripe_count,
        stripe_size,
        caching,
        engine,
        depth,
    } = &instance.setting;
    [
        texts.text(experiment),
        count(instance.run),
        count(instance.group),
        count(instance.round),
        Cell::Whole(instance.instance),
        texts.text(&instance.varied),
        texts.text(&word(operation)),
        count(*clients),
        count(*processes),
        count(*targets),
        Cell::Whole(burst.get()),
        Cell::Whole(transfer.get()),
        texts.text(&word(pattern)),
        texts.text(&word(sharing)),
        count(*stripe_count),
        Cell::Whole(stripe_size.get()),
        texts.text(&word(caching)),
        texts.text(&word(engine)),
        count(*depth),
    ]
}

/// In the order of [`crate::columns::PAIR`].
fn pair_cells(texts: &mut TableWriter, pair: &Pair) -> [Cell; 8] {
    [
        texts.text(&pair.client),
        texts.text(&pair.target),
        pair.server.as_ref().map_or(Cell::Null, |server| texts.text(server)),
        Cell::Whole(pair.processes.into()),
        Cell::Whole(pair.bytes),
        Cell::Whole(pair.start),
        Cell::Whole(pair.end),
        Cell::Real(pair.bandwidth()),
    ]
}

/// In the order of [`crate::columns::INSTANCE`].
fn instance_cells(texts: &mut TableWriter, instance: &Instance) -> [Cell; 8] {
    let (outcome, reason) = match &instance.outcome {
        Outcome::Complete => (COMPLETE, Cell::Null),
        Outcome::Failed(reason) => (FAILED, texts.text(reason)),
    };
    let whole = |value: Option<u64>| value.map_or(Cell::Null, Cell::Whole);
    let real = |value: Option<f64>| value.map_or(Cell::Null, Cell::Real);
    [
        texts.text(outcome),
        reason,
        Cell::Whole(instance.pairs.len() as u64),
        Cell::Whole(instance.bytes()),
        whole(instance.pairs.iter().map(|pair| pair.start).min()),
        whole(instance.pairs.iter().map(|pair| pair.end).max()),
        real(instance.seconds()),
        real(instance.aggregate_bandwidth()),
    ]
}

pub(crate) const COMPLETE: &str = "complete";
pub(crate) const FAILED: &str = "failed";

/// The word of an enumeration, as plans and the journal write it.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("{other:?} is no word"),
    }
}
