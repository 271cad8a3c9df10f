//! A stretch of time in which a component is low, and outside of which it is not: since when, until when.
//!
//! The null hypothesis is that low measures fall anywhere in time. The stretch is the one with the fewest errors: low measures outside of it and
//! others inside. How many arrangements of the low measures have a stretch with as few errors can be counted.
//!
//! What gets slower and slower is soon low nearly always, and then most arrangements are like it. There the order of all measures
//! tells more: their ranks fall with time (Spearman).

use plimsoll_stats::dependence::autoregressive_time;
use plimsoll_stats::distribution::student_two_sided;
use plimsoll_stats::rank_correlation::rho;

use super::component::Component;
use super::dependence::correlations;
use super::median_of;

/// Measures inside and outside, at least; what clearly gets slower and slower is soon low nearly always.
const LEAST: usize = 3;

/// The drop is at least this many times the scatter around the two levels: what noise that repeats itself does to
/// measures in a while is less clear.
const SEPARATION: f64 = 4.0;

/// The same for measures that are judged by their order: a few that repeat each other often fall one after the other.
const SEPARATION_IN_ORDER: f64 = 8.0;

/// And it must end at half of its beginning or less.
const DROP_IN_ORDER: f64 = std::f64::consts::LN_2;

/// Measures of which the order tells something, at least, after correlation.
const LEAST_IN_ORDER: f64 = 12.0;

/// Low this many times as often as the typical other component, at least.
const MORE_OFTEN: f64 = 3.0;

/// If more than this share of the others have low measures in a row at other times, slowness moves from one to the next.
const ELSEWHERE: f64 = 1.0 / 3.0;

/// Scatter of less than this part of the drop does not matter to where it lies.
const FLOOR: f64 = 0.25;

/// Measures that arrangements are counted of, at most: longer series are thinned out.
const COUNTED_MAX: f64 = 1000.0;

/// Points of a line, at most.
const LINE_POINTS_MAX: usize = 200;

/// A stretch of low measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The first measure in it.
    pub first: usize,
    /// The first measure behind it: all that there are if it lasts to the end.
    pub end: usize,
    /// When the first low measure was taken, nanoseconds since 1970.
    pub since: u64,
    /// When the first measure behind it was taken; `None` if it lasts to the end.
    pub until: Option<u64>,
    /// Median ratio to the others in it.
    pub inside: f64,
    /// Median ratio outside of it.
    pub outside: f64,
    /// Whether a line describes the measures better than two levels: it gets slower and slower, or faster.
    pub is_gradual: bool,
}

/// A stretch, and what is needed to test it.
pub(super) struct Candidate {
    pub stretch: Stretch,
    low: usize,
    errors: usize,
    drop: f64,
    scatter: f64,
    residuals: Vec<f64>,
    /// Rank correlation of a clear gradual change with time.
    trend: Option<f64>,
}

/// For each component the most likely stretch with its p value; p is 1 where it does not stand out.
pub(super) fn stretches(components: &[&Component], limit: f64) -> Vec<Option<(Candidate, f64)>> {
    let found: Vec<Option<Candidate>> = components.iter().map(|it| candidate(it, limit)).collect();
    // The noise of others is what it is with their own stretches: noise has stretches, if it lasts.
    let mut series: Vec<Vec<f64>> = components.iter().map(|it| without_a_rise(it, limit)).collect();
    let mut p_value = |number: usize, it: &Candidate| {
        // Others that fall by a quarter as much may be like it; what noise does to them is less.
        let as_low = limit.min(-it.drop / 4.0);
        let stands_out = it.drop >= SEPARATION * it.scatter
            && is_low_more_often(components, number, as_low)
            && !moves(components, number, &it.stretch, as_low);
        if !stands_out {
            return 1.0;
        }
        let with_its_own = std::mem::replace(&mut series[number], it.residuals.clone());
        let correlation = correlations(&series, it.drop * FLOOR)[number];
        series[number] = with_its_own;
        it.p_value(components[number].measures.len(), autoregressive_time(correlation).round())
    };
    let p_values: Vec<f64> = found
        .iter()
        .enumerate()
        .map(|(at, it)| it.as_ref().map_or(1.0, |it| p_value(at, it)))
        .collect();
    found.into_iter().zip(p_values).map(|(it, p)| it.map(|it| (it, p))).collect()
}

/// What a component scatters by around its levels: where half of the others fell, it rose.
fn without_a_rise(component: &Component, limit: f64) -> Vec<f64> {
    let mut mirrored = component.clone();
    mirrored.measures.iter_mut().for_each(|it| it.log_ratio = -it.log_ratio);
    candidate(&mirrored, limit).map_or_else(|| component.logs(), |it| it.residuals)
}

fn candidate(component: &Component, limit: f64) -> Option<Candidate> {
    let logs = component.logs();
    let low = component.low(limit);
    let (first, end, surplus) = lowest_part(&logs, limit)?;
    let inside = median_of(&mut logs[first..end].to_vec())?;
    let outside = median_of(&mut [&logs[..first], &logs[end..]].concat())?;
    let is_step = inside < limit && outside >= limit && inside - outside <= limit;
    if end - first < LEAST || !is_step {
        return None;
    }
    let level = |at: usize| if (first..end).contains(&at) { inside } else { outside };
    let steps: Vec<f64> = logs.iter().enumerate().map(|(at, log)| log - level(at)).collect();
    let (mut drop, mut scatter, mut residuals) = (outside - inside, scatter(&steps), steps);
    let mut is_gradual = false;
    // A slow decline ends low, and a slow recovery begins low.
    if (end == logs.len()) != (first == 0) {
        let (slope, around) = line(&logs);
        let falls = slope < 0.0;
        if self::scatter(&around) < scatter && falls == (end == logs.len()) {
            is_gradual = true;
            drop = slope.abs() * (logs.len() - 1) as f64;
            scatter = self::scatter(&around);
            residuals = around;
        }
    }
    let moments: Vec<u64> = component.measures.iter().map(|it| it.start).collect();
    let (inside, outside) = (inside.exp(), outside.exp());
    let (since, until) = (moments[first], moments.get(end).copied());
    let stretch = Stretch { first, end, since, until, inside, outside, is_gradual };
    let is_clear = is_gradual && drop >= DROP_IN_ORDER.max(SEPARATION_IN_ORDER * scatter);
    let order = || logs.iter().enumerate().map(|(at, log)| (at as f64, *log)).collect::<Vec<_>>();
    let trend = is_clear.then(|| rho(&order())).flatten();
    if logs.len() - (end - first) < LEAST && trend.is_none() {
        return None;
    }
    Some(Candidate { stretch, low, errors: low - surplus, drop, scatter, residuals, trend })
}

/// The part with the largest surplus of low measures over others (Kadane), and the surplus; of equal ones the one that
/// lasts to the end.
fn lowest_part(logs: &[f64], limit: f64) -> Option<(usize, usize, usize)> {
    let (mut best, mut sum, mut first) = ((0, 0, 0usize), 0usize, 0);
    for (at, log) in logs.iter().enumerate() {
        if sum == 0 {
            first = at;
        }
        sum = if *log < limit { sum + 1 } else { sum.saturating_sub(1) };
        if sum > best.2 || (sum == best.2 && at + 1 == logs.len()) {
            best = (first, at + 1, sum);
        }
    }
    (best.2 > 0).then_some(best)
}

/// Scatter around a level: the root of the mean square, outliers drawn in.
fn scatter(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|it| it.abs()).collect();
    let middle = 1.4826 * median_of(&mut sizes).unwrap_or(0.0);
    let reach = 3.0 * middle;
    let squares: f64 = residuals.iter().map(|it| it.clamp(-reach, reach).powi(2)).sum();
    middle.max((squares / residuals.len().max(1) as f64).sqrt())
}

/// The slope of the line through the measures (Theil and Sen), and how far they are from it.
fn line(logs: &[f64]) -> (f64, Vec<f64>) {
    let step = logs.len().div_ceil(LINE_POINTS_MAX);
    let points: Vec<(f64, f64)> =
        logs.iter().enumerate().step_by(step).map(|(at, log)| (at as f64, *log)).collect();
    let mut slopes = Vec::new();
    for (place, a) in points.iter().enumerate() {
        slopes.extend(points[place + 1..].iter().map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    let slope = median_of(&mut slopes).unwrap_or(0.0);
    let flat = |(at, log): (usize, &f64)| log - slope * at as f64;
    let mut flattened: Vec<f64> = logs.iter().enumerate().map(flat).collect();
    let height = median_of(&mut flattened).unwrap_or(0.0);
    (slope, logs.iter().enumerate().map(flat).map(|it| it - height).collect())
}

/// How likely `n` measures in any order have a rank correlation with it that is so far from 0.
fn share_of_orders(rho: f64, n: f64) -> f64 {
    if n < LEAST_IN_ORDER {
        return 1.0;
    }
    let freedom = n - 2.0;
    student_two_sided(rho * (freedom / (1.0 - rho * rho)).sqrt(), freedom)
}

fn is_low_more_often(components: &[&Component], number: usize, limit: f64) -> bool {
    let others = components.iter().enumerate().filter(|(at, _)| *at != number);
    let mut shares: Vec<f64> = others.map(|(_, it)| it.low_share(limit)).collect();
    let usual = median_of(&mut shares).unwrap_or(0.0);
    components[number].low_share(limit) >= MORE_OFTEN * usual
}

/// Whether many others are low at other times.
fn moves(components: &[&Component], number: usize, stretch: &Stretch, limit: f64) -> bool {
    let others = components.len() - 1;
    let elsewhere =
        |(at, it): &(usize, &&Component)| *at != number && is_low_elsewhere(it, stretch, limit);
    let count = components.iter().enumerate().filter(elsewhere).count();
    count as f64 > ELSEWHERE * others as f64
}

/// Whether two measures in a row are low, and most low ones lie outside of the stretch.
fn is_low_elsewhere(component: &Component, stretch: &Stretch, limit: f64) -> bool {
    let is_low: Vec<bool> = component.measures.iter().map(|it| it.log_ratio < limit).collect();
    let within = |start: u64| start >= stretch.since && stretch.until.is_none_or(|it| start < it);
    let low = component.measures.iter().filter(|it| it.log_ratio < limit);
    let inside = low.clone().filter(|it| within(it.start)).count();
    is_low.windows(2).any(|pair| pair[0] && pair[1]) && low.count() >= 2 * inside
}

impl Candidate {
    /// The share of arrangements of the low measures among `n` that have such a stretch, where each measure repeats
    /// `time` of them. One that lasts to the end is looked for apart from all others: twice the share. Of a gradual
    /// change, the order is looked at as well: twice the smaller one.
    fn p_value(&self, n: usize, time: f64) -> f64 {
        let thinned = time.max(1.0).max(n as f64 / COUNTED_MAX);
        let low = ((self.low as f64 / thinned).round() as usize).max(1);
        let errors = (self.errors as f64 / thinned).ceil() as usize;
        let lasts = self.stretch.until.is_none();
        let n = (n as f64 / thinned).floor() as usize;
        let by_stretch = 2.0 * share_of_arrangements(n, low, errors, lasts);
        let by_order = self.trend.map(|rho| 2.0 * share_of_orders(rho, n as f64));
        by_order.map_or(by_stretch, |it| it.min(2.0 * by_stretch)).min(1.0)
    }
}

/// How likely low measures that fall anywhere have a part with so few errors: low ones outside and others inside; at the end,
/// or anywhere. A bound: arrangements with several such parts count several times.
fn share_of_arrangements(n: usize, low: usize, errors: usize, at_the_end: bool) -> f64 {
    if low >= n {
        return 1.0;
    }
    let logs: Vec<f64> = std::iter::once(0.0)
        .chain((1..=n).scan(0.0, |sum: &mut f64, it| {
            *sum += (it as f64).ln();
            Some(*sum)
        }))
        .collect();
    let ways = |of: usize, chosen: usize| logs[of] - logs[chosen] - logs[of - chosen];
    let all = ways(n, low);
    let mut share = 0.0;
    for inside in low.saturating_sub(errors)..=low {
        let outside = low - inside;
        // Others inside, as many as errors are left and fit.
        for others in 0..=(errors - outside).min(n - low) {
            let length = inside + others;
            if length == 0 {
                continue;
            }
            let places = if at_the_end { 1 } else { n - length + 1 };
            share += places as f64 * (ways(length, inside) + ways(n - length, outside) - all).exp();
        }
    }
    share.min(1.0)
}

#[cfg(test)]
mod tests;
