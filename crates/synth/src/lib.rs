//! A history of storage that never was, drawn from a seed, and the truth about it.
//!
//! [`synthesize()`] fills a store day by day with what targets of data and metadata and their servers might have counted: bursts that last and come again, some
//! load in common of reads and writes, targets that get more than others, jobs that many targets work for alike, a job every day, outages, counters that begin anew, and numbers that lie.
//! [`Truth`] says what was planted, as it follows from the model, so that an analysis can be held against it.
//!
//! Deliberately not here: what an analysis makes of it (`analyze`).

mod day;
mod degrees;
mod level;
mod pair;
mod plan;
mod shares;
mod synthesize;
mod truth;

pub use plan::Plan;
pub use synthesize::synthesize;
pub use truth::{DailyJob, HotTarget, Phases, Planted, Truth};
