//! The clock of the wall, and whether somebody set it.

use std::time::{Duration, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// How far two clocks may drift apart from one look to the next: a tenth of the time in between, and this much. NTP slews by a two-thousandth
/// at most.
const DRIFT: Duration = Duration::from_millis(5);

/// A look that took longer than this is repeated: something came in between, and its two times do not belong together.
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

fn look() -> Moment {
    let since_start = || Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    let mut begun = since_start();
    let mut looks = 0;
    loop {
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default();
        let ended = since_start();
        looks += 1;
        if looks == LOOKS || ended.saturating_sub(begun) <= LOOK_MOST {
            return Moment { wall, since_start: ended };
        }
        begun = ended;
    }
}

fn step(before: Moment, now: Moment) -> i64 {
    let passed = now.since_start.saturating_sub(before.since_start);
    let millis = |time: Duration| time.as_nanos() as i64 / 1_000_000;
    let step = millis(now.wall) - millis(before.wall) - millis(passed);
    let is_drift = step.unsigned_abs() <= millis(passed / 10 + DRIFT).unsigned_abs();
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

    #[test]
    fn the_first_look_tells_of_no_step() {
        let mut clock = Clock::default();
        let first = clock.look();
        assert!(first.nanoseconds > 0);
        assert_eq!(first.step_millis, 0, "there was none before");
    }
}
