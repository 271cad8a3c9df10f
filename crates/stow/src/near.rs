//! Containers in the directory that one was in, under whatever name.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Refusal, acting_user, open_trusted};

use crate::Id;
use crate::home::{Above, Home, Made};
use crate::listed::{Freshness, Listed, is_no_directory};
use crate::marker::id_of;

/// A container that is where its logs say.
pub(crate) struct FoundHome {
    pub path: PathBuf,
    pub marker: Made,
}

impl FoundHome {
    /// Returns this user's container of this id in a directory; `None` if what has that name is something else.
    ///
    /// # Errors
    /// If that cannot be told: a directory of this user's that cannot be looked into, or is gone just now, may be that container. So may one that was given to
    /// another user, if it has this id or is where the container was and cannot be looked into.
    fn of(parent: &Directory, path: PathBuf, noted: &Path, id: Id) -> io::Result<Option<Self>> {
        let Some(name) = path.file_name() else { return Ok(None) };
        let child = match parent.child(name) {
            Err(cause) if is_no_directory(&cause) => return Ok(None),
            child => child?,
        };
        let (owner, told) = (child.facts()?.st_uid, id_of(&child));
        if owner != acting_user() {
            let may_be = told.map_or(path == noted, |it| it == Some(id));
            let expected = acting_user();
            return if may_be { Err(Refusal::Owner { owner, expected }.into()) } else { Ok(None) };
        }
        if told? != Some(id) {
            return Ok(None);
        }
        Ok(Some(FoundHome { path, marker: Made::of(&child)? }))
    }
}

/// Returns whether the container of a note is gone from the directory that it was in, under this or another name; `None` if another directory is there
/// now, or if nobody knows.
///
/// # Errors
/// As [`Near::look`], or if something there cannot be looked at, and may be it.
pub fn is_gone_from(
    path: &Path,
    noted: &Home,
    id: Id,
    freshness: Freshness,
) -> io::Result<Option<bool>> {
    // Whoever could exchange it: what is there is there.
    if found_at(path, id).is_some() {
        return Ok(Some(false));
    }
    let near = Near::look(path, id, freshness)?;
    if !near.found.is_empty() {
        return Ok(Some(false));
    }
    if let Some(unseen) = near.unseen {
        return Err(unseen);
    }
    Ok(noted.above.filter(|noted| near.above == Some(*noted)).map(|_| true))
}

/// What is in the directory that a container was in.
pub(crate) struct Near {
    /// This user's containers of its id, at its path or under other names.
    pub found: Vec<FoundHome>,
    /// The directory.
    above: Option<Above>,
    /// Why something in it, which may be one of them, could not be looked at.
    unseen: Option<io::Error>,
}

impl Near {
    /// Looks in the directory of this path.
    ///
    /// # Errors
    /// If nobody can look there, or if others can exchange a directory on the way: what is not there then proves nothing.
    pub(crate) fn look(path: &Path, id: Id, freshness: Freshness) -> io::Result<Self> {
        let above = path.parent().unwrap_or(path);
        let trusted = open_trusted(above).map_err(io::Error::other)?;
        if !trusted.missing.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let parent = trusted.directory;
        let mut near = Near { found: Vec::new(), above: Above::of(&parent), unseen: None };
        let listed = Listed::of(&parent, freshness)?;
        let is_listed = |name| listed.that_may_be(id).any(|it| it == name);
        // Another user's of which nobody knows what it is, and which is not there otherwise.
        let noted = path.file_name().filter(|it| !is_listed(*it) && parent.facts_of(it).is_ok());
        for name in listed.that_may_be(id).chain(noted) {
            match FoundHome::of(&parent, above.join(name), path, id) {
                Ok(found) => near.found.extend(found),
                Err(cause) => {
                    let place = above.join(name);
                    let told = format!("{}: {cause}", place.display());
                    near.unseen.get_or_insert(io::Error::new(cause.kind(), told));
                }
            }
        }
        Ok(near)
    }
}

/// Returns this user's container of this id at this very path, whoever could exchange it.
pub(crate) fn found_at(path: &Path, id: Id) -> Option<FoundHome> {
    let parent = Directory::open_unserved(path.parent()?).ok()?;
    FoundHome::of(&parent, path.to_path_buf(), path, id).ok()?
}
