//! The peak of one target, from all instances that it had to itself.

use std::collections::HashMap;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_stats::{NoPlateau, Sample, plateau, plateau_of_medians};

use super::{Evidence, PEAK_QUANTILE, Peak, PeakOrigin, Refused};

/// Settings whose median reaches this share of the best one saturate the target like it.
const SATURATED: f64 = 0.9;

/// Settings that move less than this part of what the largest one moves may fit a cache that it does
/// not, and cannot be compared with it: two doublings, as everywhere.
const COMPARABLE: u64 = plateau::SPAN as u64;

/// Rates of a target by setting and by what an instance moved.
#[derive(Debug, Clone, Default)]
pub(super) struct Saturation {
    /// Settings that are equal but for the size of the burst; then by doublings of an instance's bytes.
    settings: HashMap<Setting, HashMap<u32, Vec<f64>>>,
    bytes_most: u64,
}

impl Saturation {
    /// Takes the rate of an instance.
    pub fn add(&mut self, setting: &Setting, bytes: u64, rate: f64) {
        let but_burst = Setting {
            burst: Bytes::default(),
            // A call may be as large as the burst.
            transfer: setting.transfer.min(TRANSFER_LARGE),
            ..setting.clone()
        };
        let by_size = self.settings.entry(but_burst).or_default();
        by_size.entry(doublings(bytes)).or_default().push(rate);
        self.bytes_most = self.bytes_most.max(bytes);
    }

    /// The peak, or why there is none; `None` without rates.
    ///
    /// Each setting is held against itself at smaller bursts. Those tell whether the rate has stopped
    /// changing; the peak is taken of the largest, in which least is left of a cache.
    pub fn peak(&self) -> Option<Result<Peak, Refused>> {
        let saturated = self.saturated();
        let mut at_largest = Vec::new();
        let mut relative: HashMap<u32, Vec<f64>> = HashMap::new();
        for sizes in &saturated {
            at_largest.extend_from_slice(sizes.at_largest());
            for (size, rates) in sizes.by_size {
                let below = relative.entry(sizes.largest - size).or_default();
                below.extend(rates.iter().map(|rate| rate / sizes.median));
            }
        }
        let rates = Sample::new(at_largest).ok()?;
        let size = |below: u32| self.bytes_most as f64 / f64::from(below).exp2();
        let relative: Vec<(f64, Sample)> = relative
            .into_iter()
            .filter_map(|(below, rates)| Some((size(below), Sample::new(rates).ok()?)))
            .collect();
        let bytes = self.bytes_most;
        if let Err(why) = plateau_of_medians(&relative, SEED) {
            let why = in_bytes_per_second(why, rates.median());
            return Some(Err(Refused { bytes, rate: rates.median(), why }));
        }
        let rate = high(&rates);
        let smaller = relative.iter().filter(|(size, _)| size * plateau::SPAN >= bytes as f64);
        let fastest =
            smaller.map(|(size, rates_there)| (*size, high(rates_there) * rates.median()));
        if let Some((size, there)) = fastest.into_iter().find(|it| it.1 > rate * FASTER_MOST) {
            let why = NoPlateau::Falls { size, rate: there };
            return Some(Err(Refused { bytes, rate, why }));
        }
        let origin = PeakOrigin::Measured(Evidence { instances: rates.n(), bytes });
        (rate > 0.0).then_some(Ok(Peak { rate, origin }))
    }

    /// Settings that saturate the target.
    fn saturated(&self) -> Vec<Sizes<'_>> {
        let least = doublings(self.bytes_most / COMPARABLE);
        let sizes = self.settings.values().filter_map(Sizes::new);
        let large: Vec<Sizes> = sizes.filter(|it| it.largest >= least).collect();
        let best = large.iter().map(|it| it.median).fold(0.0, f64::max);
        large.into_iter().filter(|it| it.median >= best * SATURATED).collect()
    }
}

/// A cache that is empty at times makes some bursts fast, and the peak is one of the fastest: those of a
/// quarter of the size may be this many times as fast. That leaves at most 8 % at the largest.
const FASTER_MOST: f64 = 1.3;

/// Seed of the bootstrap that tells whether rates differ.
const SEED: u64 = 1;

/// The same with a rate that was relative to this one.
fn in_bytes_per_second(why: NoPlateau, unit: f64) -> NoPlateau {
    match why {
        NoPlateau::Narrow => NoPlateau::Narrow,
        NoPlateau::Falls { size, rate } => NoPlateau::Falls { size, rate: rate * unit },
        NoPlateau::Rises { size, rate } => NoPlateau::Rises { size, rate: rate * unit },
        NoPlateau::Scattered { size, rate } => NoPlateau::Scattered { size, rate: rate * unit },
    }
}

/// What is taken for the peak of rates.
fn high(rates: &Sample) -> f64 {
    rates.quantile(PEAK_QUANTILE).unwrap_or(0.0)
}

/// The burst sizes of one setting.
struct Sizes<'a> {
    by_size: &'a HashMap<u32, Vec<f64>>,
    /// Doublings of what its largest instances moved.
    largest: u32,
    /// Their median rate, more than 0.
    median: f64,
}

impl<'a> Sizes<'a> {
    fn new(by_size: &'a HashMap<u32, Vec<f64>>) -> Option<Self> {
        let largest = *by_size.keys().max()?;
        let median = Sample::try_from(by_size[&largest].as_slice()).ok()?.median();
        (median > 0.0).then_some(Sizes { by_size, largest, median })
    }

    fn at_largest(&self) -> &[f64] {
        &self.by_size[&self.largest]
    }
}

/// Beyond it the size of a call makes no difference to a target.
const TRANSFER_LARGE: Bytes = Bytes::new(1 << 20);

fn doublings(bytes: u64) -> u32 {
    bytes.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Ten instances of this many clients with bursts of this many MiB each, at a rate of MiB/s.
    fn add(to: &mut Saturation, clients: u32, burst: u64, rate: f64) {
        let setting = Setting { clients, ..Setting::pairs(1, 1, Bytes::new(burst * MIB)) };
        let bytes = u64::from(clients) * burst * MIB;
        (0..10).for_each(|_| to.add(&setting, bytes, rate * MIB as f64));
    }

    #[track_caller]
    fn rate(of: &Saturation) -> f64 {
        of.peak().unwrap().unwrap().rate / MIB as f64
    }

    #[test]
    fn small_bursts_that_fit_a_cache_are_not_the_peak() {
        let mut it = Saturation::default();
        for (burst, rate) in [(1, 914.0), (4, 60.0), (16, 21.0), (64, 20.2)] {
            add(&mut it, 4, burst, rate);
        }
        assert_eq!(rate(&it), 20.2);
        let Some(Ok(Peak { origin: PeakOrigin::Measured(evidence), .. })) = it.peak() else {
            panic!("{:?}", it.peak())
        };
        assert_eq!(evidence, Evidence { instances: 10, bytes: 256 * MIB });
    }

    /// One call for a whole burst, as some programs do it: settings that differ in nothing but the size.
    #[test]
    fn calls_that_grow_with_the_burst_are_one_setting() {
        let mut it = Saturation::default();
        for (burst, rate) in [(4, 60.0), (16, 21.0), (64, 20.2)] {
            let bytes = Bytes::new(burst * MIB);
            let setting = Setting { transfer: bytes, ..Setting::pairs(1, 1, bytes) };
            (0..10).for_each(|_| it.add(&setting, burst * MIB, rate * MIB as f64));
        }
        assert_eq!(rate(&it), 20.2);
    }

    #[test]
    fn a_rate_that_still_falls_or_rises_is_refused() {
        let refused = |rates: [(u64, f64); 2]| {
            let mut it = Saturation::default();
            rates.iter().for_each(|(burst, rate)| add(&mut it, 1, *burst, *rate));
            it.peak().unwrap().unwrap_err()
        };
        let size = (4 * MIB) as f64;
        let falls = refused([(4, 60.0), (16, 30.0)]);
        assert_eq!(falls.why, NoPlateau::Falls { size, rate: 60.0 * MIB as f64 });
        assert_eq!((falls.bytes, falls.rate), (16 * MIB, 30.0 * MIB as f64));
        let rises = refused([(4, 30.0), (16, 60.0)]);
        assert_eq!(rises.why, NoPlateau::Rises { size, rate: 30.0 * MIB as f64 });
        let scattered = NoPlateau::Scattered { size, rate: 0.5 };
        let there = NoPlateau::Scattered { size, rate: 30.0 };
        assert_eq!(in_bytes_per_second(scattered, 60.0), there);
        assert_eq!(refused([(8, 60.0), (16, 60.0)]).why, NoPlateau::Narrow);
        assert!(Saturation::default().peak().is_none());
        let mut nothing = Saturation::default();
        [4, 16].into_iter().for_each(|burst| add(&mut nothing, 1, burst, 0.0));
        assert!(nothing.peak().is_none_or(|it| it.is_err()), "no rate is no peak");
    }

    /// Four bursts in five find the cache full of the one before.
    #[test]
    fn a_cache_that_is_empty_at_times_is_a_cache() {
        let mut it = Saturation::default();
        for (burst, fast) in [(1, 500.0), (4, 29.0)] {
            let setting = Setting::pairs(1, 1, Bytes::new(burst * MIB));
            for instance in 0..25 {
                let rate = if instance % 5 == 0 { fast } else { 22.0 };
                it.add(&setting, burst * MIB, rate * MIB as f64);
            }
        }
        let refused = it.peak().unwrap().unwrap_err();
        let (size, rate) = (MIB as f64, 500.0 * MIB as f64);
        assert_eq!(refused.why, NoPlateau::Falls { size, rate });
        assert_eq!(refused.rate, 29.0 * MIB as f64);
    }

    /// One client writes so little that a cache takes it in, at whatever burst size it has.
    #[test]
    fn few_clients_cannot_hide_in_a_cache_behind_many() {
        let mut it = Saturation::default();
        for burst in [1, 4] {
            add(&mut it, 1, burst, 900.0);
            add(&mut it, 16, burst, 20.0);
        }
        assert_eq!(rate(&it), 20.0);
    }

    #[test]
    fn settings_that_do_not_saturate_do_not_count() {
        let mut it = Saturation::default();
        for burst in [16, 64] {
            add(&mut it, 4, burst, 50.0);
            add(&mut it, 8, burst, 100.0);
            add(&mut it, 16, burst, 95.0);
        }
        assert_eq!(rate(&it), 100.0);
    }
}
