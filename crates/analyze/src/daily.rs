//! Jobs that run at the same time every day.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_stats::distribution::binomial_at_least;

use crate::Zone;
use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::closing::is_enough;
use crate::hot::FALSE_CLAIMS;
use crate::open_day::BOTH;
use crate::timeline::Timeline;

/// Minutes in which a day is divided.
const SLOT_MINUTES: u64 = 10;
const SLOTS: usize = 144;
/// Slots around one that it is compared to: two hours on each side, without half an hour next to it.
const AROUND: std::ops::RangeInclusive<usize> = 4..=12;

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
    /// Bytes that come on top on a day, the mean over days.
    pub bytes: Option<Estimate>,
}

/// A day by slots.
type Slots = Vec<Option<f64>>;

/// Finds such times: a sign test for each slot of ten minutes, of days on which it has more than the median of the slots around it, with Bonferroni's correction over
/// slots and directions.
pub fn daily_jobs(zone: &Zone, line: &Timeline, drawn: &ByDays) -> Vec<DailyJob> {
    let mut found = Vec::new();
    for direction in 0..BOTH {
        let days = slots(zone, &line.bytes[direction], line);
        if days.len() < LEAST_DAYS {
            continue;
        }
        let excess = |centre: fn(&Sample) -> f64| -> Vec<Slots> {
            days.iter().map(|day| over_its_surroundings(day, centre)).collect()
        };
        // Whether there is more is asked of the median, how much more of the mean: load is skewed.
        let (excess, on_top) = (excess(Sample::median), excess(Sample::mean));
        let tests: Vec<Option<(usize, f64)>> =
            (0..SLOTS).map(|slot| tested(&excess, slot)).collect();
        let mut slot = 0;
        for run in tests.chunk_by(|one, next| one.is_some() == next.is_some()) {
            if run[0].is_some() {
                let best =
                    run.iter().flatten().fold(
                        (0, 0.0),
                        |best: (usize, f64), it| {
                            if it.1 > best.1 { *it } else { best }
                        },
                    );
                let sums: Vec<[f64; 2]> = on_top
                    .iter()
                    .filter_map(|day| {
                        let sum: Option<f64> = day[slot..slot + run.len()].iter().copied().sum();
                        sum.map(|sum| [sum, 1.0])
                    })
                    .collect();
                let redrawn = ByDays::new(sums.len(), drawn.seed());
                found.push(DailyJob {
                    direction,
                    start: slot * SLOT_MINUTES as usize,
                    minutes: run.len() * SLOT_MINUTES as usize,
                    days: best.0,
                    share: best.1,
                    bytes: redrawn.of_sums(&sums, |[sum, n]| (*n > 0.0).then(|| sum / n)),
                });
            }
            slot += run.len();
        }
    }
    found
}

/// Returns days and the share of them on which the slot has more, if that is no chance.
fn tested(excess: &[Slots], slot: usize) -> Option<(usize, f64)> {
    let known: Vec<f64> = excess.iter().filter_map(|day| day[slot]).collect();
    let above = known.iter().filter(|it| **it > 0.0).count();
    let n = known.iter().filter(|it| **it != 0.0).count();
    if n < LEAST_DAYS {
        return None;
    }
    let p_value = binomial_at_least(above as u64, n as u64, 0.5) * (SLOTS * BOTH) as f64;
    (p_value <= FALSE_CLAIMS).then(|| (n, above as f64 / n as f64))
}

/// Returns what each slot has more than the median or mean of those around it.
fn over_its_surroundings(day: &Slots, centre: fn(&Sample) -> f64) -> Slots {
    let of_slot = |slot: usize| {
        let before = AROUND.filter_map(|away| slot.checked_sub(away));
        let after = AROUND.map(|away| slot + away).filter(|it| *it < SLOTS);
        let around: Vec<f64> = before.chain(after).filter_map(|it| day[it]).collect();
        let enough = around.len() >= 6;
        let around = Sample::new(around).ok().filter(|_| enough)?;
        Some(day[slot]? - centre(&around))
    };
    (0..SLOTS).map(of_slot).collect()
}

/// Returns bytes by day and slot of ten minutes, of clocks on the wall.
fn slots(zone: &Zone, series: &[Option<u64>], line: &Timeline) -> Vec<Slots> {
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
    let of_day = |day: Vec<(f64, u64)>| day.into_iter().map(whole).collect::<Slots>();
    let days = days.into_values().map(of_day);
    days.filter(|day| day.iter().any(Option::is_some)).collect()
}
