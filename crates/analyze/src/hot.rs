//! Targets that get more than others day after day.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_stats::distribution::binomial_at_least;
use plimsoll_stats::effective::effective_sample_size;

use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::closing::is_enough;
use crate::open_day::BOTH;
use crate::{Frame, Whole};

/// With nothing to find, this share of histories has a claim that there is something: over all targets, reads and writes together.
pub const FALSE_CLAIMS: f64 = 0.05;

/// Less is not worth a word.
const LEAST_EXCESS: f64 = 1.1;

/// A target that gets more than others day after day.
#[derive(Debug, Clone, PartialEq)]
pub struct HotTarget {
    /// Its name.
    pub name: String,
    /// 0 for reads, 1 for writes.
    pub direction: usize,
    /// Days that are known,
    pub days: usize,
    /// and those on which it got more than the median target.
    pub days_above: usize,
    /// Its bytes over those of the median target.
    pub over_median: Estimate,
    /// The same of the last third of the days alone: whether it still is.
    pub lately: Option<f64>,
    /// Probability of as many such days by chance, times the number of targets and directions that were looked at.
    pub p_value: f64,
}

/// Finds such targets: a sign test of days on which a target got more than the median one, with as many days as they are worth if days are alike, and
/// Bonferroni's correction.
pub fn hot_targets(frame: &Frame, whole: &Whole, drawn: &ByDays) -> Vec<HotTarget> {
    let mut found = Vec::new();
    if frame.targets.len() < 3 {
        return found;
    }
    for direction in 0..BOTH {
        let days = loads(frame, whole, direction);
        if days.len() < LEAST_DAYS {
            continue;
        }
        let medians: Vec<f64> =
            days.iter().map(|day| median(day.iter().flatten().copied())).collect();
        let redrawn = drawn.for_days(days.len());
        for (target, component) in frame.targets.iter().enumerate() {
            let Some(mut hot) = tested(&days, &medians, target, direction) else { continue };
            hot.p_value = (hot.p_value * (frame.targets.len() * BOTH) as f64).min(1.0);
            if hot.p_value > FALSE_CLAIMS {
                continue;
            }
            let Some(over) = over_median(&days, target, &redrawn) else { continue };
            if over.value >= LEAST_EXCESS {
                let lately = days.len() - days.len() / 3..days.len();
                let lately: Vec<u32> = lately.map(|it| it as u32).collect();
                found.push(HotTarget {
                    name: component.name.clone(),
                    over_median: over,
                    lately: over_median_of(&days, target, &lately),
                    ..hot
                });
            }
        }
    }
    found.sort_by(|one, other| other.over_median.value.total_cmp(&one.over_median.value));
    found
}

fn tested(
    days: &[Vec<Option<f64>>],
    medians: &[f64],
    target: usize,
    direction: usize,
) -> Option<HotTarget> {
    let both = days.iter().zip(medians).filter(|it| *it.1 > 0.0);
    let ratios: Vec<f64> = both.filter_map(|(day, median)| Some(day[target]? / median)).collect();
    let above = ratios.iter().filter(|it| **it > 1.0).count();
    if ratios.len() < LEAST_DAYS || above * 2 <= ratios.len() {
        return None;
    }
    let worth = effective_sample_size(&ratios).map_or(1.0, |it| it.effective_n / it.n as f64);
    let n = (ratios.len() as f64 * worth).floor();
    let p_value = binomial_at_least((above as f64 * worth).floor() as u64, n as u64, 0.5);
    Some(HotTarget {
        name: String::new(),
        direction,
        days: ratios.len(),
        days_above: above,
        over_median: Estimate { value: 0.0, interval: None },
        lately: None,
        p_value,
    })
}

/// Returns what a target got over what the median target got, of all days.
fn over_median(days: &[Vec<Option<f64>>], target: usize, drawn: &ByDays) -> Option<Estimate> {
    drawn.estimate(days.len(), |some| over_median_of(days, target, some))
}

fn over_median_of(days: &[Vec<Option<f64>>], target: usize, some: &[u32]) -> Option<f64> {
    let mut sums = vec![(0.0, 0.0); days.first()?.len()];
    for day in some {
        for (sum, load) in sums.iter_mut().zip(&days[*day as usize]) {
            *sum = load.map_or(*sum, |load| (sum.0 + load, sum.1 + 1.0));
        }
    }
    // Of days that are known: a target that came later has fewer.
    let mean = |(sum, days): (f64, f64)| (days > 0.0).then(|| sum / days);
    let middle = median(sums.iter().filter_map(|it| mean(*it)));
    mean(sums[target]).filter(|_| middle > 0.0).map(|it| it / middle)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Sample::new(values.collect()).map_or(0.0, |it| it.median())
}

/// Returns bytes by day and target; nothing where too little of a target's day is known.
fn loads(frame: &Frame, whole: &Whole, direction: usize) -> Vec<Vec<Option<f64>>> {
    let mut days: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for (target, sums) in whole.targets.iter().enumerate() {
        for (hour, sums) in &sums.hours {
            let day = frame.zone().local(frame.zone().minute_of_hour(*hour)).day();
            let day = days.entry(day).or_insert_with(|| vec![(0, 0); frame.targets.len()]);
            day[target].0 = day[target].0.saturating_add(sums.bytes[direction]);
            day[target].1 += u64::from(sums.known[direction]);
        }
    }
    let of_day = |day: Vec<(u64, u64)>| {
        let most = day.iter().map(|it| it.1).max().unwrap_or(0);
        day.iter().map(|(bytes, known)| is_enough(*known, most).then_some(*bytes as f64)).collect()
    };
    days.into_values().map(of_day).collect()
}
