//! Opens containers, within what the server has: of others' less than of the user's own, whatever these do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fuser::Errno;
use plimsoll_guarded::Directory;
use plimsoll_stow::{Container, Reader, StowError, Target, is_surely_original};
use rustix::process::{Resource, getrlimit};

use crate::entry::identity_of;
use crate::errno;
use crate::failures::Failures;
use crate::freed::Freed;
use crate::known::Known;
use crate::open_container::{OpenContainer, Opened};
use crate::place::Identity;
use crate::turn::{Taken, Turn};
use crate::whose::Whose;

/// Of the directory, the index and the lock; each log has one, too.
const DESCRIPTORS_BESIDES: usize = 3;

/// Logs of a container that are many: all threads together may open as many as they like of containers that have fewer.
const MANY_LOGS: usize = 64;

/// Parts of all descriptors that this program may have: those of containers that were looked at last, and the logs of one container; of another user's.
const RECENT_PART: u64 = 4;
const LOGS_PART: u64 = 2;
const LOGS_OF_OTHERS_PART: u64 = 8;

/// Parts of the server's memory: what reading one container takes at most, as putting it in order takes as much again and the server goes on for the others; of another user's; what
/// one takes at most that is opened while others are; what all take together that are open; and all of others'.
const MEMORY_PART: u64 = 8;
const MEMORY_OF_OTHERS_PART: u64 = 16;
const MEMORY_BESIDE_OTHERS_PART: u64 = 64;
const MEMORY_OF_ALL_PART: u64 = 2;
const MEMORY_OF_ALL_OTHERS_PART: u64 = 4;

/// How long a look at one's own container takes that has hardly anything in it, which may be on a slow file system: the program that waits for the answer cannot be killed meanwhile.
const LOOK_AT_OWN: Duration = Duration::from_secs(60);

/// How long it takes where many are looked at, and one that takes longer is left for later.
const QUICK_LOOK_AT_OWN: Duration = Duration::from_secs(1);

/// How long others' large containers wait for each other.
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(1);

/// Opens containers.
#[derive(Debug)]
pub struct Containers {
    targets: Vec<Target>,
    descriptors: u64,
    memory: u64,
    known: Mutex<Known>,
    /// Taken by who opens a container of many logs or records: one of the user's own and one of others' at a time, so that several take no more descriptors and no more memory than there are, and nobody
    /// waits for what strangers made.
    opening_large: Turn,
    opening_large_of_others: Turn,
    failures: Failures,
    failures_of_own: Failures,
    freed: Arc<Freed>,
}

impl Containers {
    /// Targets that are named are looked for at these paths. The process takes no more memory than this.
    pub fn new(targets: Vec<Target>, memory: Option<usize>) -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let recent = usize::try_from(descriptors / RECENT_PART).unwrap_or(usize::MAX);
        Containers {
            targets,
            descriptors,
            memory: memory.map_or(u64::MAX, |it| it as u64),
            known: Mutex::new(Known::new(recent)),
            opening_large: Turn::default(),
            opening_large_of_others: Turn::default(),
            failures: Failures::default(),
            failures_of_own: Failures::default(),
            freed: Arc::default(),
        }
    }

    /// Returns what is in a container by now.
    ///
    /// # Errors
    /// If that cannot be told. A failure that took long to find out is told again for a while.
    pub fn look_at(&self, directory: Directory) -> Result<Arc<OpenContainer>, Errno> {
        let facts = directory.facts().map_err(|it| errno::of_system(&it))?;
        // It is held open, so that no other can have its number.
        let identity = identity_of(&facts);
        let whose = Whose::of(facts.st_uid);
        let failures = match whose {
            Whose::Own => &self.failures_of_own,
            Whose::Others => &self.failures,
        };
        if let Some(failure) = failures.of(identity) {
            return Err(failure);
        }
        let begun = Instant::now();
        let looked = self.look(directory, whose, self.time_for(whose));
        match looked {
            Err(failure) => failures.note(identity, failure, begun.elapsed()),
            Ok(_) => failures.note_seen(begun.elapsed()),
        }
        looked
    }

    /// Returns how long a look at a container takes that has hardly anything in it.
    fn time_for(&self, whose: Whose) -> Duration {
        match whose {
            Whose::Own => LOOK_AT_OWN,
            Whose::Others => self.failures.next_look(),
        }
    }

    /// Returns whether a container is open: looking at it takes no time.
    pub fn is_open(&self, identity: Identity) -> bool {
        self.known().of(identity).is_some()
    }

    /// Opens one of the user's own, if that takes no longer than usual, and keeps it open for a moment; returns whether it did.
    pub fn open_quickly(&self, directory: Directory) -> bool {
        let identity = directory.facts().map(|it| identity_of(&it));
        // It took long, and was told: so it is told again.
        identity.is_ok_and(|it| self.failures_of_own.of(it).is_some())
            || self.look(directory, Whose::Own, QUICK_LOOK_AT_OWN).is_ok()
    }

    fn look(
        &self,
        directory: Directory,
        whose: Whose,
        time: Duration,
    ) -> Result<Arc<OpenContainer>, Errno> {
        let identity = identity_of(&directory.facts().map_err(|it| errno::of_system(&it))?);
        let known = self.known().of(identity);
        if let Some(known) = known {
            known.refresh()?;
            return Ok(known);
        }
        let opened = self.open(directory, whose, time).inspect_err(|error| {
            use rustix::io::Errno as Number;
            if matches!(error.errno(), Number::FBIG | Number::TIMEDOUT | Number::NFILE) {
                self.freed.note_failure();
            }
            if matches!(error, StowError::Held { .. }) && whose == Whose::Others {
                self.failures.note_waited();
            }
        });
        let opened = opened.map_err(|it| errno::of_container(&it))?;
        let opened = Arc::new(OpenContainer::new(opened, self.freed.clone()));
        let meanwhile = self.known().add(identity, &opened);
        if let Some(known) = meanwhile {
            known.refresh()?;
            return Ok(known);
        }
        Ok(opened)
    }

    /// Closes those that nobody has looked at for a while: as long as a container is open here, no room of it can be given back. Gives memory back that large ones took.
    pub fn close_unused(&self) {
        self.known().close_unused();
        self.freed.give_back();
    }

    /// Looks for everything in the logs of a container with an index, which may take more memory than opening it: alone.
    ///
    /// # Errors
    /// If it takes more than one may, or cannot be read.
    pub fn scan(&self, container: &OpenContainer) -> Result<(), StowError> {
        let whose = container.whose();
        let _alone = self.alone(whose, self.time_for(whose))?;
        container.scan_within(self.memory_alone(whose))
    }

    fn open(
        &self,
        directory: Directory,
        whose: Whose,
        time: Duration,
    ) -> Result<Opened, StowError> {
        let failed =
            |cause| StowError::System { what: "open", path: directory.path().into(), cause };
        let again = directory.again().map_err(failed)?;
        let beside_others = self.memory / MEMORY_BESIDE_OTHERS_PART;
        let beside_others = beside_others.min(self.memory_left(whose));
        let mut alone = None;
        match self.open_within(again, whose, time, beside_others, &mut alone) {
            Err(error) if error.errno() == rustix::io::Errno::FBIG => {
                if alone.is_none() {
                    alone = Some(self.alone(whose, time)?);
                }
                self.open_within(directory, whose, time, self.memory_alone(whose), &mut alone)
            }
            opened => opened,
        }
    }

    /// Opens one; where it has many logs, alone.
    fn open_within<'a>(
        &'a self,
        directory: Directory,
        whose: Whose,
        time: Duration,
        memory: u64,
        alone: &mut Option<Taken<'a>>,
    ) -> Result<Opened, StowError> {
        let (logs, index) = match whose {
            Whose::Own => (LOGS_PART, self.memory / MEMORY_PART),
            Whose::Others => (LOGS_OF_OTHERS_PART, self.memory / MEMORY_OF_OTHERS_PART),
        };
        let container = Container::open_in(directory, &self.targets)?.within_limits();
        let memory_max = container.memory_max();
        let logs = usize::try_from(self.descriptors / logs).unwrap_or(usize::MAX);
        let container = container.within_memory(memory_max.min(memory)).within_logs(logs);
        let container = container.with_index_within(memory_max.min(index)).within_time(time);
        let container = match whose == Whose::Others && self.failures.has_waited() {
            true => container.without_waiting(),
            false => container,
        };
        let container = Arc::new(container);
        let logs = container.logs_to_read()?.len();
        let descriptors = logs + DESCRIPTORS_BESIDES;
        if logs > MANY_LOGS && alone.is_none() {
            *alone = Some(self.alone(whose, time)?);
        }
        let reader = Reader::open(container.clone())?;
        // Where the notes cannot be asked, somebody may just be hiding them.
        let is_original = is_surely_original(&container)?;
        Ok(Opened { container, reader, descriptors, whose, memory_max, is_original })
    }

    fn alone(&self, whose: Whose, time: Duration) -> Result<Taken<'_>, StowError> {
        let taken = match whose {
            // Those that may take long are few, and each of them ends.
            Whose::Own if time >= LOOK_AT_OWN => Some(self.opening_large.take()),
            Whose::Own => self.opening_large.take_within(time),
            Whose::Others => self.opening_large_of_others.take_within(WAIT_FOR_OTHERS),
        };
        taken.ok_or_else(|| StowError::System {
            what: "open",
            path: "a large container beside another one".into(),
            cause: rustix::io::Errno::BUSY.into(),
        })
    }

    /// Returns the memory of a container that is opened alone.
    fn memory_alone(&self, whose: Whose) -> u64 {
        let part = match whose {
            Whose::Own => MEMORY_PART,
            Whose::Others => MEMORY_OF_OTHERS_PART,
        };
        (self.memory / part).min(self.memory_left(whose))
    }

    /// Returns what those that are open leave of the memory of all. Those that nobody uses are closed first if that is little.
    fn memory_left(&self, whose: Whose) -> u64 {
        let mut known = self.known();
        let left = |known: &Known| {
            let of_all = (self.memory / MEMORY_OF_ALL_PART).saturating_sub(known.memory(None));
            let others = || known.memory(Some(Whose::Others));
            match whose {
                Whose::Own => of_all,
                Whose::Others => {
                    of_all.min((self.memory / MEMORY_OF_ALL_OTHERS_PART).saturating_sub(others()))
                }
            }
        };
        if left(&known) < self.memory / MEMORY_PART {
            known.close_for(whose);
        }
        left(&known)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stow::ListedLog;
    use std::path::Path;

    /// Makes a container of many logs, none of which is there.
    fn large(path: &Path) {
        let target = Target { name: "t".into(), path: path.parent().unwrap().into() };
        Container::create(path, &[target]).unwrap();
        let line = |number| {
            ListedLog { number, target: "t".into(), path: "/none".into(), seat: 1 }.line().unwrap()
        };
        let lines = (0..=MANY_LOGS as u32).map(line).collect::<String>();
        std::fs::write(path.join("manifest"), lines).unwrap();
    }

    /// The attack: one container that takes minutes kept a mutex that the user's own large containers waited for.
    #[test]
    fn ones_own_large_containers_wait_for_nobody_elses() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let [own, others] = ["own", "others"].map(|it| folder.path().join(it));
        [&own, &others].into_iter().for_each(|it| large(it));
        let containers = Containers::new(Vec::new(), None);
        let look = |path: &Path| containers.look_at(Directory::open(path).unwrap()).map(drop);
        let taken = containers.opening_large_of_others.take();
        assert!(look(&own).is_ok());
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files to another user");
            return;
        }
        for part in [".", "plimsoll-container", "anchor", "manifest", "state"] {
            std::os::unix::fs::chown(others.join(part), Some(12345), None).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(look(&others).unwrap_err().code(), Errno::EBUSY.code());
        }
        drop(taken);
        assert_eq!(look(&others).unwrap_err().code(), Errno::EBUSY.code(), "as a moment ago");
    }
}
