//! Logs whose container is gone: what `rm -r` of a container leaves on the targets.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, acting_user};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::home::Home;
use crate::listed::Freshness;
use crate::log::{DIRECTORY_PREFIX, FILE_PREFIX, Log, file_name};
use crate::log_place::LogPlace;
use crate::near::is_gone_from;
use crate::{Below, Id};

/// Logs that were written to later than this are left alone: somebody may just be making their container.
const UNTOUCHED: Duration = Duration::from_secs(24 * 3600);

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
    pub kept: Option<String>,
}

/// Returns the logs of this user on a target whose container is neither where it was, nor in the same directory, nor below the directories that were looked through. While
/// one of these could not be, none can be removed.
///
/// # Errors
/// If the target cannot be listed.
pub fn stray_logs(target: &Path, below: &Below, now: SystemTime) -> io::Result<Vec<StrayLogs>> {
    let directory = Directory::open_by_own_links(target)?;
    let mut found = Vec::new();
    for name in directory.names()? {
        let id = name.to_str().and_then(|it| it.strip_prefix(DIRECTORY_PREFIX)).and_then(Id::parse);
        let Some(id) = id else { continue };
        let Ok(logs) = directory.child(&name) else { continue };
        let is_own = logs.facts().is_ok_and(|it| it.st_uid == acting_user());
        if is_own && let Some(stray) = look(&logs, id, below, now, Freshness::Lately)? {
            found.push(stray);
        }
    }
    Ok(found)
}

/// Removes logs that [`stray_logs`] found, if nothing has changed since.
///
/// # Errors
/// If they are in use, or cannot be removed.
pub fn remove_stray(stray: &StrayLogs, below: &Below, now: SystemTime) -> io::Result<()> {
    let target = stray.path.parent().unwrap_or(&stray.path);
    // What is looked at is what is removed, whatever has this name by now.
    let place = LogPlace::open(target, stray.id)?;
    match look(place.directory(), stray.id, below, now, Freshness::Now)? {
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
fn look(
    logs: &Directory,
    id: Id,
    below: &Below,
    now: SystemTime,
    freshness: Freshness,
) -> io::Result<Option<StrayLogs>> {
    if below.has(id) {
        return Ok(None);
    }
    let noted = Home::beside(logs);
    let home = noted.as_ref().and_then(|it| it.path.clone());
    let mut kept: Option<String> = match noted.as_ref().zip(home.as_deref()) {
        None => Some("nothing says where their container was".into()),
        Some((noted, path)) => match is_gone_from(path, noted, id, freshness) {
            Ok(Some(true)) => None,
            Ok(Some(false)) => return Ok(None),
            Ok(None) => Some(
                "another directory is where their container was, as if something is not mounted"
                    .into(),
            ),
            Err(why) => Some(format!(
                "nobody can look where their container was, or others can exchange it: {why}"
            )),
        },
    };
    kept = kept.or_else(|| below.doubt().map(|it| format!("their container may be below: {it}")));
    let mut keep = |why: &str| {
        kept.get_or_insert_with(|| why.into());
    };
    let mut stray = StrayLogs { path: logs.path().into(), id, logs: 0, bytes: 0, home, kept: None };
    for number in numbers_in(logs)? {
        // Whoever may write to the target can give the directory another name.
        let Ok(log) = Log::open(logs, id, number, OFlags::RDONLY, acting_user()) else {
            keep("not all of them are what the name of their directory says");
            continue;
        };
        stray.logs += 1;
        stray.bytes += log.stored()?;
        let written = log.modified().ok_or(io::ErrorKind::Unsupported)?;
        if now.duration_since(written).unwrap_or_default() < UNTOUCHED {
            keep("they were written to less than a day ago");
        }
        if flock(&log, FlockOperation::NonBlockingLockExclusive) == Err(Errno::AGAIN) {
            keep("somebody uses them");
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
