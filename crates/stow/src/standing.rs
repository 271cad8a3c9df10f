//! Whether a container may write to its logs: what the notes beside all of them say.
//!
//! Whoever may write to a target, or on the way to it, can show one directory to whoever asks and another one to whoever changes: what counts for a log is the note
//! in the very directory, held open, in which it is changed. Logs without a note are nobody's until somebody makes them his.

use crate::anchor::keep_logs_private;
use crate::error::Attempt;
use crate::home::{Home, Made, who_could_hide};
use crate::log_place::LogPlace;
use crate::noted::Standing;
use crate::notes::Notes;
use crate::{Container, StowError};

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
            if notes.are_all_like(&home) { Ok(()) } else { renew(container) }
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
    Ok(notes.are_all() && notes.standing(container)? == Standing::Original)
}

/// Returns whether all its logs can be reached where they are read, and are its own: what is read of it is no other container's.
///
/// # Errors
/// If the container cannot be looked at.
pub fn is_read_from_its_own(container: &Container) -> Result<bool, StowError> {
    let notes = Notes::where_read(container)?;
    Ok(notes.are_all() && notes.standing(container)? == Standing::Original)
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
        let notes = Notes::of_one(Home::beside(place.directory()));
        let path = || container.path().to_path_buf();
        match notes.standing_now(container)? {
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
    // They may have been open to more users as those of the one that had them.
    keep_logs_private(logs, container.directory());
    // Somebody may have removed the container meanwhile, and found the place not empty.
    let _ = place.remove_if_empty();
    Ok(())
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
