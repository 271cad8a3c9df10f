//! What every call reads first, in one cache line: whether anything is recorded or served, and where this process's
//! tables are. Nothing else of this crate is used here.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use plimsoll_trace::Layer;
use plimsoll_trace::layout::Clock;

/// Nothing was decided yet.
pub const UNDECIDED: u32 = 0;
/// All layers that can be recorded.
pub const ANY_LAYER: u32 = 0b1111;
/// It was decided; without a layer's bit: off.
const DECIDED: u32 = 1 << 8;
/// A backend may serve calls, see [`crate::backend`]; apart from what is recorded.
const HAS_BACKEND: u32 = 1 << 9;

/// What every call reads. After a system call, each further cache line may be a miss.
#[repr(C, align(64))]
pub struct Hot {
    mode: AtomicU32,
    /// The clock that is read, see [`crate::clock`].
    pub clock: AtomicU32,
    /// The region of this process, see [`crate::process`].
    pub region: AtomicPtr<c_void>,
}

/// What every call reads.
pub static HOT: Hot = Hot {
    mode: AtomicU32::new(UNDECIDED),
    clock: AtomicU32::new(Clock::Monotonic as u32),
    region: AtomicPtr::new(core::ptr::null_mut()),
};

/// Returns the bit of a layer in the mode.
#[inline(always)]
pub const fn bit(layer: Layer) -> u32 {
    match layer {
        Layer::Mpi => 1,
        Layer::Stdio => 2,
        Layer::Posix => 4,
        Layer::Logs => 8,
    }
}

/// Returns what is recorded and served.
#[inline(always)]
pub fn mode() -> u32 {
    HOT.mode.load(Ordering::Relaxed)
}

/// Returns whether anything is recorded.
#[inline(always)]
pub fn is_on() -> bool {
    mode() & ANY_LAYER != 0
}

/// Returns whether calls may be served by a backend.
#[inline(always)]
pub fn has_backend() -> bool {
    mode() & HAS_BACKEND != 0
}

/// Returns true to the one caller that is to decide. Until that one has decided, everything is off.
pub fn begin_to_decide() -> bool {
    HOT.mode.compare_exchange(UNDECIDED, DECIDED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Decides which layers are recorded (their bits), and whether calls may be served.
pub fn decide(recorded: u32, has_backend: bool) {
    let backend = if has_backend { HAS_BACKEND } else { 0 };
    HOT.mode.store(DECIDED | backend | recorded & ANY_LAYER, Ordering::Release);
}

/// Records nothing from now on, in this process and the ones that it forks.
pub fn turn_off() {
    HOT.mode.store(DECIDED | mode() & HAS_BACKEND, Ordering::Relaxed);
}
