//! Who runs the process, since when and on what: for the first lines of a report, and to know
//! whether processes have to share processors.

use plimsoll_trace::StatLine;
use plimsoll_trace::layout::{Anchor, Circumstances, put_text};
use rustix::time::{ClockId, clock_gettime};

use crate::{config, sys};

/// Fills in what can be found out. What cannot stays zero.
pub fn describe(circumstances: &mut Circumstances, now: &Anchor) {
    circumstances.is_known = 1;
    circumstances.user_id = rustix::process::getuid().as_raw();
    put_text(&mut circumstances.user, config::get().user.as_bytes());
    circumstances.began_ns = began_ns(now).unwrap_or(0);
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    for (index, byte) in circumstances.processors.iter_mut().enumerate() {
        for bit in 0..8 {
            *byte |= u8::from(allowed.is_set(index * 8 + bit)) << bit;
        }
    }
}

/// Returns when the kernel made this process, on CLOCK_MONOTONIC.
fn began_ns(now: &Anchor) -> Option<u64> {
    let mut room = [0u8; 1024];
    let line = StatLine::parse(sys::read_file(c"/proc/self/stat", &mut room))?;
    let after_boot_ns = line.start_ns(rustix::param::clock_ticks_per_second());
    // The kernel counts from boot, time asleep included, which CLOCK_MONOTONIC leaves out.
    let boot_time = clock_gettime(ClockId::Boottime);
    let boot_time_ns = u64::try_from(boot_time.tv_sec).ok()?.checked_mul(1_000_000_000)?
        + boot_time.tv_nsec as u64;
    let age_ns = boot_time_ns.saturating_sub(after_boot_ns);
    Some(now.monotonic_ns.saturating_sub(age_ns))
}
