//! Logs whose container is gone: what `rm -r` of a container leaves on the targets.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, acting_user};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::Id;
use crate::home::{Home, found_near};
use crate::log::{DIRECTORY_PREFIX, FILE_PREFIX};
use crate::log_place::NOTE;
use crate::marker::{MARKER, id_in};

/// Logs that were written to later than this are left alone: somebody may just be making their container.
const UNTOUCHED: Duration = Duration::from_secs(24 * 3600);

/// Directories inside of each other that are looked through for containers.
const DEPTH_MAX: usize = 64;

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
    let directory = Directory::open(target)?;
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
/// If it cannot be listed. What cannot be entered below it is left out.
pub fn containers_below(directory: &Directory) -> io::Result<BTreeSet<Id>> {
    let mut found = BTreeSet::new();
    collect(directory, DEPTH_MAX, &mut found)?;
    Ok(found)
}

fn collect(directory: &Directory, depth: usize, found: &mut BTreeSet<Id>) -> io::Result<()> {
    if let Ok(marker) = directory.read_small(MARKER) {
        found.extend(id_in(&marker).ok());
        return Ok(());
    }
    for name in directory.names()? {
        if depth > 0
            && let Ok(child) = directory.child(&name)
        {
            // One that may not be listed has nothing of this user's that others should find.
            let _ = collect(&child, depth - 1, found);
        }
    }
    Ok(())
}

/// Removes logs that [`stray_logs`] found, if nothing has changed since.
///
/// # Errors
/// If they are in use, or cannot be removed.
pub fn remove_stray(stray: &StrayLogs, known: &BTreeSet<Id>, now: SystemTime) -> io::Result<()> {
    let target = stray.path.parent().unwrap_or(&stray.path);
    let name = stray.path.file_name().unwrap_or_default();
    let still = stray_logs(target, known, now)?.into_iter().find(|it| it.path == stray.path);
    match still {
        None => return Err(io::Error::other("their container is there again")),
        Some(StrayLogs { kept: Some(why), .. }) => return Err(io::Error::other(why)),
        Some(_) => {}
    }
    let parent = Directory::open(target)?;
    let logs = parent.child(name)?;
    for name in logs.names()?.iter().filter(|it| is_log(it)) {
        logs.remove_file(name)?;
    }
    logs.remove_file_if_there(NOTE)?;
    parent.remove_held_directory(name, &logs)
}

/// Returns what is told of logs whose container is not found; `None` if it is.
fn look(logs: &Directory, id: Id, now: SystemTime) -> io::Result<Option<StrayLogs>> {
    let home = Home::beside(logs).and_then(|it| it.path);
    let mut kept = match &home {
        None => Some("nothing says where their container was"),
        Some(path) => match found_near(path, id) {
            Ok(Some(_)) => return Ok(None),
            Ok(None) => None,
            Err(_) => Some("nobody can look where their container was"),
        },
    };
    let mut stray = StrayLogs { path: logs.path().into(), id, logs: 0, bytes: 0, home, kept: None };
    for name in logs.names()?.iter().filter(|it| is_log(it)) {
        let file = logs.open_own_file(name, OFlags::RDONLY)?;
        let facts = file.metadata()?;
        stray.logs += 1;
        stray.bytes += std::os::unix::fs::MetadataExt::blocks(&facts).saturating_mul(512);
        let age = now.duration_since(facts.modified()?).unwrap_or_default();
        if age < UNTOUCHED {
            kept = kept.or(Some("they were written to less than a day ago"));
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::AGAIN) {
            kept = kept.or(Some("somebody uses them"));
        }
    }
    stray.kept = kept;
    Ok(Some(stray))
}

fn is_log(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|it| it.starts_with(FILE_PREFIX))
}
