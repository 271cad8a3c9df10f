//! Stacks of the library's own, for backends: a program's may be too small, as that of a thread that only waits, or
//! the one on which a handler of faults writes what happened.
//!
//! A few are kept. They are taken and given back by single exchanges, so that a child that was forked meanwhile finds
//! nothing locked; what other threads used then is lost to it.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::process::{Resource, getrlimit};

use crate::thread::Serving;

/// Bytes of a stack, of which only what is used is memory, with the page below it.
const STACK_BYTES: usize = 256 << 10;
/// The page below a stack, which nobody can use: whatever needs more ends there, and not in other memory.
const GUARD_BYTES: usize = 4096;
/// Stacks that are kept while nobody uses them.
const KEPT: usize = 16;

static FREE: [AtomicPtr<u8>; KEPT] = [const { AtomicPtr::new(ptr::null_mut()) }; KEPT];

/// A stack that nobody else uses.
struct Stack {
    /// The guard, below everything else.
    lowest: *mut u8,
}

impl Stack {
    /// Takes one that is kept, or a new one. `None` where no memory can be mapped.
    fn take() -> Option<Self> {
        for place in &FREE {
            if !place.load(Ordering::Relaxed).is_null() {
                let lowest = place.swap(ptr::null_mut(), Ordering::Acquire);
                if !lowest.is_null() {
                    return Some(Stack { lowest });
                }
            }
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: new memory.
        let lowest = unsafe { mmap_anonymous(ptr::null_mut(), STACK_BYTES, access, flags) }.ok()?;
        // SAFETY: the first page of it, which nothing is in.
        let _ = unsafe { mprotect(lowest, GUARD_BYTES, MprotectFlags::empty()) };
        Some(Stack { lowest: lowest.cast() })
    }

    /// Does this on it.
    ///
    /// # Safety
    /// The work must not unwind.
    unsafe fn does<R>(self, work: impl FnOnce() -> R) -> R {
        let above_guard = self.lowest.wrapping_add(GUARD_BYTES);
        // SAFETY: mapped, whole pages, and this thread's alone; the work returns, as the caller says.
        unsafe { psm::on_stack(above_guard, STACK_BYTES - GUARD_BYTES, work) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        for place in &FREE {
            let empty = ptr::null_mut();
            if place.load(Ordering::Relaxed).is_null()
                && place
                    .compare_exchange(empty, self.lowest, Ordering::Release, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
        }
        // SAFETY: it is this one's, and nobody is on it.
        let _ = unsafe { munmap(self.lowest.cast(), STACK_BYTES) };
    }
}

/// Does this on a stack of the library's own, or on the thread's own one if there is none. Signals wait meanwhile, so that no handler of the
/// program's is called on it but that of a fault.
///
/// # Safety
/// The work must not unwind.
pub unsafe fn on_own_stack<R>(_serving: &Serving, work: impl FnOnce() -> R) -> R {
    let Some(stack) = Stack::take() else { return work() };
    // SAFETY: as the caller says.
    unsafe { stack.does(work) }
}

/// Does this, while the program is only being loaded, on such a stack if the program's may be too small for it.
///
/// # Safety
/// As above.
pub unsafe fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    let is_small = getrlimit(Resource::Stack).current.is_some_and(|it| it < STACK_BYTES as u64);
    match is_small.then(Stack::take).flatten() {
        // SAFETY: as the caller says.
        Some(stack) => unsafe { stack.does(work) },
        None => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_used_as_are_needed_and_few_are_kept() {
        let stacks: Vec<Stack> = (0..3 * KEPT).map(|_| Stack::take().unwrap()).collect();
        let mut places: Vec<usize> = stacks.iter().map(|it| it.lowest as usize).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|it| it[1] - it[0] >= STACK_BYTES));
        drop(stacks);
        assert!(FREE.iter().all(|place| !place.load(Ordering::Relaxed).is_null()));
        let serving = Serving::begin().unwrap();
        // SAFETY: nothing unwinds.
        let at = || unsafe { on_own_stack(&serving, || psm::stack_pointer() as usize) };
        let (first, second) = (at(), at());
        assert_eq!(first, second, "it is used again");
        assert!(places.iter().any(|lowest| (*lowest..*lowest + STACK_BYTES).contains(&first)));
    }
}
