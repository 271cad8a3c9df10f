//! Files and directories on machines that others use too.
//!
//! Anyone who may write to a directory can replace what is in it at any moment, between any two calls,
//! by a link to a file of ours, by a pipe that nobody writes to, or by a directory of their own. So a
//! path is looked up once, and everything that follows goes through the open [`Directory`]: names in it,
//! never paths, and no link is followed. What was opened is checked after opening, not before.
//!
//! - [`Directory`]: makes, opens, lists and removes by name.
//! - [`WorkingDirectory`]: a private one on a target, which other processes find again by a secret.
//! - [`open_trusted`]: one that no other user can replace, nor anything above it; [`open_trusted_file`]: the same of a file.
//! - [`open_input`]: what the user named for reading, unless that would wait forever.
//! - [`read_small`]: the text of a small file, whatever somebody may have put in its place; [`read_at_most`]: all
//!   that a stream has, within a bound.
//! - [`open_to_read`]: a regular file of any size, wherever links lead; [`open_by_own_links`]: not where links of others lead.
//! - [`acting_user`]: the one whose rights count, to whom what is ours must belong; [`act_as`] another one.
//! - [`Draft`]: a file that gets its name once it is complete.
//! - [`lock_holder`]: who holds a lock, by the kernel's word.
//! - [`move_descriptors`]: numbers that a host's program does not get to see.
//! - [`Readers`]: who may read something, and so what is made of it.
//!
//! Deliberately not here: what the files are for, and any way around a refusal. A refusal is an
//! [`std::io::Error`] that says what is wrong in words ([`Refusal`]); the caller adds where.

mod access_list;
mod acting_user;
mod descriptors;
mod directory;
mod draft;
mod held;
mod in_place;
mod input;
mod is_there;
mod left_behind;
mod listing;
mod lock_holder;
mod mount;
mod nameless;
mod on_targets;
mod one_node;
mod own_file;
mod own_link;
mod owner_rights;
mod readers;
mod refusal;
mod regular_file;
mod removal;
mod small_file;
mod stored_copy;
mod trust;
mod trusted_child;
mod trusted_file;
mod working;
pub mod working_file;

pub use access_list::{ACCESS_LIST, AccessList};
pub use acting_user::{act_as, acting_user};
pub use descriptors::move_descriptors;
pub use directory::Directory;
pub use draft::Draft;
pub use input::{is_own_stream, open_input, open_own_stream};
pub use is_there::is_there;
pub use left_behind::remove_left_behind;
pub use lock_holder::lock_holder;
pub use mount::{VIEW, enter_no_view, mount_of, require_served_by_none_else};
pub use nameless::is_without_nameless;
pub use on_targets::{NoWorkingDirectory, WorkingDirectories};
pub use one_node::{is_kind_of_one_node, is_of_one_node};
pub use own_file::keep_writers_out;
pub use readers::Readers;
pub use refusal::Refusal;
pub use regular_file::{open_by_own_links, open_to_read, require_stored};
pub use small_file::{SMALL_BYTES_MAX, read_at_most, read_small};
pub use stored_copy::copy_stored;
pub use trust::{Trusted, Untrusted, open_trusted};
pub use trusted_file::{is_mine_or_roots, open_trusted_file};
pub use working::{Claim, WorkingDirectory, random_hex};
