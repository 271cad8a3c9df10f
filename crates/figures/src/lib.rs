//! What a benchmark's results and scores look like: records for tables and JSON, and pages with the figures of
//! the papers.
//!
//! [`experiment`] shows what a benchmark will cost and what came of it. [`gather`] reads directories of results into columns. [`results`] shows what was measured, [`scores`] what it
//! is worth and who is slow; [`runs`] summarises what other programs measured. In each, everything that is shown
//! is worked out first and laid out then, so that a file reads from top to bottom.
//!
//! Deliberately not here: how scores are computed (the `score` crate), how a table, a chart or a page is drawn
//! (`report`), and arguments, files and printing (`cli`).

pub mod experiment;
mod gathered;
pub mod results;
pub mod runs;
pub mod scores;

pub use gathered::{GatherError, Gathered, gather, names};
