//! How the load lies over the targets (Patel, section 6).

use plimsoll_stats::{RankCorrelation, rank_correlation};

use crate::by_days::ByDays;
use crate::imbalance::{Imbalance, Span, imbalances};
use crate::open_day::BOTH;
use crate::pairs::LagSums;
use crate::parallelism::{Parallelism, parallelism};
use crate::phases::Phases;
use crate::timeline::Timeline;
use crate::{Frame, Whole};

/// How the load lies over the targets.
#[derive(Debug, Clone)]
pub struct Space {
    /// By name.
    pub targets: Vec<TargetTotals>,
    /// Most over least bytes of a target, of reads and of writes: of two extremes, of which days that are drawn again tell nothing.
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

impl Space {
    /// Works it out.
    pub fn of(
        frame: &Frame,
        whole: &Whole,
        line: &Timeline,
        high: [&Phases; BOTH],
        drawn: &ByDays,
    ) -> Self {
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
            imbalance: imbalances(frame, whole, drawn),
            reads_with_writes: rank_correlation(&pairs, 0.95, frame.options.seed),
            parallelism: [0, 1]
                .map(|direction| parallelism(whole, line, direction, high[direction], drawn)),
            targets,
        }
    }
}
