//! The containers that this process uses, by the inode of their anchor. A forked child begins without any.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use plimsoll_guarded::Directory;
use plimsoll_pilot::Crew;
use plimsoll_stow::{ANCHOR, Container, SmallWriter};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, OFlags, Stat, fcntl_getfl, fstat, statat};

use super::entry::{Entry, Key, Used};
use super::{names, number, places, settings};
use crate::backend::Answer;
use crate::lock::Lock;
use crate::sys;
use crate::thread::{self, Serving};

struct Registry {
    lock: Lock,
    /// Guarded by `lock`.
    content: UnsafeCell<Content>,
}

// SAFETY: the cell is used under the lock.
unsafe impl Sync for Registry {}

#[derive(Default)]
struct Content {
    entries: Vec<Arc<Entry>>,
    left: Vec<Left>,
    crew: Option<Arc<Crew>>,
}

impl Content {
    /// Returns those who say where segments go; there is a place in memory that other processes see only once one has begun to.
    fn crew(&mut self) -> Arc<Crew> {
        let buffer_bytes = settings::get().map_or(0, |it| it.buffer_bytes);
        self.crew.get_or_insert_with(|| Crew::new(buffer_bytes)).clone()
    }
}

/// A container of which a thread is closing this process's last descriptor, and with which there may be something to do then.
pub struct Left {
    /// Which thread: to others it may still be open.
    by: usize,
    /// It may have been removed while it was open. Asked only once it is closed: who removes one leaves it to whoever has it open.
    pub entry: Arc<Entry>,
    /// Where it is, and what it is known by, if it was written as a program.
    pub program: Option<(PathBuf, Key)>,
}

static REGISTRY: AtomicPtr<Registry> = AtomicPtr::new(ptr::null_mut());
static LEFT: AtomicU32 = AtomicU32::new(0);

/// Forgets everything, which is another process's.
pub fn forget_all() {
    // Not given back: another thread may have changed it when the process was forked.
    REGISTRY.store(ptr::null_mut(), Ordering::Release);
    LEFT.store(0, Ordering::Relaxed);
}

fn registry() -> &'static Registry {
    loop {
        // SAFETY: null, or one that is never given back.
        if let Some(registry) = unsafe { REGISTRY.load(Ordering::Acquire).as_ref() } {
            return registry;
        }
        let new = Registry { lock: Lock::new(), content: UnsafeCell::default() };
        let new = Box::into_raw(Box::new(new));
        let empty = ptr::null_mut();
        if REGISTRY.compare_exchange(empty, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else knows of it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

fn with<R>(serving: &Serving, work: impl FnOnce(&mut Content) -> R) -> R {
    let registry = registry();
    let _held = registry.lock.hold_serving(serving);
    // SAFETY: the lock is held.
    work(unsafe { &mut *registry.content.get() })
}

/// Returns the container with this anchor, if this process uses it already.
pub fn find(serving: &Serving, key: Key) -> Option<Arc<Entry>> {
    with(serving, |content| content.entries.iter().find(|it| it.key == key).cloned())
}

/// Returns the container that a descriptor is of, if this process uses it already.
pub fn known(serving: &Serving, fd: c_int) -> Option<Arc<Entry>> {
    let facts = fstat(sys::borrow(fd)?).ok()?;
    find(serving, Key::of(&facts))
}

/// Closes a descriptor of an anchor that the program does not get. If it has others, that waits: its locks would be gone.
pub fn give_up(serving: &Serving, file: OwnedFd) {
    if let Some(entry) = known(serving, file.as_raw_fd()) {
        let mut entry = entry.hold(serving);
        if entry.is_open() {
            entry.keep_aside(file);
        }
    }
}

/// Returns the container that a descriptor is of, and what its anchor is; `None` if it is none's.
pub fn of(serving: &Serving, fd: c_int) -> Result<Option<(Arc<Entry>, Stat)>, c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let facts = fstat(file).map_err(number)?;
    if let Some(entry) = find(serving, Key::of(&facts)) {
        return Ok(Some((entry, facts)));
    }
    if !names::is_regular(&facts) {
        return Ok(None);
    }
    let Some(found) = names::container_of(fd)? else { return Ok(None) };
    Ok(Some((add(serving, found.key(), found.open()?, None), facts)))
}

/// Opens the container in a directory, if it has this anchor.
pub fn open_in(directory: Directory, key: Key) -> Result<Container, c_int> {
    let anchor = statat(&directory, ANCHOR, AtFlags::SYMLINK_NOFOLLOW).map_err(number)?;
    if Key::of(&anchor) != key {
        return Err(libc::ESTALE);
    }
    let targets = settings::get().map_or(&[][..], |it| &it.targets);
    let container = Container::open_in(directory, targets);
    let container = container.map_err(|error| number(error.errno()))?;
    Ok(container.within_limits())
}

/// Adds a container, unless another thread was quicker.
pub fn add(
    serving: &Serving,
    key: Key,
    container: Container,
    small: Option<SmallWriter>,
) -> Arc<Entry> {
    with(serving, |content| match content.entries.iter().find(|it| it.key == key) {
        Some(entry) => entry.clone(),
        None => {
            let new = Arc::new(Entry::new(key, container, small, content.crew()));
            content.entries.push(new.clone());
            new
        }
    })
}

/// Takes a container out; it is closed when nobody uses it any more.
pub fn remove(serving: &Serving, key: Key) -> Option<Arc<Entry>> {
    with(serving, |content| {
        let at = content.entries.iter().position(|it| it.key == key)?;
        Some(content.entries.swap_remove(at))
    })
}

/// Notes that a descriptor is about to be closed. With the last one, what is written ends.
pub fn close(serving: &Serving, fd: c_int) -> Answer {
    let entry = known(serving, fd)?;
    let mut held = entry.hold(serving);
    close_held(serving, &entry, &mut held, fd, can_write(fd))
}

/// Has a number become another file's by this call, while no other thread uses the container that it is of.
pub fn replace(serving: &Serving, fd: c_int, kernel: &mut dyn FnMut() -> bool) {
    let Some(entry) = known(serving, fd) else {
        kernel();
        return;
    };
    let mut held = entry.hold(serving);
    let could_write = can_write(fd);
    // Before, as it is read without the lock.
    places::forget(fd);
    if kernel() && !is_of(fd, entry.key) {
        let _ = close_held(serving, &entry, &mut held, fd, could_write);
    }
}

/// Returns whether a descriptor is of the container with this anchor.
pub fn is_of(fd: c_int, key: Key) -> bool {
    let facts = sys::borrow(fd).and_then(|it| fstat(it).ok());
    facts.is_some_and(|it| Key::of(&it) == key)
}

fn close_held(
    serving: &Serving,
    entry: &Arc<Entry>,
    held: &mut Used,
    fd: c_int,
    could_write: bool,
) -> Answer {
    places::forget(fd);
    if !held.forget(fd) {
        return if could_write { held.show_others().err().map(Err) } else { None };
    }
    remove(serving, entry.key);
    let closed = held.close();
    let is_program = held.is_program && closed.is_ok();
    let path = if is_program { held.path() } else { None };
    let program = path.map(|path| (path, entry.key));
    let left = Left { by: thread::current().addr(), entry: entry.clone(), program };
    with(serving, |content| {
        content.left.push(left);
        LEFT.store(1, Ordering::Relaxed);
    });
    closed.err().map(Err)
}

fn can_write(fd: c_int) -> bool {
    let flags = sys::borrow(fd).and_then(|it| fcntl_getfl(it).ok());
    flags.is_some_and(|it| it & OFlags::ACCMODE != OFlags::RDONLY)
}

/// Returns whether there is something to do with containers that this process has closed.
pub fn has_work() -> bool {
    LEFT.load(Ordering::Relaxed) != 0
}

/// Returns those that this thread has closed.
pub fn take_left(serving: &Serving) -> Vec<Left> {
    let own = thread::current().addr();
    with(serving, |content| {
        let (taken, others): (Vec<Left>, Vec<Left>) =
            core::mem::take(&mut content.left).into_iter().partition(|it| it.by == own);
        content.left = others;
        LEFT.store(u32::from(!content.left.is_empty()), Ordering::Relaxed);
        taken
    })
}

/// Ends what this process writes, everywhere. Whatever is used afterwards begins anew.
pub fn close_all(serving: &Serving) {
    if REGISTRY.load(Ordering::Acquire).is_null() {
        return;
    }
    let entries = with(serving, |content| core::mem::take(&mut content.entries));
    for entry in entries {
        let _ = entry.hold(serving).close();
    }
    if let Some(crew) = with(serving, |content| content.crew.take()) {
        crew.dismiss();
    }
}
