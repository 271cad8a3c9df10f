//! How many targets do about as much as each other (Patel, section 6).

use crate::Whole;
use crate::by_days::{ByDays, Estimate};
use crate::clusters::{DEGREES, Degrees};
use crate::phases::Phases;
use crate::timeline::Timeline;

/// How many targets do about as much as each other.
#[derive(Debug, Clone, Default)]
pub struct Parallelism {
    /// Clusters of 5 %, of 10 %, and of 5 % in windows of 5 minutes.
    pub degrees: [Degrees; 3],
    /// Mean size of a cluster of 5 %.
    pub mean: Option<Estimate>,
    /// Share of these of fewer than 10 targets.
    pub below_10: Option<Estimate>,
    /// Mean size of a cluster in minutes of high activity of that direction.
    pub mean_when_high: Option<Estimate>,
    /// Clusters of at least so many targets ([`DEGREES`]) in these minutes.
    pub when_high: [u64; DEGREES.len()],
}

/// Works it out for reads (0) or writes.
pub fn parallelism(
    whole: &Whole,
    line: &Timeline,
    direction: usize,
    high: &Phases,
    drawn: &ByDays,
) -> Parallelism {
    let mut result =
        Parallelism { degrees: whole.degrees[direction].clone(), ..Parallelism::default() };
    // Of each day: targets that are active, clusters, those of 10 or more; and the first two in minutes of high activity.
    let mut days: Vec<[f64; 5]> = Vec::new();
    for (summary, (places, _)) in whole.days.iter().zip(line.days()) {
        let mut sums = [0.0; 5];
        for (number, minute) in &summary.minutes {
            let place = places.start + usize::from(*number);
            let degrees = &minute.degrees[direction];
            let (active, clusters) = (f64::from(degrees.active), f64::from(degrees.clusters));
            let mut more = [active, clusters, f64::from(degrees.at_least[0]), 0.0, 0.0];
            let bytes = line.bytes[direction][place];
            if bytes.zip(high.bound).is_some_and(|(bytes, bound)| bytes as f64 >= bound) {
                (more[3], more[4]) = (active, clusters);
                let counts = result.when_high.iter_mut().zip(degrees.at_least);
                counts.for_each(|(sum, count)| *sum += u64::from(count));
            }
            sums.iter_mut().zip(more).for_each(|(sum, it)| *sum += it);
        }
        days.push(sums);
    }
    let over = |one: f64, other: f64| (other > 0.0).then(|| one / other);
    result.mean = drawn.of_sums(&days, |sums| over(sums[0], sums[1]));
    result.below_10 = drawn.of_sums(&days, |sums| over(sums[1] - sums[2], sums[1]));
    result.mean_when_high = drawn.of_sums(&days, |sums| over(sums[3], sums[4]));
    result
}
