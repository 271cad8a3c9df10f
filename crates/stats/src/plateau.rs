//! Where a rate has stopped changing with the size of what is measured.
//!
//! What is written to storage fits a cache while it is small, and fixed costs weigh most then: the
//! rate falls or rises until neither matters any more.

use crate::bootstrap::{Resampling, ratio_of_medians};
use crate::sample::Sample;

/// Sizes over which a rate is the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// The smallest of them.
    pub from: f64,
    /// The largest size of all.
    pub to: f64,
}

/// Why the rate at the largest size cannot be taken for what it will be beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoPlateau {
    /// Too few doublings lie between the sizes to tell.
    Narrow,
    /// A smaller size has a higher rate.
    Falls {
        /// The size.
        size: f64,
        /// Its rate.
        rate: f64,
    },
    /// A smaller size has a lower rate.
    Rises {
        /// The size.
        size: f64,
        /// Its rate.
        rate: f64,
    },
    /// Rates scatter so much that those of a smaller size may be the same or not.
    Scattered {
        /// The size.
        size: f64,
        /// Its rate.
        rate: f64,
    },
}

/// How far down from the largest size the rate must be the same: two doublings.
pub const SPAN: f64 = 4.0;

/// The share by which rates may differ and be the same. Behind a cache that takes in what is written at
/// no cost, rates that differ by a tenth over two doublings leave a thirtieth at the top: with a cache
/// of c the rate at size s is 1 / (1 - c/s) of that behind it.
pub const TOLERANCE: f64 = 0.1;

/// A rate at a size, and where its ratio to the rate at the largest size lies.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    size: f64,
    rate: f64,
    ratio: f64,
    low: f64,
    high: f64,
}

impl Level {
    fn exact(size: f64, rate: f64, top: f64) -> Self {
        let ratio = rate / top;
        Level { size, rate, ratio, low: ratio, high: ratio }
    }

    fn differs(&self) -> Option<NoPlateau> {
        let Level { size, rate, ratio, low, high } = *self;
        let most = 1.0 + TOLERANCE;
        if high <= most && low >= 1.0 / most {
            return None;
        }
        Some(match ratio {
            ratio if ratio > most && low > 1.0 => NoPlateau::Falls { size, rate },
            ratio if ratio < 1.0 / most && high < 1.0 => NoPlateau::Rises { size, rate },
            _ => NoPlateau::Scattered { size, rate },
        })
    }
}

/// Looks from the largest size down for rates that are the same as its own. They must reach down over
/// the [`SPAN`]. Sizes may come in any order; what is not a positive number is left out.
///
/// # Errors
/// With the first rate that differs, if that is within the span; with [`NoPlateau::Narrow`] if no
/// size lies so far below the largest.
pub fn plateau(rates: &[(f64, f64)]) -> Result<Plateau, NoPlateau> {
    let usable = |it: &f64| it.is_finite() && *it > 0.0;
    let rates = || rates.iter().filter(|(size, rate)| usable(size) && usable(rate));
    let top = rates().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |top| top.1);
    flat_down(rates().map(|(size, rate)| Level::exact(*size, *rate, top)).collect())
}

/// The same for medians of samples. Rates are the same when the 95 % interval of their ratio
/// (percentile bootstrap from the seed) lies within the [`TOLERANCE`], and differ when the interval
/// does not hold 1 and the ratio is beyond it; a single value counts as it is.
///
/// # Errors
/// As [`plateau`]; with [`NoPlateau::Scattered`] where neither is so.
pub fn plateau_of_medians(rates: &[(f64, Sample)], seed: u64) -> Result<Plateau, NoPlateau> {
    let usable = |(size, rates): &&(f64, Sample)| size.is_finite() && rates.median() > 0.0;
    let rates = || rates.iter().filter(usable);
    let Some((_, top)) = rates().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Err(NoPlateau::Narrow);
    };
    let level = |(size, rates): &(f64, Sample)| {
        let exact = Level::exact(*size, rates.median(), top.median());
        match ratio_of_medians(rates, top, &Resampling::with_seed(seed)) {
            Ok(it) => Level { low: it.low, high: it.high, ..exact },
            Err(_) => exact,
        }
    };
    let below = rates().filter(|(_, rates)| !std::ptr::eq(rates, top));
    let largest = rates().map(|(size, _)| *size).fold(0.0, f64::max);
    let top = Level::exact(largest, top.median(), top.median());
    flat_down(std::iter::once(top).chain(below.map(level)).collect())
}

fn flat_down(mut levels: Vec<Level>) -> Result<Plateau, NoPlateau> {
    levels.sort_by(|a, b| b.size.total_cmp(&a.size));
    let Some(to) = levels.first().map(|top| top.size) else { return Err(NoPlateau::Narrow) };
    let mut from = to;
    for level in levels {
        match level.differs() {
            None => from = level.size,
            // Beyond the span it may differ: that is what the span is for.
            Some(_) if to >= from * SPAN => break,
            Some(differs) => return Err(differs),
        }
    }
    if to >= from * SPAN { Ok(Plateau { from, to }) } else { Err(NoPlateau::Narrow) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// A cache of 2 that is filled at no cost, in front of a disk of rate 20.
    fn cached(size: f64) -> (f64, f64) {
        (size, size / ((size - 2.0).max(0.01) / 20.0))
    }

    #[test]
    fn a_cache_is_outlasted_when_two_doublings_change_nothing() {
        let up_to = |largest: i32| {
            let sizes: Vec<_> = (0..=largest).map(|it| cached(f64::from(1 << it))).collect();
            plateau(&sizes)
        };
        assert_eq!(up_to(7), Ok(Plateau { from: 32.0, to: 128.0 }));
        let Err(NoPlateau::Falls { size, rate }) = up_to(5) else { panic!("{:?}", up_to(5)) };
        assert_eq!((size, (rate * 10.0).round()), (8.0, 267.0));
        // At that tolerance the rate at the top is within 4 % of what is behind the cache.
        assert!(cached(128.0).1 < 20.0 * 1.04);
    }

    #[test]
    fn a_rate_that_still_rises_is_no_plateau_and_one_that_rose_before_is() {
        let rising = [(1.0, 5.0), (4.0, 15.0), (16.0, 19.0)];
        assert_eq!(plateau(&rising), Err(NoPlateau::Rises { size: 4.0, rate: 15.0 }));
        let risen = [(1.0, 5.0), (4.0, 19.0), (16.0, 20.0)];
        assert_eq!(plateau(&risen), Ok(Plateau { from: 4.0, to: 16.0 }));
    }

    #[test]
    fn too_few_sizes_tell_nothing() {
        let few: [&[(f64, f64)]; 4] =
            [&[], &[(1.0, 5.0)], &[(1.0, 5.0), (2.0, 5.0)], &[(f64::NAN, 1.0), (4.0, 5.0)]];
        for rates in few {
            assert_eq!(plateau(rates), Err(NoPlateau::Narrow), "{rates:?}");
        }
        assert_eq!(plateau_of_medians(&[], 1), Err(NoPlateau::Narrow));
    }

    /// Log-normal rates at a quarter of the size and at the whole of it, the former this many times as
    /// fast.
    fn noisy(n: usize, scatter: f64, faster: f64) -> Result<Plateau, NoPlateau> {
        let mut random = Random::new(1);
        let mut sample = |rate: f64| {
            let values = (0..n).map(|_| rate * (scatter * random.normal()).exp()).collect();
            Sample::new(values).unwrap()
        };
        plateau_of_medians(&[(4.0, sample(20.0 * faster)), (16.0, sample(20.0))], 1)
    }

    #[test]
    fn rates_that_scatter_are_the_same_only_when_that_is_shown() {
        assert_eq!(noisy(24, 0.02, 1.02), Ok(Plateau { from: 4.0, to: 16.0 }));
        assert!(matches!(noisy(24, 0.4, 1.0), Err(NoPlateau::Scattered { .. })));
        assert_eq!(noisy(600, 0.3, 1.0), Ok(Plateau { from: 4.0, to: 16.0 }));
        assert!(matches!(noisy(24, 0.1, 2.0), Err(NoPlateau::Falls { .. })));
        assert!(matches!(noisy(24, 0.1, 0.5), Err(NoPlateau::Rises { .. })));
        assert!(matches!(noisy(1, 0.0, 1.2), Err(NoPlateau::Falls { .. })), "as they are");
    }
}
