//! Who runs the process, since when and on what: for the first lines of a report, and to know
//! whether processes have to share processors.

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
    let after_boot_ticks = start_ticks(sys::read_file(c"/proc/self/stat", &mut room))?;
    let after_boot_ns = u128::from(after_boot_ticks) * 1_000_000_000
        / u128::from(rustix::param::clock_ticks_per_second().max(1));
    // The kernel counts from boot, time asleep included, which CLOCK_MONOTONIC leaves out.
    let boot_time = clock_gettime(ClockId::Boottime);
    let boot_time_ns = u64::try_from(boot_time.tv_sec).ok()?.checked_mul(1_000_000_000)?
        + boot_time.tv_nsec as u64;
    let age_ns = boot_time_ns.saturating_sub(u64::try_from(after_boot_ns).ok()?);
    Some(now.monotonic_ns.saturating_sub(age_ns))
}

/// Returns the start time in a line of /proc/PID/stat, see proc(5): field 22. The name in brackets is
/// the only field that can have blanks and brackets in it.
fn start_ticks(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 1..)?.split(|byte| *byte == b' ');
    let digits = fields.nth(20)?;
    core::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        for name in ["sh", "a b", "x) y (z", ""] {
            assert_eq!(start_ticks(format!("7 ({name}) {fields}").as_bytes()), Some(4711));
        }
        assert_eq!(start_ticks(b"7 (sh) S 1 2"), None);
        assert_eq!(start_ticks(b""), None);
    }
}
