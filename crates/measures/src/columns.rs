//! The columns of the two Parquet files: one list that both the writer and the reader follow.
//! docs/results.md explains them to users.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Sharing};
use plimsoll_table::{Cell, CellAt, Column, Kind, Table, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Instance, Outcome, Pair};

/// A column, and how it is filled from something and read back into it.
pub(crate) struct Field<T: 'static> {
    pub column: Column,
    pub write: fn(&T) -> Cell<'_>,
    pub read: Read<T>,
}

/// How a column is read back.
pub(crate) enum Read<T: 'static> {
    Into(fn(&mut T, CellAt<'_>) -> Result<(), TableError>),
    /// It follows from others, and is there for other programs.
    Never,
}

/// A field that is kept as it is.
macro_rules! kept {
    ($column:expr, $($field:ident).+) => {
        Field {
            column: $column,
            write: |it| it.$($field).+.cell(),
            read: Read::Into(|it, cell| it.$($field).+.read_from(cell)),
        }
    };
}

const fn derived<T>(column: Column, write: fn(&T) -> Cell<'_>) -> Field<T> {
    Field { column, write, read: Read::Never }
}

const fn count(name: &'static str) -> Column {
    Column::new(name, Kind::Count32)
}

const fn whole(name: &'static str) -> Column {
    Column::new(name, Kind::Count64)
}

const fn text(name: &'static str) -> Column {
    Column::new(name, Kind::Text)
}

const fn moment(name: &'static str) -> Column {
    Column::new(name, Kind::Moment)
}

const fn real(name: &'static str, unit: &'static str) -> Column {
    Column::new(name, Kind::Real).unit(unit)
}

/// The first column of both files.
pub(crate) const EXPERIMENT: Column = text("experiment");

/// Which instance, and what it did: the columns behind the first of both files.
pub(crate) const SHARED: &[Field<Instance>] = &[
    kept!(count("run"), run),
    kept!(count("group"), group),
    kept!(count("round"), round),
    kept!(whole("instance"), instance),
    kept!(text("varied"), varied),
    kept!(text("operation"), setting.operation),
    kept!(count("clients"), setting.clients),
    kept!(count("processes_per_client"), setting.processes),
    kept!(count("targets"), setting.targets),
    kept!(whole("burst").unit("bytes"), setting.burst),
    kept!(whole("transfer").unit("bytes"), setting.transfer),
    kept!(text("pattern"), setting.pattern),
    kept!(text("sharing"), setting.sharing),
    kept!(count("stripe_count"), setting.stripe_count),
    kept!(whole("stripe_size").unit("bytes"), setting.stripe_size),
    kept!(text("caching"), setting.caching),
    kept!(text("engine"), setting.engine),
    kept!(count("depth"), setting.depth),
];

/// The rest of `pairs.parquet`, which has one row for each pair.
pub(crate) const PAIR: &[Field<Pair>] = &[
    kept!(text("client"), client),
    kept!(text("target"), target),
    kept!(text("server").nullable(), server),
    kept!(count("processes"), processes),
    kept!(whole("bytes").unit("bytes"), bytes),
    kept!(moment("start"), start),
    kept!(moment("end"), end),
    derived(real("bandwidth", "bytes/s"), |it| Cell::Real(it.bandwidth())),
];

/// The rest of `instances.parquet`, which has one row for each instance. One without pairs has no times.
pub(crate) const INSTANCE: &[Field<Instance>] = &[
    kept!(text("outcome"), outcome),
    Field {
        column: text("reason").nullable(),
        write: |it| match &it.outcome {
            Outcome::Complete => Cell::Null,
            Outcome::Failed(reason) => reason.cell(),
        },
        read: Read::Into(|it, cell| match &mut it.outcome {
            Outcome::Complete => Ok(()),
            Outcome::Failed(reason) => {
                *reason = cell.optional_text()?.unwrap_or_default().into();
                Ok(())
            }
        }),
    },
    derived(PAIRS_MEASURED, |it| Cell::Whole(it.pairs.len() as u64)),
    derived(whole("bytes").unit("bytes"), |it| Cell::Whole(it.bytes())),
    derived(moment("start").nullable(), |it| {
        it.pairs.iter().map(|pair| pair.start).min().map_or(Cell::Null, Cell::Whole)
    }),
    derived(moment("end").nullable(), |it| {
        it.pairs.iter().map(|pair| pair.end).max().map_or(Cell::Null, Cell::Whole)
    }),
    derived(real("seconds", "seconds").nullable(), |it| {
        it.seconds().map_or(Cell::Null, Cell::Real)
    }),
    derived(real("aggregate_bandwidth", "bytes/s").nullable(), |it| {
        it.aggregate_bandwidth().map_or(Cell::Null, Cell::Real)
    }),
];

/// How many pairs an instance had when it was measured.
pub(crate) const PAIRS_MEASURED: Column = whole("pairs");

/// Returns the columns of `pairs.parquet`.
pub(crate) fn pairs_table() -> Table {
    table("plimsoll.pairs", PAIR.iter().map(|field| field.column))
}

/// Returns the columns of `instances.parquet`.
pub(crate) fn instances_table() -> Table {
    table("plimsoll.instances", INSTANCE.iter().map(|field| field.column))
}

fn table(name: &'static str, own: impl Iterator<Item = Column>) -> Table {
    let shared = SHARED.iter().map(|field| field.column);
    let columns = std::iter::once(EXPERIMENT).chain(shared).chain(own).collect();
    Table { name, version: 1, documentation: "docs/results.md", columns }
}

/// A value that a cell keeps.
trait Kept {
    /// Returns the cell that keeps it.
    fn cell(&self) -> Cell<'_>;
    /// Takes the value of a cell.
    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError>;
}

impl Kept for u32 {
    fn cell(&self) -> Cell<'_> {
        Cell::Whole((*self).into())
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        cell.read(self)
    }
}

impl Kept for u64 {
    fn cell(&self) -> Cell<'_> {
        Cell::Whole(*self)
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        cell.read(self)
    }
}

impl Kept for Bytes {
    fn cell(&self) -> Cell<'_> {
        Cell::Whole(self.get())
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        let mut bytes = 0;
        cell.read(&mut bytes)?;
        *self = Bytes::new(bytes);
        Ok(())
    }
}

impl Kept for String {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self.into())
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        cell.read(self)
    }
}

impl Kept for Option<String> {
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, |text| Cell::Text(text.into()))
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        cell.read(self)
    }
}

/// The word alone; why it failed is in a column of its own.
impl Kept for Outcome {
    fn cell(&self) -> Cell<'_> {
        let word = match self {
            Outcome::Complete => COMPLETE,
            Outcome::Failed(_) => FAILED,
        };
        Cell::Text(word.into())
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        *self = match cell.text()? {
            COMPLETE => Outcome::Complete,
            FAILED => Outcome::Failed(String::new()),
            other => {
                let reason = format!("{other:?} is neither {COMPLETE:?} nor {FAILED:?}");
                return Err(cell.bad(reason));
            }
        };
        Ok(())
    }
}

const COMPLETE: &str = "complete";
const FAILED: &str = "failed";

/// Words of enumerations, as plans and the journal write them.
trait Word: Serialize + DeserializeOwned {}

impl Word for Operation {}
impl Word for Pattern {}
impl Word for Sharing {}
impl Word for Caching {}
impl Word for Engine {}

impl<T: Word> Kept for T {
    fn cell(&self) -> Cell<'_> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => Cell::Text(word.into()),
            other => unreachable!("{other:?} is no word"),
        }
    }

    fn read_from(&mut self, cell: CellAt<'_>) -> Result<(), TableError> {
        let word = serde_json::from_value(cell.text()?.into());
        *self = word.map_err(|error| cell.bad(error))?;
        Ok(())
    }
}
