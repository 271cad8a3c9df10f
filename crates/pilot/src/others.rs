//! Other containers of this user on a target, by what the numbers of their logs begin with.
//!
//! A target may have very many, so it is not listed for each lease, and only of what is used is it asked whose it is: others may have given a directory of theirs a
//! name that begins alike.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};

use plimsoll_stow::{DIRECTORY_PREFIX, Id};

/// What is remembered at most, of those that nobody has asked for.
const REMEMBERED_MAX: usize = 4096;

/// What is remembered of them.
#[derive(Default)]
pub(crate) struct Others {
    by_start: BTreeMap<u64, Remembered>,
}

#[derive(Clone, Copy)]
struct Remembered {
    id: Id,
    /// It was this user's when it was looked for.
    was_own: bool,
}

impl Others {
    /// Returns the container whose number begins like this, of those in a directory that can be listed.
    pub fn find(
        &mut self,
        start: u64,
        start_of: impl Fn(Id) -> u64,
        list: impl FnOnce() -> io::Result<Vec<OsString>>,
        is_own: impl Fn(Id) -> io::Result<bool>,
    ) -> io::Result<Id> {
        if let Some(known) = self.by_start.get(&start) {
            match is_own(known.id) {
                Ok(true) => return Ok(known.id),
                Err(cause) if known.was_own => return Err(cause),
                _ => {}
            }
        }
        let mut found = Err(ErrorKind::NotFound.into());
        for name in list()? {
            let id = name.to_str().and_then(|it| Id::parse(it.strip_prefix(DIRECTORY_PREFIX)?));
            let Some(id) = id else { continue };
            if start_of(id) != start {
                self.remember(start_of(id), id);
            } else if is_own(id).unwrap_or(false) {
                found = Ok(id);
            }
        }
        if let Ok(id) = found {
            if self.by_start.len() > 2 * REMEMBERED_MAX {
                self.by_start.clear();
            }
            self.by_start.insert(start, Remembered { id, was_own: true });
        }
        found
    }

    fn remember(&mut self, start: u64, id: Id) {
        if self.by_start.len() < REMEMBERED_MAX {
            self.by_start.entry(start).or_insert(Remembered { id, was_own: false });
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
            others.find(start, start_of, list, is_own).ok()
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
}
