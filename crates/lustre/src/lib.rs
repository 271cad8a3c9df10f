//! What Lustre writes about itself: readers of its parameters' text, from Lustre 2.9 on.
//!
//! Text comes in as bytes and is looked at line by line; nothing is copied and nothing is allocated, so that a server with a
//! thousand targets can be read every second. Counter files are iterators ([`stats`], [`brw_stats`], [`job_stats`]);
//! what has one answer is a function that returns it.
//!
//! A line that no reader knows is handed out as unknown with its text, and reading goes on: a new release of Lustre
//! costs a line, never a scrape. [`Unknowns`] counts such lines by their pattern. The parameters that are
//! known are one table, [`PARAMETERS`].
//!
//! How a file lies on targets is here as well: [`LayoutHead`], [`StripedLayout`], [`layout_request`].
//!
//! Deliberately not here: where the text comes from (files, `lctl get_param`), and what becomes of it.

mod amounts;
mod brw_stats;
mod health;
mod histogram;
mod import;
mod job_stats;
mod layout;
mod lnet;
mod lnetctl;
mod parameter;
mod parameter_text;
mod recovery;
mod stats;
mod target;
mod text;
mod time;
mod unknown;

pub use amounts::{Amounts, Tally, Unit};
pub use brw_stats::{BrwLine, BrwStats, brw_stats};
pub use health::Health;
pub use histogram::{Bin, Histogram};
pub use import::Import;
pub use job_stats::{JobId, JobLine, JobStats, job_stats};
pub use layout::{
    DELAY_CREATE, LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, LayoutHead, SUPER_MAGIC, StripedLayout,
    layout_request,
};
pub use lnet::{LnetCounters, LnetRow, LnetTable, lnet_table};
pub use lnetctl::{LnetInterface, lnetctl_interfaces};
pub use parameter::{Content, Name, PARAMETERS, Parameter};
pub use parameter_text::{ParameterText, parameter_text};
pub use recovery::{Recovery, RecoveryState};
pub use stats::{Stats, StatsLine, stats};
pub use target::{TargetKind, TargetName};
pub use text::number;
pub use time::Time;
pub use unknown::Unknowns;
