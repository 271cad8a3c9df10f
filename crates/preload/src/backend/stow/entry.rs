//! A container as this process uses it: one writer and one reader, made when they are first needed.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_pilot::Crew;
use plimsoll_stow::{
    ANCHOR, Container, Placement, Reader, SmallWriter, Stored, StowError, Writer, is_gone,
    is_gone_name, is_read_from_its_own,
};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Stat, Timestamps, utimensat};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::settings::{self, Policy};
use super::view::Views;
use super::{Outcome, counting, memory, number};
use crate::lock::{Held, Lock};
use crate::mpi::meeting;
use crate::own_descriptors;
use crate::thread::Serving;

/// By what an anchor is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    device: u64,
    inode: u64,
}

impl Key {
    /// Returns the key of an anchor.
    pub fn of(anchor: &Stat) -> Self {
        Key { device: anchor.st_dev, inode: anchor.st_ino }
    }
}

/// A container that this process uses.
pub struct Entry {
    /// By what it is known.
    pub key: Key,
    lock: Lock,
    /// Guarded by `lock`.
    used: UnsafeCell<Used>,
}

// SAFETY: the cell is used under the lock.
unsafe impl Sync for Entry {}
// SAFETY: writers and readers may be used by any thread, one after the other.
unsafe impl Send for Entry {}

/// What the process has of a container.
pub struct Used {
    container: Arc<Container>,
    /// The process's, which says where segments go.
    crew: Arc<Crew>,
    /// The descriptors by which it is known to be used.
    descriptors: Vec<c_int>,
    /// Descriptors of the anchor that the program has not got. They stay as long as its own: to close one gives up the program's locks (fcntl(2)).
    aside: Vec<OwnedFd>,
    writer: Option<Writer>,
    /// Who writes to it while it is small.
    small: Option<SmallWriter>,
    /// It is not small, or not any more.
    is_large: bool,
    /// How much of what it holds was counted as a small file's.
    counted: u64,
    /// How many meetings there were when the writer asked other nodes last.
    meetings: u64,
    views: Views,
    /// When the time of the last change was noted.
    touched: Timespec,
    /// What it holds is known to be its own.
    is_own: bool,
    /// Whether this process has written the beginning of a program to it.
    pub is_program: bool,
}

/// Proof that one thread alone uses a container.
pub struct HeldEntry<'a> {
    used: &'a mut Used,
    _held: Held<'a>,
}

impl Deref for HeldEntry<'_> {
    type Target = Used;

    fn deref(&self) -> &Used {
        self.used
    }
}

impl DerefMut for HeldEntry<'_> {
    fn deref_mut(&mut self) -> &mut Used {
        self.used
    }
}

impl Entry {
    /// Makes one of an open container.
    pub fn new(
        key: Key,
        container: Container,
        small: Option<SmallWriter>,
        crew: Arc<Crew>,
    ) -> Self {
        let used = Used {
            container: Arc::new(container),
            crew,
            descriptors: Vec::new(),
            aside: Vec::new(),
            writer: None,
            small,
            is_large: false,
            counted: 0,
            meetings: 0,
            views: Views::default(),
            touched: Timespec { tv_sec: 0, tv_nsec: 0 },
            is_own: false,
            is_program: false,
        };
        Entry { key, lock: Lock::new(), used: UnsafeCell::new(used) }
    }

    /// Waits until no other thread uses it.
    pub fn hold<'a>(&'a self, serving: &Serving) -> HeldEntry<'a> {
        let held = self.lock.hold_serving(serving);
        // SAFETY: the lock is held as long as the result lives.
        HeldEntry { used: unsafe { &mut *self.used.get() }, _held: held }
    }
}

/// How often the time of the last change is noted at most, in nanoseconds: as exact as kernels are that count 250 ticks a second.
const TOUCH_NS: i64 = 4_000_000;

impl Used {
    /// Returns the container.
    pub fn container(&self) -> &Arc<Container> {
        &self.container
    }

    /// Notes that a descriptor is one of its.
    pub fn note(&mut self, fd: c_int) {
        if !self.has(fd) {
            self.descriptors.push(fd);
        }
    }

    /// Returns whether a descriptor is known to be one of its.
    pub fn has(&self, fd: c_int) -> bool {
        self.descriptors.contains(&fd)
    }

    /// Keeps a descriptor of the anchor that the program does not get.
    pub fn keep_aside(&mut self, file: OwnedFd) {
        self.aside.push(own_descriptors::moved::out_of_sight(file));
    }

    /// Notes that a descriptor is closed; returns whether it was the last one.
    pub fn forget(&mut self, fd: c_int) -> bool {
        self.descriptors.retain(|it| *it != fd);
        self.descriptors.is_empty()
    }

    /// Returns whether the program has a descriptor of it.
    pub fn is_open(&self) -> bool {
        !self.descriptors.is_empty()
    }

    /// Returns the writer: what it writes is later than what other nodes wrote before the last meeting with them.
    pub fn writer(&mut self) -> Result<&mut Writer, c_int> {
        let meetings = meeting::count();
        let before = core::mem::replace(&mut self.meetings, meetings);
        let writer = match self.writer.take() {
            Some(mut writer) => {
                if before != meetings
                    && let Err(error) = writer.follow_others()
                {
                    (self.meetings, self.writer) = (before, Some(writer));
                    return Err(told(error));
                }
                writer
            }
            None => {
                let tally = counting::of_writer(&self.container);
                let placement = self.placement();
                let opened = Writer::open_counted(self.container.clone(), placement, tally);
                let mut writer = opened.map_err(told)?;
                writer.copy_by(memory::copy);
                counting::take_small(core::mem::take(&mut self.counted));
                (self.small, self.is_large) = (None, true);
                writer
            }
        };
        Ok(self.writer.insert(writer))
    }

    /// Returns who writes to it while it is small; `None` once it is not.
    pub fn small(&mut self) -> Result<Option<&mut SmallWriter>, c_int> {
        if self.is_large || self.writer.is_some() {
            return Ok(None);
        }
        if self.small.is_none() {
            self.small = SmallWriter::open(&self.container, small_room()).map_err(told)?;
            self.is_large = self.small.is_none();
        }
        let mut small = self.small.as_mut();
        if let Some(small) = &mut small {
            small.copy_by(memory::copy);
        }
        Ok(small)
    }

    /// Has a small file take something; returns where. `None` if it is not small, or not any more: the writer takes it.
    fn stored(
        &mut self,
        work: impl FnOnce(&mut SmallWriter, &Container) -> Result<Stored, Errno>,
    ) -> Result<Option<u64>, c_int> {
        let container = self.container.clone();
        let Some(small) = self.small()? else { return Ok(None) };
        match work(small, &container).map_err(number)? {
            Stored::At(offset) => Ok(Some(offset)),
            Stored::Outgrown => {
                (self.small, self.is_large) = (None, true);
                Ok(None)
            }
        }
    }

    /// Writes to it while it is small: at an offset, or at its end; returns where. `None` if the writer is to.
    pub fn write_small(&mut self, bytes: &[u8], offset: Option<u64>) -> Result<Option<u64>, c_int> {
        let stored = self.stored(|small, container| match offset {
            Some(offset) => small.write_at(container, bytes, offset),
            None => small.append(container, bytes),
        })?;
        if stored.is_some() {
            self.counted += bytes.len() as u64;
            counting::add_small(bytes.len() as u64);
        }
        Ok(stored)
    }

    /// Gives the file another size.
    pub fn truncate(&mut self, size: u64) -> Result<(), c_int> {
        match self.stored(|small, container| small.truncate(container, size))? {
            Some(_) => Ok(()),
            None => self.writer()?.truncate(size).map_err(told),
        }
    }

    /// Returns how a new writer spreads its segments.
    fn placement(&self) -> Placement {
        match settings::get().map(|it| it.policy) {
            Some(Policy::Static) => Placement::Static,
            Some(Policy::Window) => match self.crew.pilot(&self.container) {
                Ok(pilot) => Placement::Routed(Box::new(pilot)),
                Err(_) => Placement::Striped,
            },
            _ => Placement::Striped,
        }
    }

    /// Returns a reader that sees what was published on this node until now.
    pub fn reader(&mut self) -> Result<&Reader, c_int> {
        self.views.reader(&self.container)
    }

    /// Lets a descriptor be read without asking whose it is: it is one of the container's, and can be read.
    pub fn offer(&mut self, fd: c_int) {
        if self.has(fd) {
            self.views.offer(fd);
        }
    }

    /// Returns the size of the file; EIO while something is missing that may have given it another one.
    pub fn size(&mut self) -> Result<u64, c_int> {
        self.reader()?.known_size().map_err(told)
    }

    /// Returns whether there is nothing in the file, so that it need not be cut to nothing. Where something is missing, there may be.
    pub fn is_empty(&mut self) -> Result<bool, c_int> {
        Ok(self.reader()?.known_size().is_ok_and(|size| size == 0))
    }

    /// Returns whether its logs may be those of another container, which this one is a copy or a forgery of. That is asked until it is known that they are not.
    pub fn may_be_anothers(&mut self) -> bool {
        self.is_own = self.is_own
            || self.writer.is_some()
            || self.small.is_some()
            || self.reader().is_ok_and(Reader::is_small)
            || is_read_from_its_own(&self.container).unwrap_or(false);
        !self.is_own
    }

    /// Makes durable what was published on this node.
    pub fn sync(&mut self) -> Outcome {
        if self.stored(SmallWriter::sync)?.is_none() {
            self.writer()?.sync().map_err(told)?;
        }
        counting::note_time();
        Ok(0)
    }

    /// Has what is written from now on be later than what other nodes have written: a lock was got, or the file is opened.
    pub fn follow_others(&mut self) -> Outcome {
        self.writer.as_mut().map_or(Ok(()), Writer::follow_others).map(|()| 0).map_err(told)
    }

    /// Lets other nodes see what was written: a lock is given back, or a descriptor is closed.
    pub fn show_others(&mut self) -> Outcome {
        self.writer.as_mut().map_or(Ok(()), Writer::show_others).map(|()| 0).map_err(told)
    }

    /// Notes that the file was changed now. Programs compare such times with those of others, and set them themselves once they have written.
    pub fn touch(&mut self) {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let since = (now.tv_sec - self.touched.tv_sec).saturating_mul(1_000_000_000)
            + (now.tv_nsec - self.touched.tv_nsec);
        if (0..TOUCH_NS).contains(&since) {
            return;
        }
        self.touched = now;
        let omit = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        let set = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = Timestamps { last_access: omit, last_modification: set };
        let anchor = ANCHOR;
        let _ = utimensat(self.container.directory(), anchor, &times, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Notes that the anchor was made just now, with the time of that.
    pub fn is_new(&mut self) {
        self.touched = clock_gettime(ClockId::RealtimeCoarse);
    }

    /// Returns where the container is.
    pub fn path(&self) -> Option<PathBuf> {
        std::fs::read_link(self.container.directory().path_by_descriptor()).ok()
    }

    /// Returns whether the container was removed while it was open; also where that cannot be told.
    pub fn is_gone(&self) -> bool {
        is_gone(self.container.directory()) != Ok(false)
    }

    /// Returns where the container is if it was removed while it was open.
    pub fn gone_to(&self) -> Option<PathBuf> {
        // It is marked before it gets such a name.
        if !self.is_gone() {
            return None;
        }
        self.path().filter(|path| path.file_name().is_some_and(is_gone_name))
    }

    /// Ends what this process writes to it.
    pub fn close(&mut self) -> Outcome {
        self.views.forget();
        if let Some(small) = self.small.take() {
            small.close(&self.container);
        }
        match self.writer.take() {
            Some(writer) => writer.close().map(|()| 0).map_err(told),
            None => Ok(0),
        }
    }
}

/// Returns how many bytes a marker has at most: those of a small file, and what says where they are if they are a few writes.
fn small_room() -> u64 {
    settings::get().map_or(0, |it| it.small_room())
}

/// Returns the number that a program is told.
pub fn told(error: StowError) -> c_int {
    number(error.errno())
}
