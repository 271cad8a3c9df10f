//! What in a directory may be a container of this user's, looked at once while nothing comes or goes there.
//!
//! Each container that is looked for there asks for all of it, and others may make many directories beside it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use plimsoll_guarded::{Directory, Refusal, acting_user};
use rustix::fs::{AtFlags, FileType, StatxFlags, StatxTimestamp, statx};

use crate::Id;
use crate::marker::id_of;

/// Directories that are remembered, and the names that are of one.
const KNOWN: usize = 8;
const NAMES_MAX: usize = 100_000;

/// What changed so shortly before it was listed may change again without another time.
const SETTLED: Duration = Duration::from_secs(1);

static LISTED: Mutex<Vec<Arc<Listed>>> = Mutex::new(Vec::new());

/// The names in a directory that may be containers of this user's.
#[derive(Debug)]
pub struct Listed {
    state: State,
    /// With the id, where there is one: no directory gets another.
    names: Vec<(OsString, Option<Id>)>,
}

/// A directory, and when names came or went there last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    device: (u32, u32),
    inode: u64,
    changed: [(i64, u32); 2],
    user: u32,
}

impl State {
    fn of(directory: &Directory) -> io::Result<Self> {
        let mask = StatxFlags::INO | StatxFlags::MTIME | StatxFlags::CTIME;
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let told = statx(directory, "", flags, mask)?;
        let time = |it: StatxTimestamp| (it.tv_sec, it.tv_nsec);
        Ok(State {
            device: (told.stx_dev_major, told.stx_dev_minor),
            inode: told.stx_ino,
            changed: [time(told.stx_mtime), time(told.stx_ctime)],
            user: acting_user(),
        })
    }

    /// Returns whether every later change will have another time.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let latest = self.changed.iter().map(|(seconds, _)| *seconds).max().unwrap_or(i64::MAX);
        u64::try_from(latest).is_ok_and(|it| Duration::from_secs(it + 1) + SETTLED < now)
    }
}

impl Listed {
    /// Lists a directory, unless that is known.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn of(directory: &Directory) -> io::Result<Arc<Self>> {
        Self::of_now(directory, SystemTime::now())
    }

    fn of_now(directory: &Directory, now: SystemTime) -> io::Result<Arc<Self>> {
        let state = State::of(directory)?;
        if let Some(known) = known(&state) {
            return Ok(known);
        }
        let all = directory.names_and_kinds()?.into_iter();
        let names = all.filter_map(|(name, kind)| worth_a_look(directory, name, kind)).collect();
        let listed = Arc::new(Listed { state, names });
        if state.is_settled(now) && listed.names.len() <= NAMES_MAX {
            remember(&listed);
        }
        Ok(listed)
    }

    /// Returns the names of what may have this id.
    pub fn that_may_be(&self, id: Id) -> impl Iterator<Item = &OsStr> {
        let may_be = move |it: &&(OsString, Option<Id>)| it.1.is_none_or(|it| it == id);
        self.names.iter().filter(may_be).map(|(name, _)| name.as_os_str())
    }
}

/// Returns a name that has to be looked at. What another user has is none of this one's containers, unless its marker says so.
fn worth_a_look(
    directory: &Directory,
    name: OsString,
    kind: FileType,
) -> Option<(OsString, Option<Id>)> {
    if !matches!(kind, FileType::Directory | FileType::Unknown) {
        return None;
    }
    let child = match directory.child(&name) {
        Err(cause) if is_no_directory(&cause) => return None,
        Err(_) => return Some((name, None)),
        Ok(child) => child,
    };
    let is_own = child.facts().is_ok_and(|it| it.st_uid == acting_user());
    match id_of(&child) {
        Ok(Some(id)) => Some((name, Some(id))),
        _ => is_own.then_some((name, None)),
    }
}

/// Returns whether a name is none of a directory.
pub(crate) fn is_no_directory(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotADirectory
        || matches!(Refusal::of(cause), Some(Refusal::NotADirectory | Refusal::Symlink))
}

// Whoever cannot have the list at once does without: a process may have been forked while another thread had it.
fn known(state: &State) -> Option<Arc<Listed>> {
    LISTED.try_lock().ok()?.iter().find(|it| it.state == *state).cloned()
}

fn remember(listed: &Arc<Listed>) {
    if let Ok(mut known) = LISTED.try_lock() {
        let is_other = |it: &Arc<Listed>| {
            (it.state.device, it.state.inode) != (listed.state.device, listed.state.inode)
        };
        known.retain(is_other);
        if known.len() == KNOWN {
            known.remove(0);
        }
        known.push(listed.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::chown;

    #[test]
    fn a_directory_is_listed_again_when_something_came_or_went() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        for name in ["own", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("file"), "").unwrap();
        let is_root = acting_user() == 0;
        if is_root {
            chown(folder.path().join("other"), Some(65_531), None).unwrap();
        }
        let at = |later| Listed::of_now(&directory, SystemTime::now() + Duration::from_secs(later));
        let id = Id::parse(&"7".repeat(32)).unwrap();
        let names =
            |listed: &Listed| listed.that_may_be(id).map(OsStr::to_owned).collect::<Vec<_>>();
        let first = at(0).unwrap();
        let own = if is_root { vec!["own"] } else { vec!["other", "own"] };
        assert_eq!(names(&first), own);
        let second = at(5).unwrap();
        assert!(!Arc::ptr_eq(&first, &second), "it had only just changed");
        assert!(Arc::ptr_eq(&second, &at(6).unwrap()));
        // A marker may come into a directory that is known.
        fs::write(folder.path().join("own").join(crate::MARKER), "").unwrap();
        assert!(names(&at(7).unwrap()).contains(&"own".into()));
        // The time of a change is coarse.
        std::thread::sleep(Duration::from_millis(30));
        fs::rename(folder.path().join("own"), folder.path().join("new")).unwrap();
        let third = at(8).unwrap();
        assert!(names(&third).contains(&"new".into()) && !names(&third).contains(&"own".into()));
    }
}
