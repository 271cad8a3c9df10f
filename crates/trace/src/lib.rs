//! The recording format: the only contract between the preload library and the analysis.
//!
//! A recording is a directory with one file per process. A file is a header and blocks of
//! 64 KiB; a block holds chunks, each written by one thread; a chunk holds events of a few
//! bytes. See [`layout`] for the bytes, [`encode`] for how an event is packed.
//!
//! The writing half ([`layout`], [`op`](Op), [`encode`], [`definition`], [`executable`], [`marker`], [`secrets`],
//! [`MountLine`], [`StatLine`], [`variables`]) allocates nothing, calls
//! nothing and cannot panic, because it runs inside other people's programs. The reading half
//! (feature `reader`) streams: memory does not grow with the number of events.
//!
//! Deliberately not here: intercepting calls (`preload`), what events mean (`explain`).

pub mod definition;
pub mod encode;
pub mod executable;
pub mod layout;
pub mod marker;
mod mount_line;
mod op;
pub mod secrets;
mod stat_line;
mod unseen;
pub mod variables;

#[cfg(feature = "reader")]
mod decode;
#[cfg(feature = "reader")]
mod error;
#[cfg(feature = "reader")]
mod process_file;
#[cfg(feature = "reader")]
mod process_writer;
#[cfg(feature = "reader")]
mod timeline;
#[cfg(feature = "reader")]
mod writing_process;

#[cfg(feature = "reader")]
pub use decode::{Event, ThreadDecoder};
#[cfg(feature = "reader")]
pub use error::TraceError;
pub use mount_line::{MountLine, VIEW, user_outside};
pub use op::{Class, Layer, Op};
#[cfg(feature = "reader")]
pub use process_file::{Chunk, Damage, ProcessFile};
#[cfg(feature = "reader")]
pub use process_writer::{ProcessWriter, Program};
pub use stat_line::StatLine;
#[cfg(feature = "reader")]
pub use timeline::Timeline;
pub use unseen::{Extent, Unseen};
#[cfg(feature = "reader")]
pub use writing_process::{WritingProcess, boot_id};
