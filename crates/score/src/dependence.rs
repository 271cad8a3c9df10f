//! How much consecutive measures repeat each other, over several short series together.
//!
//! One short series says little about its autocorrelation: at ten values an estimate is mostly noise,
//! and to divide by it throws away good measures. So the series of all components are pooled, and
//! correlation counts only when it can be told from none.

/// One-sided 5 % point of the normal distribution: lag-1 correlation of independent values stays
/// below this over the root of their number 19 times in 20.
const DISTINGUISHABLE: f64 = 1.645;

/// Products that are formed at most; longer series are summed over fewer lags.
const WORK_MAX: usize = 200_000_000;

/// Autocorrelation of series that measure the same kind of thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dependence {
    /// Values in all series.
    pub n: usize,
    /// Correlation of neighbours; `None` if nothing varies or no series has two values.
    pub lag_one: Option<f64>,
    /// Steps after which a value is worth a new one, at least 1 (see
    /// [`plimsoll_stats::effective`]); 1 where correlation cannot be told from none.
    pub time: f64,
}

impl Dependence {
    /// What so many measures are worth.
    pub fn effective(&self, n: usize) -> f64 {
        n as f64 / self.time
    }
}

/// The dependence of deviations from each series' own mean.
pub fn pooled(series: &[Vec<f64>]) -> Dependence {
    above_floor(series, 0.0)
}

/// The same, where deviations below `floor` do not matter to the question asked: independent
/// deviations of that size are taken to lie over the series. A drift of a thousandth does not make
/// measures repeat each other when the question is whether they differ by a tenth.
pub fn above_floor(series: &[Vec<f64>], floor: f64) -> Dependence {
    let centred: Vec<Vec<f64>> = series.iter().map(|it| centred(it)).collect();
    let n: usize = centred.iter().map(Vec::len).sum();
    let variance = product_at(&centred, 0) + n as f64 * floor * floor;
    let longest = centred.iter().map(Vec::len).max().unwrap_or(0);
    if variance <= 0.0 || longest < 2 {
        return Dependence { n, lag_one: None, time: 1.0 };
    }
    let lag_one = product_at(&centred, 1) / variance;
    let mut time = 1.0;
    if lag_one > DISTINGUISHABLE / (n as f64).sqrt() {
        time = integrated_time(&centred, variance, (longest / 2).min(WORK_MAX / n.max(1)));
    }
    Dependence { n, lag_one: Some(lag_one), time }
}

/// Geyer's initial positive sequence, over all series.
fn integrated_time(centred: &[Vec<f64>], variance: f64, lags_max: usize) -> f64 {
    let at = |lag| if lag == 0 { 1.0 } else { product_at(centred, lag) / variance };
    let mut time = -1.0;
    let mut lag = 0;
    while lag < lags_max.max(2) {
        let pair = at(lag) + at(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
        lag += 2;
    }
    time.max(1.0)
}

fn centred(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    series.iter().map(|value| value - mean).collect()
}

fn product_at(centred: &[Vec<f64>], lag: usize) -> f64 {
    let one = |series: &Vec<f64>| -> f64 {
        let later = series.get(lag..).unwrap_or_default();
        series.iter().zip(later).map(|(a, b)| a * b).sum()
    };
    centred.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Random;

    fn autoregressive(n: usize, phi: f64, random: &mut Random) -> Vec<f64> {
        let mut value = 0.0;
        let step = |_| {
            value = phi * value + random.normal();
            value
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn independent_measures_count_in_full_nearly_always() {
        let mut random = Random::new(1);
        let mut full = 0;
        for _ in 0..200 {
            let series: Vec<_> = (0..4).map(|_| autoregressive(10, 0.0, &mut random)).collect();
            full += u32::from(pooled(&series).time == 1.0);
        }
        assert!(full >= 185, "{full} of 200");
    }

    #[test]
    fn repeated_measures_count_for_less() {
        let mut random = Random::new(2);
        let series: Vec<_> = (0..4).map(|_| autoregressive(2000, 0.8, &mut random)).collect();
        let time = pooled(&series).time;
        assert!((7.0..11.0).contains(&time), "{time}");
    }

    #[test]
    fn a_drift_below_the_floor_does_not_count() {
        let drift = vec![(0..20).map(|it| f64::from(it) * 1e-4).collect::<Vec<f64>>(); 4];
        assert!(pooled(&drift).time > 3.0);
        assert_eq!(above_floor(&drift, 0.04).time, 1.0);
    }

    #[test]
    fn nothing_to_correlate() {
        assert_eq!(pooled(&[]).lag_one, None);
        assert_eq!(pooled(&[vec![], vec![1.0]]).lag_one, None);
        assert_eq!(pooled(&[vec![2.0; 9]]), Dependence { n: 9, lag_one: None, time: 1.0 });
    }
}
