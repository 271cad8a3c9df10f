//! Jobs that run at the same time every day.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_stats::Sample;
use plimsoll_stats::distribution::binomial_at_least;
use plimsoll_stats::effective::effective_sample_size;

use crate::Zone;
use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::closing::is_enough;
use crate::excess::FALSE_CLAIMS;
use crate::open_day::BOTH;
use crate::timeline::Timeline;

/// Minutes in which a day is divided.
const SLOT_MINUTES: u64 = 10;
const SLOTS: usize = 144;
/// Slots around one that it is compared to: two hours on each side, without half an hour next to it.
const AROUND: std::ops::RangeInclusive<usize> = 4..=12;

/// Days that it takes to tell a job of every day from chance: one half to the power of so many days, times all slots and directions, is rare enough.
pub const DAYS_TO_RECUR: usize = 13;

/// A time of the day at which more is read or written than around it, day after day.
#[derive(Debug, Clone, PartialEq)]
pub struct DailyJob {
    /// 0 for reads, 1 for writes.
    pub direction: usize,
    /// Its first minute of the day.
    pub start: usize,
    /// How long it lasts, in steps of ten minutes.
    pub minutes: usize,
    /// Days that are known,
    pub days: usize,
    /// and the share of them on which there was more, of the slot in which this is clearest.
    pub share: f64,
    /// The same of the last third of the days alone: whether it still is.
    pub lately: Option<f64>,
    /// Days of the week on which it runs, Monday is 0, where these are clearly others than those on which it does not.
    pub weekdays: Option<Vec<usize>>,
    /// Bytes that come on top on a day, the mean over days; over days of the week on which it runs, where these are clear.
    pub bytes: Option<Estimate>,
}

/// A day by slots.
type Slots = Vec<Option<f64>>;

/// Finds such times: a sign test for each slot of ten minutes, of days on which it has more than the median of the slots around it, with as many days as they are worth if days are
/// alike, and Bonferroni's correction over slots and directions.
pub fn daily_jobs(zone: &Zone, line: &Timeline, drawn: &ByDays) -> Vec<DailyJob> {
    let mut found = Vec::new();
    for direction in 0..BOTH {
        let days = slots(zone, &line.bytes[direction], line);
        if days.len() < LEAST_DAYS {
            continue;
        }
        let excess: Vec<Slots> = days.iter().map(|day| over_its_surroundings(&day.1)).collect();
        let weekday = |day: usize| (days[day].0 as usize + 3) % 7;
        let tests: Vec<Option<Signs>> =
            (0..SLOTS).map(|slot| Signs::of(&excess, slot).filter(Signs::is_no_chance)).collect();
        let mut slot = 0;
        for run in tests.chunk_by(|one, next| one.is_some() == next.is_some()) {
            let clearest = run.iter().flatten().max_by(|one, other| one.compare(other));
            if let Some(signs) = clearest {
                let weekdays = signs.weekdays(weekday);
                let runs_on = |day: usize| {
                    weekdays.as_ref().is_none_or(|some: &Vec<usize>| some.contains(&weekday(day)))
                };
                let of_days = days.iter().enumerate().filter(|it| runs_on(it.0));
                let is_of_job = |slot: usize| tests[slot].is_some();
                let run = slot..slot + run.len();
                let sums: Vec<f64> =
                    of_days.filter_map(|(_, day)| on_top(&day.1, run.clone(), is_of_job)).collect();
                found.push(DailyJob {
                    direction,
                    start: run.start * SLOT_MINUTES as usize,
                    minutes: run.len() * SLOT_MINUTES as usize,
                    days: signs.days.len(),
                    share: signs.share(),
                    lately: signs.lately(),
                    bytes: drawn.mean(&sums),
                    weekdays,
                });
            }
            slot += run.len();
        }
    }
    found
}

/// Days on which a slot has more than those around it, and days on which it has less.
struct Signs {
    /// By number of the day, in their order; days on which it has as much are not among them.
    days: Vec<(usize, bool)>,
}

/// Days of the week on which there is more this often have a job, if on the others together there is more no oftener than that: by chance it is on half of them.
const RUNS: f64 = 0.85;
const DOES_NOT_RUN: f64 = 0.65;

impl Signs {
    fn of(excess: &[Slots], slot: usize) -> Option<Self> {
        let known = excess.iter().enumerate().filter_map(|(day, slots)| Some((day, slots[slot]?)));
        let days: Vec<(usize, bool)> =
            known.filter(|it| it.1 != 0.0).map(|(day, excess)| (day, excess > 0.0)).collect();
        (days.len() >= LEAST_DAYS).then_some(Signs { days })
    }

    fn share(&self) -> f64 {
        share(self.days.iter().map(|it| it.1)).unwrap_or(0.0)
    }

    fn lately(&self) -> Option<f64> {
        let from = self.days.len() - self.days.len() / 3;
        share(self.days[from..].iter().map(|it| it.1))
    }

    fn compare(&self, other: &Signs) -> std::cmp::Ordering {
        self.share().total_cmp(&other.share())
    }

    fn is_no_chance(&self) -> bool {
        let above = self.days.iter().filter(|it| it.1).count() as f64;
        let n = self.days.len() as f64;
        let signs: Vec<f64> = self.days.iter().map(|it| f64::from(u8::from(it.1))).collect();
        let worth = effective_sample_size(&signs).map_or(1.0, |it| it.effective_n / n);
        let (above, n) = ((above * worth).floor(), (n * worth).floor());
        binomial_at_least(above as u64, n as u64, 0.5) * (SLOTS * BOTH) as f64 <= FALSE_CLAIMS
    }

    fn weekdays(&self, weekday: impl Fn(usize) -> usize) -> Option<Vec<usize>> {
        let of = |some: &[usize]| -> Vec<bool> {
            self.days.iter().filter(|it| some.contains(&weekday(it.0))).map(|it| it.1).collect()
        };
        let is_clear = |day: &usize| {
            let days = of(&[*day]);
            days.len() >= 3 && share(days.into_iter()).is_some_and(|it| it >= RUNS)
        };
        let (runs, rests): (Vec<usize>, Vec<usize>) = (0..7).partition(is_clear);
        let others = of(&rests);
        let is_apart =
            others.len() >= 6 && share(others.into_iter()).is_some_and(|it| it <= DOES_NOT_RUN);
        (!runs.is_empty() && is_apart).then_some(runs)
    }
}

fn share(all: impl Iterator<Item = bool> + Clone) -> Option<f64> {
    let n = all.clone().count();
    (n > 0).then(|| all.filter(|it| *it).count() as f64 / n as f64)
}

/// Returns what each slot has more than the median of those around it.
fn over_its_surroundings(day: &Slots) -> Slots {
    let of_slot = |slot: usize| {
        let around = known_around(day, slot..slot + 1, |_| false)?;
        Some(day[slot]? - around.median())
    };
    (0..SLOTS).map(of_slot).collect()
}

/// Returns what a job's slots have more than the mean of those around it that have no job: load is skewed, so that its mean is more than its median.
fn on_top(day: &Slots, run: Range<usize>, is_of_job: impl Fn(usize) -> bool) -> Option<f64> {
    let around = known_around(day, run.clone(), is_of_job)?.mean();
    day[run].iter().map(|it| it.map(|bytes| bytes - around)).sum()
}

/// Returns what is known of slots around some, on both sides.
fn known_around(
    day: &Slots,
    run: Range<usize>,
    is_left_out: impl Fn(usize) -> bool,
) -> Option<Sample> {
    let before = AROUND.filter_map(|away| run.start.checked_sub(away));
    let after = AROUND.map(|away| run.end - 1 + away).filter(|it| *it < SLOTS);
    let slots = before.chain(after).filter(|it| !is_left_out(*it));
    let around: Vec<f64> = slots.filter_map(|it| day[it]).collect();
    Sample::new(around).ok().filter(|it| it.n() >= 6)
}

/// Returns bytes by day, with its number since 1970, and slot of ten minutes, of clocks on the wall.
fn slots(zone: &Zone, series: &[Option<u64>], line: &Timeline) -> Vec<(u32, Slots)> {
    let mut days: BTreeMap<u32, Vec<(f64, u64)>> = BTreeMap::new();
    for (places, first) in line.days() {
        // Clocks are put forward and back at full quarters of hours.
        for (quarter, minute) in places.step_by(15).zip((first..).step_by(15)) {
            let offset = zone.offset_minutes(minute);
            for (place, minute) in (quarter..quarter + 15).zip(minute..) {
                let local = minute.saturating_add_signed(offset);
                let day =
                    days.entry((local / 1440) as u32).or_insert_with(|| vec![(0.0, 0); SLOTS]);
                let slot = &mut day[(local % 1440 / SLOT_MINUTES) as usize];
                if let Some(bytes) = series[place] {
                    slot.0 += bytes as f64;
                    slot.1 += 1;
                }
            }
        }
    }
    let whole = |(bytes, known): (f64, u64)| {
        is_enough(known, SLOT_MINUTES).then(|| bytes * SLOT_MINUTES as f64 / known as f64)
    };
    let of_day = |(number, day): (u32, Vec<(f64, u64)>)| {
        (number, day.into_iter().map(whole).collect::<Slots>())
    };
    days.into_iter().map(of_day).filter(|day| day.1.iter().any(Option::is_some)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_days_are_enough_and_one_less_is_not() {
        let signs = |days: usize| Signs { days: (0..days).map(|day| (day, true)).collect() };
        assert!(signs(DAYS_TO_RECUR).is_no_chance() && !signs(DAYS_TO_RECUR - 1).is_no_chance());
    }

    #[test]
    fn a_job_of_two_hours_is_not_measured_against_itself() {
        let mut day: Slots = vec![Some(10.0); SLOTS];
        day[30..42].fill(Some(110.0));
        let is_of_job = |slot: usize| (30..42).contains(&slot);
        assert_eq!(on_top(&day, 30..42, is_of_job), Some(1200.0));
        // Another one next to it does not count either.
        day[46..50].fill(Some(500.0));
        let is_of_one = |slot: usize| is_of_job(slot) || (46..50).contains(&slot);
        assert_eq!(on_top(&day, 30..42, is_of_one), Some(1200.0));
        day[33] = None;
        assert_eq!(on_top(&day, 30..42, is_of_job), None);
    }
}
