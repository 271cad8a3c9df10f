//! The clock of the wall, and whether somebody set it.

use std::time::{Duration, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// How far two clocks may drift apart from one look to the next: a tenth of the time in between, and this much. NTP slews by a two-thousandth
/// at most.
const DRIFT: Duration = Duration::from_millis(5);

/// A look that took longer than this is repeated: something came in between, and its two times do not quite belong together.
const LOOK_MOST: Duration = Duration::from_millis(1);
const LOOKS: usize = 10;

/// Tells the time, and whether the clock was set since it was last asked. The time since the machine was started, which nobody sets, tells.
#[derive(Debug, Default)]
pub struct Clock {
    before: Option<Moment>,
}

/// What both clocks show.
#[derive(Debug, Clone, Copy)]
struct Moment {
    /// Since 1970.
    wall: Duration,
    /// With the time that the machine slept.
    since_start: Duration,
    /// How far apart the two looks may be: on a busy machine anything comes in between.
    apart: Duration,
}

/// What a look at the clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLook {
    /// Nanoseconds since 1970.
    pub nanoseconds: u64,
    /// By how many milliseconds it was put forward since it was last asked, or back; 0 if nobody set it.
    pub step_millis: i64,
}

impl Clock {
    /// Looks at the clock.
    pub fn look(&mut self) -> ClockLook {
        let now = look();
        let step_millis = self.before.replace(now).map_or(0, |before| step(before, now));
        ClockLook { nanoseconds: now.wall.as_nanos() as u64, step_millis }
    }
}

/// Looks until both clocks are seen close together, and takes the best look if that never happens.
fn look() -> Moment {
    let since_start = || Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    let mut begun = since_start();
    let mut best: Option<Moment> = None;
    for _ in 0..LOOKS {
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default();
        let ended = since_start();
        let look = Moment { wall, since_start: ended, apart: ended.saturating_sub(begun) };
        let is_better = best.is_none_or(|best| look.apart < best.apart);
        best = if is_better { Some(look) } else { best };
        if look.apart <= LOOK_MOST {
            break;
        }
        begun = ended;
    }
    best.unwrap_or(Moment { wall: Duration::ZERO, since_start: begun, apart: Duration::ZERO })
}

fn step(before: Moment, now: Moment) -> i64 {
    let passed = now.since_start.saturating_sub(before.since_start);
    let millis = |time: Duration| time.as_nanos() as i64 / 1_000_000;
    let step = millis(now.wall) - millis(before.wall) - millis(passed);
    // What lies between the two looks at the clocks is no step of either.
    let doubt = passed / 10 + DRIFT + before.apart + now.apart;
    let is_drift = step.unsigned_abs() <= millis(doubt).unsigned_abs();
    if is_drift { 0 } else { step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_no_step() {
        let at = |wall: u64, since_start: u64| Moment {
            wall: Duration::from_millis(wall),
            since_start: Duration::from_millis(since_start),
            apart: Duration::ZERO,
        };
        let before = at(1_000_000, 500);
        for (now, expected) in [
            (at(1_001_000, 1500), 0),
            (at(1_001_090, 1500), 0),
            (at(1_000_920, 1500), 0),
            (at(1_031_000, 1500), 30_000),
            (at(971_000, 1500), -30_000),
            // It slept for an hour.
            (at(4_601_000, 3_601_500), 0),
            (at(0, 1500), -1_001_000),
        ] {
            assert_eq!(step(before, now), expected, "{now:?}");
        }
    }

    /// On a machine that is busy enough, every look at two clocks is interrupted.
    #[test]
    fn an_interrupted_look_is_no_step() {
        let at = |wall: u64, since_start: u64, apart: u64| Moment {
            wall: Duration::from_millis(wall),
            since_start: Duration::from_millis(since_start),
            apart: Duration::from_millis(apart),
        };
        let before = at(1_000_000, 500, 0);
        // 40 ms later, of which 30 passed between the look at the one clock and at the other.
        assert_eq!(step(before, at(1_000_010, 540, 30)), 0);
        assert_eq!(step(at(1_000_010, 540, 30), at(1_000_240, 740, 0)), 0);
        assert_eq!(step(before, at(1_000_010, 540, 0)), -30);
        assert_eq!(step(before, at(995_010, 540, 30)), -5030, "no doubt");
    }

    #[test]
    fn the_first_look_tells_of_no_step() {
        let mut clock = Clock::default();
        let first = clock.look();
        assert!(first.nanoseconds > 0);
        assert_eq!(first.step_millis, 0, "there was none before");
    }
}
