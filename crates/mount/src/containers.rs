//! Containers that are open, and those that were looked at last.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::{Duration, Instant};

use fuser::{Errno, FileAttr, FileType};
use plimsoll_guarded::{Directory, Readers, acting_user};
use plimsoll_stow::{ANCHOR, Container, Reader, StowError, Target, is_surely_original};
use rustix::process::{Resource, getrlimit};

use crate::entry::{attributes_of_file, identity_of, kind_of};
use crate::errno;
use crate::place::Identity;

/// Containers that stay open after they were looked at: listing a directory looks at each of them twice.
const RECENT_MAX: usize = 16;

/// How long they stay open.
const UNUSED: Duration = Duration::from_secs(2);

/// Of the directory, the index and the lock; each log has one, too.
const DESCRIPTORS_BESIDES: usize = 3;

/// Logs of a container that are many: all threads together may open as many as they like of containers that have fewer.
const MANY_LOGS: usize = 64;

/// Parts of all descriptors that this program may have: those of containers that were looked at last, and the logs of one container.
const RECENT_PART: u64 = 4;
const LOGS_PART: u64 = 2;

/// Parts of the server's memory: what reading one container takes at most, as putting it in order takes as much again and the server goes on for the others; what all take together that are open; and
/// what one takes at most that is opened while others are.
const MEMORY_PART: u64 = 8;
const MEMORY_OF_ALL_PART: u64 = 2;
const MEMORY_BESIDE_OTHERS_PART: u64 = 64;

/// Opens containers.
#[derive(Debug)]
pub struct Containers {
    targets: Vec<Target>,
    logs_max: usize,
    memory: u64,
    known: Mutex<Known>,
    /// Held by who opens a container of many logs or records: one at a time, so that several take no more descriptors and no more memory than there are.
    opening_large: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// All that are open: whoever reads one sees what others found in it, and all fill the kernel's cache with the same.
    open: HashMap<Identity, Weak<OpenContainer>>,
    recent: VecDeque<Recent>,
    descriptors_max: usize,
}

/// A container that was looked at, and when.
#[derive(Debug)]
struct Recent {
    identity: Identity,
    container: Arc<OpenContainer>,
    looked: Instant,
}

/// What a container held when the kernel dropped what it had in its cache: whatever it has there since is that, or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// The number that the kernel knows it by.
    number: u64,
    /// Of its reader.
    changes: u64,
}

/// An open container, with what was in it at the last look.
pub struct OpenContainer {
    container: Arc<Container>,
    reader: RwLock<Reader>,
    /// What the reader takes, about, as of the last look.
    memory: AtomicU64,
    /// What the kernel may have in its cache.
    cached: Mutex<Option<Cached>>,
    /// Whether anybody has opened it to read through the kernel's cache, and may get there what others have read.
    is_for_cache: AtomicBool,
    descriptors: usize,
    /// Others' anchors say nothing of who may read the logs: those of copies are their owner's.
    is_original: bool,
}

impl std::fmt::Debug for OpenContainer {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.debug_struct("OpenContainer").field("container", &self.container).finish()
    }
}

impl Containers {
    /// Targets that are named are looked for at these paths. The process takes no more memory than this.
    pub fn new(targets: Vec<Target>, memory: Option<usize>) -> Self {
        let all = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let part = |part: u64| usize::try_from(all / part).unwrap_or(usize::MAX);
        let descriptors_max = part(RECENT_PART);
        let known = Mutex::new(Known { descriptors_max, ..Known::default() });
        let (logs_max, opening_large) = (part(LOGS_PART), Mutex::default());
        let memory = memory.map_or(u64::MAX, |it| it as u64);
        Containers { targets, logs_max, memory, known, opening_large }
    }

    /// Returns what is in a container by now.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn look_at(&self, directory: Directory) -> Result<Arc<OpenContainer>, Errno> {
        let facts = directory.facts().map_err(|it| errno::of_system(&it))?;
        // It is held open, so that no other can have its number.
        let identity = identity_of(&facts);
        let known = self.known().of(identity);
        if let Some(known) = known {
            known.refresh()?;
            return Ok(known);
        }
        let opened = Arc::new(self.open(directory).map_err(|it| errno::of_container(&it))?);
        let meanwhile = self.known().add(identity, &opened);
        if let Some(known) = meanwhile {
            known.refresh()?;
            return Ok(known);
        }
        Ok(opened)
    }

    /// Closes those that nobody has looked at for a while: as long as a container is open here, no room of it can be given back.
    pub fn close_unused(&self) {
        let mut known = self.known();
        known.recent.retain(|it| it.looked.elapsed() < UNUSED);
        known.open.retain(|_, it| it.strong_count() > 0);
    }

    fn open(&self, directory: Directory) -> Result<OpenContainer, StowError> {
        let again = directory.again().map_err(|cause| StowError::System {
            what: "open",
            path: directory.path().into(),
            cause,
        })?;
        let beside_others = self.memory / MEMORY_BESIDE_OTHERS_PART;
        let mut alone = None;
        match self.open_within(again, beside_others.min(self.memory_left()), &mut alone) {
            Err(error) if error.errno() == rustix::io::Errno::FBIG => {
                alone.get_or_insert_with(|| self.open_alone());
                let memory = (self.memory / MEMORY_PART).min(self.memory_left());
                self.open_within(directory, memory, &mut alone)
            }
            opened => opened,
        }
    }

    /// Opens one; where it has many logs, alone.
    fn open_within<'a>(
        &'a self,
        directory: Directory,
        memory: u64,
        alone: &mut Option<MutexGuard<'a, ()>>,
    ) -> Result<OpenContainer, StowError> {
        let container = Container::open_in(directory, &self.targets)?.within_limits();
        let memory = container.memory_max().min(memory);
        let container = Arc::new(container.within_memory(memory).within_logs(self.logs_max));
        let logs = container.logs()?;
        let descriptors = logs.len() + DESCRIPTORS_BESIDES;
        if logs.len() > MANY_LOGS {
            alone.get_or_insert_with(|| self.open_alone());
        }
        let reader = Reader::open(container.clone())?;
        // Where the notes cannot be asked, somebody may just be hiding them.
        let is_original = is_surely_original(&container)?;
        let memory = AtomicU64::new(reader.memory());
        let (reader, cached) = (RwLock::new(reader), Mutex::default());
        let is_for_cache = AtomicBool::new(false);
        Ok(OpenContainer {
            container,
            reader,
            memory,
            cached,
            is_for_cache,
            descriptors,
            is_original,
        })
    }

    fn open_alone(&self) -> MutexGuard<'_, ()> {
        self.opening_large.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what those that are open leave of the memory of all. Those that nobody uses are closed first if that is little.
    fn memory_left(&self) -> u64 {
        let mut known = self.known();
        let left =
            |known: &Known| (self.memory / MEMORY_OF_ALL_PART).saturating_sub(known.memory());
        if left(&known) < self.memory / MEMORY_PART {
            known.recent.clear();
        }
        left(&known)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns what all that are open take, about.
    fn memory(&self) -> u64 {
        let open = self.open.values().filter_map(Weak::upgrade);
        open.map(|it| it.memory.load(Ordering::Relaxed)).sum()
    }

    /// Returns a container that is open.
    fn of(&mut self, identity: Identity) -> Option<Arc<OpenContainer>> {
        let open = self.open.get(&identity)?.upgrade()?;
        if let Some(recent) = self.recent.iter_mut().find(|it| it.identity == identity) {
            recent.looked = Instant::now();
        }
        Some(open)
    }

    /// Adds one that was opened; returns another of the same if one was opened meanwhile.
    fn add(
        &mut self,
        identity: Identity,
        opened: &Arc<OpenContainer>,
    ) -> Option<Arc<OpenContainer>> {
        if let Some(other) = self.of(identity) {
            return Some(other);
        }
        self.open.insert(identity, Arc::downgrade(opened));
        let looked = Instant::now();
        self.recent.push_front(Recent { identity, container: opened.clone(), looked });
        let mut descriptors = 0;
        let kept = self.recent.iter().take(RECENT_MAX).take_while(|it| {
            descriptors += it.container.descriptors;
            descriptors <= self.descriptors_max
        });
        let kept = kept.count();
        self.recent.truncate(kept);
        None
    }
}

impl OpenContainer {
    /// Adds what was written since.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn refresh(&self) -> Result<(), Errno> {
        let mut reader = self.reader.write().unwrap_or_else(PoisonError::into_inner);
        let refreshed = reader.refresh().map_err(|it| errno::of_container(&it));
        self.memory.store(reader.memory(), Ordering::Relaxed);
        refreshed
    }

    /// Returns its reader.
    pub fn reader(&self) -> RwLockReadGuard<'_, Reader> {
        self.reader.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it under a number to read through the kernel's cache, which gets nothing from now on that was not compared with its checksum; returns
    /// what it holds, and whether that is what the kernel has in its cache for that number.
    pub fn open_for_cache(&self, number: u64) -> (Cached, bool) {
        self.is_for_cache.store(true, Ordering::SeqCst);
        let now = Cached { number, changes: self.reader().changes() };
        (now, *self.cached() == Some(now))
    }

    /// The kernel has dropped what it had in its cache before this was opened: it asks by what it got then. Not before that, as others may open it meanwhile.
    pub fn note_dropped(&self, opened: Cached) {
        let mut cached = self.cached();
        if cached.is_none_or(|it| it.number != opened.number || it.changes < opened.changes) {
            *cached = Some(opened);
        }
    }

    /// Returns whether what is read may be found by others in the kernel's cache (also if who reads goes past it: what a program maps is always there).
    pub fn is_for_cache(&self) -> bool {
        self.is_for_cache.load(Ordering::SeqCst)
    }

    fn cached(&self) -> MutexGuard<'_, Option<Cached>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is told of it, as of the last look.
    ///
    /// # Errors
    /// If its size cannot be told, as something is missing, or if its anchor cannot be looked at, or is a file of somebody else: nothing is shown as theirs that they did not write.
    pub fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let directory = self.container.directory();
        let owner = directory.facts().map_err(|it| errno::of_system(&it))?.st_uid;
        let mut anchor = directory.facts_of(ANCHOR).map_err(|it| errno::of_system(&it))?;
        // Who serves others' containers shows them to nobody who could not read them where they are.
        let readers = match acting_user() == owner {
            true => Readers::Everyone,
            false => self.reader().readers().and(Readers::of(directory)),
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
        let size = reader.known_size().map_err(|it| errno::of_container(&it))?;
        Ok(attributes_of_file(number, &anchor, size, reader.last_written()))
    }
}
