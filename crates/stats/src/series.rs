//! The median of a series in time, and how sure it is.
//!
//! Measures of storage repeat each other: what is slow now is likely to be slow at the next measure.
//! The interval of [`median_interval`](crate::median_interval), which takes values for independent,
//! then covers the median in 53 to 86 % of series where it says 95 %. This one is widened by the
//! correlation that the series shows, and by what a series of its length may hide.

use crate::dependence::{LagOne, autoregressive_time, product_at};
use crate::distribution::{normal_quantile, symmetric_beta_at_most};
use crate::error::{check_confidence, check_finite};
use crate::moments::mean;
use crate::{Sample, StatsError};

/// Values that a 95 % interval needs. Ten values with a correlation of 0.8 lie on one side of their
/// median once in four times, whatever is made of them; of twenty, once in twenty.
pub const LEAST_AT_95: usize = 20;

/// Standard errors that are added to the correlation: a short series may show less by chance.
const MARGIN: f64 = 1.5;

/// Products that are formed at most; longer series are summed over fewer lags.
const WORK_MAX: usize = 100_000_000;

/// The interval of a median, with the number of independent values that would say as much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesInterval {
    /// Number of values.
    pub n: usize,
    /// Their median.
    pub estimate: f64,
    /// Lower end, one of the values.
    pub low: f64,
    /// Upper end, one of the values.
    pub high: f64,
    /// The confidence asked for.
    pub confidence: f64,
    /// Independent values that would fix the median as well, at least.
    pub effective_n: f64,
}

/// Returns the least number of values for a confidence.
pub fn least(confidence: f64) -> usize {
    // The chance that all values lie on one side falls with their number like a power.
    let tails = |confidence: f64| libm::log(2.0 / (1.0 - confidence));
    let n = LEAST_AT_95 as f64 * tails(confidence) / tails(0.95);
    (n.ceil() as usize).max(6)
}

/// Returns the interval of the median of values that were measured one after the other.
///
/// The number of values below the median varies τ times as much as that of independent ones, where τ
/// is the autocorrelation time (see [`worth`]). The ranks of the interval are those of a binomial
/// with that variance, in the normal approximation, and never beyond the smallest and the largest value. An end
/// moves outwards as long as what lies beyond it was visited too seldom to say how much time it takes up
/// (`chance_of_half`).
///
/// Simulated for autoregressive series with a correlation of up to 0.8 (`cargo bench --bench
/// coverage`; docs/benchmarking.md has the table): at 95 % it covers in 91 % of them or more, for log-normal,
/// heavy-tailed, one-sided and bimodal values; in about 90 % of series of 20 values that stay in one of two or three
/// states for a while, some of which have seen one state only.
///
/// # Errors
/// [`StatsError::TooFew`] below [`least`] values, [`StatsError::NotFinite`] and
/// [`StatsError::OutOfRange`] for values and a confidence that are impossible.
pub fn series_median_interval(
    series: &[f64],
    confidence: f64,
) -> Result<SeriesInterval, StatsError> {
    check_confidence(confidence)?;
    let (n, needed) = (series.len(), least(confidence));
    if n < needed {
        return Err(StatsError::TooFew { what: "an interval of a median", n, needed });
    }
    check_finite(series)?;
    let sample = Sample::try_from(series)?;
    let effective_n = worth(series);
    let (low, high) = bounds(series, &sample, effective_n, confidence);
    Ok(SeriesInterval { n, estimate: sample.median(), low, high, confidence, effective_n })
}

/// Returns the ends of the interval of the median of a series that is worth `effective_n` independent values; `sample` has the
/// same values. The ends never lie beyond the smallest and the largest value, so that those of few values cover less than the
/// confidence.
pub fn bounds(series: &[f64], sample: &Sample, effective_n: f64, confidence: f64) -> (f64, f64) {
    let n = sample.n();
    let tail = (1.0 - confidence) / 2.0;
    let rank = rank(n, effective_n, tail);
    let (low, high) = (|rank| sample.values()[rank - 1], |rank| sample.values()[n - rank]);
    (
        low(outwards(rank, |it| chance_of_half(series, |value| value < low(it)) <= tail)),
        high(outwards(rank, |it| chance_of_half(series, |value| value > high(it)) <= tail)),
    )
}

/// Returns the rank of the lower end, counted from 1, of n values that are worth `effective_n`: below it the median lies with
/// the probability `tail`. The upper end has the same rank from above.
fn rank(n: usize, effective_n: f64, tail: f64) -> usize {
    let (all, time) = (n as f64, n as f64 / effective_n);
    let rank = all / 2.0 - normal_quantile(1.0 - tail) * (all * time).sqrt() / 2.0 + 0.5;
    (rank.floor().max(1.0) as usize).min(n.div_ceil(2))
}

/// Returns the largest rank up to this one that is sure, by bisection: the farther out, the surer. The outermost is 1.
fn outwards(rank: usize, is_sure: impl Fn(usize) -> bool) -> usize {
    if is_sure(rank) {
        return rank;
    }
    let (mut sure, mut unsure) = (1, rank);
    while unsure - sure > 1 {
        let middle = usize::midpoint(sure, unsure);
        if is_sure(middle) {
            sure = middle;
        } else {
            unsure = middle;
        }
    }
    sure
}

/// Returns the chance that a process that was seen beyond a limit for a part of the time is there for half of it or more.
///
/// The series is taken for a chain that changes sides with fixed probabilities. What is known of the time
/// on either side is then known from the changes, not from the number of values: one stay of thirty values
/// says as little as one of three. Where both sides are equally likely, n values with c changes say as much as
/// c / (1 - c / n) independent ones.
fn chance_of_half(series: &[f64], is_beyond: impl Fn(f64) -> bool) -> f64 {
    let n = series.len() as f64;
    let beyond = series.iter().filter(|it| is_beyond(**it)).count() as f64;
    let changes =
        series.windows(2).filter(|it| is_beyond(it[0]) != is_beyond(it[1])).count() as f64;
    let independent = changes / (1.0 - changes / n);
    symmetric_beta_at_most(beyond / n, (independent + 1.0) / 2.0)
}

/// Independent values that would fix the median of a series as well: n over its autocorrelation time.
///
/// The time is the longest of several estimates, as each is blind to something: of the values, which
/// show jumps between modes; of their ranks, which outliers do not hide; and of the sides of the median on
/// which they lie, which is what the interval rests on. Each by the correlation of neighbours, without its bias and
/// one and a half standard errors higher, and by Geyer's initial positive sequence.
pub fn worth(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let centre = mean(series);
    let values: Vec<f64> = series.iter().map(|value| value - centre).collect();
    let ranks = centred_ranks(series);
    let sides: Vec<f64> =
        ranks.iter().map(|it| if *it == 0.0 { 0.0 } else { it.signum() }).collect();
    let lag_one = |of: &[f64]| LagOne::of(of).map_or(0.0, |it| it.raw);
    // Of normal values whose correlation is ρ, the sides have the correlation 2/π asin ρ.
    let behind_sides = libm::sin(std::f64::consts::FRAC_PI_2 * lag_one(&sides).clamp(-1.0, 1.0));
    let strongest = lag_one(&values).max(lag_one(&ranks)).max(behind_sides);
    let likely = LagOne::from_raw(series.len(), strongest).corrected;
    let error = ((1.0 - likely * likely) / n).sqrt();
    let time = autoregressive_time((likely + MARGIN * error).min(0.98));
    let summed = [&values, &ranks, &sides].map(|it| summed_time(it));
    n / summed.into_iter().fold(time, f64::max)
}

/// Geyer's initial positive sequence (see [`crate::effective`]) over half of the lags at most.
fn summed_time(deviations: &[f64]) -> f64 {
    let n = deviations.len();
    let spread = product_at(deviations, 0);
    let lags_max = (n / 2).min(WORK_MAX / n.max(1)).max(2);
    let mut time = -1.0;
    let mut lag = 0;
    while lag + 1 < lags_max {
        let pair = product_at(deviations, lag) + product_at(deviations, lag + 1);
        if !(pair > 0.0 && spread > 0.0) {
            break;
        }
        time += 2.0 * pair / spread;
        lag += 2;
    }
    time.max(1.0)
}

/// Returns the ranks less their mean; equal values share theirs.
pub fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = first as f64 + (group.len() as f64 - 1.0) / 2.0 - middle;
        group.iter().for_each(|index| ranks[*index] = shared);
        first += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, median_interval};

    fn autoregressive(n: usize, rho: f64, random: &mut Random) -> Vec<f64> {
        let mut value = random.normal();
        let step = |_| {
            let now = value;
            value = rho * value + (1.0 - rho * rho).sqrt() * random.normal();
            100.0 * (0.1 * now).exp()
        };
        (0..n).map(step).collect()
    }

    /// 400 series each: three standard deviations under 92 % are 88 %.
    #[test]
    fn intervals_cover_what_they_say_also_where_measures_repeat_each_other() {
        let mut random = Random::new(1);
        for rho in [0.0, 0.5, 0.8] {
            for n in [20, 40, 100] {
                let covers = |_: &i32| {
                    let series = autoregressive(n, rho, &mut random);
                    let it = series_median_interval(&series, 0.95).unwrap();
                    it.low <= 100.0 && 100.0 <= it.high
                };
                let covered = (0..400).filter(covers).count();
                assert!(covered >= 360, "{rho} {n}: {covered} of 400");
            }
        }
    }

    #[test]
    fn independent_values_are_not_widened_much() {
        let mut random = Random::new(2);
        let series = autoregressive(1000, 0.0, &mut random);
        let (ours, theirs) = (
            series_median_interval(&series, 0.95).unwrap(),
            median_interval(&Sample::try_from(&series[..]).unwrap(), 0.95).unwrap(),
        );
        let ratio = (ours.high - ours.low) / (theirs.high - theirs.low);
        assert!((1.0..1.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn too_few_have_no_interval_and_equal_ones_have_themselves() {
        assert_eq!(
            series_median_interval(&[1.0; 19], 0.95),
            Err(StatsError::TooFew { what: "an interval of a median", n: 19, needed: 20 })
        );
        let equal = series_median_interval(&[3.0; 20], 0.95).unwrap();
        assert_eq!((equal.low, equal.estimate, equal.high), (3.0, 3.0, 3.0));
        assert!(series_median_interval(&[f64::NAN; 30], 0.95).is_err());
        assert!(series_median_interval(&[1.0; 30], 1.0).is_err());
        assert_eq!([0.5, 0.95, 0.99].map(least), [8, 20, 29]);
    }

    #[test]
    fn a_series_that_rises_is_worth_next_to_nothing() {
        let rising: Vec<f64> = (0..50).map(f64::from).collect();
        assert!(worth(&rising) < 3.0);
        let it = series_median_interval(&rising, 0.95).unwrap();
        assert_eq!((it.low, it.high), (0.0, 49.0));
    }

    /// The usual tables for the median of 20, 25 and 100 independent values.
    #[test]
    fn ranks_are_those_of_the_tables() {
        for (n, low, high) in [(20, 6, 15), (25, 8, 18), (100, 40, 61)] {
            let rank = rank(n, n as f64, 0.025);
            assert_eq!((rank, n + 1 - rank), (low, high), "{n}");
        }
        assert_eq!(rank(100, 25.0, 0.025), 30, "worth a quarter, twice as wide");
        assert_eq!(rank(20, 2.0, 0.025), 1, "never beyond the smallest");
    }

    /// Blocks of equal values: each is worth one, but for the ends.
    #[test]
    fn what_lasts_is_worth_one_while_it_lasts() {
        let mut random = Random::new(3);
        for lasting in [4, 10] {
            let blocks: Vec<f64> = (0..400 / lasting).map(|_| random.normal()).collect();
            let series: Vec<f64> = blocks
                .iter()
                .flat_map(|it| vec![*it; lasting])
                .map(|it| it - mean(&blocks))
                .collect();
            let time = summed_time(&series);
            // A sum of estimates that are above zero is rather too long.
            assert!((0.7..1.7).contains(&(time / lasting as f64)), "{lasting}: {time}");
        }
        let alternating: Vec<f64> =
            (0..50).map(|it| if it % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(summed_time(&alternating), 1.0);
        assert_eq!(summed_time(&[0.0; 30]), 1.0);
    }

    /// One stay says little of how long stays are: six slow values in a row of thirty may be half of all time, six
    /// that are scattered are not.
    #[test]
    fn what_was_visited_once_stays_inside_the_interval() {
        let speed =
            |is_slow: bool, at: usize| (if is_slow { 50.0 } else { 100.0 }) + at as f64 / 100.0;
        let once: Vec<f64> = (0..30).map(|it| speed((10..16).contains(&it), it)).collect();
        let scattered: Vec<f64> = (0..30).map(|it| speed(it % 5 == 2, it)).collect();
        let low = |series: &[f64]| bounds(series, &Sample::try_from(series).unwrap(), 20.0, 0.95).0;
        assert!(low(&once) < 51.0, "{}", low(&once));
        assert!(low(&scattered) > 99.0, "{}", low(&scattered));
        let mirrored: Vec<f64> = once.iter().map(|it| 200.0 - it).collect();
        let high = bounds(&mirrored, &Sample::try_from(&mirrored[..]).unwrap(), 20.0, 0.95).1;
        assert!(high > 149.0, "{high}");
    }

    #[test]
    fn independent_sides_count_in_full_and_stays_once() {
        let alternating: Vec<f64> = (0..100).map(|it| f64::from(u8::from(it % 4 < 2))).collect();
        let independent = chance_of_half(&alternating, |it| it < 0.5);
        assert!((independent - 0.5).abs() < 1e-9, "{independent}");
        // I_x(1/2, 1/2) = 2/π asin √x, the arcsine law of a process that never came back.
        let stay: Vec<f64> = (0..100).map(f64::from).collect();
        let never = chance_of_half(&stay, |_| false);
        let once = chance_of_half(&stay, |it| it < 10.0);
        let shape = (1.0 / 0.99 + 1.0) / 2.0;
        assert_eq!(never, 0.0);
        assert!((once - symmetric_beta_at_most(0.1, shape)).abs() < 1e-12 && once > 0.05, "{once}");
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(centred_ranks(&[3.0, 1.0, 1.0, 0.0]), [1.5, 0.0, 0.0, -1.5]);
        assert!(centred_ranks(&[]).is_empty());
    }
}
