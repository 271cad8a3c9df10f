//! One day of all targets.

use plimsoll_stats::Random;

use crate::Plan;
use crate::level::Level;
use crate::plan::{
    CLOSES_PER_OPEN, COMMON, JOB_LEVEL, JOB_MINUTES, JOB_START, LEVEL_MINUTES, LEVEL_SHAPE, RATIO,
    READ_BYTES_OF_TARGET, SHARE_MINUTES, SHARE_SHAPE,
};

/// Minutes of a day.
pub const DAY_MINUTES: usize = 1440;

/// Where the load is, from minute to minute.
pub struct Course {
    random: Random,
    weights: Vec<f64>,
    /// Of reads, of writes, and of both.
    levels: [Level; 3],
    /// Of each target, of reads and of writes.
    shares: Vec<[Level; 2]>,
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
        let levels = [0; 3].map(|_| Level::new(LEVEL_SHAPE, LEVEL_MINUTES, &mut random));
        let share = |random: &mut Random| Level::new(SHARE_SHAPE, SHARE_MINUTES, random);
        let shares = (0..plan.targets).map(|_| [share(&mut random), share(&mut random)]).collect();
        let servers = plan.targets.div_ceil(TARGETS_OF_SERVER);
        let processors = (0..servers).map(|_| Level::new(2.0, 5.0, &mut random)).collect();
        let opens = Level::new(1.0, 5.0, &mut random);
        Course { weights: plan.weights(), levels, shares, processors, opens, random }
    }

    /// Goes on by a day.
    pub fn day(&mut self, plan: &Plan) -> Minutes {
        let zeros = || vec![0u64; DAY_MINUTES];
        let mut day = Minutes {
            targets: self.shares.iter().map(|_| [zeros(), zeros()]).collect(),
            metadata: [zeros(), zeros()],
            busy: self.processors.iter().map(|_| zeros()).collect(),
        };
        let ratio = if plan.is_planted { RATIO } else { 1.0 };
        let scales = [READ_BYTES_OF_TARGET, READ_BYTES_OF_TARGET / ratio];
        let job = JOB_START..JOB_START + JOB_MINUTES;
        let random = &mut self.random;
        for minute in 0..DAY_MINUTES {
            let [reads, writes, both] = self.levels.each_mut().map(|it| it.step(random));
            let levels = [reads, writes].map(|own| (1.0 - COMMON) * own + COMMON * both);
            let is_job = plan.is_planted && job.contains(&minute);
            let on_top = [if is_job { JOB_LEVEL } else { 0.0 }, 0.0];
            for (target, shares) in self.shares.iter_mut().enumerate() {
                for direction in 0..2 {
                    let share = shares[direction].step(random) * self.weights[target];
                    let load = levels[direction] * share + on_top[direction];
                    // Whole MiB, as disks do.
                    let bytes = (load * scales[direction] / f64::from(1 << 20)).round();
                    day.targets[target][direction][minute] = (bytes as u64) << 20;
                }
            }
            let opens = (self.opens.step(random) * 600_000.0).round() as u64;
            day.metadata[0][minute] = opens;
            let closes = opens as f64 * CLOSES_PER_OPEN * (0.95 + 0.1 * random.unit());
            day.metadata[1][minute] = closes.round() as u64;
            for (server, level) in self.processors.iter_mut().enumerate() {
                let share = (0.02 * level.step(random)).min(1.0);
                day.busy[server][minute] = (share * SERVER_MILLIS as f64) as u64;
            }
        }
        day
    }
}
