//! What can be said of all components together: that they are of two speeds, or that slowness moves.

use std::collections::{BTreeMap, HashSet};

use super::component::{Component, Measure, against_others};
use super::{Kind, LEAST_MEASURES, Test, Verdict, low_throughout, median_of};

/// If this share of the components, or less, are faster than the others, they are the exception. If more are, a
/// comparison cannot tell which group is right.
const EXCEPTION: f64 = 0.2;

/// Slowness in less than this share of the comparisons is not worth a sentence, nor is it in fewer than three.
const WORTH_SAYING: f64 = 0.1;
const LEAST_SETS: usize = 3;

/// Components of two speeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Numbers of those that are faster than the others throughout.
    pub fast: Vec<u32>,
    /// Numbers of all others.
    pub slow: Vec<u32>,
    /// Speed of the fast over that of the slow, of medians.
    pub ratio: f64,
    /// What known peaks say; `None` where they are not known for all.
    pub by_peaks: Option<ByPeaks>,
}

impl Groups {
    /// Whether the fast are so many that a comparison cannot tell which group is right.
    pub fn are_undecided(&self) -> bool {
        self.fast.len() as f64 > EXCEPTION * (self.fast.len() + self.slow.len()) as f64
    }
}

/// Both groups against their known peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByPeaks {
    /// Median bandwidth of the fast over their peaks.
    pub fast: f64,
    /// Median bandwidth of the slow over their peaks.
    pub slow: f64,
}

impl ByPeaks {
    /// Whether the groups differ as their peaks do: both reach about the same share of them.
    pub fn explain(&self) -> bool {
        self.slow >= 0.85 * self.fast
    }
}

/// Slowness that visits components without preferring any.
#[derive(Debug, Clone, PartialEq)]
pub struct Moving {
    /// Comparisons.
    pub sets: usize,
    /// Comparisons in which some component was low.
    pub low_sets: usize,
    /// Components that were low, by number: low measures and all measures.
    pub components: Vec<(u32, usize, usize)>,
    /// The lowest ratio.
    pub lowest: f64,
}

/// Finds components that are faster than the others throughout. If they are no exception, all that are not named
/// for something else, or for being slow throughout, are undecided; but for those that are slow even beside the slower
/// ones, whichever group is right. If the slower ones that are left are fewer than the fast, they are the exception.
pub(super) fn two_groups(
    components: &[Component],
    verdicts: &mut [Verdict],
    test: &Test,
) -> Option<Groups> {
    let compared = |it: &usize| verdicts[*it].n >= LEAST_MEASURES;
    let all: Vec<usize> = (0..components.len()).filter(compared).collect();
    let mut mirrored = components.to_vec();
    mirrored.iter_mut().flat_map(|it| &mut it.measures).for_each(|it| it.log_ratio = -it.log_ratio);
    let is_fast = low_throughout(&mirrored, test);
    let (fast, slow): (Vec<usize>, Vec<usize>) = all.iter().partition(|it| is_fast[**it]);
    // Of two, the faster one is fast because the other is slow: that is said of the other.
    if fast.is_empty() || all.len() <= 2 {
        return None;
    }
    let slow_anyway = slow_beside_the_slow(components, &slow, test);
    let slow: Vec<usize> = slow.into_iter().filter(|it| !slow_anyway.contains(it)).collect();
    let is_of_a_group =
        |it: &usize| matches!(verdicts[*it].kind, Some(Kind::Normal | Kind::Persistent));
    if slow.len() < fast.len() || !slow.iter().any(is_of_a_group) {
        return None;
    }
    let mut medians: Vec<f64> = fast.iter().filter_map(|it| verdicts[*it].median).collect();
    let numbers = |list: &[usize]| list.iter().map(|it| *it as u32).collect();
    let groups = Groups {
        fast: numbers(&fast),
        slow: numbers(&slow),
        ratio: median_of(&mut medians)?,
        by_peaks: None,
    };
    if groups.are_undecided() {
        for number in fast.into_iter().chain(slow) {
            let kind = &mut verdicts[number].kind;
            if matches!(kind, Some(Kind::Normal | Kind::Persistent)) {
                *kind = Some(Kind::Undecided);
            }
        }
    }
    Some(groups)
}

/// Those of the slower components that are low throughout when they are compared with each other only.
///
/// Ratios serve for that as well as bandwidths: where two components are slower than most, the median of their others is
/// the same.
fn slow_beside_the_slow(components: &[Component], slow: &[usize], test: &Test) -> Vec<usize> {
    let mut sets: BTreeMap<u32, Vec<(usize, Measure)>> = BTreeMap::new();
    for (place, number) in slow.iter().enumerate() {
        for measure in &components[*number].measures {
            sets.entry(measure.set).or_default().push((place, *measure));
        }
    }
    let mut among_them = vec![Component::default(); slow.len()];
    for set in sets.values() {
        let logs: Vec<f64> = set.iter().map(|(_, measure)| measure.log_ratio).collect();
        for ((place, measure), log_ratio) in set.iter().zip(against_others(&logs)) {
            among_them[*place].measures.push(Measure { log_ratio, ..*measure });
        }
    }
    among_them.iter_mut().for_each(Component::finish);
    let is_low = low_throughout(&among_them, test);
    slow.iter().zip(is_low).filter(|(_, is_low)| *is_low).map(|(number, _)| *number).collect()
}

/// Whether slowness visits components that are all normal.
pub(super) fn moving(components: &[Component], verdicts: &[Verdict], limit: f64) -> Option<Moving> {
    let normal = components.iter().zip(verdicts).zip(0..);
    let normal: Vec<(&Component, u32)> = normal
        .filter(|((_, verdict), _)| verdict.kind == Some(Kind::Normal))
        .map(|((component, _), number)| (component, number))
        .collect();
    let measures = || normal.iter().flat_map(|(it, _)| &it.measures);
    let sets: HashSet<u32> = measures().map(|it| it.set).collect();
    let low_sets: HashSet<u32> =
        measures().filter(|it| it.log_ratio < limit).map(|it| it.set).collect();
    let listed: Vec<(u32, usize, usize)> = normal
        .iter()
        .map(|(it, number)| (*number, it.low(limit), it.measures.len()))
        .filter(|it| it.1 > 0)
        .collect();
    let lowest = measures().map(|it| it.log_ratio).fold(0.0, f64::min).exp();
    let is_worth = low_sets.len() >= LEAST_SETS
        && low_sets.len() as f64 >= WORTH_SAYING * sets.len() as f64
        && listed.len() > 1;
    let (sets, low_sets) = (sets.len(), low_sets.len());
    is_worth.then_some(Moving { sets, low_sets, components: listed, lowest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fast_of_five_is_an_exception_and_two_of_nine_are_not() {
        let are_undecided = |fast: u32, slow: u32| {
            let (fast, slow) = ((0..fast).collect(), (0..slow).collect());
            Groups { fast, slow, ratio: 2.0, by_peaks: None }.are_undecided()
        };
        assert!(!are_undecided(1, 4) && !are_undecided(1, 5) && !are_undecided(2, 8));
        assert!(are_undecided(1, 3) && are_undecided(2, 7) && are_undecided(3, 3));
    }

    #[test]
    fn peaks_explain_groups_that_reach_about_the_same_share_of_them() {
        let explain = |fast: f64, slow: f64| ByPeaks { fast, slow }.explain();
        assert!(explain(0.8, 0.7) && explain(1.0, 0.85) && explain(0.5, 0.9));
        assert!(!explain(0.8, 0.6) && !explain(1.0, 0.84));
    }
}
