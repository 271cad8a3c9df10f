//! How the load lies over the targets (Patel, section 6).

use std::collections::BTreeMap;

use plimsoll_stats::rank_correlation::rho;
use plimsoll_stats::{RankCorrelation, Sample, rank_correlation};

use crate::closing::is_enough;
use crate::clusters::{DEGREES, Degrees};
use crate::open_day::BOTH;
use crate::pairs::LagSums;
use crate::phases::Phases;
use crate::timeline::Timeline;
use crate::{Frame, Whole};

/// How the load lies over the targets.
#[derive(Debug, Clone)]
pub struct Space {
    /// By name.
    pub targets: Vec<TargetTotals>,
    /// Most over least bytes of a target, of reads and of writes.
    pub most_over_least: [Option<f64>; BOTH],
    /// Imbalance in hours, days, weeks, months and years, of reads and of writes.
    pub imbalance: Vec<(Span, [Imbalance; BOTH])>,
    /// Whether targets that are read much are also written much.
    pub reads_with_writes: Option<RankCorrelation>,
    /// Clusters of reads and of writes.
    pub parallelism: [Parallelism; BOTH],
}

/// What one target did.
#[derive(Debug, Clone)]
pub struct TargetTotals {
    /// Its name.
    pub name: String,
    /// All bytes read and written.
    pub bytes: [u128; BOTH],
    /// Minutes that are known.
    pub known: [u64; BOTH],
    /// The greatest minute.
    pub most: [u64; BOTH],
    /// Reads with reads, writes with writes, reads with writes.
    pub lags: [LagSums; 3],
}

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
    pub most_over_mean: Option<f64>,
    /// Most over least; nothing where in most periods some target did nothing.
    pub most_over_least: Option<f64>,
    /// Rank correlation of targets between a period and the next: the median over pairs of periods.
    pub persistence: Option<f64>,
}

/// How many targets do about as much as each other.
#[derive(Debug, Clone, Default)]
pub struct Parallelism {
    /// Clusters of 5 %, of 10 %, and of 5 % in windows of 5 minutes.
    pub degrees: [Degrees; 3],
    /// Mean size of a cluster in minutes of high activity of that direction.
    pub mean_when_high: Option<f64>,
    /// Clusters of at least so many targets ([`DEGREES`]) in these minutes.
    pub when_high: [u64; DEGREES.len()],
}

impl Space {
    /// Works it out.
    pub fn of(frame: &Frame, whole: &Whole, line: &Timeline, high: [&Phases; BOTH]) -> Self {
        let sums = frame.targets.iter().zip(&whole.targets).enumerate();
        let targets: Vec<TargetTotals> = sums
            .map(|(number, (component, sums))| TargetTotals {
                name: component.name.clone(),
                bytes: whole.bytes(number),
                known: sums.known,
                most: sums.most,
                lags: sums.lags,
            })
            .collect();
        let most_over_least = [0, 1].map(|direction| {
            let bytes = || targets.iter().map(|it| it.bytes[direction]);
            let (least, most) = (bytes().min()?, bytes().max()?);
            (least > 0 && targets.len() > 1).then(|| most as f64 / least as f64)
        });
        let pairs: Vec<(f64, f64)> =
            targets.iter().map(|it| (it.bytes[0] as f64, it.bytes[1] as f64)).collect();
        Space {
            most_over_least,
            imbalance: imbalances(frame, whole),
            reads_with_writes: rank_correlation(&pairs, 0.95, frame.options.seed),
            parallelism: [0, 1]
                .map(|direction| parallelism(whole, line, direction, high[direction])),
            targets,
        }
    }
}

fn parallelism(whole: &Whole, line: &Timeline, direction: usize, high: &Phases) -> Parallelism {
    let mut result =
        Parallelism { degrees: whole.degrees[direction].clone(), ..Parallelism::default() };
    let Some(bound) = high.bound else { return result };
    let (mut active, mut clusters) = (0u64, 0u64);
    for (summary, (places, _)) in whole.days.iter().zip(line.days()) {
        for (minute, degrees) in &summary.minutes {
            let place = places.start + usize::from(*minute);
            if line.bytes[direction][place].is_some_and(|bytes| bytes as f64 >= bound) {
                let degrees = &degrees.degrees[direction];
                active += u64::from(degrees.active);
                clusters += u64::from(degrees.clusters);
                let counts = result.when_high.iter_mut().zip(degrees.at_least);
                counts.for_each(|(sum, count)| *sum += u64::from(count));
            }
        }
    }
    result.mean_when_high = (clusters > 0).then(|| active as f64 / clusters as f64);
    result
}

/// Bytes and known minutes of each target in a period.
type Loads = Vec<([u128; BOTH], [u64; BOTH])>;

fn imbalances(frame: &Frame, whole: &Whole) -> Vec<(Span, [Imbalance; BOTH])> {
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
        (span, [0, 1].map(|direction| imbalance(&periods, direction)))
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

fn imbalance(periods: &BTreeMap<u32, Loads>, direction: usize) -> Imbalance {
    let (mut over_mean, mut over_least, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<(u32, Vec<Option<f64>>)> = None;
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
        let (least, most) = known
            .iter()
            .fold((f64::MAX, 0.0), |(least, most): (f64, f64), it| (least.min(*it), most.max(*it)));
        over_mean.push(most / (sum / known.len() as f64));
        over_least.push(if least > 0.0 { most / least } else { f64::INFINITY });
        if let Some((last, loads_before)) = &before
            && last + 1 == *number
        {
            let both = loads_before.iter().zip(&loads);
            let pairs: Vec<(f64, f64)> =
                both.filter_map(|(one, other)| (*one).zip(*other)).collect();
            kept.extend(rho(&pairs).filter(|_| pairs.len() > 2));
        }
        before = Some((*number, loads));
    }
    Imbalance {
        periods: over_mean.len(),
        most_over_mean: median(over_mean),
        most_over_least: median(over_least).filter(|it| it.is_finite()),
        persistence: median(kept),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match values.last() {
        Some(last) if last.is_infinite() => {
            let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            Some(if high.is_finite() { low.midpoint(high) } else { f64::INFINITY })
        }
        _ => Sample::new(values).ok().map(|it| it.median()),
    }
}
