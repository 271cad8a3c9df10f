//! A live view of how busy storage is: what it shows, which keys do what, and how a frame looks.
//!
//! A [`View`] takes one [`Snapshot`] after another and the [`Key`]s that a person presses; [`View::draw`] draws it into a frame of
//! any size. All of it is pure: the same snapshots and keys give the same frames.
//!
//! Deliberately not here: the terminal itself, and where snapshots come from (`cli`); what the numbers mean (`utilization`).

mod column;
mod detail;
mod frame;
mod key;
mod listing;
mod snapshot;
mod style;
mod table;
mod view;

pub use key::{Key, Pressed};
pub use snapshot::Snapshot;
pub use view::View;
