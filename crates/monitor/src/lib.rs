//! What a machine serves and uses, read again and again: Lustre's targets, block devices, mounted file systems, processors,
//! memory and pressure.
//!
//! A [`Monitor`] finds out what is there, keeps the files open, and with each [`Monitor::scrape`] returns a reading of every
//! component: counters and levels as they are. What they mean between two readings is the `history` crate's. [`metrics`]
//! writes the last readings for Prometheus, and a [`Server`] answers those who ask for them.
//!
//! A file that cannot be read makes its numbers missing, never zero, and never stops a scrape. A target whose place cannot be looked
//! into is not gone ([`Monitor::unseen`]). What cannot be understood is
//! counted by pattern ([`Monitor::unknowns`]).
//!
//! Deliberately not here: how often, and where readings are kept; printing; anything that changes the machine.

mod admission;
mod clock;
mod draft;
mod exchange;
mod family;
mod group;
mod host;
mod http;
mod input;
mod jobs;
mod kept_file;
mod lctl;
mod lustre_files;
mod lustre_input;
mod metrics;
mod monitor;
mod mounts;
mod operations;
mod peers;
mod readings;
mod unseen;

pub use clock::{Clock, ClockLook};
pub use http::Server;
pub use metrics::{Format, Health, Shown, TargetUtilization, metrics};
pub use monitor::{Found, Monitor, Settings};
pub use unseen::Unseen;
