//! Keeping a store small: few files, old days coarser, the oldest gone.

use plimsoll_guarded::Directory;

use crate::merging::{Resolution, merge};
use crate::names::{NEW, PartName};
use crate::replacement::{Replacement, remove_tree_if_there};
use crate::{Day, HistoryError, Settings, listing};

/// So many files of about one size become one: each sample is written again once or twice a day.
const FILES_PER_MERGE: usize = 16;

/// Does the first thing that is due; returns false if nothing is.
///
/// It is left as it was once `is_over` is true.
/// How old a day is says the number of later ones that have samples of this store's own, up to the present: a clock that is years ahead for an hour makes one
/// day of them. Imports stay until somebody removes them, and make nothing else go.
pub(crate) fn step(
    store: &Directory,
    settings: &Settings,
    now_millis: u64,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, HistoryError> {
    let mut days = Vec::new();
    for day in listing::days(store)? {
        let parts = listing::parts(&open_day(store, day)?)?;
        if parts.iter().any(|part| part.logs().is_some()) || parts.is_empty() {
            days.push((day, parts));
        }
    }
    let today = Day::ending_at(now_millis);
    let so_far = days.partition_point(|(day, _)| *day <= today);
    let has_later =
        |place: usize, more_than: u32| so_far.saturating_sub(place + 1) > more_than as usize;
    if let Some((oldest, parts)) = days.first() {
        let is_old = has_later(0, settings.keep_days);
        if is_old || is_over_budget(store, &days, settings)? && *oldest < today {
            return remove(store, *oldest, parts).map(|()| true);
        }
    }
    for (place, (day, parts)) in days.into_iter().enumerate() {
        let is_past = has_later(place, settings.fine_days);
        let due = if is_past { to_age(&parts) } else { to_merge(&parts) };
        if let Some((some, into)) = due
            && !is_over()
            && replace(store, day, &open_day(store, day)?, &parts, some, &into, is_over)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns files that are alike and enough to become one, and what that one is called.
fn to_merge(parts: &[PartName]) -> Option<(&[PartName], PartName)> {
    let is_alike = |one: &PartName, next: &PartName| {
        matches!(one, PartName::Fresh { .. })
            && matches!(next, PartName::Fresh { .. })
            && tier(one) == tier(next)
    };
    let groups = parts.chunk_by(is_alike);
    let enough = groups.filter_map(|group| group.first_chunk::<FILES_PER_MERGE>());
    // The small ones first: who is killed again and again gets on with these.
    let some = enough.min_by_key(|some| tier(&some[0]))?;
    let (first, last) = range(some)?;
    Some((some, PartName::Fresh { first, last }))
}

/// Returns the files of a past day that were not yet made coarse, with those that were, and what they become. Where there are too many to be
/// open at once, some become one first.
fn to_age(parts: &[PartName]) -> Option<(&[PartName], PartName)> {
    // Imports come first: they have no numbers.
    let own = parts.partition_point(|part| part.logs().is_none());
    let some = &parts[own..];
    let is_fresh = |part: &PartName| matches!(part, PartName::Fresh { .. });
    some.iter().find(|part| is_fresh(part))?;
    if some.len() > FILES_PER_MERGE {
        let alike = some.chunk_by(|one, next| is_fresh(one) && is_fresh(next));
        let longest = alike.max_by_key(|group| group.len())?;
        if let Some(group @ [_, _, ..]) = longest.get(..longest.len().min(FILES_PER_MERGE)) {
            let (first, last) = range(group)?;
            return Some((group, PartName::Fresh { first, last }));
        }
    }
    let (first, last) = range(some)?;
    Some((some, PartName::Aged { first, last }))
}

/// Returns how often the files of a part were merged, about.
fn tier(part: &PartName) -> u32 {
    let files = part.logs().map_or(1, |(first, last)| last - first + 1);
    files.ilog(FILES_PER_MERGE as u64)
}

fn range(parts: &[PartName]) -> Option<(u64, u64)> {
    let first = parts.iter().filter_map(PartName::logs).map(|it| it.0).min()?;
    let last = parts.iter().filter_map(PartName::logs).map(|it| it.1).max()?;
    Some((first, last))
}

/// Replaces some files of a day by one. Returns false where that cannot be.
fn replace(
    store: &Directory,
    day: Day,
    folder: &Directory,
    parts: &[PartName],
    some: &[PartName],
    into: &PartName,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, HistoryError> {
    let new = Replacement::begin(store, day)?;
    let resolution = match into {
        PartName::Aged { .. } => Resolution::Aged,
        _ => Resolution::Kept,
    };
    let files: Vec<String> = some.iter().map(PartName::file).collect();
    let made = merge(folder, &files, &new.folder, &into.file(), resolution, None, is_over);
    if !matches!(made, Ok(true)) {
        new.give_up()?;
        // What only a later program knows stays as it is, and so does everything where there is no time.
        return made;
    }
    for part in parts.iter().filter(|part| !some.contains(part)) {
        new.keep(folder, &part.file())?;
    }
    new.publish()?;
    Ok(true)
}

/// Removes a day but for its imports.
fn remove(store: &Directory, day: Day, parts: &[PartName]) -> Result<(), HistoryError> {
    let mut imports = parts.iter().filter(|part| part.logs().is_none()).peekable();
    if imports.peek().is_some() {
        let (folder, new) = (open_day(store, day)?, Replacement::begin(store, day)?);
        imports.try_for_each(|part| new.keep(&folder, &part.file()))?;
        return new.publish();
    }
    let (name, old) = (day.directory(), format!("{NEW}{}", day.directory()));
    let removed = remove_tree_if_there(store, &old)
        // Under the other name nobody reads a part of it.
        .and_then(|()| store.rename(&name, &old))
        .and_then(|()| store.remove_tree(&old));
    removed.map_err(|cause| HistoryError::io("remove", &store.path().join(name), cause))
}

fn is_over_budget(
    store: &Directory,
    days: &[(Day, Vec<PartName>)],
    settings: &Settings,
) -> Result<bool, HistoryError> {
    let Some(most) = settings.bytes_max else { return Ok(false) };
    let mut bytes = 0;
    for (day, _) in days {
        let folder = open_day(store, *day)?;
        for name in listing::names_of(&folder)? {
            let part = name.to_str().and_then(PartName::parse);
            if part.is_some_and(|part| part.logs().is_none()) {
                continue;
            }
            let facts = folder.facts_of(&name);
            let facts = facts.map_err(|cause| HistoryError::io("look at", folder.path(), cause))?;
            bytes += facts.st_size.max(0) as u64;
        }
    }
    Ok(bytes > most)
}

fn open_day(store: &Directory, day: Day) -> Result<Directory, HistoryError> {
    let name = day.directory();
    store.child(&name).map_err(|it| HistoryError::io("open", &store.path().join(&name), it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_merged_in_tiers() {
        let fresh = |first, last| PartName::Fresh { first, last };
        let small = |from: u64, to: u64| (from..to).map(|it| fresh(it, it)).collect::<Vec<_>>();
        assert_eq!(to_merge(&small(0, 15)), None);
        let sixteen = small(5, 21);
        assert_eq!(to_merge(&sixteen), Some((&sixteen[..], fresh(5, 20))));
        let mixed = [vec![PartName::Import("x".into()), fresh(0, 15)], small(16, 31)].concat();
        assert_eq!(to_merge(&mixed), None);
        let merged: Vec<_> = (0..16).map(|it| fresh(it * 16, it * 16 + 15)).collect();
        assert_eq!(to_merge(&merged).unwrap().1, fresh(0, 255));
        let both = [merged, small(256, 272)].concat();
        assert_eq!(to_merge(&both).unwrap().1, fresh(256, 271), "the quick one first");
    }

    #[test]
    fn a_past_day_of_very_many_files_never_needs_all_of_them_open() {
        let fresh = |first, last| PartName::Fresh { first, last };
        let mut parts = vec![PartName::Aged { first: 0, last: 9 }];
        parts.extend((10..100).map(|it| fresh(it, it)));
        let mut steps = 0;
        while let Some((some, into)) = to_age(&parts) {
            assert!(some.len() <= FILES_PER_MERGE, "{some:?}");
            let some = some.to_vec();
            let place = parts.iter().position(|it| *it == some[0]).unwrap();
            parts.splice(place..place + some.len(), [into]);
            steps += 1;
        }
        assert_eq!((parts, steps < 20), (vec![PartName::Aged { first: 0, last: 99 }], true));
    }

    #[test]
    fn a_past_day_ages_once_and_again_if_more_came() {
        let fresh = |first, last| PartName::Fresh { first, last };
        let aged = PartName::Aged { first: 0, last: 9 };
        let import = PartName::Import("x".into());
        assert_eq!(to_age(&[import.clone(), aged.clone()]), None);
        let parts = [import, aged, fresh(10, 10)];
        let (some, into) = to_age(&parts).unwrap();
        assert_eq!((some, into), (&parts[1..], PartName::Aged { first: 0, last: 10 }));
    }
}
