//! Compares with tables made by numpy and scipy; see reference/make_tables.py.

use plimsoll_stats::bootstrap::{self, Resampling};
use plimsoll_stats::correlation::{autocorrelation, cross_correlation, pearson};
use plimsoll_stats::cost::{CostTest, relative_cost_fit};
use plimsoll_stats::distribution::{
    binomial_at_least, binomial_at_most, normal_cdf, normal_quantile, student_two_sided,
};
use plimsoll_stats::ecdf::Ecdf;
use plimsoll_stats::effective::effective_sample_size;
use plimsoll_stats::histogram::Histogram;
use plimsoll_stats::outlier::mad;
use plimsoll_stats::regression::least_squares;
use plimsoll_stats::{FiveNumberSummary, Random, Sample, StatsError, compare, quantile_interval};
use serde_json::Value;

fn cases(table: &str, key: &str) -> Vec<Value> {
    let mut table: Value = serde_json::from_str(table).unwrap();
    let cases = table[key].take();
    let cases = cases.as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn integers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
}

fn gapped(value: &Value) -> Vec<Option<f64>> {
    value.as_array().unwrap().iter().map(Value::as_f64).collect()
}

fn sample(value: &Value) -> Sample {
    Sample::new(floats(value)).unwrap()
}

/// Equal up to a relative tolerance, or an absolute one below magnitude 1e-300.
#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64) {
    let error = (got - expected).abs();
    assert!(
        error <= tolerance * expected.abs() || error <= 1e-300,
        "got {got:e}, expected {expected:e}, relative error {:e}",
        error / expected.abs()
    );
}

#[track_caller]
fn all_close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        close(*got, *expected, tolerance);
    }
}

#[test]
fn samples() {
    for case in cases(include_str!("reference/descriptive.json"), "samples") {
        let data = sample(&case["values"]);
        let quantiles: Vec<f64> =
            floats(&case["p"]).into_iter().map(|p| data.quantile(p).unwrap()).collect();
        all_close(&quantiles, &floats(&case["quantiles"]), 1e-14);
        close(data.mean(), case["mean"].as_f64().unwrap(), 1e-15);
        assert_eq!(data.sd().is_some(), case["sd"].is_number());
        if let (Some(sd), Some(cov)) = (data.sd(), data.cov()) {
            close(sd, case["sd"].as_f64().unwrap(), 1e-14);
            close(cov, case["cov"].as_f64().unwrap(), 1e-14);
        }
        close(mad(&data), case["mad"].as_f64().unwrap(), 1e-14);
    }
}

#[test]
fn summaries() {
    for case in cases(include_str!("reference/descriptive.json"), "samples") {
        let summary = FiveNumberSummary::new(&sample(&case["values"]));
        let fences = [summary.lower_fence, summary.upper_fence];
        all_close(&fences, &floats(&case["fences"]), 1e-13);
        let whiskers = [summary.whisker_low, summary.whisker_high];
        assert_eq!(whiskers.to_vec(), floats(&case["whiskers"]));
        let outliers = [summary.outliers_low, summary.outliers_high].concat();
        assert_eq!(outliers, floats(&case["outliers"]));
    }
}

#[test]
fn cumulative_distribution() {
    for case in cases(include_str!("reference/descriptive.json"), "samples") {
        let data = sample(&case["values"]);
        let ecdf = Ecdf::new(&data);
        let (x, f) = (floats(&case["ecdf_x"]), floats(&case["ecdf_f"]));
        let steps: Vec<_> = ecdf.steps().collect();
        all_close(&steps.iter().map(|s| s.value).collect::<Vec<_>>(), &x, 0.0);
        all_close(&steps.iter().map(|s| s.share).collect::<Vec<_>>(), &f, 1e-15);
        for (x, f) in x.iter().zip(&f) {
            close(ecdf.evaluate(*x).unwrap(), *f, 1e-15);
        }
    }
}

#[test]
fn histograms() {
    let table = include_str!("reference/descriptive.json");
    for case in cases(table, "histograms") {
        let bins = case["bins"].as_u64().unwrap() as usize;
        let (low, high) = (case["low"].as_f64().unwrap(), case["high"].as_f64().unwrap());
        let histogram = Histogram::equal_width(low, high, bins).unwrap();
        all_close(histogram.edges(), &floats(&case["edges"]), 1e-15);
        check_counts(histogram, &case);
    }
    for case in cases(table, "log2") {
        let exponent = |key: &str| case[key].as_i64().unwrap() as i32;
        check_counts(Histogram::log2(exponent("first"), exponent("last")).unwrap(), &case);
    }
}

fn check_counts(mut histogram: Histogram, case: &Value) {
    let values = floats(&case["values"]);
    let n = values.len() as u64;
    histogram.extend(values);
    assert_eq!(histogram.counts(), integers(&case["counts"]));
    assert_eq!(histogram.underflow(), case["underflow"].as_u64().unwrap());
    assert_eq!(histogram.overflow(), case["overflow"].as_u64().unwrap());
    assert_eq!(histogram.n(), n);
}

#[test]
fn distributions() {
    let table = include_str!("reference/distributions.json");
    for row in cases(table, "binomial") {
        let [k, n, p, at_most, at_least] = floats(&row)[..] else {
            panic!("{row}");
        };
        // scipy itself is good to about 1e-12 at the largest n.
        let tolerance = if n < 1e6 { 1e-12 } else { 1e-11 };
        close(binomial_at_most(k as u64, n as u64, p), at_most, tolerance);
        close(binomial_at_least(k as u64, n as u64, p), at_least, tolerance);
    }
    for row in cases(table, "student") {
        let [t, df, p] = floats(&row)[..] else {
            panic!("{row}");
        };
        close(student_two_sided(t, df), p, 1e-12);
    }
    for row in cases(table, "normal") {
        let row = floats(&row);
        close(normal_cdf(row[0]), row[1], 1e-13);
    }
    for row in cases(table, "normal_quantile") {
        let row = floats(&row);
        close(normal_quantile(row[0]), row[1], 1e-14);
    }
}

#[test]
fn quantile_intervals() {
    let one_to = |n: usize| Sample::new((1..=n).map(|v| v as f64).collect()).unwrap();
    let mut data = one_to(1);
    for row in cases(include_str!("reference/intervals.json"), "cases") {
        let row = floats(&row);
        if data.n() != row[0] as usize {
            data = one_to(row[0] as usize);
        }
        let got = quantile_interval(&data, row[1], row[2]);
        let [_, _, _, low, high, coverage] = row[..] else {
            let few = matches!(got, Err(StatsError::TooFewForConfidence { .. }));
            assert!(few, "{row:?} {got:?}");
            continue;
        };
        let got = got.unwrap();
        assert_eq!((got.low_rank, got.high_rank), (low as usize, high as usize), "{row:?}");
        assert_eq!((got.low, got.high), (low, high));
        close(got.coverage, coverage, 1e-12);
    }
}

#[test]
fn correlations() {
    for case in cases(include_str!("reference/correlation.json"), "cases") {
        let (x, y) = (gapped(&case["x"]), gapped(&case["y"]));
        let lag = case["lag"].as_i64().unwrap() as isize;
        let auto = autocorrelation(&x, lag.unsigned_abs()).unwrap();
        let cross = cross_correlation(&x, &y, lag).unwrap();
        for (got, pairs, r) in [(cross, "pairs", "r"), (auto, "auto_pairs", "auto_r")] {
            assert_eq!(got.pairs as u64, case[pairs].as_u64().unwrap());
            assert_eq!(got.r.is_some(), case[r].is_number());
            if let Some(got) = got.r {
                close(got, case[r].as_f64().unwrap(), 1e-11);
            }
        }
        if lag == 0 {
            assert_eq!(pearson(&x, &y).unwrap(), cross);
        }
    }
}

#[test]
fn effective_sizes() {
    for case in cases(include_str!("reference/correlation.json"), "effective") {
        let got = effective_sample_size(&floats(&case["series"])).unwrap();
        close(got.autocorrelation_time, case["tau"].as_f64().unwrap(), 1e-12);
        close(got.effective_n, case["ess"].as_f64().unwrap(), 1e-12);
        assert_eq!(got.lags as u64, case["lags"].as_u64().unwrap());
    }
}

#[test]
fn regressions() {
    for case in cases(include_str!("reference/fits.json"), "general") {
        let columns: Vec<Vec<f64>> =
            case["columns"].as_array().unwrap().iter().map(floats).collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let fit = least_squares(&columns, &floats(&case["y"])).unwrap();
        all_close(&fit.coefficients, &floats(&case["coefficients"]), 1e-11);
        // Residuals are differences: their error is relative to y, not to themselves.
        let y_scale = floats(&case["y"]).iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        for (got, expected) in fit.residuals.iter().zip(floats(&case["residuals"])) {
            assert!((got - expected).abs() < 1e-13 * y_scale, "{got} {expected}");
        }
        let errors = fit.standard_errors.unwrap();
        all_close(&errors, &floats(&case["standard_errors"]), 1e-10);
    }
}

#[test]
fn relative_costs() {
    for case in cases(include_str!("reference/fits.json"), "cost") {
        let (operations, bytes) = (floats(&case["operations"]), floats(&case["bytes"]));
        let tests: Vec<CostTest> = floats(&case["seconds"])
            .into_iter()
            .enumerate()
            .map(|(i, seconds)| CostTest { operations: operations[i], bytes: bytes[i], seconds })
            .collect();
        let fit = relative_cost_fit(&tests).unwrap();
        all_close(&[fit.per_operation, fit.per_byte], &floats(&case["w"]), 1e-12);
        assert_eq!(fit.standard_errors.is_some(), tests.len() > 2);
        if tests.len() > 2 {
            all_close(&fit.residuals, &floats(&case["residuals"]), 1e-10);
            close(fit.max_residual, case["max"].as_f64().unwrap(), 1e-10);
            close(fit.rms_residual, case["rms"].as_f64().unwrap(), 1e-10);
        } else {
            assert!(fit.max_residual < 1e-14, "two tests fit exactly");
        }
    }
}

#[test]
fn comparisons() {
    for case in cases(include_str!("reference/comparison.json"), "cases") {
        let got = compare(&sample(&case["a"]), &sample(&case["b"]), 1);
        let delta = case["delta"].as_f64().unwrap();
        assert!((got.delta.delta - delta).abs() < 1e-15);
        assert!((got.superiority - (delta + 1.0) / 2.0).abs() < 1e-15);
        close(got.shift, case["shift"].as_f64().unwrap(), 1e-14);
        let test = got.test.unwrap();
        close(test.statistic.unwrap(), case["statistic"].as_f64().unwrap(), 1e-12);
        close(test.p_value, case["p_value"].as_f64().unwrap(), 1e-11);
    }
}

/// Two bootstraps draw different resamples, so the ends agree only up to their Monte Carlo
/// error: here within 4 % of the standard error; BCa reads quantiles further out and gets
/// 10 %, and the ends of a median's interval move in steps and get 12 %.
#[test]
fn bootstraps() {
    let settings = Resampling { resamples: 100_000, ..Resampling::with_seed(5) };
    for case in cases(include_str!("reference/bootstrap.json"), "cases") {
        let data = sample(&case["values"]);
        let name = case["statistic"].as_str().unwrap();
        let statistic = move |values: &mut [f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            if name == "mean" {
                return mean;
            }
            (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt()
        };
        let got = match (name, case["method"].as_str().unwrap()) {
            ("median", _) => bootstrap::median(&data, &settings),
            (_, "BCa") => bootstrap::bca(data.values(), statistic, &settings),
            _ => bootstrap::percentile(data.values(), statistic, &settings),
        }
        .unwrap();
        let share = match (name, case["method"].as_str().unwrap()) {
            ("median", _) => 0.12,
            (_, "BCa") => 0.10,
            _ => 0.04,
        };
        let room = share * case["standard_error"].as_f64().unwrap();
        for (got, end) in [(got.low, "low"), (got.high, "high")] {
            let expected = case[end].as_f64().unwrap();
            assert!((got - expected).abs() < room, "{case} {got} {expected} {room}");
        }
    }
}

#[test]
fn random_numbers() {
    for case in cases(include_str!("reference/random.json"), "cases") {
        let mut random =
            Random::for_stream(case["seed"].as_u64().unwrap(), case["stream"].as_u64().unwrap());
        for expected in integers(&case["bits"]) {
            assert_eq!(random.bits(), expected);
        }
        for (bound, expected) in integers(&case["bounds"]).into_iter().zip(integers(&case["below"]))
        {
            assert_eq!(random.below(bound), expected);
        }
        assert_eq!(random.unit(), case["unit"].as_f64().unwrap());
        let mut items: Vec<u64> = (0..12).collect();
        random.shuffle(&mut items);
        assert_eq!(items, integers(&case["shuffled"]));
        assert_eq!(random.choose_distinct(&mut items, 4), integers(&case["chosen"]));
    }
}
