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
    /// Mean absolute error in bytes: of the forecast, of "as in the last hour", and of "as yesterday at this hour".
    pub errors: [f64; 3],
    /// Its error over that of the better one of these two.
    pub over_naive: Estimate,
}

impl Forecast {
    /// Returns whether it is better than both, beyond chance.
    pub fn wins(&self) -> bool {
        self.over_naive.interval.is_some_and(|it| it.high < 1.0)
    }
}

/// Hours that there must be of both kinds.
const LEAST_HOURS: usize = 7 * 24;

/// What is known when an hour begins: the last hour, the same one yesterday, the mean of the last day, and that of this hour of the day so far.
const COLUMNS: usize = 5;

struct Case {
    day: u32,
    columns: [f64; COLUMNS],
    truth: f64,
}

/// Makes forecasts of reads and of writes by least squares, and measures them.
pub fn forecasts(zone: &Zone, line: &Timeline, drawn: &ByDays) -> [Option<Forecast>; BOTH] {
    let hours = times::hours(zone, line);
    [0, 1].map(|direction| {
        let total = |hour: u32| hours.get(&hour)?.total(direction);
        let hour_of_day = |hour: u32| zone.local(zone.minute_of_hour(hour)).hour();
        let mut cases = Vec::new();
        let mut so_far = [(0.0, 0.0); 24];
        for hour in hours.keys().copied() {
            let known = || {
                let day: Option<f64> = (1..=24).map(|back| total(hour.checked_sub(back)?)).sum();
                let day = day?;
                let (sum, count) = so_far[hour_of_day(hour)];
                let columns = [1.0, total(hour - 1)?, total(hour - 24)?, day / 24.0, sum / count];
                let case = Case { day: hour / 24, columns, truth: total(hour)? };
                (count >= 3.0).then_some(case)
            };
            cases.extend(known());
            if let Some(bytes) = total(hour) {
                let sums = &mut so_far[hour_of_day(hour)];
                (sums.0, sums.1) = (sums.0 + bytes, sums.1 + 1.0);
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
    // Errors of each day: of the forecast, of the last hour, of yesterday; and how many.
    let mut days: Vec<[f64; 4]> = Vec::new();
    for of_day in held_out.chunk_by(|one, next| one.day == next.day) {
        let mut sums = [0.0; 4];
        for case in of_day {
            let told: f64 = fit.coefficients.iter().zip(case.columns).map(|(c, x)| c * x).sum();
            let errors = [told.max(0.0), case.columns[1], case.columns[2]];
            sums.iter_mut().zip(errors).for_each(|(sum, it)| *sum += (it - case.truth).abs());
            sums[3] += 1.0;
        }
        days.push(sums);
    }
    let over = |[ours, hour, day, _]: &[f64; 4]| {
        let naive = hour.min(*day);
        (naive > 0.0).then(|| ours / naive)
    };
    let redrawn = ByDays::new(days.len(), drawn.seed());
    let mut all = [0.0; 4];
    days.iter().for_each(|day| all.iter_mut().zip(day).for_each(|(sum, it)| *sum += it));
    Some(Forecast {
        hours: [made_from.len(), held_out.len()],
        errors: [all[0] / all[3], all[1] / all[3], all[2] / all[3]],
        over_naive: redrawn.of_sums(&days, over)?,
    })
}
