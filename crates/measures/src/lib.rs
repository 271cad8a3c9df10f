//! What a benchmark measured, and the directory that keeps it.
//!
//! An experiment is runs of groups of rounds of instances (Xie 3). In an instance, clients move
//! one burst each to or from targets; what one client got from one target is a [`Pair`].
//!
//! A directory of results holds
//!
//! | file | what |
//! |---|---|
//! | `plan.toml` | what was asked for, complete, with the seed |
//! | `environment.json` | the machine, the program, how the cache was kept out |
//! | `journal.ndjson` | one checked line for each instance, written as it ends; a kill loses none |
//! | `pairs.parquet`, `instances.parquet` | the same as columns, written at the end |
//! | `summary.json` | what came of it, and the checksums of the files above |
//!
//! The journal is the truth while an experiment runs; the Parquet files are for everybody else. [`Journal`] writes
//! the directory, [`Results`] reads it; docs/results.md is the format. What other programs measured comes as tables of
//! [`runs`]. Deliberately not here: what to measure, and
//! what the measures mean (the `score` crate).

mod columns;
mod error;
mod files;
mod from_rows;
pub mod instance;
mod journal;
mod line;
mod reading;
mod results;
mod rows;
pub mod runs;
mod summary;
mod totals;

pub use error::MeasuresError;
pub use files::{ENVIRONMENT, FILES, INSTANCES, JOURNAL, PAIRS, PLAN, SUMMARY};
pub use instance::{Instance, Outcome, Pair};
pub use journal::{Journal, Resumed};
pub use line::LINE_BYTES_MAX;
pub use results::{Instances, Results};
