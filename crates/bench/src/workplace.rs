//! An experiment's working directories, as each of its processes holds them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_guarded::{Claim, Directory, WorkingDirectory};

use crate::team::TeamError;

/// An experiment's working directories, open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workplace {
    working: Vec<Arc<WorkingDirectory>>,
}

impl Workplace {
    /// Opens those that the coordinator made.
    pub fn join(claims: &[Claim]) -> Result<Self, TeamError> {
        Self::enter(claims, WorkingDirectory::join)
    }

    /// Opens those that the coordinator made, or makes them on a node that does not share a target's
    /// storage.
    pub fn join_or_make(claims: &[Claim]) -> Result<Self, TeamError> {
        Self::enter(claims, WorkingDirectory::join_or_make)
    }

    /// If one fails, the experiment does, and what may have been made here goes.
    fn enter(
        claims: &[Claim],
        enter: impl Fn(&Claim) -> io::Result<WorkingDirectory>,
    ) -> Result<Self, TeamError> {
        let mut here = Self::default();
        for claim in claims {
            match enter(claim) {
                Ok(working) => here.working.push(Arc::new(working)),
                Err(cause) => {
                    let _ = here.remove();
                    return Err(failed("use", &claim.path)(cause));
                }
            }
        }
        Ok(here)
    }

    /// Returns where this process's files are. Fails if one is no longer where it was made: what follows would be
    /// measured elsewhere than the plan says.
    pub fn directories(&self) -> Result<Vec<&Directory>, TeamError> {
        for it in &self.working {
            it.check_in_place().map_err(failed("use", it.path()))?;
        }
        Ok(self.working.iter().map(|it| it.directory()).collect())
    }

    /// Removes files that are in them; what is not there is no error.
    pub fn remove_files(&self, paths: &[PathBuf]) -> Result<(), TeamError> {
        for path in paths {
            let parent = self.working.iter().find(|it| Some(it.path()) == path.parent());
            let (Some(parent), Some(name)) = (parent, path.file_name()) else { continue };
            let removed = parent.directory().remove_file_if_there(name);
            removed.map_err(failed("remove", path))?;
        }
        Ok(())
    }

    /// Removes the directories with what is in them; what is not there is no error.
    pub fn remove(&self) -> Result<(), TeamError> {
        self.working.iter().try_for_each(|it| it.remove().map_err(failed("remove", it.path())))
    }
}

fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> TeamError {
    let what = format!("{what} {}", path.display());
    move |error| TeamError::System { what, error }
}
