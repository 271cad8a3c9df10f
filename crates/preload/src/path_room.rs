//! Room for paths that is not on the program's stack: that of a handler of signals or of a coroutine may have less than a path needs.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::text::{PATH_BYTES, Text};
use crate::thread::{self, Thread};

/// A path, and what is said of it.
pub type PathText = Text<{ PATH_BYTES + 512 }>;

/// As many paths at a time. Memory is only what was used.
const ROOMS: usize = 64;

struct PathRoom {
    /// The thread that uses it; null when it is free.
    holder: AtomicPtr<Thread>,
    path: UnsafeCell<PathText>,
}

// SAFETY: the path is only used by the one that took the room.
unsafe impl Sync for PathRoom {}

// What is in use when a handler of signals never returns stays taken.
static FREE: [PathRoom; ROOMS] = [const {
    PathRoom { holder: AtomicPtr::new(ptr::null_mut()), path: UnsafeCell::new(Text::new()) }
}; ROOMS];

/// A room that nobody else uses.
struct Taken(&'static PathRoom);

impl Taken {
    /// Returns `None` if all are in use.
    #[inline]
    fn take() -> Option<Self> {
        let thread = thread::current();
        // Threads begin at different ones, so that they do not wait for each other's memory.
        let first = thread.addr() >> 12;
        (0..ROOMS).find_map(|step| {
            let room = FREE.get(first.wrapping_add(step) % ROOMS)?;
            let (free, order) = (ptr::null_mut(), Ordering::Acquire);
            let is_free = room.holder.load(Ordering::Relaxed).is_null();
            let taken = is_free
                .then(|| room.holder.compare_exchange(free, thread, order, Ordering::Relaxed));
            taken?.is_ok().then(|| Taken(room))
        })
    }
}

impl Drop for Taken {
    #[inline]
    fn drop(&mut self) {
        self.0.holder.store(ptr::null_mut(), Ordering::Release);
    }
}

/// In a child: what other threads used when the process was forked is free, as they are not there.
pub fn begin_anew() {
    let own = thread::current();
    for room in &FREE {
        if room.holder.load(Ordering::Relaxed) != own {
            room.holder.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

/// Gives an empty text to what needs room for a path. If all rooms are in use, it is on the stack.
#[inline]
pub fn with_path<R>(work: impl FnOnce(&mut PathText) -> R) -> R {
    let Some(taken) = Taken::take() else { return on_stack(work) };
    // SAFETY: taken, and given back only after this.
    let path = unsafe { &mut *taken.0.path.get() };
    path.truncate(0);
    work(path)
}

/// On its own: what has a room needs none of its stack.
#[cold]
#[inline(never)]
fn on_stack<R>(work: impl FnOnce(&mut PathText) -> R) -> R {
    work(&mut Text::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_an_empty_one_alone() {
        fn deep(rest: usize, seen: &mut Vec<usize>) {
            with_path(|path| {
                assert!(path.as_bytes().is_empty());
                seen.push((&raw const *path).addr());
                path.push(rest.to_string().as_bytes());
                if rest > 0 {
                    deep(rest - 1, seen);
                }
                assert_eq!(path.as_bytes(), rest.to_string().as_bytes());
            });
        }
        let mut places = Vec::new();
        deep(2 * ROOMS, &mut places);
        places.sort_unstable();
        assert!(places.windows(2).all(|it| it[1] - it[0] >= PATH_BYTES));
        let rooms = (&raw const FREE).addr()..(&raw const FREE).addr() + size_of_val(&FREE);
        assert!(!places.iter().all(|it| rooms.contains(it)), "more than there are");
        // They were given back; other tests have few.
        let mut again = Vec::new();
        deep(ROOMS / 2, &mut again);
        assert!(again.iter().all(|it| rooms.contains(it)));
    }
}
