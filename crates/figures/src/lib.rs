//! What results look like: records for tables and JSON, and pages with the figures of the papers.
//!
//! | of | module |
//! |---|---|
//! | recordings: what a program did, and what changed between two | [`recordings`] |
//! | an experiment, before it and when it ended | [`experiment`] |
//! | results that are there: what was measured | [`results`], read by [`gather`] |
//! | results that are there: scores and stragglers | [`scores`] |
//! | runs that other programs measured | [`runs`] |
//! | races of routers on real targets | [`races`] |
//! | simulations | [`simulated`] |
//! | what a machine has of what commands need | [`checks`] |
//! | how busy storage was, from a history | [`utilized`] |
//! | what a long history says | [`analyzed`] |
//! | what targets do lately | [`latest`] |
//! | closed-form models | [`models`] |
//! | what an operation and a byte cost on a target | [`calibrations`] |
//!
//! In each, everything that is shown is worked out first and laid out then, so that a file reads from top to bottom.
//! The numbers that each prints are its `NUMBERS`.
//!
//! Deliberately not here: how recordings are analysed and scores computed (the `explain` and `score` crates), how a table, a chart or a page is drawn
//! (`report`), and arguments, files and printing (`cli`).

pub mod analyzed;
mod boxes;
pub mod calibrations;
pub mod checks;
mod contest;
pub mod experiment;
mod gathered;
pub mod latest;
pub mod models;
pub mod races;
pub mod recordings;
pub mod results;
pub mod runs;
pub mod scores;
pub mod simulated;
pub mod utilized;

pub use gathered::{GatherError, Gathered, gather, names};
