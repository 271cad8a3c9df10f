//! Two groups of targets held against peaks that were known before.

use std::collections::BTreeMap;

use super::groups::{ByPeaks, Groups};
use super::median_of;
use crate::peak::PeakOrigin;
use crate::{Columns, Peaks};

/// What both groups reach of the peaks that the site file knows; `None` if it does not know those of all.
///
/// Peaks that were measured along with the results would hide what is slow: a slow target reaches its own.
pub fn by_peaks(groups: &Groups, columns: &Columns, peaks: &Peaks) -> Option<ByPeaks> {
    let mut reached: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for instance in columns.instances().iter().filter(|it| columns.has_scores(it)) {
        let mut rates: BTreeMap<u32, f64> = BTreeMap::new();
        for pair in columns.pairs(instance) {
            *rates.entry(pair.target).or_default() += pair.bandwidth();
        }
        let operation = columns.operation(instance);
        for (target, rate) in rates {
            let peak = peaks.get(target, operation);
            let known = peak.filter(|it| it.origin == PeakOrigin::Site)?;
            reached.entry(target).or_default().push(rate / known.rate);
        }
    }
    let of = |numbers: &[u32]| {
        let all = numbers.iter().filter_map(|it| reached.get(it)).flatten();
        median_of(&mut all.copied().collect::<Vec<f64>>())
    };
    Some(ByPeaks { fast: of(&groups.fast)?, slow: of(&groups.slow)? })
}
