//! Other containers of this user on a target, by what the numbers of their logs begin with.
//!
//! A target may have very many, also of other users: it is not listed for each lease, nor for each container, and listing it takes a small part of the time. Only of what is used
//! is it asked whose it is: others may have given a directory of theirs a name that begins alike.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plimsoll_stow::{DIRECTORY_PREFIX, Id};

/// What is remembered at most, of those that nobody has asked for.
const REMEMBERED_MAX: usize = 4096;

/// As many times as long as a target took to be listed, it is not listed again.
const PAUSES: u32 = 8;

/// What is remembered of them.
#[derive(Default)]
pub(crate) struct Others {
    by_start: BTreeMap<u64, Remembered>,
    /// What was asked for, and not found yet.
    wanted: BTreeSet<u64>,
    /// When a target may be listed again.
    not_before: BTreeMap<PathBuf, Instant>,
}

#[derive(Clone, Copy)]
struct Remembered {
    id: Id,
    /// It was this user's when it was looked for.
    was_own: bool,
}

impl Others {
    /// Does something with what this process remembers. Whoever comes while another thread does so begins anew, and so does a process that was forked then.
    pub fn of_process<R>(work: impl FnOnce(&mut Others) -> R) -> R {
        static REMEMBERED: Mutex<Option<Others>> = Mutex::new(None);
        let taken = REMEMBERED.try_lock().ok().and_then(|mut it| it.take());
        let mut others = taken.unwrap_or_default();
        let result = work(&mut others);
        if let Ok(mut place) = REMEMBERED.try_lock() {
            *place = Some(others);
        }
        result
    }

    /// Remembers a container of this process: of its leases nobody needs to list a target.
    pub fn know(&mut self, start: u64, id: Id) {
        if self.by_start.len() > 2 * REMEMBERED_MAX {
            self.by_start.clear();
        }
        self.by_start.insert(start, Remembered { id, was_own: true });
    }

    /// Returns the container whose number begins like this, of those on a target that can be listed; `None` if that is to be asked again, as the target was listed
    /// only just now.
    pub fn find(
        &mut self,
        target: &Path,
        start: u64,
        start_of: impl Fn(Id) -> u64,
        list: impl FnOnce() -> io::Result<Vec<OsString>>,
        is_own: impl Fn(Id) -> io::Result<bool>,
    ) -> io::Result<Option<Id>> {
        if let Some(known) = self.by_start.get(&start) {
            match is_own(known.id) {
                Ok(true) => return Ok(Some(known.id)),
                Err(cause) if known.was_own => return Err(cause),
                _ => {}
            }
        }
        if self.wanted.len() < REMEMBERED_MAX {
            self.wanted.insert(start);
        }
        let began = Instant::now();
        if self.not_before.get(target).is_some_and(|it| began < *it) {
            return Ok(None);
        }
        self.look_through(list()?, start, start_of, is_own);
        self.pause(target, began.elapsed());
        self.wanted.remove(&start);
        let found = self.by_start.get(&start).filter(|it| it.was_own).map(|it| it.id);
        found.map(Some).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Finds what is wanted, and remembers some of the others.
    fn look_through(
        &mut self,
        names: Vec<OsString>,
        start: u64,
        start_of: impl Fn(Id) -> u64,
        is_own: impl Fn(Id) -> io::Result<bool>,
    ) {
        self.by_start.remove(&start);
        for name in names {
            let id = name.to_str().and_then(|it| Id::parse(it.strip_prefix(DIRECTORY_PREFIX)?));
            let Some(id) = id else { continue };
            let begins = start_of(id);
            if begins != start && !self.wanted.contains(&begins) {
                if self.by_start.len() < REMEMBERED_MAX {
                    self.by_start.entry(begins).or_insert(Remembered { id, was_own: false });
                }
            } else if is_own(id).unwrap_or(false) {
                self.know(begins, id);
                self.wanted.remove(&begins);
            }
        }
    }

    fn pause(&mut self, target: &Path, took: Duration) {
        if let Some(not_before) = Instant::now().checked_add(took * PAUSES) {
            self.not_before.insert(target.to_path_buf(), not_before);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn id(start: u8, end: u8) -> Id {
        let mut bytes = [0; 16];
        (bytes[0], bytes[15]) = (start, end);
        Id::from_bytes(bytes)
    }

    fn start_of(id: Id) -> u64 {
        u64::from(id.bytes()[0])
    }

    /// A directory with these, of which those that end with 1 are own; counts what is asked of it.
    struct Place {
        ids: Vec<Id>,
        lists: Cell<u32>,
        asked: Cell<u32>,
    }

    impl Place {
        fn find(&self, others: &mut Others, start: u64) -> Option<Id> {
            let list = || {
                self.lists.set(self.lists.get() + 1);
                let name = |it: &Id| format!("{DIRECTORY_PREFIX}{it}").into();
                Ok(self.ids.iter().map(name).collect())
            };
            let is_own = |id: Id| {
                self.asked.set(self.asked.get() + 1);
                let is_there = self.ids.contains(&id);
                if is_there { Ok(id.bytes()[15] == 1) } else { Err(ErrorKind::NotFound.into()) }
            };
            let target = Path::new("/target");
            // It may take any time to list it.
            others.not_before.clear();
            others.find(target, start, start_of, list, is_own).ok().map(|it| it.unwrap())
        }

        /// How often it was listed and asked since this was asked last.
        fn counts(&self) -> (u32, u32) {
            (self.lists.take(), self.asked.take())
        }
    }

    fn place(ids: Vec<Id>) -> Place {
        Place { ids, lists: Cell::new(0), asked: Cell::new(0) }
    }

    #[test]
    fn whose_it_is_is_asked_only_of_what_is_used() {
        let place = place((0..200).map(|it| id(it, 1)).collect());
        let mut others = Others::default();
        assert_eq!(place.find(&mut others, 7), Some(id(7, 1)));
        assert_eq!(place.counts(), (1, 1));
        // Again, and another that was listed with it.
        assert_eq!(place.find(&mut others, 7), Some(id(7, 1)));
        assert_eq!(place.find(&mut others, 9), Some(id(9, 1)));
        assert_eq!(place.counts(), (0, 2));
        assert_eq!(place.find(&mut others, 201), None);
    }

    #[test]
    fn anothers_that_begins_alike_is_not_taken() {
        let mut others = Others::default();
        for ids in [vec![id(3, 1), id(3, 2), id(4, 1)], vec![id(3, 2), id(3, 1), id(4, 1)]] {
            let place = place(ids);
            // Whichever was remembered with it.
            assert_eq!(place.find(&mut others, 4), Some(id(4, 1)));
            assert_eq!(place.find(&mut others, 3), Some(id(3, 1)));
            others = Others::default();
            assert_eq!(place.find(&mut others, 3), Some(id(3, 1)));
        }
        assert_eq!(place(vec![id(3, 2)]).find(&mut Others::default(), 3), None);
    }

    #[test]
    fn what_was_removed_is_not_looked_for_again() {
        let mut others = Others::default();
        assert!(place(vec![id(5, 1)]).find(&mut others, 5).is_some());
        let empty = place(Vec::new());
        assert_eq!(empty.find(&mut others, 5), None);
        assert_eq!(empty.counts(), (0, 1));
    }

    /// The attack: as many names of another user that each listing takes long, and that nothing else was remembered.
    #[test]
    fn a_target_that_takes_long_is_listed_seldom_and_for_all_that_are_wanted() {
        let place = place((0..200).map(|it| id(it, 1)).collect());
        let (mut others, target) = (Others::default(), Path::new("/target"));
        others.not_before.insert(target.into(), Instant::now() + Duration::from_secs(3600));
        for start in [7, 9, 7, 201] {
            let list = || panic!("it is not its time");
            let found = others.find(target, start, start_of, list, |_| Ok(true));
            assert_eq!(found.unwrap(), None);
        }
        assert_eq!(place.find(&mut others, 201), None);
        let known = |start| others.by_start.get(&start).is_some_and(|it| it.was_own);
        assert!(known(7) && known(9) && !known(8), "they were wanted");
        others.pause(target, Duration::from_secs(60));
        assert!(others.not_before[target] > Instant::now() + Duration::from_secs(400));
    }
}
