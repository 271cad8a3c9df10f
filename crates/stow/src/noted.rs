//! What one note beside some logs says of a container.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::Attempt;
use crate::home::{Home, Made, tells_devices};
use crate::listed::Freshness;
use crate::near::{Near, found_at};
use crate::{Container, StowError};

/// Whether a container may write to its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They are its own.
    Original,
    /// They are those of the container at this path.
    Copy(PathBuf),
    /// They are those of a container that was at this path, where nobody can look now, or which is not there any more: this one may be a copy of it, also
    /// if it is at this path itself.
    Unknown(PathBuf),
    /// Nothing beside some of them says whose they are.
    Unnoted,
}

/// What is in the directories of notes, each of which is looked into once.
pub(crate) struct Nears {
    freshness: Freshness,
    looked: HashMap<PathBuf, Option<Near>>,
}

impl Nears {
    /// Begins to look for what was there then.
    pub fn that_were(freshness: Freshness) -> Self {
        Nears { freshness, looked: HashMap::new() }
    }

    fn at(&mut self, path: &Path, container: &Container) -> Option<&Near> {
        let look = || Near::look(path, container.id(), self.freshness).ok();
        self.looked.entry(path.to_path_buf()).or_insert_with(look).as_ref()
    }
}

/// Returns what one note says. Of another user's container only whether it is noted: what it names, and what has to be looked for to tell more, is that user's choice.
pub(crate) fn standing(
    container: &Container,
    noted: &Home,
    nears: &mut Nears,
) -> Result<Standing, StowError> {
    let directory = container.directory();
    let own = Made::of(directory).attempt("look at", directory.path())?;
    let unknown = || Standing::Unknown(noted.path.clone().unwrap_or("an unknown place".into()));
    if !container.is_own() {
        return Ok(if own.is_noted(noted) { Standing::Original } else { unknown() });
    }
    // Whoever could exchange it: what is there is there.
    let noted_at = |path: &Path| {
        let found = found_at(path, container.id()).filter(|it| it.marker.is_noted(noted));
        found.filter(|it| it.marker.device != own.device || !own.is_noted(noted))
    };
    if own.is_noted(noted) {
        // A snapshot of the file system, which is mounted beside it, has files of the same numbers and times.
        let here = std::fs::read_link(directory.path_by_descriptor()).ok();
        let elsewhere = noted.path.as_deref().filter(|it| here.as_deref() != Some(it));
        let live = elsewhere.filter(|_| tells_devices(directory)).and_then(noted_at);
        return Ok(live.map_or(Standing::Original, |it| Standing::Copy(it.path)));
    }
    let Some(path) = &noted.path else { return Ok(unknown()) };
    if let Some(original) = noted_at(path) {
        return Ok(Standing::Copy(original.path));
    }
    let Some(near) = nears.at(path, container) else { return Ok(unknown()) };
    if let Some(original) = near.found.iter().find(|it| it.marker.is_noted(noted)) {
        return Ok(Standing::Copy(original.path.clone()));
    }
    // What is in the noted place may be an old copy that was put back there, after the container was moved.
    Ok(match near.found.iter().find(|it| it.path == *path && it.marker != own) {
        Some(found) => Standing::Copy(found.path.clone()),
        None => unknown(),
    })
}
