//! Scores of what a benchmark measured: pure functions from measures to verdicts.
//!
//! [`Columns`] takes instances one by one and keeps a few numbers of each; [`score`](fn@score) makes
//! everything else from them: bandwidths (Xie 3), relative scores of components (5.1), what
//! stragglers cost (fig. 21), how long slowness lasts (5.4), hours and weekdays (5.6), and, of our
//! own, whether conditions changed and which component is a straggler.
//!
//! | question | module |
//! |---|---|
//! | How fast was it? | [`bandwidth`], [`peak`] |
//! | How does a component compare? | [`relative`] |
//! | What do stragglers cost? | [`gain`] |
//! | How long is a target slow? | [`sequence`], [`survival`], [`advice`] |
//! | When is it slow? | [`calendar`] |
//! | Does it matter where the nodes are? | [`locality`](mod@locality) |
//! | Can the measures be trusted? | [`condition`], [`outlier`] |
//! | Who is a straggler? | [`verdict`] |
//! | What do runs in a table look like? | [`grouped`] |
//!
//! Deliberately not here: reading results, printing, clocks. Missing is `None`, never zero.

pub mod advice;
pub mod bandwidth;
pub mod calendar;
pub mod columns;
pub mod condition;
pub mod distribution;
pub mod gain;
pub mod grouped;
pub mod locality;
pub mod names;
pub mod outlier;
pub mod peak;
pub mod relative;
pub mod rest;
pub mod score;
pub mod sequence;
pub mod survival;
pub mod verdict;

pub use columns::{Columns, PairRow, Source};
pub use distribution::Distribution;
pub use peak::Peaks;
pub use score::{Options, Score, score};
pub use verdict::{Kind, Verdict};
