//! One day of all targets.

use plimsoll_stats::Random;

use crate::Plan;
use crate::level::Level;
use crate::pair::Pair;
use crate::plan::{CLOSES_PER_OPEN, JOB_MINUTES, JOB_START, OPENS, PROCESSORS};
use crate::shares::Shares;

/// Minutes of a day.
pub const DAY_MINUTES: usize = 1440;

/// Where the load is, from minute to minute.
pub struct Course {
    random: Random,
    levels: Pair,
    /// Of reads and of writes.
    shares: [Shares; 2],
    /// Of each server.
    processors: Vec<Level>,
    opens: Level,
}

/// What was counted in each minute of a day.
pub struct Minutes {
    /// Bytes read and written, by target.
    pub targets: Vec<[Vec<u64>; 2]>,
    /// Files opened and closed.
    pub metadata: [Vec<u64>; 2],
    /// Milliseconds that processors of each server worked.
    pub busy: Vec<Vec<u64>>,
}

/// Targets of a server, and milliseconds that its processors have in a minute.
pub const TARGETS_OF_SERVER: u32 = 4;
pub const SERVER_MILLIS: u64 = 32 * 60_000;

impl Course {
    /// Begins.
    pub fn new(plan: &Plan) -> Self {
        let mut random = Random::new(plan.seed);
        let levels = Pair::new(&mut random);
        let shares = [Shares::new(plan, &mut random), Shares::new(plan, &mut random)];
        let servers = plan.targets.div_ceil(TARGETS_OF_SERVER);
        let processors = (0..servers).map(|_| Level::new(2.0, 5.0, &mut random)).collect();
        let opens = Level::new(1.0, 5.0, &mut random);
        Course { levels, shares, processors, opens, random }
    }

    /// Goes on by a day.
    pub fn day(&mut self, plan: &Plan) -> Minutes {
        let zeros = || vec![0u64; DAY_MINUTES];
        let mut day = Minutes {
            targets: (0..plan.targets).map(|_| [zeros(), zeros()]).collect(),
            metadata: [zeros(), zeros()],
            busy: self.processors.iter().map(|_| zeros()).collect(),
        };
        let scales = plan.bytes();
        let job = JOB_START..JOB_START + JOB_MINUTES;
        let of_job = plan.job_level() * scales[0] / f64::from(plan.targets);
        let random = &mut self.random;
        let mut bytes = Vec::new();
        for minute in 0..DAY_MINUTES {
            let levels = self.levels.step(random);
            let on_top = [if job.contains(&minute) { of_job } else { 0.0 }, 0.0];
            for direction in 0..2 {
                let load = levels[direction] * scales[direction];
                self.shares[direction].step(random, load, on_top[direction], &mut bytes);
                for (target, bytes) in day.targets.iter_mut().zip(&bytes) {
                    target[direction][minute] = *bytes;
                }
            }
            let opens = (self.opens.step(random) * OPENS).round() as u64;
            day.metadata[0][minute] = opens;
            let closes = opens as f64 * CLOSES_PER_OPEN * (0.95 + 0.1 * random.unit());
            day.metadata[1][minute] = closes.round() as u64;
            for (server, level) in self.processors.iter_mut().enumerate() {
                let share = (PROCESSORS * level.step(random)).min(1.0);
                day.busy[server][minute] = (share * SERVER_MILLIS as f64) as u64;
            }
        }
        day
    }
}
