//! Properties that hold for all data, not only for the tables.

use plimsoll_stats::bootstrap::{self, Resampling};
use plimsoll_stats::correlation::{autocorrelation, pearson};
use plimsoll_stats::ecdf::Ecdf;
use plimsoll_stats::effective::effective_sample_size;
use plimsoll_stats::histogram::Histogram;
use plimsoll_stats::outlier::{ModifiedZ, mad};
use plimsoll_stats::rank::cliffs_delta;
use plimsoll_stats::regression::least_squares;
use plimsoll_stats::shift::hodges_lehmann;
use plimsoll_stats::{
    FiveNumberSummary, Random, Sample, compare, median_interval, quantile_interval,
};
use proptest::prelude::*;

/// Values with ties, gaps and a wide range.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -1e3..1e3,
        2 => (-5i32..5).prop_map(f64::from),
        1 => -1e12..1e12,
    ]
}

fn values(least: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(value(), least..60)
}

fn sample(values: &[f64]) -> Sample {
    Sample::try_from(values).unwrap()
}

proptest! {
    #[test]
    fn quantiles_ascend_within_the_data(data in values(1), p in 0.0..=1.0, q in 0.0..=1.0) {
        let data = sample(&data);
        let (low, high) = if p < q { (p, q) } else { (q, p) };
        let (low, high) = (data.quantile(low).unwrap(), data.quantile(high).unwrap());
        prop_assert!(data.min() <= low && low <= high && high <= data.max());
    }

    #[test]
    fn order_of_measurement_does_not_matter(data in values(2), seed: u64) {
        let mut shuffled = data.clone();
        Random::new(seed).shuffle(&mut shuffled);
        let (data, shuffled) = (sample(&data), sample(&shuffled));
        prop_assert_eq!(&data, &shuffled);
        prop_assert_eq!(data.mean(), shuffled.mean());
        prop_assert_eq!(compare(&data, &data, 1), compare(&data, &shuffled, 1));
    }

    #[test]
    fn interval_covers_as_asked_and_holds_the_median(data in values(1), confidence in 0.01..0.999) {
        let data = sample(&data);
        match median_interval(&data, confidence) {
            Ok(interval) => {
                prop_assert!(interval.low <= data.median() && data.median() <= interval.high);
                prop_assert!(interval.coverage >= confidence - 1e-12);
                prop_assert_eq!(interval.low_rank + interval.high_rank, data.n() + 1);
            }
            Err(_) => prop_assert!(1.0 - 2.0 * 0.5f64.powi(data.n() as i32) < confidence),
        }
    }

    #[test]
    fn any_quantile_has_ordered_ranks(data in values(1), p in 0.001..0.999, confidence in 0.01..0.999) {
        if let Ok(interval) = quantile_interval(&sample(&data), p, confidence) {
            prop_assert!(1 <= interval.low_rank && interval.low_rank < interval.high_rank);
            prop_assert!(interval.high_rank <= interval.n);
            prop_assert!(interval.coverage >= confidence - 1e-12);
        }
    }

    #[test]
    fn summary_accounts_for_every_value(data in values(1)) {
        let data = sample(&data);
        let s = FiveNumberSummary::new(&data);
        let ordered = [s.min, s.q1, s.median, s.q3, s.max];
        prop_assert!(ordered.is_sorted());
        prop_assert!(s.lower_fence <= s.whisker_low && s.whisker_high <= s.upper_fence);
        let marked = data.values().iter().filter(|v| s.is_outlier(**v)).count();
        prop_assert_eq!(marked, s.outliers_low.len() + s.outliers_high.len());
    }

    #[test]
    fn swapping_samples_swaps_signs(a in values(2), b in values(2)) {
        let (a, b) = (sample(&a), sample(&b));
        prop_assert_eq!(cliffs_delta(&a, &b).delta, -cliffs_delta(&b, &a).delta);
        prop_assert_eq!(hodges_lehmann(&a, &b), -hodges_lehmann(&b, &a));
        let (ab, ba) = (compare(&a, &b, 1).test.unwrap(), compare(&b, &a, 1).test.unwrap());
        prop_assert!((ab.p_value - ba.p_value).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&ab.p_value));
    }

    #[test]
    fn a_sample_does_not_differ_from_itself(data in values(2)) {
        let same = compare(&sample(&data), &sample(&data), 1);
        prop_assert_eq!(same.delta.delta, 0.0);
        prop_assert_eq!(same.shift, 0.0);
        prop_assert!((same.test.unwrap().p_value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shift_equals_the_brute_force(a in values(1), b in values(1)) {
        let all: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
        let (expected, got) = (sample(&all).median(), hodges_lehmann(&sample(&a), &sample(&b)));
        // Differences of large values are small, and rounded as the values are.
        let scale = a.iter().chain(&b).fold(0.0, |scale: f64, value| scale.max(value.abs()));
        prop_assert!((got - expected).abs() <= 1e-15 * scale, "{} {}", got, expected);
    }

    #[test]
    fn delta_equals_the_brute_force(a in values(1), b in values(1)) {
        let signs: i64 = b.iter().flat_map(|y| a.iter().map(move |x| {
            i64::from(y > x) - i64::from(y < x)
        })).sum();
        let expected = signs as f64 / (a.len() * b.len()) as f64;
        prop_assert_eq!(cliffs_delta(&sample(&a), &sample(&b)).delta, expected);
    }

    #[test]
    fn scale_and_offset_do_not_change_a_correlation(
        data in prop::collection::vec((-1e3..1e3, -1e3..1e3), 3..40),
        factor in 0.01..100.0,
    ) {
        let x: Vec<_> = data.iter().map(|d| Some(d.0)).collect();
        let y: Vec<_> = data.iter().map(|d| Some(d.1)).collect();
        let moved: Vec<_> = data.iter().map(|d| Some(d.1 * factor + 7.0)).collect();
        let (plain, moved) = (pearson(&x, &y).unwrap().r, pearson(&x, &moved).unwrap().r);
        prop_assert!((plain.unwrap() - moved.unwrap()).abs() < 1e-9);
        prop_assert_eq!(plain, pearson(&y, &x).unwrap().r);
    }

    #[test]
    fn residuals_are_orthogonal_to_the_columns(
        rows in prop::collection::vec((-1e3..1e3, -1e3..1e3, -1e3..1e3), 4..30),
    ) {
        let x: Vec<f64> = rows.iter().map(|r| r.0).collect();
        let z: Vec<f64> = rows.iter().map(|r| r.1).collect();
        let y: Vec<f64> = rows.iter().map(|r| r.2).collect();
        if let Ok(fit) = least_squares(&[&x, &z], &y) && fit.condition < 1e6 {
            for column in [&x, &z] {
                let product: f64 = column.iter().zip(&fit.residuals).map(|(a, b)| a * b).sum();
                prop_assert!(product.abs() < 1e-2 * fit.condition.recip().max(1e-4), "{}", product);
            }
        }
    }

    /// Whatever the doubles, functions return; the values are checked elsewhere.
    #[test]
    fn nothing_panics(data in prop::collection::vec(any::<f64>(), 0..12), p: f64, lag: usize) {
        let gapped: Vec<_> = data.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
        let _ = autocorrelation(&gapped, lag);
        let _ = effective_sample_size(&data);
        let _ = least_squares(&[&data], &data);
        let _ = least_squares(&[&data, &data], &data);
        let _ = Histogram::equal_width(p, -p, lag);
        if let Ok(mut histogram) = Histogram::equal_width(-1.0, 1.0, 10) {
            histogram.extend(data.iter().copied());
            prop_assert_eq!(histogram.n(), data.len() as u64);
        }
        let settings = Resampling { resamples: 100, confidence: p, seed: 1 };
        let _ = bootstrap::bca(&data, |v| v[0], &settings);
        let _ = bootstrap::bca(&data, |v| v.iter().sum(), &Resampling { confidence: 0.9, ..settings });
        let finite: Vec<f64> = data.into_iter().filter(|v| v.is_finite()).collect();
        if let Ok(data) = Sample::new(finite) {
            let _ = quantile_interval(&data, p, p);
            let _ = data.cov();
            prop_assert!(data.mean().is_finite() && mad(&data).is_finite());
            prop_assert!(!FiveNumberSummary::new(&data).upper_fence.is_nan());
            if let Some(z) = ModifiedZ::new(&data) {
                prop_assert_eq!(z.score(data.median()), 0.0);
            }
            prop_assert_eq!(Ecdf::new(&data).steps().last().map(|s| s.share), Some(1.0));
            let other = sample(&[1.0, p.clamp(-1.0, 1.0).max(0.0)]);
            prop_assert!(compare(&data, &other, 1).shift.is_finite());
        }
    }
}
