//! The directories that have a container's logs, for one look at many of them: each is opened once, and its note is read once.
//!
//! Whoever forges a container decides how many logs it lists, and how long the way to each is.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::rc::Rc;

use plimsoll_guarded::Refusal;
use rustix::fs::OFlags;

use crate::Container;
use crate::home::{Home, Looks};
use crate::log::Log;
use crate::log_place::LogPlace;
use crate::manifest::ListedLog;

/// Places that are held open. Those who look at many logs take them in the order of their places.
const HELD_MAX: usize = 16;

/// What is done with the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// They are only read.
    Read,
    /// They are changed, or asked whose they are for that.
    Change,
}

/// The places of a container's logs that were opened last.
pub struct LogPlaces<'a> {
    container: &'a Container,
    used: Use,
    held: VecDeque<(OsString, io::Result<Rc<HeldPlace>>)>,
}

/// A place that is open.
pub struct HeldPlace {
    /// The directory.
    pub place: LogPlace,
    note: OnceCell<Option<Home>>,
}

impl HeldPlace {
    /// Returns what is noted beside the logs.
    pub fn note(&self, looks: &mut Looks) -> Option<&Home> {
        self.note.get_or_init(|| looks.for_note(self.place.directory())).as_ref()
    }
}

impl<'a> LogPlaces<'a> {
    /// None is open yet.
    pub fn of(container: &'a Container, used: Use) -> Self {
        LogPlaces { container, used, held: VecDeque::new() }
    }

    /// Opens a log where it is found first, and tells in which place that is.
    ///
    /// # Errors
    /// As [`Container::open_log`].
    pub fn log(&mut self, listed: &ListedLog) -> io::Result<(Rc<HeldPlace>, Log)> {
        let container = self.container;
        container.find_log(listed, |target| {
            let held = self.at(target)?;
            let log = held.place.log(listed.number, OFlags::RDONLY, container.owner())?;
            Ok((held, log))
        })
    }

    fn at(&mut self, target: &Path) -> io::Result<Rc<HeldPlace>> {
        let target = target.as_os_str();
        // Compared as it is written, which takes less time than step by step.
        if let Some((_, held)) = self.held.iter().find(|(path, _)| path == target) {
            return held.as_ref().map(Rc::clone).map_err(same);
        }
        let held = self.open(target);
        let told = held.as_ref().map(Rc::clone).map_err(same);
        self.held.truncate(HELD_MAX - 1);
        self.held.push_front((target.to_os_string(), held));
        told
    }

    fn open(&self, target: &OsStr) -> io::Result<Rc<HeldPlace>> {
        let target = Path::new(target);
        let place = match self.used {
            Use::Read => self.container.place_to_read(target)?,
            Use::Change => LogPlace::open(target, self.container.id())?,
        };
        Ok(Rc::new(HeldPlace { place, note: OnceCell::new() }))
    }
}

/// Puts logs in the order of their places.
pub fn sort_by_place<T>(logs: &mut [T], listed: impl Fn(&T) -> &ListedLog) {
    logs.sort_by(|one, other| {
        let (one, other) = (listed(one), listed(other));
        let paths = one.path.as_os_str().cmp(other.path.as_os_str());
        paths.then_with(|| one.target.cmp(&other.target))
    });
}

/// Returns what went wrong once more.
fn same(cause: &io::Error) -> io::Error {
    match (cause.raw_os_error(), Refusal::of(cause)) {
        (Some(number), _) => io::Error::from_raw_os_error(number),
        (None, Some(refusal)) => refusal.into(),
        (None, None) => io::Error::new(cause.kind(), cause.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Placement, Target, Writer};
    use std::sync::Arc;

    /// A forged list named thousands of logs at the end of a very long way, which was gone anew for each of them, several times.
    #[test]
    fn the_way_to_a_place_is_gone_once_for_all_of_its_logs() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let target = Target { name: "t".into(), path: folder.path().join("t") };
        std::fs::create_dir(&target.path).unwrap();
        let container = Arc::new(Container::create(&folder.path().join("it"), &[target]).unwrap());
        let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
        writer.write_at(b"words", 0).unwrap();
        writer.close().unwrap();
        // Where no target is named, logs are where they are listed.
        let container = Container::open(container.path(), &[]).unwrap();
        let first = container.logs().unwrap().remove(0);
        for used in [Use::Read, Use::Change] {
            let mut places = LogPlaces::of(&container, used);
            let (one, _) = places.log(&first).unwrap();
            let (other, _) = places.log(&first).unwrap();
            assert!(Rc::ptr_eq(&one, &other));
            let nowhere = ListedLog { path: folder.path().join("nowhere"), ..first.clone() };
            for number in 0..100 {
                let path = folder.path().join(format!("nowhere-{number}"));
                assert!(places.log(&ListedLog { path, ..nowhere.clone() }).is_err());
            }
            let why = || places.log(&nowhere).map(drop).unwrap_err().kind();
            assert_eq!(
                [0, 1].map({
                    let mut why = why;
                    move |_| why()
                }),
                [io::ErrorKind::NotFound; 2]
            );
            assert!(places.held.len() <= HELD_MAX);
        }
    }

    #[test]
    fn what_went_wrong_is_told_again_in_the_same_words() {
        for cause in
            [Refusal::Symlink.into(), io::Error::other("words"), io::Error::from_raw_os_error(13)]
        {
            assert_eq!(same(&cause).to_string(), cause.to_string());
        }
    }
}
