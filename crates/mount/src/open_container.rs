//! A container that is open.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use fuser::{Errno, FileAttr, FileType};
use plimsoll_guarded::{Readers, acting_user};
use plimsoll_stow::{ANCHOR, Container, Reader, StowError};

use crate::entry::{attributes_of_file, kind_of};
use crate::errno;
use crate::freed::Freed;
use crate::whose::Whose;

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
    whose: Whose,
    /// The most memory that the machine and its limits let a reader of it take.
    memory_max: u64,
    /// Others' anchors say nothing of who may read the logs: those of copies are their owner's.
    is_original: bool,
    freed: Arc<Freed>,
}

/// What is known of a container when it was opened.
pub struct Opened {
    pub container: Arc<Container>,
    pub reader: Reader,
    pub descriptors: usize,
    pub whose: Whose,
    pub memory_max: u64,
    pub is_original: bool,
}

impl std::fmt::Debug for OpenContainer {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.debug_struct("OpenContainer").field("container", &self.container).finish()
    }
}

impl Drop for OpenContainer {
    fn drop(&mut self) {
        self.freed.note(self.memory());
    }
}

impl OpenContainer {
    /// Keeps one open.
    pub fn new(opened: Opened, freed: Arc<Freed>) -> Self {
        let Opened { container, reader, descriptors, whose, memory_max, is_original } = opened;
        let memory = AtomicU64::new(reader.memory());
        let (reader, cached) = (RwLock::new(reader), Mutex::default());
        let is_for_cache = AtomicBool::new(false);
        OpenContainer {
            container,
            reader,
            memory,
            cached,
            is_for_cache,
            descriptors,
            whose,
            memory_max,
            is_original,
            freed,
        }
    }

    /// Returns the bytes that its reader takes, about, as of the last look.
    pub fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Returns the descriptors that it takes.
    pub fn descriptors(&self) -> usize {
        self.descriptors
    }

    /// Returns whose it is.
    pub fn whose(&self) -> Whose {
        self.whose
    }

    /// Reads from this offset on; `is_compared` with its checksums.
    ///
    /// # Errors
    /// If a part cannot be read.
    pub fn read(
        &self,
        bytes: &mut [u8],
        offset: u64,
        is_compared: bool,
    ) -> Result<usize, StowError> {
        let reader = self.reader();
        match is_compared {
            true => reader.read_verified_at(bytes, offset),
            false => reader.read_at(bytes, offset),
        }
    }

    /// Looks for everything in its logs, within so many bytes of memory.
    ///
    /// # Errors
    /// If it takes more, or cannot be read.
    pub fn scan_within(&self, memory: u64) -> Result<(), StowError> {
        let reader = self.reader();
        let scanned = reader.scan_within(memory.min(self.memory_max));
        self.memory.store(reader.memory(), Ordering::Relaxed);
        scanned
    }
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
