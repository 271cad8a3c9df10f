//! Logs whose container is gone: what `rm -r` of a container leaves on the targets.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, acting_user};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::Id;
use crate::home::{Home, is_gone_from};
use crate::log::{DIRECTORY_PREFIX, FILE_PREFIX, Log, file_name};
use crate::log_place::LogPlace;
use crate::marker::{MARKER, id_in};

/// Logs that were written to later than this are left alone: somebody may just be making their container.
const UNTOUCHED: Duration = Duration::from_secs(24 * 3600);

/// Directories inside of each other that are looked through for containers.
const DEPTH_MAX: usize = 64;
/// How many of them: less than a gigabyte of memory, and some minutes.
const DIRECTORIES_MAX: usize = 1 << 22;

/// The logs of a container on a target.
#[derive(Debug)]
pub struct StrayLogs {
    /// Their directory.
    pub path: PathBuf,
    /// The id of the container.
    pub id: Id,
    /// How many there are.
    pub logs: u64,
    /// What they take.
    pub bytes: u64,
    /// Where the container was.
    pub home: Option<PathBuf>,
    /// Why they cannot be removed, if so.
    pub kept: Option<&'static str>,
}

/// Returns the logs of this user on a target whose container is neither where it was, nor in the same directory, nor among
/// those that are known.
///
/// # Errors
/// If the target cannot be listed.
pub fn stray_logs(
    target: &Path,
    known: &BTreeSet<Id>,
    now: SystemTime,
) -> io::Result<Vec<StrayLogs>> {
    let directory = Directory::open_by_own_links(target)?;
    let mut found = Vec::new();
    for name in directory.names()? {
        let id = name.to_str().and_then(|it| it.strip_prefix(DIRECTORY_PREFIX)).and_then(Id::parse);
        let Some(id) = id else { continue };
        let Ok(logs) = directory.child(&name) else { continue };
        let is_own = logs.facts().is_ok_and(|it| it.st_uid == acting_user());
        if is_own
            && !known.contains(&id)
            && let Some(stray) = look(&logs, id, now)?
        {
            found.push(stray);
        }
    }
    Ok(found)
}

/// Returns the ids of all containers below a directory.
///
/// # Errors
/// If it cannot be listed, or if there is more below it than is looked through: others may make directories there as fast as they are looked through, and move
/// containers to where they are not found. What cannot be entered below it is left out.
pub fn containers_below(directory: &Directory) -> io::Result<BTreeSet<Id>> {
    let mut walk = Walk { found: BTreeSet::new(), entered: HashSet::new(), most: DIRECTORIES_MAX };
    directory.names()?;
    walk.enter(directory, DEPTH_MAX).map(|()| walk.found)
}

/// A look through directories.
struct Walk {
    found: BTreeSet<Id>,
    /// Whoever moves directories meanwhile has none of them looked through twice.
    entered: HashSet<(u64, u64)>,
    most: usize,
}

impl Walk {
    fn enter(&mut self, directory: &Directory, depth: usize) -> io::Result<()> {
        let facts = directory.facts()?;
        if !self.entered.insert((facts.st_dev, facts.st_ino)) {
            return Ok(());
        }
        if let Ok(marker) = directory.read_small(MARKER) {
            self.found.extend(id_in(&marker).ok());
            return Ok(());
        }
        let too_much = |what: &str| {
            let place = directory.path().display();
            Err(io::Error::other(format!("{what} than are looked through, at {place}")))
        };
        if self.entered.len() > self.most {
            return too_much("there are more directories");
        }
        // One that may not be listed has nothing of this user's that others should find.
        for name in directory.names().unwrap_or_default() {
            let Ok(child) = directory.child(&name) else { continue };
            if depth == 0 {
                return too_much("there are more directories inside of each other");
            }
            self.enter(&child, depth - 1)?;
        }
        Ok(())
    }
}

/// Removes logs that [`stray_logs`] found, if nothing has changed since.
///
/// # Errors
/// If they are in use, or cannot be removed.
pub fn remove_stray(stray: &StrayLogs, known: &BTreeSet<Id>, now: SystemTime) -> io::Result<()> {
    let target = stray.path.parent().unwrap_or(&stray.path);
    // What is looked at is what is removed, whatever has this name by now.
    let place = LogPlace::open(target, stray.id)?;
    let still = look(place.directory(), stray.id, now)?.filter(|it| !known.contains(&it.id));
    match still {
        None => return Err(io::Error::other("their container is there again")),
        Some(StrayLogs { kept: Some(why), .. }) => return Err(io::Error::other(why)),
        Some(_) => {}
    }
    for number in numbers_in(place.directory())? {
        place.remove(&place.log(number, OFlags::RDONLY, acting_user())?)?;
    }
    place.remove_if_empty()
}

/// Returns what is told of logs whose container is not found; `None` if it is.
fn look(logs: &Directory, id: Id, now: SystemTime) -> io::Result<Option<StrayLogs>> {
    let noted = Home::beside(logs);
    let home = noted.as_ref().and_then(|it| it.path.clone());
    let mut kept = match noted.as_ref().zip(home.as_deref()) {
        None => Some("nothing says where their container was"),
        Some((noted, path)) => match is_gone_from(path, noted, id) {
            Ok(Some(true)) => None,
            Ok(Some(false)) => return Ok(None),
            Ok(None) => Some(
                "another directory is where their container was, as if something is not mounted",
            ),
            Err(_) => Some("nobody can look where their container was, or others can exchange it"),
        },
    };
    let mut stray = StrayLogs { path: logs.path().into(), id, logs: 0, bytes: 0, home, kept: None };
    for number in numbers_in(logs)? {
        // Whoever may write to the target can give the directory another name.
        let Ok(log) = Log::open(logs, id, number, OFlags::RDONLY, acting_user()) else {
            kept = kept.or(Some("not all of them are what the name of their directory says"));
            continue;
        };
        stray.logs += 1;
        stray.bytes += log.stored()?;
        let written = log.modified().ok_or(io::ErrorKind::Unsupported)?;
        if now.duration_since(written).unwrap_or_default() < UNTOUCHED {
            kept = kept.or(Some("they were written to less than a day ago"));
        }
        if flock(&log, FlockOperation::NonBlockingLockExclusive) == Err(Errno::AGAIN) {
            kept = kept.or(Some("somebody uses them"));
        }
    }
    stray.kept = kept;
    Ok(Some(stray))
}

/// Returns the numbers of the logs in a directory.
fn numbers_in(logs: &Directory) -> io::Result<Vec<u32>> {
    let number = |name: OsString| {
        let number = name.to_str()?.strip_prefix(FILE_PREFIX)?.parse().ok()?;
        (name == *file_name(number)).then_some(number)
    };
    Ok(logs.names()?.into_iter().filter_map(number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn walked(folder: &Path, depth: usize, most: usize) -> Result<usize, String> {
        let mut walk = Walk { found: BTreeSet::new(), entered: HashSet::new(), most };
        let directory = Directory::open(folder).unwrap();
        let walked = walk.enter(&directory, depth).map(|()| walk.entered.len());
        walked.map_err(|it| it.to_string())
    }

    /// A container that is not found would lose its logs.
    #[test]
    fn what_is_too_much_to_be_looked_through_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        assert_eq!(walked(folder.path(), 3, 5), Ok(5));
        let deep = walked(folder.path(), 2, 5).unwrap_err();
        assert!(deep.contains("inside of each other") && deep.contains("a/b"), "{deep}");
        assert!(walked(folder.path(), 3, 4).unwrap_err().contains("more directories than"));
        assert!(containers_below(&Directory::open(folder.path()).unwrap()).unwrap().is_empty());
    }
}
