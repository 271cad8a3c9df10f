//! Whether a container may write to its logs: what the notes beside all of them say.
//!
//! Whoever may write to a target, or on the way to it, can show one directory to whoever asks and another one to whoever changes: what counts for a log is the note
//! in the very directory, held open, in which it is changed. Logs without a note are nobody's until somebody makes them his.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Attempt;
use crate::home::{Home, Made, Near, found_at, tells_devices, who_could_hide};
use crate::log_place::LogPlace;
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

/// Makes sure that a container may write to its logs, and notes where it is if it was moved.
///
/// # Errors
/// If it is a copy, or if that cannot be told.
pub fn require_original(container: &Container) -> Result<(), StowError> {
    let notes = Notes::where_changed(container)?;
    let path = || container.path().to_path_buf();
    match notes.standing(container)? {
        Standing::Original => {
            let home = Home::of(container).attempt("look at", path())?;
            match notes.told.iter().all(|it| it.as_ref() == Some(&home)) {
                true => Ok(()),
                false => renew(container),
            }
        }
        Standing::Copy(original) => Err(StowError::Copy { path: path(), original }),
        Standing::Unknown(home) => Err(StowError::Displaced { path: path(), home }),
        Standing::Unnoted => Err(StowError::Unnoted { path: path() }),
    }
}

/// Returns whether a container may write to its logs, as far as these can be reached: by the notes where they are changed, and where they are read.
///
/// # Errors
/// If the container cannot be looked at.
pub fn standing_of(container: &Container) -> Result<Standing, StowError> {
    Notes::everywhere(container)?.standing(container)
}

/// Returns whether it may remove its logs, as far as these can be reached, by the notes where they are changed.
///
/// # Errors
/// If the container cannot be looked at.
pub(crate) fn standing_to_change(container: &Container) -> Result<Standing, StowError> {
    Notes::where_changed(container)?.standing(container)
}

/// Returns whether all its logs can be reached, and are its own.
///
/// # Errors
/// If the container cannot be looked at.
pub fn is_surely_original(container: &Container) -> Result<bool, StowError> {
    let notes = Notes::everywhere(container)?;
    Ok(notes.are_all && notes.standing(container)? == Standing::Original)
}

/// Returns whether all its logs can be reached where they are read, and are its own: what is read of it is no other container's.
///
/// # Errors
/// If the container cannot be looked at.
pub fn is_read_from_its_own(container: &Container) -> Result<bool, StowError> {
    let notes = Notes::where_read(container)?;
    Ok(notes.are_all && notes.standing(container)? == Standing::Original)
}

/// Notes beside the logs of a container where it is now. Logs that are not noted to be its own stay what they are.
///
/// # Errors
/// If a target refuses.
pub fn renew(container: &Container) -> Result<(), StowError> {
    inherit(container, container)
}

/// Notes beside the logs of another container that they are this one's, which has taken its place.
///
/// # Errors
/// If a target refuses: some of them may be noted by then. The other way round, they are again what they were.
pub fn inherit(container: &Container, original: &Container) -> Result<(), StowError> {
    let made = |it: &Container| Made::of(it.directory()).attempt("look at", it.path());
    let (own, other) = (made(container)?, made(original)?);
    let home = Home::of(container).attempt("look at", container.path())?;
    for place in places_of(container)? {
        let noted = Home::beside(place.directory());
        if noted.is_some_and(|it| it != home && (own.is_noted(&it) || other.is_noted(&it))) {
            note_anew(container, &home, &place)?;
        }
    }
    Ok(())
}

/// Makes the logs this container's that are not known to be another one's.
///
/// # Errors
/// If some are another one's, or may be one's that others could have hidden for a moment, or if a target refuses.
pub(crate) fn claim(container: &Container) -> Result<(), StowError> {
    let home = Home::of(container).attempt("look at", container.path())?;
    let places = places_of(container)?;
    for place in &places {
        let notes = Notes { told: vec![Home::beside(place.directory())], are_all: true };
        let path = || container.path().to_path_buf();
        match notes.standing(container)? {
            Standing::Copy(original) => return Err(StowError::Copy { path: path(), original }),
            Standing::Unknown(home) => {
                if let Some(untrusted) = who_could_hide(&home) {
                    let why = untrusted.to_string();
                    return Err(StowError::Hidden { path: path(), home, why });
                }
            }
            Standing::Original | Standing::Unnoted => {}
        }
    }
    places.iter().try_for_each(|place| note_anew(container, &home, place))
}

fn note_anew(container: &Container, home: &Home, place: &LogPlace) -> Result<(), StowError> {
    let logs = place.directory();
    home.write(logs, !container.is_unsynced()).attempt("note the container in", logs.path())?;
    // Somebody may have removed the container meanwhile, and found the place not empty.
    let _ = place.remove_if_empty();
    Ok(())
}

/// What is noted beside the logs of a container.
struct Notes {
    /// What each note says; `None` where there are logs without a note that its owner wrote.
    told: Vec<Option<Home>>,
    /// Whether all logs could be reached.
    are_all: bool,
}

impl Notes {
    /// Looks where the logs are changed; where they cannot be, where they are read.
    fn where_changed(container: &Container) -> Result<Self, StowError> {
        let mut notes = Notes { told: Vec::new(), are_all: true };
        for listed in container.logs()? {
            let changed = container.log_in_place(&listed);
            let told = changed.map(|(place, _)| Home::beside(place.directory()));
            notes.add(told.or_else(|_| container.note_beside(&listed)));
        }
        Ok(notes)
    }

    /// Looks where they are read.
    fn where_read(container: &Container) -> Result<Self, StowError> {
        let mut notes = Notes { told: Vec::new(), are_all: true };
        for listed in container.logs()? {
            notes.add(container.note_beside(&listed));
        }
        Ok(notes)
    }

    /// Looks also where they are read if they can be changed.
    fn everywhere(container: &Container) -> Result<Self, StowError> {
        let (mut notes, read) = (Self::where_changed(container)?, Self::where_read(container)?);
        read.told.into_iter().for_each(|it| notes.add(Ok(it)));
        notes.are_all &= read.are_all;
        Ok(notes)
    }

    fn add(&mut self, told: io::Result<Option<Home>>) {
        match told {
            Ok(told) if !self.told.contains(&told) => self.told.push(told),
            Ok(_) => {}
            Err(_) => self.are_all = false,
        }
    }

    /// Returns what all notes together say: whoever forged a container can have laid a log and a note of his own beside those of another.
    fn standing(&self, container: &Container) -> Result<Standing, StowError> {
        let mut together = Standing::Original;
        for noted in &self.told {
            let told = match noted {
                Some(noted) => standing(container, noted)?,
                None => Standing::Unnoted,
            };
            match told {
                // Nobody can make these his.
                Standing::Copy(_) => return Ok(told),
                Standing::Original => {}
                told if together == Standing::Original => together = told,
                _ => {}
            }
        }
        Ok(together)
    }
}

fn standing(container: &Container, noted: &Home) -> Result<Standing, StowError> {
    let directory = container.directory();
    let own = Made::of(directory).attempt("look at", directory.path())?;
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
    let Some(path) = &noted.path else { return Ok(Standing::Unknown("an unknown place".into())) };
    let Ok(near) = Near::look(path, container.id()) else {
        let there = noted_at(path).map(|it| Standing::Copy(it.path));
        return Ok(there.unwrap_or_else(|| Standing::Unknown(path.clone())));
    };
    if let Some(original) = near.found.iter().find(|it| it.marker.is_noted(noted)) {
        return Ok(Standing::Copy(original.path.clone()));
    }
    // What is in the noted place may be an old copy that was put back there, after the container was moved.
    Ok(match near.found.iter().find(|it| it.path == *path && it.marker != own) {
        Some(found) => Standing::Copy(found.path.clone()),
        None => Standing::Unknown(path.clone()),
    })
}

/// Returns the places that have logs of a container, as far as they can be reached to change them.
fn places_of(container: &Container) -> Result<Vec<LogPlace>, StowError> {
    let mut places: Vec<LogPlace> = Vec::new();
    for listed in container.logs()? {
        let Ok((place, _)) = container.log_in_place(&listed) else { continue };
        if !places.iter().any(|it| it.is_same(&place)) {
            places.push(place);
        }
    }
    Ok(places)
}
