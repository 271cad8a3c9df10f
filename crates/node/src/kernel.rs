//! Waiting in the kernel, who is alive, and what time it is.

use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;

use rustix::fs::Timespec;
use rustix::thread::futex;
use rustix::time::{ClockId, clock_gettime};

use crate::alive;
use crate::lock::{Lock, LockHolder, Patience, Stuck};
use crate::shared::SharedNode;

/// Does something that no other member does at the same time.
pub(crate) fn locked<R>(
    node: &SharedNode,
    me: LockHolder,
    work: impl FnOnce() -> R,
) -> Result<R, Stuck> {
    let lock = Lock::new(node.lock_word());
    let mut patience = Kernel { node, waited: 0 };
    lock.close(me, &mut patience)?;
    let result = work();
    lock.open(me, &mut patience);
    Ok(result)
}

/// Waits in the kernel, and asks it who is alive.
struct Kernel<'a> {
    node: &'a SharedNode,
    waited: u32,
}

/// How long a wait for the lock is, and how many are enough: ten seconds.
const LOCK_WAIT_NS: u64 = 1_000_000;
const LOCK_WAITS: u32 = 10_000;

impl Patience<AtomicU64> for Kernel<'_> {
    const SPINS: u32 = 100;

    fn wait(&mut self, word: &AtomicU64, known: u64) -> Result<(), Stuck> {
        self.waited += 1;
        if self.waited > LOCK_WAITS {
            return Err(Stuck);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOCK_WAIT_NS as i64 };
        let _ = futex::wait(low_half(word), futex::Flags::empty(), known as u32, Some(&timeout));
        Ok(())
    }

    fn wake(&mut self, word: &AtomicU64) {
        let _ = futex::wake(low_half(word), futex::Flags::empty(), 1);
    }

    fn is_dead(&mut self, holder: LockHolder) -> bool {
        // Most often it is about to be opened.
        if self.waited == 0 || holder.place >= self.node.shape().holders() {
            return self.waited > 0;
        }
        alive::is_vacant(self.node.file().as_fd(), holder.place)
    }
}

/// The half of a word that the kernel can wait for.
pub(crate) fn low_half(word: &AtomicU64) -> &std::sync::atomic::AtomicU32 {
    let halves: *const std::sync::atomic::AtomicU32 = std::ptr::from_ref(word).cast();
    let low = if cfg!(target_endian = "little") { halves } else { halves.wrapping_add(1) };
    // SAFETY: it lies within the word, is aligned, and is used by the kernel only, which compares it.
    unsafe { &*low }
}

/// The time on the clock that all processes of a node share.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
