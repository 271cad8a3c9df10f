//! What the recorder knows of the calling thread, in 32 bytes of thread-local storage.
//!
//! `thread_local!` in a shared library compiles to a call of `__tls_get_addr`, which may even
//! allocate. The initial-exec model is one load, and libc keeps room for it in every thread as
//! long as it is small. Nothing here has a destructor: a thread that ended is noticed when
//! somebody else needs its place.

use core::ffi::c_int;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use crate::chunk::ThreadSlot;

/// State of one thread. Zeros are a thread that has recorded nothing.
#[repr(C)]
pub struct Thread {
    /// Where its events go. Only valid while the slot has the same key.
    pub slot: *const ThreadSlot,
    /// Key of the slot when this thread took it. Differs after a fork and after a reset.
    pub key: u64,
    /// 1 while the recorder works for this thread; a signal handler that finds 1 keeps out.
    busy: AtomicU32,
    /// Stand-ins around the call that the thread is in, of those that count themselves.
    hooks: AtomicU32,
    /// 1 while a backend works for this thread: what it calls is its own. 2 where that interrupted the recorder.
    serving: AtomicU32,
    /// How often it is within a read that signals may interrupt, or has left one for good.
    at_once: AtomicU32,
}

const _: () = assert!(size_of::<Thread>() == 32);

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .tbss.plimsoll_thread,\"awT\",@nobits",
    ".balign 16",
    ".globl plimsoll_thread",
    ".hidden plimsoll_thread",
    ".type plimsoll_thread,@object",
    ".size plimsoll_thread,32",
    "plimsoll_thread:",
    ".zero 32",
    ".popsection",
);

/// Returns the calling thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn current() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread pointer and the symbol's offset from it; both are constant for a
    // thread, so that the result may be reused.
    unsafe {
        core::arch::asm!(
            "mov {thread}, qword ptr [rip + plimsoll_thread@GOTTPOFF]",
            "add {thread}, qword ptr fs:[0]",
            thread = out(reg) thread,
            options(pure, nomem, nostack),
        );
    }
    thread
}

/// Returns the calling thread.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn current() -> *mut Thread {
    use core::cell::UnsafeCell;
    std::thread_local! {
        static THREAD: UnsafeCell<Thread> = const {
            UnsafeCell::new(Thread {
                slot: core::ptr::null(),
                key: 0,
                busy: AtomicU32::new(0),
                hooks: AtomicU32::new(0),
                serving: AtomicU32::new(0),
                at_once: AtomicU32::new(0),
            })
        };
    }
    THREAD.with(UnsafeCell::get)
}

/// Returns true when the recorder was interrupted on this thread by the code that asks.
#[inline(always)]
pub fn is_busy() -> bool {
    // SAFETY: the thread's own storage lives as long as the thread.
    unsafe { (*current()).busy.load(Ordering::Relaxed) != 0 }
}

/// Makes a call that may lead back to another stand-in of ours.
#[inline]
pub fn inside_hook<R>(call: impl FnOnce() -> R) -> R {
    // SAFETY: the thread's own storage; only this thread and its signal handlers use it.
    let hooks = unsafe { &(*current()).hooks };
    hooks.store(hooks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    let result = call();
    hooks.store(hooks.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    result
}

/// Returns true within such a call.
#[inline]
pub fn is_inside_hook() -> bool {
    // SAFETY: as above.
    unsafe { (*current()).hooks.load(Ordering::Relaxed) != 0 }
}

/// Returns true while a backend works for this thread, so that what is called now is the backend's own call.
#[inline]
pub fn is_serving() -> bool {
    // SAFETY: the thread's own storage.
    unsafe { (*current()).serving.load(Ordering::Relaxed) != 0 }
}

/// Proof that a backend works for this thread, and that no signal handler interrupts it: signals wait, and the thread cannot be
/// cancelled. What the backend calls is neither recorded nor served.
pub struct Serving {
    thread: *mut Thread,
    was_busy: u32,
    signals: libc::sigset_t,
    cancellation: c_int,
}

// SAFETY: the C library defines them so. A thread that is cancelled unwinds through them.
unsafe extern "C-unwind" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// Lets the thread be cancelled here, as it would be by the kernel's call that a backend serves.
pub fn cancellation_point() {
    // SAFETY: a function that needs nothing.
    unsafe { pthread_testcancel() };
}

/// pthread.h
const CANCEL_DISABLE: c_int = 1;

/// What a mistake of the program raises at once: it cannot wait.
pub const AT_ONCE: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

impl Serving {
    /// Begins; `None` within such a call.
    pub fn begin() -> Option<Serving> {
        if is_serving() {
            return None;
        }
        let thread = current();
        // SAFETY: sets of signals that the C library fills, and the thread's own storage.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            let mut signals: libc::sigset_t = core::mem::zeroed();
            libc::sigfillset(&raw mut all);
            for signal in AT_ONCE {
                libc::sigdelset(&raw mut all, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut signals);
            let mut cancellation = 0;
            pthread_setcancelstate(CANCEL_DISABLE, &raw mut cancellation);
            let was_busy = (*thread).busy.swap(1, Ordering::Relaxed);
            (*thread).serving.store(1 + was_busy, Ordering::Relaxed);
            Some(Serving { thread, was_busy, signals, cancellation })
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // SAFETY: as in `begin`, by the same thread.
        unsafe {
            (*self.thread).serving.store(0, Ordering::Relaxed);
            (*self.thread).busy.store(self.was_busy, Ordering::Relaxed);
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.signals,
                core::ptr::null_mut(),
            );
            // The last of all: a thread that may be cancelled at any time ends in it.
            let mut before = 0;
            pthread_setcancelstate(self.cancellation, &raw mut before);
        }
    }
}

/// Returns true within a read that signals may interrupt: the one who asks has interrupted it, or it was left for good.
pub fn reads_at_once() -> bool {
    // SAFETY: the thread's own storage.
    unsafe { (*current()).at_once.load(Ordering::Relaxed) != 0 }
}

/// Proof that the thread is within a read that signals may interrupt.
pub struct AtOnce {
    thread: *mut Thread,
}

impl AtOnce {
    /// Begins.
    #[inline(always)]
    pub fn begin() -> Self {
        let thread = current();
        // SAFETY: the thread's own storage; only this thread and its signal handlers use it, which leave it as it was.
        let at_once = unsafe { &(*thread).at_once };
        at_once.store(at_once.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        AtOnce { thread }
    }
}

impl Drop for AtOnce {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `begin`.
        let at_once = unsafe { &(*self.thread).at_once };
        at_once.store(at_once.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }
}

/// Proof that the recorder works for this thread. Whatever takes a lock or touches the thread's
/// chunk asks for it, so that a signal handler on the same thread can never wait for itself.
pub struct Busy {
    thread: *mut Thread,
}

impl Busy {
    /// Begins; `None` when the recorder was interrupted on this thread.
    #[inline(always)]
    pub fn begin() -> Option<Busy> {
        let thread = current();
        // SAFETY: the thread's own storage; only this thread and its signal handlers use it.
        let busy = unsafe { &(*thread).busy };
        if busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        busy.store(1, Ordering::Relaxed);
        // A handler runs on the same processor: it is enough that the compiler keeps the order.
        compiler_fence(Ordering::SeqCst);
        Some(Busy { thread })
    }

    /// Begins also while a backend works for this thread, which keeps handlers out; `None` when the recorder was interrupted.
    pub fn begin_within() -> Option<MaybeWithin> {
        let thread = current();
        // SAFETY: the thread's own storage.
        match unsafe { (*thread).serving.load(Ordering::Relaxed) } {
            0 => Busy::begin().map(MaybeWithin::Outside),
            1 => Some(MaybeWithin::Within(ManuallyDrop::new(Busy { thread }))),
            _ => None,
        }
    }

    /// Returns the thread's state.
    #[inline(always)]
    pub fn thread(&self) -> *mut Thread {
        self.thread
    }
}

/// Proof that the recorder works for this thread, perhaps while a backend does so.
pub enum MaybeWithin {
    /// It has begun with this.
    Outside(Busy),
    /// It goes on to count as busy.
    Within(ManuallyDrop<Busy>),
}

impl Deref for MaybeWithin {
    type Target = Busy;

    fn deref(&self) -> &Busy {
        match self {
            MaybeWithin::Outside(busy) => busy,
            MaybeWithin::Within(busy) => busy,
        }
    }
}

impl Drop for Busy {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `begin`.
        unsafe { (*self.thread).busy.store(0, Ordering::Relaxed) };
    }
}
