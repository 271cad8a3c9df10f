//! Who may look into the directories that have a container's logs: nobody who may not read its file.

use crate::anchor::{Users, keep_out};
use crate::log_places::{LogPlaces, Use, sort_by_place};
use crate::noted::Standing;
use crate::standing::standing_to_change;
use crate::{Container, StowError};

/// Keeps those out of all its logs that can be reached to whom a file of these users is not readable, as of the container's own directory: a target may be away.
///
/// # Errors
/// If the list of logs cannot be read.
pub fn keep_out_of_logs(container: &Container, users: &Users) -> Result<(), StowError> {
    // Those of the container that this one is a copy of are that one's. Of one that was moved nobody knows, and then they are closed.
    if matches!(standing_to_change(container)?, Standing::Copy(_)) {
        return Ok(());
    }
    let mut listed = container.logs()?;
    sort_by_place(&mut listed, |it| it);
    listed.dedup_by(|one, other| (&one.path, &one.target) == (&other.path, &other.target));
    let mut places = LogPlaces::of(container, Use::Change);
    for it in &listed {
        if let Ok((held, _)) = places.log(it) {
            let _ = keep_out(held.place.directory(), users);
        }
    }
    Ok(())
}
