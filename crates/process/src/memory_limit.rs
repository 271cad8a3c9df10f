//! A limit on the memory that a process takes for itself: the last line against files of others that make it take more and more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The system's memory up to a limit, to be the process's `#[global_allocator]`. Memory that is mapped, as for the transfers of
/// benchmarks, is not counted.
pub struct LimitedMemory;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// What a process says that reaches the limit: there is no memory left to put words together.
static LAST_WORDS: OnceLock<String> = OnceLock::new();
/// A thread is saying them.
static SAYS_THEM: AtomicBool = AtomicBool::new(false);

/// The status of a command that fails.
const FAILED: i32 = 2;

/// Ends the process with this line on standard error, and status 2, when it would take more memory than this. Counts from the first
/// call; later ones change nothing.
pub fn limit_memory(most_bytes: usize, last_words: String) {
    if LAST_WORDS.set(last_words).is_ok() {
        MOST.store(most_bytes, Ordering::Relaxed);
    }
}

/// Returns the most memory that the process may take, if there is a limit.
pub fn memory_limit() -> Option<usize> {
    Some(MOST.load(Ordering::Relaxed)).filter(|most| *most < usize::MAX)
}

/// Returns what the system's allocator takes for so many bytes: a head, and whole units of 16, two at least (malloc(3) of glibc on
/// 64 bits; others take about as much).
fn taken_for(bytes: usize) -> usize {
    (bytes.saturating_add(8 + 15) & !15).max(32)
}

fn take(bytes: usize) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed);
    if used.saturating_add(bytes) > MOST.load(Ordering::Relaxed) {
        give_up();
    }
}

fn give_back(bytes: usize) {
    USED.fetch_sub(bytes, Ordering::Relaxed);
}

#[cold]
fn give_up() -> ! {
    while SAYS_THEM.swap(true, Ordering::Relaxed) {
        // Another thread reached the limit first, and ends this one with the process.
        // SAFETY: it only waits.
        unsafe { libc::pause() };
    }
    crate::terminal::give_back_terminal();
    let words = LAST_WORDS.get().map_or("", String::as_str);
    for text in [words, "\n"] {
        // SAFETY: the pointer is to bytes that live through the call.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: it ends the process at once, without handlers, which could want memory.
    unsafe { libc::_exit(FAILED) }
}

// SAFETY: every call is passed on to the system's allocator as it is; what is counted beside it touches no memory of it.
unsafe impl GlobalAlloc for LimitedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(taken_for(layout.size()));
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(taken_for(layout.size()));
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(taken_for(layout.size()));
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (before, after) = (taken_for(layout.size()), taken_for(size));
        if after > before {
            take(after - before);
        } else {
            give_back(before - after);
        }
        // SAFETY: as the caller says.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
