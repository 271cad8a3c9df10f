//! Containers that are open, and those that were looked at last.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use fuser::{Errno, FileAttr, FileType};
use plimsoll_guarded::{Directory, Readers, acting_user};
use plimsoll_stow::{ANCHOR, Container, Reader, StowError, Target, is_surely_original};

use crate::entry::{attributes_of_file, identity_of, kind_of};
use crate::errno;
use crate::place::Identity;

/// Containers that stay open after they were looked at: listing a directory looks at each of them twice.
const RECENT_MAX: usize = 16;

/// How long they stay open.
const UNUSED: Duration = Duration::from_secs(2);

/// Of the directory, the index and the lock; each log has one, too.
const DESCRIPTORS_BESIDES: usize = 3;

/// Memory that counts as one: a user who may have 16,384 has 2 GiB.
const MEMORY_OF_DESCRIPTOR: u64 = 128 << 10;

/// Logs of a container that are many: all threads together may open as many as they like of containers that have fewer.
const MANY_LOGS: usize = 64;

/// Opens containers.
#[derive(Debug)]
pub struct Containers {
    targets: Vec<Target>,
    /// Where the mount is: a log there would be asked of this very program, which would wait for itself.
    point: PathBuf,
    memory_max: u64,
    descriptors_max: usize,
    recent: Mutex<VecDeque<Recent>>,
    /// Held by who opens a container of many logs: one at a time, so that nobody takes all descriptors by looking at several.
    opening_many: Mutex<()>,
}

/// A container that was looked at, and when.
#[derive(Debug)]
struct Recent {
    identity: Identity,
    container: Arc<OpenContainer>,
    looked: Instant,
}

/// An open container, with what was in it at the last look.
pub struct OpenContainer {
    container: Arc<Container>,
    reader: RwLock<Reader>,
    /// Which number the kernel knew it by when it was opened last, and what was in it.
    cached: Mutex<Option<(u64, u64)>>,
    descriptors: usize,
    /// Others' anchors say nothing of who may read the logs: those of copies are their owner's.
    is_original: bool,
    /// Who may read it where it is, as of when it was opened.
    readers: Readers,
}

impl std::fmt::Debug for OpenContainer {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.debug_struct("OpenContainer").field("container", &self.container).finish()
    }
}

impl Containers {
    /// Targets that are named are looked for at these paths. A container takes at most so many bytes of memory, and it and those that were looked at lately so many descriptors.
    pub fn new(
        targets: Vec<Target>,
        point: PathBuf,
        memory_max: u64,
        descriptors_max: usize,
    ) -> Self {
        Containers {
            targets,
            point,
            memory_max,
            descriptors_max,
            recent: Mutex::default(),
            opening_many: Mutex::default(),
        }
    }

    /// Returns what is in a container by now.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn look_at(&self, directory: Directory) -> Result<Arc<OpenContainer>, Errno> {
        let facts = directory.facts().map_err(|it| errno::of_system(&it))?;
        // It is held open, so that no other can have its number.
        let identity = identity_of(&facts);
        let known = self.recent().iter_mut().find(|it| it.identity == identity).map(|it| {
            it.looked = Instant::now();
            it.container.clone()
        });
        if let Some(known) = known {
            known.refresh()?;
            return Ok(known);
        }
        let opened = Arc::new(self.open(directory).map_err(|it| errno::of_container(&it))?);
        let mut recent = self.recent();
        recent.push_front(Recent { identity, container: opened.clone(), looked: Instant::now() });
        let mut descriptors = 0;
        let kept = recent.iter().take(RECENT_MAX).take_while(|it| {
            descriptors += it.container.descriptors;
            descriptors <= self.descriptors_max
        });
        let kept = kept.count();
        recent.truncate(kept);
        Ok(opened)
    }

    /// Closes those that nobody has looked at for a while: as long as a container is open here, no room of it can be given back.
    pub fn close_unused(&self) {
        self.recent().retain(|it| it.looked.elapsed() < UNUSED);
    }

    fn open(&self, directory: Directory) -> Result<OpenContainer, StowError> {
        let container = Container::open_in(directory, &self.targets)?;
        let container = Arc::new(container.within_memory(self.memory_max));
        let logs = container.logs()?;
        if logs.iter().any(|it| it.path.starts_with(&self.point)) {
            let (path, why) =
                (container.path().into(), "a log would be inside of the mount".into());
            return Err(StowError::Damaged { path, why });
        }
        let descriptors = logs.len() + DESCRIPTORS_BESIDES;
        if descriptors > self.descriptors_max {
            return Err(StowError::System {
                what: "open all logs of",
                path: container.path().into(),
                cause: rustix::io::Errno::NFILE.into(),
            });
        }
        let one_at_a_time = (logs.len() > MANY_LOGS)
            .then(|| self.opening_many.lock().unwrap_or_else(PoisonError::into_inner));
        let reader = Reader::open(container.clone())?;
        drop(one_at_a_time);
        // Where the notes cannot be asked, somebody may just be hiding them.
        let is_original = is_surely_original(&container)?;
        let readers = reader.readers();
        let (reader, cached) = (RwLock::new(reader), Mutex::default());
        Ok(OpenContainer { container, reader, cached, descriptors, is_original, readers })
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Recent>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenContainer {
    /// Adds what was written since.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn refresh(&self) -> Result<(), Errno> {
        let mut reader = self.reader.write().unwrap_or_else(PoisonError::into_inner);
        reader.refresh().map_err(|it| errno::of_container(&it))
    }

    /// Returns its reader.
    pub fn reader(&self) -> RwLockReadGuard<'_, Reader> {
        self.reader.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it under a number; returns whether what the kernel has in its cache for that number is what is in it. Where something is
    /// missing, it is not read through the cache.
    pub fn is_cached(&self, number: u64) -> bool {
        let reader = self.reader();
        let now = reader.is_whole().then_some((number, reader.changes()));
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *cached, now);
        now.is_some() && now == before
    }

    /// Returns how many descriptors it has open, about, with one more for each part of the memory that it takes: whoever opens it has no others.
    pub fn descriptors(&self) -> usize {
        let parts = self.reader().memory() / MEMORY_OF_DESCRIPTOR;
        self.descriptors.saturating_add(usize::try_from(parts).unwrap_or(usize::MAX))
    }

    /// Returns what is told of it, as of the last look.
    ///
    /// # Errors
    /// If its anchor cannot be looked at, or is a file of somebody else: nothing is shown as theirs that they did not write.
    pub fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let directory = self.container.directory();
        let owner = directory.facts().map_err(|it| errno::of_system(&it))?.st_uid;
        let mut anchor = directory.facts_of(ANCHOR).map_err(|it| errno::of_system(&it))?;
        // Who serves others' containers shows them to nobody who could not read them where they are.
        let readers = match acting_user() == owner {
            true => Readers::Everyone,
            false => self.readers.and(Readers::of(directory)),
        };
        anchor.st_mode &= match readers {
            _ if !self.is_original => !0o077,
            Readers::Everyone => !0,
            Readers::Group(group) if group == anchor.st_gid => !0o007,
            _ => !0o077,
        };
        if kind_of(&anchor) != FileType::RegularFile || anchor.st_uid != owner {
            return Err(Errno::EIO);
        }
        let reader = self.reader();
        Ok(attributes_of_file(number, &anchor, reader.size(), reader.last_written()))
    }
}
