//! How much the measures of a component repeat each other.
//!
//! Estimated for each component by itself, so that one that drifts does not discount the measures of the others. What
//! counts is its own correlation where that can be told from none, and at least the median over all components, which
//! few of them cannot move, where that can.

use plimsoll_stats::dependence::LagOne;

use super::median_of;

/// One-sided 5 % point of the normal distribution.
const DISTINGUISHABLE: f64 = 1.645;
/// A median scatters so much more than a mean.
const OF_A_MEDIAN: f64 = 1.25;

/// The correlation of neighbours to reckon with, for each series. Deviations up to `floor` do not matter.
pub(super) fn correlations(series: &[Vec<f64>], floor: f64) -> Vec<f64> {
    let own: Vec<Option<LagOne>> = series.iter().map(|it| LagOne::above(it, floor)).collect();
    let usual = usual(series, &own, floor);
    let of = |own: &Option<LagOne>| match own {
        Some(own) if own.is_distinguishable() => own.corrected.max(usual),
        _ => usual,
    };
    own.iter().map(of).collect()
}

/// What most components have, if chance alone would hardly show it. Where most vary by more than the floor, those that do
/// not are not asked: they would say that nothing repeats itself because nothing happens.
fn usual(series: &[Vec<f64>], own: &[Option<LagOne>], floor: f64) -> f64 {
    let varies = |it: &&(&Vec<f64>, &Option<LagOne>)| deviation(it.0) > floor;
    let all: Vec<(&Vec<f64>, &Option<LagOne>)> = series.iter().zip(own).collect();
    let varying: Vec<_> = all.iter().filter(varies).copied().collect();
    let asked = if 2 * varying.len() > all.len() { varying } else { all };
    let n: usize = asked.iter().map(|it| it.0.len()).sum();
    let by_chance = DISTINGUISHABLE * OF_A_MEDIAN / (n.max(1) as f64).sqrt();
    let mut found: Vec<f64> = asked.iter().map(|it| it.1.map_or(0.0, |it| it.corrected)).collect();
    median_of(&mut found).filter(|it| *it > by_chance).unwrap_or(0.0)
}

fn deviation(series: &[f64]) -> f64 {
    let n = series.len().max(1) as f64;
    let mean = series.iter().sum::<f64>() / n;
    (series.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// The same without the benefit of the doubt: each own correlation counts as it was found, and the median is over the
/// series of which `counts` says so.
pub(super) fn likely_correlations(series: &[Vec<f64>], floor: f64, counts: &[bool]) -> Vec<f64> {
    let own = |it: &Vec<f64>| LagOne::above(it, floor).map_or(0.0, |it| it.corrected);
    let own: Vec<f64> = series.iter().map(own).collect();
    let counted = own.iter().zip(counts).filter(|(_, counts)| **counts);
    let mut counted: Vec<f64> = counted.map(|(own, _)| *own).collect();
    let usual = median_of(&mut counted).unwrap_or(0.0);
    own.iter().map(|own| own.max(usual)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Random;

    #[test]
    fn one_that_drifts_does_not_discount_the_others() {
        let mut random = Random::new(1);
        let mut series: Vec<Vec<f64>> =
            (0..4).map(|_| (0..20).map(|_| 0.05 * random.normal()).collect()).collect();
        series[1][10..].iter_mut().for_each(|it| *it -= 1.0);
        let found = correlations(&series, 0.0);
        assert!(found[1] > 0.7, "{found:?}");
        assert_eq!([found[0], found[2], found[3]], [0.0; 3]);
    }

    /// Those in which nothing happens do not say that what happens in others is over at once.
    #[test]
    fn components_that_do_not_vary_are_asked_only_if_most_do_not() {
        let low_in = |rounds: &dyn Fn(usize) -> bool| -> Vec<f64> {
            (0..20).map(|it| if rounds(it) { -0.5 } else { 0.0 }).collect()
        };
        let of_a_quiet_one = |now_and_then: usize| {
            let mut series = vec![low_in(&|_| false); 3 - now_and_then];
            series.extend(vec![low_in(&|it| (5..12).contains(&it)); 3]);
            series.extend(vec![low_in(&|it| it % 7 == 3); now_and_then]);
            series.push(low_in(&|_| false));
            correlations(&series, 0.04)[6]
        };
        assert_eq!(of_a_quiet_one(0), 0.0, "three of seven vary");
        assert!(of_a_quiet_one(2) > 0.6, "three of the five that vary repeat themselves");
    }

    /// Noise in which nothing repeats itself is taken for something that does in one of twenty cases.
    #[test]
    fn chance_discounts_measures_as_rarely_as_stated() {
        let mut random = Random::new(3);
        let mut noise = |_| (0..25).map(|_| random.normal()).collect::<Vec<f64>>();
        let discounted = (0..1000).filter(|_| {
            let series: Vec<Vec<f64>> = (0..9).map(&mut noise).collect();
            correlations(&series, 0.0).iter().all(|it| *it > 0.0)
        });
        let count = discounted.count();
        assert!((30..=75).contains(&count), "{count}");
    }

    #[test]
    fn a_deviation_is_the_root_of_the_mean_square() {
        assert_eq!(deviation(&[1.0, 3.0, 1.0, 3.0]), 1.0);
        assert_eq!(deviation(&[10.0, 14.0, 10.0, 14.0]), 2.0);
        assert_eq!((deviation(&[7.0]), deviation(&[])), (0.0, 0.0));
    }

    /// Half of `n` measures low and then the other half not: neighbours are alike.
    fn halves(n: usize) -> Vec<f64> {
        (0..n).map(|it| if it < n / 2 { -0.5 } else { 0.5 }).collect()
    }

    #[test]
    fn without_the_benefit_of_the_doubt_each_has_its_own_or_what_is_usual_of_those_that_count() {
        let turns: Vec<f64> = (0..20).map(|it| if it % 2 == 0 { 0.5 } else { -0.5 }).collect();
        let series = [halves(20), turns.clone(), turns];
        let of = |counts: [bool; 3]| likely_correlations(&series, 0.0, &counts);
        let own = LagOne::of(&halves(20)).unwrap().corrected;
        assert!(own > 0.9);
        assert_eq!(of([false; 3]), [own, 0.0, 0.0]);
        assert_eq!(of([true; 3]), [own, 0.0, 0.0], "most repeat nothing");
        assert_eq!(of([true, false, false]), [own; 3]);
        assert_eq!(of([true, true, false]), [own, own / 2.0, own / 2.0]);
        let with_a_floor = likely_correlations(&series, 0.5, &[true; 3]);
        assert_eq!(with_a_floor[0], LagOne::above(&halves(20), 0.5).unwrap().corrected);
    }

    /// Of two, one varies: not most of them.
    #[test]
    fn half_of_all_are_not_most() {
        let found = correlations(&[halves(20), vec![0.0; 20]], 0.01);
        let quiet = LagOne::above(&[0.0; 20], 0.01).unwrap().corrected;
        assert_eq!(found[1], (found[0] + quiet) / 2.0, "both are asked");
        let found = correlations(&[halves(20), halves(20), vec![0.0; 20]], 0.01);
        assert_eq!(found, [found[0]; 3], "those that vary are asked");
    }

    #[test]
    fn what_varies_by_just_the_floor_does_not_vary() {
        let turns: Vec<f64> = (0..400).map(|it| if it % 2 == 0 { 0.5 } else { -0.5 }).collect();
        let series = [halves(400), turns, vec![0.0; 400]];
        let quiet = correlations(&series, 0.5)[2];
        assert!(quiet < 0.1, "all three are asked, and the middle one repeats nothing: {quiet}");
        assert!(correlations(&series, 0.49)[2] > 0.2, "the first two are asked");
    }

    /// What two measures of five hundred show is more than chance, what they show of fifty is not.
    #[test]
    fn a_little_that_all_have_counts_if_there_are_enough_measures() {
        // Neighbours are alike 11 times, and different 9 times.
        let series = |n: usize| {
            let mut value = 0.5;
            let step = |it: usize| {
                value = if it % 20 < 11 { value } else { -value };
                value
            };
            (0..n).map(step).collect::<Vec<f64>>()
        };
        let (few, many) = (vec![series(60); 3], vec![series(2000); 3]);
        let own = LagOne::of(&many[0]).unwrap();
        assert!((own.corrected - 0.1).abs() < 0.02, "{own:?}");
        assert_eq!(correlations(&few, 0.0), [0.0; 3]);
        assert_eq!(correlations(&many, 0.0), [own.corrected; 3]);
    }

    #[test]
    fn what_all_have_counts_for_all() {
        let mut random = Random::new(2);
        let series: Vec<Vec<f64>> = (0..8)
            .map(|_| {
                let mut value = random.normal();
                let mut step = || {
                    value = 0.8 * value + 0.6 * random.normal();
                    value
                };
                (0..20).map(|_| step()).collect()
            })
            .collect();
        assert!(correlations(&series, 0.0).iter().all(|it| *it > 0.5));
    }
}
