//! Containers: one logical file kept as append-only segments on many targets.
//!
//! Each writer appends what it writes to segments of logs on the targets; a segment says itself what it holds; the file is what
//! the segments say. A container is a directory with a marker, an anchor, a manifest of its logs and a page of shared memory; the
//! logs lie on the targets, in directories that are named after the container's id.
//!
//! - [`Container`]: makes, opens and removes.
//! - [`Writer`]: writes, appends, truncates, makes holes, makes durable.
//! - [`Reader`]: what the file holds, and which part of it cannot be read.
//! - [`word`], [`header`], [`manifest`]: the format, version 1.
//!
//! Deliberately not here: threads, retries of writes and anything that prints. Payload and slots go to the kernel by
//! `rustix` alone, without the C library, so that a library inside of other programs can use this.
//!
//! ```
//! use std::sync::Arc;
//! use plimsoll_stow::{Container, Placement, Reader, Target, Writer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let targets = ["t0", "t1"].map(|name| Target { name: name.into(), path: folder.path().join(name) });
//! for target in &targets {
//!     std::fs::create_dir(&target.path)?;
//! }
//! let container = Arc::new(Container::create(&folder.path().join("big"), &targets)?);
//! let mut writer = Writer::open(container.clone(), Placement::Striped)?;
//! writer.write_at(b"words", 1_000_000)?;
//! writer.sync()?;
//! writer.close()?;
//!
//! let reader = Reader::open(container)?;
//! let mut bytes = [0; 5];
//! reader.read_at(&mut bytes, 1_000_000)?;
//! assert_eq!((&bytes, reader.size()), (b"words", 1_000_005));
//! # Ok(())
//! # }
//! ```

mod alignment;
mod allowance;
mod anchor;
mod aside;
mod below;
mod check;
mod container;
mod copies;
mod creation;
mod error;
mod findings;
mod first_sync;
mod fresh;
mod glance;
mod gone;
pub mod header;
mod home;
mod id;
mod in_vain;
pub mod index;
mod index_build;
mod index_check;
pub mod index_entry;
mod index_file;
mod index_write;
mod listed;
mod liveness;
mod lock;
mod log;
mod log_place;
mod log_places;
mod log_pool;
mod log_rights;
pub mod manifest;
mod marker;
mod near;
mod news;
mod noted;
mod notes;
mod orphans;
mod patience;
mod pieces;
mod pinned;
mod placement;
mod promotion;
mod reach;
mod read_log;
mod reader;
mod reading_lock;
mod recognition;
mod removal;
mod replacement;
mod rights;
mod scan;
mod seat;
mod segment;
mod shared_page;
mod short_checksum;
mod slot_page;
pub mod small;
mod standing;
mod state;
mod states;
mod strands;
mod tally;
mod turn;
mod waiting;
mod watch;
pub mod word;
mod writer;

pub use anchor::{Users, keep_out};
pub use aside::aside_name;
pub use below::Below;
pub use check::{Problem, check, repair};
pub use container::{ANCHOR, Container, Target};
pub use copies::{Copy, copied};
pub use error::StowError;
pub use findings::{Record, Trouble};
pub use first_sync::TornContainer;
pub use fresh::is_of_one_node;
pub use gone::{
    HOLDS, HOLDS_FROM, discard_all_gone, discard_gone, gone_name, is_gone, is_gone_name, is_held,
    is_held_to_write, mark_gone, move_gone_up, unmark_left,
};
pub use home::{Above, Home};
pub use id::Id;
pub use in_vain::InVain;
pub use index_check::remove_index;
pub use index_write::write_index;
pub use log::{DIRECTORY_PREFIX, directory_name, file_name};
pub use log_rights::keep_out_of_logs;
pub use manifest::ListedLog;
pub use marker::{MARKER, id_in};
pub use news::News;
pub use noted::Standing;
pub use orphans::{StrayLogs, remove_stray, stray_logs};
pub use pieces::{Piece, Pieces, Source, Stamp};
pub use placement::{Berth, Placement, Router};
pub use reach::Reach;
pub use read_log::LogUse;
pub use reader::{Reader, Stretch};
pub use removal::Alone;
pub use replacement::FLAT;
pub use small::{SmallWriter, Stored, discard_small, size_in, told_by};
pub use standing::{inherit, is_read_from_its_own, is_surely_original, renew, standing_of};
pub use states::{LastStamps, StateCopy, States};
pub use tally::Tally;
pub use turn::Turn;
pub use waiting::{mark_replaced, waiting_name};
pub use watch::{Deed, Done, Watcher, watch};
pub use writer::{Reclaimed, Writer};
