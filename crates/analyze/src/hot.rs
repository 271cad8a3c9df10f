//! Targets that get more than others day after day.

use std::collections::BTreeMap;

use plimsoll_history::Day;
use plimsoll_stats::Sample;

use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::closing::is_enough;
use crate::excess::{FALSE_CLAIMS, LEAST_EXCESS, Loads, by_chance};
use crate::hot_course::TargetCourse;
use crate::open_day::BOTH;
use crate::{Frame, Whole};

/// Days by which the end of a time may be wrong.
const NEARLY: usize = 3;

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

/// A target that got more than others for some time, and not all the time.
#[derive(Debug, Clone, PartialEq)]
pub struct HotPeriod {
    /// Its name.
    pub name: String,
    /// 0 for reads, 1 for writes.
    pub direction: usize,
    /// About when that began: a day by its number since 1970, in the frame's time zone,
    pub first: Day,
    /// and its last day.
    pub last: Day,
    /// Whether that is the last day of all, or nearly: it may still be so.
    pub is_lasting: bool,
    /// Days of it that are known,
    pub days: usize,
    /// and those on which it got more than the median target.
    pub days_above: usize,
    /// Its bytes over those of the median target in that time. There is no interval: the time was chosen because it stands out.
    pub over_median: f64,
    /// The same of all other days.
    pub otherwise: Option<f64>,
    /// Probability of such a time by chance, times the number of times, targets and directions that were looked at.
    pub p_value: f64,
}

/// Finds such targets: a sign test of days on which a target got more than the median one, with as many days as they are worth if days are alike, and
/// Bonferroni's correction. Of targets that are not hot all the time those are told that were for some time, by the same test of times of several lengths.
pub fn hot_targets(
    frame: &Frame,
    whole: &Whole,
    drawn: &ByDays,
) -> (Vec<HotTarget>, Vec<HotPeriod>) {
    let (mut found, mut periods) = (Vec::new(), Vec::new());
    if frame.targets.len() < 3 {
        return (found, periods);
    }
    for direction in 0..BOTH {
        let (numbers, days) = loads(frame, whole, direction);
        if days.len() < LEAST_DAYS {
            continue;
        }
        let medians: Vec<f64> =
            days.iter().map(|day| median(day.iter().flatten().copied())).collect();
        let redrawn = drawn.for_days(days.len());
        for (target, component) in frame.targets.iter().enumerate() {
            let questions = frame.targets.len() * BOTH;
            let hot = tested(&days, &medians, target, direction).map(|hot| {
                let p_value = (hot.p_value * questions as f64).min(1.0);
                HotTarget { p_value, ..hot }
            });
            let Some(hot) = hot.filter(|it| it.p_value <= FALSE_CLAIMS) else {
                let course = TargetCourse::of(&days, &medians, target);
                periods.extend(
                    course.hottest(questions, |some| over_median_of(&days, target, some)).map(
                        |found| HotPeriod {
                            name: component.name.clone(),
                            direction,
                            first: numbers[found.days.start],
                            last: numbers[found.days.end - 1],
                            is_lasting: found.days.end + NEARLY >= days.len(),
                            days: found.known,
                            days_above: found.above,
                            over_median: found.over_median,
                            otherwise: found.otherwise,
                            p_value: found.p_value,
                        },
                    ),
                );
                continue;
            };
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
    periods.sort_by(|one, other| other.over_median.total_cmp(&one.over_median));
    (found, periods)
}

fn tested(days: &[Loads], medians: &[f64], target: usize, direction: usize) -> Option<HotTarget> {
    let both = days.iter().zip(medians).filter(|it| *it.1 > 0.0);
    let ratios: Vec<f64> = both.filter_map(|(day, median)| Some(day[target]? / median)).collect();
    let above = ratios.iter().filter(|it| **it > 1.0).count();
    if ratios.len() < LEAST_DAYS || above * 2 <= ratios.len() {
        return None;
    }
    let p_value = by_chance(&ratios);
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
fn over_median(days: &[Loads], target: usize, drawn: &ByDays) -> Option<Estimate> {
    drawn.estimate(days.len(), |some| over_median_of(days, target, some))
}

fn over_median_of(days: &[Loads], target: usize, some: &[u32]) -> Option<f64> {
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

/// Returns days, and what targets did on them.
fn loads(frame: &Frame, whole: &Whole, direction: usize) -> (Vec<Day>, Vec<Loads>) {
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
    let day = |number: u32| Day::ending_at(u64::from(number) * Day::MILLIS + 1);
    days.into_iter().map(|(number, loads)| (day(number), of_day(loads))).unzip()
}
