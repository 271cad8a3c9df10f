//! Makes containers.

use std::io;
use std::path::Path;

use plimsoll_guarded::{Directory, random_hex};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::container::{ANCHOR, MANIFEST, Way, node_of, split};
use crate::error::Attempt;
use crate::first_sync::UNSYNCED_MARKER;
use crate::fresh;
use crate::lock::{READERS_LOCK, SIZE_LOCK};
use crate::marker::{self, MARKER};
use crate::removal;
use crate::rights::PRIVATE_FILE;
use crate::state::SharedState;
use crate::states::STATE;
use crate::{Container, Id, StowError, Target};

/// What the names of unfinished containers begin with.
const DRAFT_PREFIX: &str = "plimsoll-stow-new-";

impl Container {
    /// Makes an empty container whose logs will be on these targets.
    ///
    /// # Errors
    /// If there is anything at the path, or nothing can be made there.
    pub fn create(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        Self::make(path, targets, |_| true)
    }

    /// Does the same for a file that is durable once it was synced, and not before, where only one node can see it.
    ///
    /// # Errors
    /// As [`Container::create`].
    pub fn create_unsynced(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        Self::make(path, targets, |parent| !fresh::is_of_one_node(parent))
    }

    fn make(
        path: &Path,
        targets: &[Target],
        is_synced: impl FnOnce(&Directory) -> bool,
    ) -> Result<Self, StowError> {
        let (above, name) = split(path)?;
        let parent = Directory::open_by_own_links(above).attempt("make a container in", above)?;
        let is_synced = is_synced(&parent);
        if parent.kind_of(name).is_ok() {
            return Err(Errno::EXIST).attempt("make the container", path);
        }
        let id = Id::random().attempt("make the container", path)?;
        let draft = format!(".{DRAFT_PREFIX}{}", random_hex(8).attempt("make", path)?);
        let directory = parent.make_own(&draft).attempt("make the container", path)?;
        let named = fill(&directory, id, is_synced)
            .and_then(|()| parent.rename_directory(&draft, name, &directory))
            .and_then(|()| if is_synced { parent.sync() } else { Ok(()) });
        if named.is_err() {
            // Half a container is worse than none.
            removal::empty(&directory);
            let _ = parent.remove_held_directory(&draft, &directory);
            let _ = parent.remove_held_directory(name, &directory);
        }
        named.attempt("make the container", path)?;
        let way = Way::Named { parent, name: name.to_os_string() };
        Self::opened(directory.renamed(path.to_path_buf()), way, targets)
    }
}

/// Writes the files of a container without logs.
fn fill(directory: &Directory, id: Id, is_synced: bool) -> io::Result<()> {
    let node = node_of(directory)?;
    let marker = marker::text(id);
    let files: [(&str, &[u8]); 6] = [
        (MARKER, marker.as_bytes()),
        (ANCHOR, &[]),
        (MANIFEST, &[]),
        (SIZE_LOCK, &[]),
        (READERS_LOCK, &[]),
        (STATE, &SharedState::new_file(node, 1)),
    ];
    for (name, bytes) in files {
        let is_told = name == MARKER && !is_synced;
        let mode = if is_told { UNSYNCED_MARKER } else { PRIVATE_FILE };
        let file = directory.create(name, OFlags::WRONLY, mode)?;
        io::Write::write_all(&mut &file, bytes)?;
        if is_synced {
            file.sync_all()?;
        }
    }
    if is_synced { directory.sync() } else { Ok(()) }
}
