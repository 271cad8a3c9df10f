//! Two histories side by side: by how much a figure differs, and how sure that is.

use crate::Analysis;
use crate::by_days::{Estimate, Interval};

/// What a figure is, and how two of it are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// Bytes, by their ratio.
    Bytes,
    /// A ratio, by the ratio of both.
    Ratio,
    /// A share of a whole, by the difference.
    Share,
    /// A correlation, by the difference.
    Correlation,
}

/// A figure of two histories.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedFigure {
    /// What it is.
    pub name: &'static str,
    /// How it is compared.
    pub kind: FigureKind,
    /// Of the first and of the second history.
    pub values: [Option<Estimate>; 2],
    /// The second over the first, or the second less the first.
    pub change: Option<Estimate>,
}

/// Whether two histories differ in a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The second has more, beyond chance.
    More,
    /// The second has less, beyond chance.
    Less,
    /// They may be equal.
    None,
    /// There are too few days in one of them.
    Unknown,
}

impl ComparedFigure {
    fn of(name: &'static str, kind: FigureKind, values: [Option<Estimate>; 2]) -> Self {
        let both = values[0].zip(values[1]);
        let change = both.and_then(|(first, second)| match kind {
            FigureKind::Bytes | FigureKind::Ratio => over(&first, &second),
            FigureKind::Share | FigureKind::Correlation => Some(less(&first, &second)),
        });
        ComparedFigure { name, kind, values, change }
    }

    /// Returns whether the histories differ.
    pub fn difference(&self) -> Difference {
        let nothing = match self.kind {
            FigureKind::Bytes | FigureKind::Ratio => 1.0,
            FigureKind::Share | FigureKind::Correlation => 0.0,
        };
        match self.change.and_then(|it| it.interval) {
            None => Difference::Unknown,
            Some(it) if it.low > nothing => Difference::More,
            Some(it) if it.high < nothing => Difference::Less,
            Some(_) => Difference::None,
        }
    }
}

/// Compares the figures of two histories that have intervals.
pub fn compared(first: &Analysis, second: &Analysis) -> Vec<ComparedFigure> {
    let figure = |name, kind, of: &dyn Fn(&Analysis) -> Option<Estimate>| {
        ComparedFigure::of(name, kind, [of(first), of(second)])
    };
    let mut all = Vec::new();
    let of_direction: [[&'static str; 4]; 2] = [
        [
            "read in a minute",
            "CoV of reads",
            "minutes below the mean of reads",
            "reads with the next minute",
        ],
        [
            "written in a minute",
            "CoV of writes",
            "minutes below the mean of writes",
            "writes with the next minute",
        ],
    ];
    for (direction, [mean, cov, below, next]) in of_direction.into_iter().enumerate() {
        all.extend([
            figure(mean, FigureKind::Bytes, &|it| it.system.directions[direction].mean),
            figure(cov, FigureKind::Ratio, &|it| it.system.directions[direction].cov),
            figure(below, FigureKind::Share, &|it| it.system.directions[direction].below_mean),
            figure(next, FigureKind::Correlation, &|it| {
                Some(it.correlations[direction].by_window.first()?.get(1)?.as_ref()?.r)
            }),
        ]);
    }
    all.push(figure("read over written", FigureKind::Ratio, &|it| it.system.ratio));
    all.push(figure("reads with writes of the minute", FigureKind::Correlation, &|it| {
        Some(it.correlations[2].by_window.first()?.first()?.as_ref()?.r)
    }));
    all
}

/// Returns the second less the first. Its interval follows from both, which are taken to be independent (MOVER; Zou and Donner, "Construction of confidence limits about effect measures", 2008).
fn less(first: &Estimate, second: &Estimate) -> Estimate {
    let value = second.value - first.value;
    let interval = first.interval.zip(second.interval).map(|(one, two)| Interval {
        low: value - (second.value - two.low).hypot(one.high - first.value),
        high: value + (two.high - second.value).hypot(first.value - one.low),
    });
    Estimate { value, interval }
}

/// Returns the second over the first, in the same way by their logarithms; nothing where one of them is not positive.
fn over(first: &Estimate, second: &Estimate) -> Option<Estimate> {
    if first.value <= 0.0 || second.value <= 0.0 {
        return None;
    }
    let log = |it: &Estimate| Estimate {
        value: it.value.ln(),
        interval: it
            .interval
            .filter(|it| it.low > 0.0)
            .map(|it| Interval { low: it.low.ln(), high: it.high.ln() }),
    };
    let difference = less(&log(first), &log(second));
    let interval = difference.interval;
    Some(Estimate {
        value: second.value / first.value,
        interval: interval.map(|it| Interval { low: it.low.exp(), high: it.high.exp() }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_days::ByDays;
    use plimsoll_stats::Random;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some(Interval { low, high }) }
    }

    fn figure(kind: FigureKind, first: Estimate, second: Estimate) -> ComparedFigure {
        ComparedFigure::of("it", kind, [Some(first), Some(second)])
    }

    #[test]
    fn intervals_of_both_make_that_of_the_difference() {
        let share = figure(FigureKind::Share, estimate(0.5, 0.47, 0.53), estimate(0.6, 0.56, 0.64));
        let interval = share.change.unwrap().interval.unwrap();
        assert!((interval.low - 0.05).abs() < 1e-12 && (interval.high - 0.15).abs() < 1e-12);
        assert_eq!(share.difference(), Difference::More);
        let bytes = figure(FigureKind::Bytes, estimate(8.0, 7.0, 9.0), estimate(4.0, 3.5, 4.5));
        assert_eq!((bytes.change.unwrap().value, bytes.difference()), (0.5, Difference::Less));
        let near = figure(FigureKind::Ratio, estimate(2.0, 1.5, 2.6), estimate(2.2, 1.9, 2.5));
        assert_eq!(near.difference(), Difference::None);
        let short = Estimate { value: 2.0, interval: None };
        assert_eq!(figure(FigureKind::Ratio, short, short).difference(), Difference::Unknown);
        let nothing = Estimate { value: 0.0, interval: None };
        assert_eq!(figure(FigureKind::Bytes, nothing, short).change, None);
    }

    /// Two histories of the same kind: about one comparison in twenty differs by chance.
    #[test]
    fn equal_histories_hardly_differ() {
        let (mut differ, pairs) = (0, 200);
        for seed in 0..pairs {
            let mean = |stream: u64| {
                let mut random = Random::for_stream(seed, stream);
                let days: Vec<[f64; 2]> = (0..60).map(|_| [random.normal() + 5.0, 1.0]).collect();
                ByDays::new(days.len(), 1).of_sums(&days, |[sum, n]| Some(sum / n)).unwrap()
            };
            let it = figure(FigureKind::Bytes, mean(1), mean(2)).difference();
            differ += u32::from(it != Difference::None);
        }
        assert!((1..=19).contains(&differ), "{differ} of {pairs}");
    }
}
