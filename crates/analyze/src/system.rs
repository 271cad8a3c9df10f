//! The whole of the targets over time (Patel, section 3).

use std::collections::BTreeMap;

use plimsoll_stats::Sample;

use crate::by_days::{ByDays, Estimate, cov_of};
use crate::graded::Graded;
use crate::open_day::BOTH;
use crate::timeline::Timeline;
use crate::{Frame, Whole};

/// What all targets read and wrote.
#[derive(Debug, Clone)]
pub struct System {
    /// Reads, and writes.
    pub directions: [Transfer; BOTH],
    /// Bytes read over bytes written.
    pub ratio: Option<Estimate>,
    /// By year and month, in minutes that are known.
    pub months: BTreeMap<(i16, i8), [u128; BOTH]>,
    /// Minutes of more than three times the 99.9th percentile: worth a look, but not dropped.
    pub suspicious: Vec<Suspicious>,
}

/// A minute that is far above all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspicious {
    /// Since 1970.
    pub minute: u64,
    /// 0 for reads, 1 for writes.
    pub direction: usize,
    /// What was counted.
    pub bytes: u64,
}

/// One direction of data.
#[derive(Debug, Clone, Default)]
pub struct Transfer {
    /// All bytes that were counted, also where it is not known when.
    pub bytes: u128,
    /// Bytes in gaps of more than a minute, which are in no minute.
    pub unplaced: u128,
    /// Minutes that are known, sorted; nothing where there are none.
    pub minutes: Option<Sample>,
    /// Bytes of a minute.
    pub mean: Option<Estimate>,
    /// Standard deviation over mean.
    pub cov: Option<Estimate>,
    /// Share of minutes below the mean.
    pub below_mean: Option<Estimate>,
    /// Quantiles of minutes ([`QUANTILES`]).
    pub quantiles: [Option<Estimate>; QUANTILES.len()],
    /// Minutes of each day that are known, sorted.
    pub(crate) days: Vec<Vec<f64>>,
}

/// Quantiles of minutes that are told.
pub const QUANTILES: [f64; 4] = [0.25, 0.5, 0.75, 0.99];

impl System {
    /// Works it out.
    pub fn of(frame: &Frame, whole: &Whole, line: &Timeline, drawn: &ByDays) -> Self {
        let directions = [0, 1].map(|direction| transfer(whole, line, drawn, direction));
        let days: Vec<[f64; 2]> = line
            .days()
            .map(|(places, _)| {
                [0, 1].map(|direction: usize| {
                    let known = line.bytes[direction][places.clone()].iter().flatten();
                    known.map(|it| *it as f64).sum()
                })
            })
            .collect();
        let over = |[read, written]: &[f64; 2]| (*written > 0.0).then(|| read / written);
        let mut ratio = drawn.of_sums(&days, over);
        // The figure itself is of all that was counted, also where it is not known when: its interval goes with it.
        let [read, written] = directions.each_ref().map(|it| it.bytes as f64);
        if let Some(of_minutes) = ratio.filter(|it| written > 0.0 && it.value > 0.0) {
            ratio = Some(of_minutes.times(read / written / of_minutes.value));
        }
        System {
            ratio,
            months: months(frame, line),
            suspicious: suspicious(line, &directions),
            directions,
        }
    }
}

fn transfer(whole: &Whole, line: &Timeline, drawn: &ByDays, direction: usize) -> Transfer {
    let bytes = (0..whole.counted.len()).map(|target| whole.bytes(target)[direction]).sum();
    let unplaced = whole.counted.iter().map(|it| it[direction].unplaced).sum();
    let mut transfer = Transfer { bytes, unplaced, ..Transfer::default() };
    let series = &line.bytes[direction];
    let known: Vec<f64> = series.iter().flatten().map(|it| *it as f64).collect();
    let Ok(sample) = Sample::new(known) else { return transfer };
    let days: Vec<Vec<f64>> = line
        .days()
        .map(|(places, _)| {
            let mut day: Vec<f64> = series[places].iter().flatten().map(|it| *it as f64).collect();
            day.sort_by(f64::total_cmp);
            day
        })
        .collect();
    let centre = sample.mean();
    // About the mean of all, so that squares lose nothing.
    let sums: Vec<[f64; 3]> = days
        .iter()
        .map(|day| {
            let from = |it: &f64| it - centre;
            let squares = day.iter().map(|it| from(it) * from(it)).sum();
            [day.len() as f64, day.iter().map(from).sum(), squares]
        })
        .collect();
    let mean = |sums: &[f64; 3]| (sums[0] > 0.0).then(|| centre + sums[1] / sums[0]);
    transfer.mean = drawn.of_sums(&sums, mean).map(|it| Estimate { value: centre, ..it });
    let exact = sample.cov();
    let cov = drawn.of_sums(&sums, |sums| cov_of(sums, centre));
    transfer.cov = cov.and_then(|it| Some(Estimate { value: exact?, ..it }));
    transfer.below_mean = drawn.estimate(days.len(), |drawn| {
        let drawn = drawn.iter().map(|day| *day as usize);
        let mut all = [0.0; 3];
        drawn.clone().for_each(|day| all.iter_mut().zip(sums[day]).for_each(|(a, b)| *a += b));
        let mean = mean(&all)?;
        let below: usize = drawn.map(|day| days[day].partition_point(|it| *it < mean)).sum();
        Some(below as f64 / all[0])
    });
    transfer.quantiles = QUANTILES.map(|quantile| {
        let exact = sample.quantile(quantile).ok()?;
        Graded::new(&days, &sample, quantile).estimate(exact, drawn)
    });
    transfer.minutes = Some(sample);
    transfer.days = days;
    transfer
}

fn months(frame: &Frame, line: &Timeline) -> BTreeMap<(i16, i8), [u128; BOTH]> {
    let mut months: BTreeMap<(i16, i8), [u128; BOTH]> = BTreeMap::new();
    let mut last: Option<(u32, (i16, i8))> = None;
    for place in 0..line.len() {
        let bytes = [line.bytes[0][place], line.bytes[1][place]];
        if bytes == [None, None] {
            continue;
        }
        let local = frame.zone().local(line.minute(place));
        let month = match last {
            Some((day, month)) if day == local.day() => month,
            _ => local.month(),
        };
        last = Some((local.day(), month));
        let sums = months.entry(month).or_default();
        sums.iter_mut().zip(bytes).for_each(|(sum, it)| *sum += u128::from(it.unwrap_or(0)));
    }
    months
}

/// Minutes beyond this multiple of the 99.9th percentile are worth a look.
const SUSPICIOUS: f64 = 3.0;

fn suspicious(line: &Timeline, directions: &[Transfer; BOTH]) -> Vec<Suspicious> {
    let mut all = Vec::new();
    for (direction, transfer) in directions.iter().enumerate() {
        let Some(sample) = &transfer.minutes else { continue };
        let Ok(percentile) = sample.quantile(0.999) else { continue };
        for (place, bytes) in line.bytes[direction].iter().enumerate() {
            if let Some(bytes) = *bytes
                && percentile > 0.0
                && bytes as f64 > SUSPICIOUS * percentile
            {
                all.push(Suspicious { minute: line.minute(place), direction, bytes });
            }
        }
    }
    all
}
