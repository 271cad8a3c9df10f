//! The clock that events are stamped with: the time stamp counter where the kernel itself uses
//! it, because then it is constant and the same on all processors; CLOCK_MONOTONIC elsewhere.

use core::sync::atomic::Ordering;

use plimsoll_trace::layout::{Anchor, Clock};
use rustix::time::{ClockId, clock_gettime};

use crate::hot::HOT;
use crate::sys;

/// Decides which clock is used.
pub fn init() {
    if cfg!(target_arch = "x86_64") {
        let mut text = [0u8; 8];
        let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
        if sys::read_file(path, &mut text).starts_with(b"tsc") {
            HOT.clock.store(Clock::Tsc as u32, Ordering::Relaxed);
        }
    }
}

/// Returns which [`Clock`] is used.
pub fn source() -> u32 {
    HOT.clock.load(Ordering::Relaxed)
}

/// Returns the time in ticks.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if HOT.clock.load(Ordering::Relaxed) == Clock::Tsc as u32 {
        // SAFETY: the instruction exists on every x86-64 processor. It is not serialising: a
        // fence would cost more than the few nanoseconds that it would add in precision.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    nanos(ClockId::Monotonic)
}

/// Returns the time on all three clocks.
pub fn anchor() -> Anchor {
    let mut best = Anchor::default();
    let mut shortest = u64::MAX;
    // The tightest of three tries: an interrupt between the readings would make them differ.
    for _ in 0..3 {
        let before = ticks();
        let monotonic_ns = nanos(ClockId::Monotonic);
        let after = ticks();
        let passed = after.wrapping_sub(before);
        if passed < shortest {
            shortest = passed;
            best = Anchor { ticks: before.wrapping_add(passed / 2), monotonic_ns, realtime_ns: 0 };
            if source() == Clock::Monotonic as u32 {
                best.ticks = monotonic_ns;
            }
        }
    }
    let realtime = nanos(ClockId::Realtime);
    // Both were read within a microsecond; brought back to the moment of `monotonic_ns`.
    let since = nanos(ClockId::Monotonic).wrapping_sub(best.monotonic_ns);
    best.realtime_ns = realtime.wrapping_sub(since);
    best
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
