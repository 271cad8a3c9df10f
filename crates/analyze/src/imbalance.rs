//! How unlike targets are in periods of the same length, and whether the same ones stay ahead (Patel, section 6).

use std::collections::HashMap;

use plimsoll_stats::rank_correlation::rho;

use crate::by_days::{ByDays, Estimate};
use crate::closing::is_enough;
use crate::component_sums::TargetSums;
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

/// Bytes and known minutes of a target in a period.
type Load = ([u128; BOTH], [u64; BOTH]);

/// Works it out for periods of all lengths.
pub fn imbalances(frame: &Frame, whole: &Whole, drawn: &ByDays) -> Vec<(Span, [Imbalance; BOTH])> {
    let of_span = |span: Span| {
        let mut gathered: [Gathered; BOTH] = Default::default();
        let mut periods = Periods::new(frame, span, &whole.targets);
        while let Some(number) = periods.next() {
            let group = match span {
                Span::Hour => period_of(frame, Span::Day, number),
                _ => number,
            };
            for (direction, gathered) in gathered.iter_mut().enumerate() {
                gathered.add(number, group, &periods.loads, direction);
            }
        }
        (span, gathered.map(|it| it.finish(drawn)))
    };
    Span::ALL.into_iter().map(of_span).collect()
}

/// Returns the rank correlation of targets between a day and the next without some of them, by place: whether an order lasts beside those that stand out.
pub fn persistence_without(
    frame: &Frame,
    whole: &Whole,
    left_out: &[usize],
    drawn: &ByDays,
) -> [Option<Estimate>; BOTH] {
    let mut gathered: [Gathered; BOTH] = Default::default();
    let mut days = Periods::new(frame, Span::Day, &whole.targets);
    while let Some(number) = days.next() {
        // Of what is not known no rank is taken.
        left_out.iter().for_each(|place| days.loads[*place] = Load::default());
        for (direction, gathered) in gathered.iter_mut().enumerate() {
            gathered.add(number, number, &days.loads, direction);
        }
    }
    gathered.map(|it| it.kept.median(drawn))
}

/// Periods of one length, in their order: one at a time, as those of all targets together are many.
struct Periods<'a> {
    frame: &'a Frame,
    span: Span,
    targets: &'a [TargetSums],
    /// The next hour of each target, by its place.
    next: Vec<usize>,
    /// Periods of hours: those of all targets are the same.
    known: HashMap<u32, u32>,
    /// Of each target in the period at hand.
    loads: Vec<Load>,
}

impl<'a> Periods<'a> {
    fn new(frame: &'a Frame, span: Span, targets: &'a [TargetSums]) -> Self {
        let next = vec![0; targets.len()];
        Periods { frame, span, targets, next, known: HashMap::new(), loads: Vec::new() }
    }

    fn of_hour(&mut self, hour: u32) -> u32 {
        let (frame, span) = (self.frame, self.span);
        *self.known.entry(hour).or_insert_with(|| period_of(frame, span, hour))
    }

    /// Adds up the next period, and returns its number.
    fn next(&mut self) -> Option<u32> {
        let targets = self.targets;
        let heads = targets.iter().zip(&self.next).filter_map(|(it, next)| it.hours.get(*next));
        let first = heads.map(|it| it.0).min()?;
        let number = self.of_hour(first);
        self.loads.clear();
        for (target, sums) in targets.iter().enumerate() {
            let mut load = Load::default();
            while let Some((hour, sums)) = sums.hours.get(self.next[target])
                && self.of_hour(*hour) == number
            {
                for direction in 0..BOTH {
                    load.0[direction] += u128::from(sums.bytes[direction]);
                    load.1[direction] += u64::from(sums.known[direction]);
                }
                self.next[target] += 1;
            }
            self.loads.push(load);
        }
        Some(number)
    }
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

/// What periods of one length came to so far.
#[derive(Default)]
struct Gathered {
    count: usize,
    group: Option<u32>,
    over_mean: Values,
    over_least: Values,
    kept: Values,
    /// The period before, and its targets.
    before: Option<(u32, Vec<Option<f64>>)>,
}

impl Gathered {
    /// Adds the next period, of a group of periods that hang together.
    fn add(&mut self, number: u32, group: u32, period: &[Load], direction: usize) {
        let most_known = period.iter().map(|it| it.1[direction]).max().unwrap_or(0);
        let loads: Vec<Option<f64>> = period
            .iter()
            .map(|it| is_enough(it.1[direction], most_known).then(|| it.0[direction] as f64))
            .collect();
        let known: Vec<f64> = loads.iter().flatten().copied().collect();
        let sum: f64 = known.iter().sum();
        if known.len() < 2 || sum <= 0.0 {
            self.before = None;
            return;
        }
        self.count += 1;
        let is_new = self.group != Some(group);
        self.group = Some(group);
        let (least, most) = known
            .iter()
            .fold((f64::MAX, 0.0), |(least, most): (f64, f64), it| (least.min(*it), most.max(*it)));
        self.over_mean.add(is_new, [most / (sum / known.len() as f64)]);
        self.over_least.add(is_new, [if least > 0.0 { most / least } else { f64::INFINITY }]);
        let mut rank = None;
        if let Some((last, loads_before)) = &self.before
            && last + 1 == number
        {
            let both = loads_before.iter().zip(&loads);
            let pairs: Vec<(f64, f64)> =
                both.filter_map(|(one, other)| (*one).zip(*other)).collect();
            rank = rho(&pairs).filter(|_| pairs.len() > 2);
        }
        self.kept.add(is_new, rank);
        self.before = Some((number, loads));
    }

    fn finish(self, drawn: &ByDays) -> Imbalance {
        Imbalance {
            periods: self.count,
            most_over_mean: self.over_mean.median(drawn),
            most_over_least: self.over_least.median(drawn),
            persistence: self.kept.median(drawn),
        }
    }
}
