//! Whether the next hour can be told better than by what was an hour or a day ago.

use plimsoll_stats::regression::least_squares;

use crate::Zone;
use crate::by_days::{ByDays, Estimate};
use crate::open_day::BOTH;
use crate::timeline::Timeline;
use crate::times;

/// A forecast of the bytes of the next hour, measured on days that it was not made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Hours that it was made from, and those that it was measured on: the last third.
    pub hours: [usize; 2],
    /// Mean absolute error in bytes: of the forecast, and of what needs none ([`NAIVE`]).
    pub error: f64,
    /// In the order of [`NAIVE`].
    pub naive_errors: [f64; NAIVE.len()],
    /// Its error over that of the best one of these.
    pub over_naive: Estimate,
}

impl Forecast {
    /// Returns whether it is better than all of them, beyond chance and by enough to matter.
    pub fn wins(&self) -> bool {
        let is_enough = self.over_naive.value <= 1.0 - LEAST_GAIN;
        is_enough && self.over_naive.interval.is_some_and(|it| it.high < 1.0)
    }
}

/// A forecast whose error is less by less than this share is no better.
const LEAST_GAIN: f64 = 0.05;

/// What can be said of the next hour without any forecast.
pub const NAIVE: [&str; 4] =
    ["as the last hour", "as this hour yesterday", "as this hour usually", "as all hours usually"];

/// Hours that there must be of both kinds.
const LEAST_HOURS: usize = 7 * 24;

/// What is known when an hour begins: the last hour, the same one yesterday, the mean of the last day, and that of this hour of the day so far.
const COLUMNS: usize = 5;

/// Sums of a day that is held out: errors of the forecast, of what needs none, and how many hours.
const SUMS: usize = NAIVE.len() + 2;

struct Case {
    day: u32,
    columns: [f64; COLUMNS],
    /// Mean of all hours so far.
    usually: f64,
    truth: f64,
}

/// Makes forecasts of reads and of writes by least squares, and measures them.
pub fn forecasts(zone: &Zone, line: &Timeline, drawn: &ByDays) -> [Option<Forecast>; BOTH] {
    let hours = times::hours(zone, line);
    [0, 1].map(|direction| {
        let total = |hour: u32| hours.get(&hour)?.total(direction);
        let hour_of_day = |hour: u32| zone.local(zone.minute_of_hour(hour)).hour();
        let mut cases = Vec::new();
        let (mut so_far, mut all) = ([(0.0, 0.0); 24], (0.0, 0.0));
        for hour in hours.keys().copied() {
            let known = || {
                let day: Option<f64> = (1..=24).map(|back| total(hour.checked_sub(back)?)).sum();
                let day = day?;
                let (sum, count) = so_far[hour_of_day(hour)];
                let columns = [1.0, total(hour - 1)?, total(hour - 24)?, day / 24.0, sum / count];
                let usually = all.0 / all.1;
                let case = Case { day: hour / 24, columns, usually, truth: total(hour)? };
                (count >= 3.0).then_some(case)
            };
            cases.extend(known());
            if let Some(bytes) = total(hour) {
                let sums = &mut so_far[hour_of_day(hour)];
                (sums.0, sums.1) = (sums.0 + bytes, sums.1 + 1.0);
                all = (all.0 + bytes, all.1 + 1.0);
            }
        }
        measured(&cases, drawn)
    })
}

fn measured(cases: &[Case], drawn: &ByDays) -> Option<Forecast> {
    let (made_from, held_out) = cases.split_at(cases.len() * 2 / 3);
    if held_out.len() < LEAST_HOURS || made_from.len() < LEAST_HOURS {
        return None;
    }
    let columns: Vec<Vec<f64>> = (0..COLUMNS)
        .map(|column| made_from.iter().map(|it| it.columns[column]).collect())
        .collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let truth: Vec<f64> = made_from.iter().map(|it| it.truth).collect();
    let fit = least_squares(&columns, &truth).ok()?;
    let mut days: Vec<[f64; SUMS]> = Vec::new();
    for of_day in held_out.chunk_by(|one, next| one.day == next.day) {
        let mut sums = [0.0; SUMS];
        for case in of_day {
            let told: f64 = fit.coefficients.iter().zip(case.columns).map(|(c, x)| c * x).sum();
            let [_, last_hour, yesterday, _, this_hour] = case.columns;
            let all = [told.max(0.0), last_hour, yesterday, this_hour, case.usually];
            sums.iter_mut().zip(all).for_each(|(sum, it)| *sum += (it - case.truth).abs());
            sums[SUMS - 1] += 1.0;
        }
        days.push(sums);
    }
    let over = |sums: &[f64; SUMS]| {
        let naive = sums[1..SUMS - 1].iter().copied().fold(f64::MAX, f64::min);
        (naive > 0.0).then(|| sums[0] / naive)
    };
    let mut all = [0.0; SUMS];
    days.iter().for_each(|day| all.iter_mut().zip(day).for_each(|(sum, it)| *sum += it));
    let mean = |sum: usize| all[sum] / all[SUMS - 1];
    Some(Forecast {
        hours: [made_from.len(), held_out.len()],
        error: mean(0),
        naive_errors: std::array::from_fn(|it| mean(it + 1)),
        over_naive: drawn.of_sums(&days, over)?,
    })
}
