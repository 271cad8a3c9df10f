//! What is known of storage over time.
//!
//! - [`Component`]: what is watched; [`Measure`]: what is measured of it, one table.
//! - [`Reading`]: counters and levels as they were read; [`Differences`]: what happened between two of them.
//! - [`Writer`]: the one process that writes to a store: an [`Appender`], whose samples a kill does not lose, and a [`Keeper`], who makes files
//!   of days of them, and may be another thread.
//! - [`Import`]: takes samples of past times from elsewhere, beside the writer; importing twice changes nothing.
//! - [`Store`]: reads a store, some samples of one [`Series`] at a time, also while it is being written.
//! - [`spread()`]: counters on a grid of time, exactly.
//!
//! A store is a directory of Parquet files, a directory a day, that other programs open by one pattern (docs/history.md). What
//! was appended lately is in write-ahead files. Each sample is in one place at any moment, whenever a process is killed.
//!
//! Deliberately not here: where readings come from, and what they say about the storage.

mod aging;
mod appender;
mod component;
mod cover;
mod day;
mod described;
mod differences;
mod error;
mod field;
mod group_rows;
mod import;
mod import_day;
mod import_known;
mod in_order;
mod keeper;
mod latest_cover;
mod listing;
mod log;
mod measure;
mod merging;
mod names;
mod open_day;
mod opening;
mod part;
mod part_file;
mod part_rows;
mod reading;
mod replacement;
mod sealing;
mod series;
mod settings;
mod spread;
mod store;
mod stored;
mod times;
mod upkeep;
mod writer;

pub use aging::WINDOW_MILLIS;
pub use appender::{Appended, Appender};
pub use component::{Component, ComponentKind};
pub use day::Day;
pub use differences::{Difference, Differences, Since};
pub use error::HistoryError;
pub use import::{Import, Imported};
pub use import_day::DayRows;
pub use keeper::Keeper;
pub use log::{Log, NoLog};
pub use measure::{Aging, Form, Measure};
pub use open_day::OpenDay;
pub use reading::{Reading, Value};
pub use series::{Row, Series};
pub use settings::Settings;
pub use spread::{GAP_MILLIS, Piece, spread};
pub use store::{Batch, Selection, Store};
pub use writer::Writer;
