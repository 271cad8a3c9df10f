//! Makes containers.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_guarded::{Directory, random_hex};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::container::{ANCHOR, MANIFEST, Way, node_of, split};
use crate::error::Attempt;
use crate::first_sync::UNSYNCED_MARKER;
use crate::fresh;
use crate::gone;
use crate::home::Made;
use crate::lock::{self, Hold, LockFile, READERS_LOCK, SIZE_LOCK};
use crate::marker::{self, MARKER};
use crate::removal;
use crate::rights::PRIVATE_FILE;
use crate::state::SharedState;
use crate::states::STATE;
use crate::word::PAGE_BYTES;
use crate::{Container, Id, SmallWriter, StowError, Target, small};

/// What the names of unfinished containers begin with.
const DRAFT_PREFIX: &str = ".plimsoll-stow-new-";
/// How often one is made: whoever discards drafts may take one that is not locked yet.
const ATTEMPTS: u32 = 3;

/// Whoever makes one is done after this time, or was killed. A younger one may just get its name.
const UNTOUCHED: Duration = Duration::from_secs(60);

/// Returns whether a name is that of an unfinished container.
pub fn is_draft(name: &OsStr) -> bool {
    name.as_bytes().starts_with(DRAFT_PREFIX.as_bytes())
}

/// Discards an unfinished container if nobody makes it any more. One with logs, or with bytes in its marker, is none, whoever gave it the name.
pub fn discard_draft(parent: &Directory, name: &OsStr) {
    let Ok(directory) = parent.child_not_mounted(name) else { return };
    let (is_own, Ok(names)) = (directory.require_own().is_ok(), directory.names()) else { return };
    // What a file has in it before the container has its name.
    let begins_with = |name: &OsString| match name.to_str() {
        Some(STATE) => PAGE_BYTES,
        Some(MARKER) => small::RECORDS_FROM,
        _ => 0,
    };
    // Whoever may rename a directory of this user can give it such a name. No other directory has a marker.
    let is_begun = names.is_empty() || names.iter().any(|it| it == MARKER);
    let has_more = |name: &OsString| {
        directory.facts_of(name).is_ok_and(|it| it.st_size as u64 > begins_with(name))
    };
    let has_bytes = names.iter().any(has_more);
    let is_old = directory.facts().is_ok_and(|it| {
        let seconds = u64::try_from(it.st_mtime).unwrap_or(0);
        SystemTime::now() > UNIX_EPOCH + Duration::from_secs(seconds) + UNTOUCHED
    });
    if !is_own || !is_old || !is_begun || has_bytes || !names.iter().all(removal::is_known) {
        return;
    }
    // Nobody has the file of one that was not finished open.
    if directory.open_file(ANCHOR, OFlags::RDONLY).is_ok_and(gone::is_held) {
        return;
    }
    // Without it, somebody was killed who made or discarded this.
    let lock = match lock::open_if_there(&directory, SIZE_LOCK) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => None,
        lock => Some(lock),
    };
    if lock.is_none_or(|it| it.is_ok_and(|it| lock::is_taken(it, Hold::Alone) == Ok(true))) {
        removal::empty(&directory);
        let _ = parent.remove_held_directory(name, &directory);
    }
}

/// Makes the anchor of a new container in its directory.
type MakeAnchor<'a> = dyn FnMut(&Directory) -> io::Result<()> + 'a;

impl Container {
    /// Makes an empty container whose logs will be on these targets.
    ///
    /// # Errors
    /// If there is anything at the path, or nothing can be made there: it is in another container, for example.
    pub fn create(path: &Path, targets: &[Target]) -> Result<Self, StowError> {
        let (above, name) = split(path)?;
        let parent = Directory::open_by_own_links(above).attempt("make a container in", above)?;
        if Self::is_in(&parent).attempt("make a container in", above)? {
            // It is a file, and can be removed as one only without what is not part of it.
            return Err(Errno::NOTDIR).attempt("make a container in", above);
        }
        let mut anchor = |it: &Directory| fill_file(it, ANCHOR, &[], PRIVATE_FILE, true);
        Self::make(parent, name, targets, true, &mut anchor)
    }

    /// Makes one in a directory for a file that is durable once it was synced, and not before, where only one node can see it. The anchor is made by the caller, with the rights of
    /// the file, and durable where several nodes can see it: once the container has its name, others may open it, change these and remove it.
    ///
    /// # Errors
    /// As [`Container::create`].
    pub fn create_unsynced(
        parent: Directory,
        name: &OsStr,
        targets: &[Target],
        anchor: &mut MakeAnchor<'_>,
    ) -> Result<Self, StowError> {
        let is_synced = !fresh::is_of_one_node(&parent);
        Self::make(parent, name, targets, is_synced, anchor)
    }

    fn make(
        parent: Directory,
        name: &OsStr,
        targets: &[Target],
        is_synced: bool,
        anchor: &mut MakeAnchor<'_>,
    ) -> Result<Self, StowError> {
        let path = &parent.path().join(name);
        if parent.kind_of(name).is_ok() {
            return Err(Errno::EXIST).attempt("make the container", path);
        }
        let id = Id::random().attempt("make the container", path)?;
        let mut made = Err(ErrorKind::NotFound.into());
        for _ in 0..ATTEMPTS {
            made = draft(&parent, name, is_synced, |it| fill(it, id, is_synced, anchor));
            if !matches!(&made, Err(cause) if cause.kind() == ErrorKind::NotFound) {
                break;
            }
        }
        // Its lock is held until it has its name.
        let (directory, _) = made.attempt("make the container", path)?;
        let way = Way::Named { parent, name: name.to_os_string() };
        Self::opened(directory.renamed(path.to_path_buf()), way, targets)
    }

    /// Makes an empty container in a directory that keeps up to `most` bytes in its marker, as [`crate::small`] says, and is durable once it was synced; returns
    /// who writes to it. The anchor is made by the caller, with the rights of the file. Where several nodes can see it, the directory is given back: [`Container::create_unsynced`] makes one there.
    ///
    /// # Errors
    /// As [`Container::create`].
    pub fn create_small(
        parent: Directory,
        name: &OsStr,
        targets: &[Target],
        most: u64,
        anchor: &mut MakeAnchor<'_>,
    ) -> Result<Result<(Self, SmallWriter), Directory>, StowError> {
        if !fresh::is_of_one_node(&parent) {
            return Ok(Err(parent));
        }
        let path = parent.path().join(name);
        let id = Id::random().attempt("make the container", &path)?;
        let mut made = Err(ErrorKind::NotFound.into());
        for _ in 0..ATTEMPTS {
            made = draft(&parent, name, false, |it| fill_small(it, id, anchor));
            if !matches!(&made, Err(cause) if cause.kind() == ErrorKind::NotFound) {
                break;
            }
        }
        let (directory, marker) = made.attempt("make the container", &path)?;
        let way = Way::Named { parent, name: name.to_os_string() };
        let container = Self::made_small(directory.renamed(path), way, id, targets)?;
        Ok(Ok((container, SmallWriter::of(marker, most))))
    }
}

/// Makes a container under another name, and then gives it its own.
fn draft<T>(
    parent: &Directory,
    name: &OsStr,
    is_synced: bool,
    fill: impl FnOnce(&Directory) -> io::Result<T>,
) -> io::Result<(Directory, T)> {
    let draft = format!("{DRAFT_PREFIX}{}", random_hex(8)?);
    let directory = parent.make_own(&draft)?;
    let named = fill(&directory)
        .and_then(|held| parent.rename_directory(&draft, name, &directory).map(|()| held));
    // Half a container is worse than none. Once it has its name, others may write to it and rename it.
    if named.is_err() && parent.require_same_directory(&draft, &directory).is_ok() {
        removal::empty(&directory);
        let _ = parent.remove_directory(&draft);
    }
    let held = named?;
    if is_synced {
        parent.sync()?;
    }
    Ok((directory, held))
}

/// Writes the files of a small container; returns its marker.
fn fill_small(
    directory: &Directory,
    id: Id,
    anchor: &mut MakeAnchor<'_>,
) -> io::Result<small::Held> {
    let marker = directory.create(MARKER, OFlags::RDWR, PRIVATE_FILE)?;
    let made = Made::of_file(&marker)?;
    io::Write::write_all(&mut &marker, &small::Head::of(&made).encode(&marker::small_text(id)))?;
    anchor(directory)?;
    Ok(small::Held::made(marker, directory)?)
}

/// Writes the files of a container without logs. Returns its lock, which is held, so that others know that it is being made.
fn fill(
    directory: &Directory,
    id: Id,
    is_synced: bool,
    anchor: &mut MakeAnchor<'_>,
) -> io::Result<LockFile> {
    let node = node_of(directory)?;
    let marker = marker::text(id);
    let mode = if is_synced { PRIVATE_FILE } else { UNSYNCED_MARKER };
    // First: by it, what is left by a kill is known.
    fill_file(directory, MARKER, marker.as_bytes(), mode, is_synced)?;
    let lock = lock::create(directory, SIZE_LOCK)?;
    // Where nothing can be locked, nobody discards it.
    let _ = lock::is_taken(&lock, Hold::Alone);
    anchor(directory)?;
    fill_parts(directory, node, is_synced)?;
    if is_synced {
        lock.sync_all()?;
        directory.sync()?;
    }
    Ok(lock)
}

/// Writes the files that a small container does not have, but for those that are made when they are first needed.
pub(crate) fn fill_parts(directory: &Directory, node: Id, is_synced: bool) -> io::Result<()> {
    let state = SharedState::new_file(node, 1);
    let files: [(&str, &[u8]); 3] = [(MANIFEST, &[]), (READERS_LOCK, &[]), (STATE, &state)];
    files
        .iter()
        .try_for_each(|(name, bytes)| fill_file(directory, name, bytes, PRIVATE_FILE, is_synced))
}

fn fill_file(
    directory: &Directory,
    name: &str,
    bytes: &[u8],
    mode: u32,
    is_synced: bool,
) -> io::Result<()> {
    let file = directory.create(name, OFlags::WRONLY, mode)?;
    io::Write::write_all(&mut &file, bytes)?;
    if is_synced { file.sync_all() } else { Ok(()) }
}
