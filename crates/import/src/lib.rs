//! Histories of other programs as samples of a store.
//!
//! - [`import`]: takes one file, whose format is recognised by what is in it ([`Format`]), into a store;
//! - [`import_from_prometheus`]: asks a running one;
//! - [`Outcome`]: what was recognised, repaired and left out, with counts.
//!
//! Each format has a module that turns what it finds into samples: `tokio` (TOKIO's HDF5), `pylmt` (pyLMT's HDF5), `lmt` (LMT 1.1 in SQLite, or what `sql_dump` copied there), `separated` and `columnar` (CSV and Parquet) and
//! `prometheus` (answers to its queries, saved or asked for: [`import_from_prometheus`]), whose names mean what a [`Mapping`] says.
//! What is certain is repaired, what is not certain is left out, and both are told. A file that cannot be read to its end leaves the store as it was.
//!
//! Deliberately not here: how samples are kept (`history`), and what they say (`utilization`).

mod by_column;
mod columnar;
mod components;
mod error;
mod format;
mod hdf5;
mod lmt;
mod lmt_copy;
#[cfg(feature = "mariadb")]
mod lmt_server;
mod local_time;
mod mapped_samples;
mod mapping;
mod names;
mod notes;
mod opened;
mod options;
mod outcome;
mod plane;
mod prometheus;
mod prometheus_answer;
mod prometheus_server;
mod pylmt;
mod readings;
mod rows;
mod selector;
mod separated;
mod sharing;
mod sql_dump;
mod sql_tokens;
mod sql_value;
mod sqlite;
mod tokio;
mod unpacking;
mod unshared;

pub use error::ImportError;
pub use format::Format;
#[cfg(feature = "mariadb")]
pub use lmt_server::import_from_mariadb;
pub use local_time::Zone;
pub use mapping::Mapping;
pub use notes::{Note, NoteKind};
pub use options::Options;
pub use outcome::{Outcome, import};
pub use prometheus::count_answer_values;
pub use prometheus_server::{TimeRange, import_from_prometheus};
pub use sql_dump::count_dump_rows;
