//! What in a directory may be a container of this user's.
//!
//! Each container that is looked for there asks for all of it, and others may make many directories beside it, and make one again and again: it is listed once while
//! nothing comes or goes there, otherwise in a small part of the time, and what was looked at once is not looked at again.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use plimsoll_guarded::{Directory, Refusal, acting_user};
use rustix::fs::{AtFlags, FileType, StatxFlags, StatxTimestamp, statx};

use crate::Id;
use crate::marker::id_of;

/// Directories that are remembered, and the directories in one.
const KNOWN: usize = 8;
const LOOKED_MAX: usize = 200_000;

/// What changed so shortly before it was listed may change again without another time.
const SETTLED: Duration = Duration::from_secs(1);

/// As many times as long as it took, a directory is not listed again by those who need not know what changed meanwhile.
const PAUSES: u32 = 8;

static LISTED: Mutex<Vec<Arc<Listed>>> = Mutex::new(Vec::new());

/// What whoever looks has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// What is there now.
    Now,
    /// What was there shortly before.
    Lately,
}

/// The names in a directory that may be containers of this user's.
#[derive(Debug)]
pub struct Listed {
    state: State,
    /// Every change behind it has another time.
    is_settled: bool,
    /// When it is to be listed again, by whoever need not know it now.
    until: Instant,
    names: Vec<(OsString, Worth)>,
    /// What was found out of directories, by their numbers, which others may have by now.
    looked: HashMap<u64, Worth>,
}

/// What a directory may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// A container of any id: it is looked at each time.
    Unknown,
    /// A container of this id: no directory gets another.
    Container(Id),
    /// Another user's, without a marker: none of this user's comes to be there without a new directory.
    Nothing,
}

/// A directory, and when names came or went there last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    directory: (u32, u32, u64),
    user: u32,
    changed: [(i64, u32); 2],
}

impl State {
    fn of(directory: &Directory) -> io::Result<Self> {
        let mask = StatxFlags::INO | StatxFlags::MTIME | StatxFlags::CTIME;
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let told = statx(directory, "", flags, mask)?;
        let time = |it: StatxTimestamp| (it.tv_sec, it.tv_nsec);
        Ok(State {
            directory: (told.stx_dev_major, told.stx_dev_minor, told.stx_ino),
            user: acting_user(),
            changed: [time(told.stx_mtime), time(told.stx_ctime)],
        })
    }

    fn is_same(&self, other: &State) -> bool {
        (self.directory, self.user) == (other.directory, other.user)
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
    pub fn of(directory: &Directory, freshness: Freshness) -> io::Result<Arc<Self>> {
        Self::of_now(directory, freshness, SystemTime::now())
    }

    fn of_now(
        directory: &Directory,
        freshness: Freshness,
        now: SystemTime,
    ) -> io::Result<Arc<Self>> {
        let (state, began) = (State::of(directory)?, Instant::now());
        let known = known(&state);
        if let Some(known) = &known {
            let is_as_it_was = known.is_settled && known.state == state;
            if is_as_it_was || freshness == Freshness::Lately && began < known.until {
                return Ok(known.clone());
            }
        }
        // Numbers of directories are used again.
        let known = known.filter(|_| freshness == Freshness::Lately);
        let looked = known.as_ref().map(|it| &it.looked);
        let names = directory.entries(|name, kind, number| {
            if !matches!(kind, FileType::Directory | FileType::Unknown) {
                return None;
            }
            match looked.and_then(|it| it.get(&number)) {
                Some(worth) if *worth != Worth::Unknown => Some((name, number, *worth)),
                _ => worth_of(directory, &name).map(|worth| (name, number, worth)),
            }
        })?;
        let looked = names.iter().map(|(_, number, worth)| (*number, *worth));
        let looked = looked.take(LOOKED_MAX).collect();
        let worth_a_look = names.into_iter().filter(|it| it.2 != Worth::Nothing);
        let names = worth_a_look.map(|(name, _, worth)| (name, worth)).collect();
        let until =
            began.elapsed().checked_mul(PAUSES).and_then(|it| Instant::now().checked_add(it));
        let is_settled = state.is_settled(now);
        let listed = Listed { state, is_settled, until: until.unwrap_or(began), names, looked };
        let listed = Arc::new(listed);
        remember(&listed);
        Ok(listed)
    }

    /// Returns the names of what may have this id.
    pub fn that_may_be(&self, id: Id) -> impl Iterator<Item = &OsStr> {
        let may_be = move |it: &&(OsString, Worth)| match it.1 {
            Worth::Unknown => true,
            Worth::Container(known) => known == id,
            Worth::Nothing => false,
        };
        self.names.iter().filter(may_be).map(|(name, _)| name.as_os_str())
    }
}

/// Looks at a name; `None` if it is none of a directory. What another user has is none of this one's containers, unless its marker says so.
fn worth_of(directory: &Directory, name: &OsStr) -> Option<Worth> {
    let child = match directory.child(name) {
        Err(cause) if is_no_directory(&cause) => return None,
        Err(_) => return Some(Worth::Unknown),
        Ok(child) => child,
    };
    let is_others = child.facts().is_ok_and(|it| it.st_uid != acting_user());
    Some(match id_of(&child) {
        Ok(Some(id)) => Worth::Container(id),
        _ if is_others => Worth::Nothing,
        _ => Worth::Unknown,
    })
}

/// Returns whether a name is none of a directory.
pub(crate) fn is_no_directory(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotADirectory
        || matches!(Refusal::of(cause), Some(Refusal::NotADirectory | Refusal::Symlink))
}

// Whoever cannot have the list at once does without: a process may have been forked while another thread had it.
fn known(state: &State) -> Option<Arc<Listed>> {
    LISTED.try_lock().ok()?.iter().find(|it| it.state.is_same(state)).cloned()
}

fn remember(listed: &Arc<Listed>) {
    if let Ok(mut known) = LISTED.try_lock() {
        known.retain(|it| !it.state.is_same(&listed.state));
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
    use std::os::unix::fs::{MetadataExt, chown};

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
        let at = |later| {
            let now = SystemTime::now() + Duration::from_secs(later);
            Listed::of_now(&directory, Freshness::Now, now)
        };
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
        assert!(is_root == third.looked.values().any(|it| *it == Worth::Nothing), "{third:?}");
    }

    /// The attack: a name that comes and goes in the directory of another user's containers, beside many that stay.
    #[test]
    fn whoever_need_not_know_it_now_does_not_list_again_what_took_long() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let listed = Listed::of(&directory, Freshness::Now).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        fs::create_dir(folder.path().join("new")).unwrap();
        let number = fs::metadata(folder.path().join("new")).unwrap().ino();
        let slow = Arc::new(Listed {
            state: listed.state,
            is_settled: false,
            until: Instant::now() + Duration::from_secs(3600),
            names: Vec::new(),
            // The number may be another directory's by now.
            looked: HashMap::from([(number, Worth::Nothing)]),
        });
        remember(&slow);
        let lately = Listed::of(&directory, Freshness::Lately).unwrap();
        assert!(Arc::ptr_eq(&lately, &slow));
        let now = Listed::of(&directory, Freshness::Now).unwrap();
        let id = Id::parse(&"7".repeat(32)).unwrap();
        assert_eq!(now.that_may_be(id).collect::<Vec<_>>(), ["new"]);
    }
}
