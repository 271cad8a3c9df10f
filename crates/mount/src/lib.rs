//! A directory mounted elsewhere, read-only and for one user alone, with its containers as the files that they hold (FUSE).
//!
//! - [`mount`]: mounts, and serves until it is unmounted.
//! - [`unmount`]: takes away one mount, and no other that may be there by then; [`unmount_if_dead`]: one whose server is gone.
//! - [`whole_point`]: where to mount, if nobody else can exchange it.
//!
//! What is below the directory is found anew at each look, by names and without following links, and must be the very thing that the
//! kernel was told of, which decides by that who may read it; nothing about it is cached but the
//! bytes of containers to which nothing was written, so that what changes is seen. Containers that were looked at last stay open, and are refreshed at each look.
//!
//! Deliberately not here: writing, and anything that prints or answers signals.

mod answered_by;
mod budget;
mod containers;
mod entry;
mod errno;
mod failures;
mod file_system;
mod freed;
mod habits;
mod handles;
mod helpers;
mod known;
mod listing;
mod mounted;
mod nodes;
mod open_container;
mod open_file;
mod place;
mod point;
mod rights;
mod turn;
mod unmounting;
mod view;
mod whose;
mod windows;

pub use habits::Caching;
pub use mounted::{MountError, Mounted, mount};
pub use point::whole_point;
pub use unmounting::{unmount, unmount_if_dead};
