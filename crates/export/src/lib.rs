//! Recordings for other tools: every call as a row of a Parquet file ([`write_parquet`]), or as
//! a slice of a trace for the Perfetto UI ([`write_perfetto`]).
//!
//! Both stream: memory does not grow with the number of calls. What of a recording cannot be
//! read is left out and said in [`Exported::warnings`].
//!
//! Deliberately not here: files, names and overwriting (`cli`), what calls mean (`explain`).

mod batch;
mod calls;
mod columns;
mod facts;
mod lanes;
mod parquet;
mod perfetto;

pub use calls::{Exported, chunks};
pub use facts::SCHEMA_VERSION;
pub use parquet::{ROWS_PER_GROUP, write_parquet};
pub use perfetto::write_perfetto;

/// Files that an export tells apart; more than a report does, as paths are all that is kept.
pub const FILES_MAX: usize = 1 << 18;
