//! How unlike targets are in periods of the same length, and whether the same ones stay ahead (Patel, section 6).

use std::collections::BTreeMap;

use plimsoll_stats::rank_correlation::rho;

use crate::by_days::{ByDays, Estimate};
use crate::closing::is_enough;
use crate::open_day::BOTH;
use crate::{Frame, Whole};

/// How long the load is added up before targets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week from Monday on.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

impl Span {
    /// All of them, from short to long.
    pub const ALL: [Span; 5] = [Span::Hour, Span::Day, Span::Week, Span::Month, Span::Year];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Span::Hour => "hour",
            Span::Day => "day",
            Span::Week => "week",
            Span::Month => "month",
            Span::Year => "year",
        }
    }
}

/// How unlike targets are in periods of one length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Imbalance {
    /// Periods with at least two targets and any data.
    pub periods: usize,
    /// Most over mean bytes of a target: the median over periods.
    pub most_over_mean: Option<Estimate>,
    /// Most over least; nothing where in most periods some target did nothing.
    pub most_over_least: Option<Estimate>,
    /// Rank correlation of targets between a period and the next: the median over pairs of periods.
    pub persistence: Option<Estimate>,
}

/// Bytes and known minutes of each target in a period.
type Loads = Vec<([u128; BOTH], [u64; BOTH])>;

/// Works it out for periods of all lengths.
pub fn imbalances(frame: &Frame, whole: &Whole, drawn: &ByDays) -> Vec<(Span, [Imbalance; BOTH])> {
    let of_span = |span: Span| {
        let mut periods: BTreeMap<u32, Loads> = BTreeMap::new();
        for (target, sums) in whole.targets.iter().enumerate() {
            for (hour, sums) in &sums.hours {
                let period = periods.entry(period_of(frame, span, *hour));
                let period =
                    period.or_insert_with(|| vec![Default::default(); frame.targets.len()]);
                for direction in 0..BOTH {
                    period[target].0[direction] += u128::from(sums.bytes[direction]);
                    period[target].1[direction] += u64::from(sums.known[direction]);
                }
            }
        }
        let group_of = |period: u32| match span {
            Span::Hour => period_of(frame, Span::Day, period),
            _ => period,
        };
        (span, [0, 1].map(|direction| imbalance(&periods, direction, &group_of, drawn)))
    };
    Span::ALL.into_iter().map(of_span).collect()
}

fn period_of(frame: &Frame, span: Span, hour: u32) -> u32 {
    if span == Span::Hour {
        return hour;
    }
    let local = frame.zone().local(frame.zone().minute_of_hour(hour));
    let (year, month) = local.month();
    match span {
        Span::Hour => hour,
        Span::Day => local.day(),
        Span::Week => local.week(),
        Span::Month => u32::from(year.unsigned_abs()) * 12 + u32::from(month.unsigned_abs()),
        Span::Year => u32::from(year.unsigned_abs()),
    }
}

/// Values of periods, grouped for drawing them again: hours of a day hang together, longer periods stand for themselves.
#[derive(Default)]
struct Values {
    groups: Vec<Vec<f64>>,
}

impl Values {
    fn add(&mut self, is_new_group: bool, values: impl IntoIterator<Item = f64>) {
        if is_new_group || self.groups.is_empty() {
            self.groups.push(Vec::new());
        }
        if let Some(group) = self.groups.last_mut() {
            group.extend(values);
        }
    }

    fn median(self, drawn: &ByDays) -> Option<Estimate> {
        drawn.median(&self.groups).filter(|it| it.value.is_finite())
    }
}

fn imbalance(
    periods: &BTreeMap<u32, Loads>,
    direction: usize,
    group_of: &dyn Fn(u32) -> u32,
    drawn: &ByDays,
) -> Imbalance {
    let (mut over_mean, mut over_least, mut kept) =
        (Values::default(), Values::default(), Values::default());
    let mut before: Option<(u32, Vec<Option<f64>>)> = None;
    let (mut count, mut group) = (0, None);
    for (number, period) in periods {
        let most_known = period.iter().map(|it| it.1[direction]).max().unwrap_or(0);
        let loads: Vec<Option<f64>> = period
            .iter()
            .map(|it| is_enough(it.1[direction], most_known).then(|| it.0[direction] as f64))
            .collect();
        let known: Vec<f64> = loads.iter().flatten().copied().collect();
        let sum: f64 = known.iter().sum();
        if known.len() < 2 || sum <= 0.0 {
            before = None;
            continue;
        }
        count += 1;
        let own_group = Some(group_of(*number));
        let is_new = group != own_group;
        group = own_group;
        let (least, most) = known
            .iter()
            .fold((f64::MAX, 0.0), |(least, most): (f64, f64), it| (least.min(*it), most.max(*it)));
        over_mean.add(is_new, [most / (sum / known.len() as f64)]);
        over_least.add(is_new, [if least > 0.0 { most / least } else { f64::INFINITY }]);
        let mut rank = None;
        if let Some((last, loads_before)) = &before
            && last + 1 == *number
        {
            let both = loads_before.iter().zip(&loads);
            let pairs: Vec<(f64, f64)> =
                both.filter_map(|(one, other)| (*one).zip(*other)).collect();
            rank = rho(&pairs).filter(|_| pairs.len() > 2);
        }
        kept.add(is_new, rank);
        before = Some((*number, loads));
    }
    Imbalance {
        periods: count,
        most_over_mean: over_mean.median(drawn),
        most_over_least: over_least.median(drawn),
        persistence: kept.median(drawn),
    }
}
