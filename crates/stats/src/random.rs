//! Seeded random numbers whose sequence never changes.
//!
//! Only the generator's raw output comes from a dependency. Everything drawn from
//! it is written here, so that a result published with its seed can be computed
//! again with any later version of this program.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// A generator of the PCG family (PCG XSL RR 128/64 MCG; O'Neill 2014).
///
/// Not for secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Random {
    generator: Pcg64Mcg,
}

impl Random {
    /// Returns the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self::for_stream(seed, 0)
    }

    /// One of many unrelated sequences of the same seed, so that parts of a
    /// computation can draw without disturbing one another.
    pub fn for_stream(seed: u64, stream: u64) -> Self {
        let stream = stream ^ mix(seed);
        let high = u128::from(mix(stream));
        let low = u128::from(mix(stream.wrapping_add(GOLDEN_GAMMA)));
        Self { generator: Pcg64Mcg::new(high << 64 | low) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Returns an integer of `0..bound`, each equally likely; 0 if the bound is 0.
    ///
    /// Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Returns an index of a slice of this length; 0 if the length is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns a multiple of 2^-53 of `[0, 1)`, each equally likely.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Puts the items in random order, each order equally likely (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.choose_distinct(items, items.len());
    }

    /// Draws `count` of the items without replacement, in random order.
    ///
    /// The chosen come first in the slice and are returned; the rest follow, so the
    /// slice stays a permutation of itself and can be drawn from again. Takes time
    /// in proportion to `count`, not to the slice. All items if there are fewer.
    pub fn choose_distinct<'a, T>(&mut self, items: &'a mut [T], count: usize) -> &'a mut [T] {
        let count = count.min(items.len());
        for i in 0..count {
            let other = i + self.index(items.len() - i);
            items.swap(i, other);
        }
        &mut items[..count]
    }

    /// Returns a standard normal number (Marsaglia's polar method, the second discarded).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * libm::log(s) / s).sqrt();
            }
        }
    }

    /// Returns a gamma-distributed number of unit scale, for a shape of at least 1
    /// (a smaller one counts as 1).
    ///
    /// Marsaglia & Tsang, "A Simple Method for Generating Gamma Variables", ACM
    /// TOMS 26 (2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape.max(1.0) - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let w = 1.0 + c * x;
            let v = w * w * w;
            let u = 1.0 - self.unit();
            if v > 0.0 && libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}

/// The step of SplitMix64 from one state to the next: the golden ratio times 2^64.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns what SplitMix64 gives for a state: a number whose every bit depends on every bit of the value, and
/// another one for each value. Spreads numbers that are close, as seeds and indices are; a hash of them.
///
/// Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[inline]
pub fn mix(value: u64) -> u64 {
    finish(value.wrapping_add(GOLDEN_GAMMA))
}

/// Returns the last step of [`mix`] alone, for which zero stays zero.
#[inline]
pub fn finish(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that the authors' program, splitmix64.c by Vigna, gives for the seed 1234567.
    #[test]
    fn mixing_is_that_of_the_reference() {
        let states = (0..5).map(|nth: u64| GOLDEN_GAMMA.wrapping_mul(nth).wrapping_add(1_234_567));
        assert_eq!(
            states.map(mix).collect::<Vec<_>>(),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
        assert_eq!(finish(0), 0);
    }

    #[test]
    fn golden_sequences() {
        let mut random = Random::new(42);
        let bits: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(
            bits,
            [
                0xf205_2c08_f103_09a8,
                0x5282_2f6a_15ea_189c,
                0xfb25_fc26_cd2b_4950,
                0xdba1_4378_d3ff_db27
            ]
        );
        let dice: Vec<u64> = (0..10).map(|_| random.below(6)).collect();
        assert_eq!(dice, [2, 4, 2, 1, 4, 5, 2, 2, 0, 0]);
        assert_eq!(random.unit(), 0.4878596108547918);
        let mut cards: Vec<u8> = (0..10).collect();
        random.shuffle(&mut cards);
        assert_eq!(cards, [0, 3, 6, 5, 8, 1, 4, 9, 7, 2]);
        assert_eq!(random.choose_distinct(&mut cards, 3), [2, 5, 6]);
        assert_eq!(random.normal(), 0.2752223944998241);
        assert_eq!(random.gamma(5.5), 3.9461161267552027);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |seed, stream| Random::for_stream(seed, stream).bits();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(1, 0), Random::new(1).bits());
    }

    #[test]
    fn bounds_are_kept_even_at_the_edges() {
        let mut random = Random::new(7);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        for bound in [2, 3, 1 << 63, u64::MAX] {
            assert!((0..100).all(|_| random.below(bound) < bound));
        }
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn bounded_integers_are_even() {
        let mut random = Random::new(3);
        let mut counts = [0i64; 7];
        for _ in 0..70_000 {
            counts[random.index(7)] += 1;
        }
        // Six standard deviations of a binomial with mean 10000.
        assert!(counts.iter().all(|c| (c - 10_000).abs() < 560), "{counts:?}");
    }

    #[test]
    fn a_draw_is_distinct_and_leaves_a_permutation() {
        let mut random = Random::new(5);
        let mut buffer: Vec<usize> = (0..50).collect();
        for count in [0, 1, 25, 50, 99] {
            let mut drawn = random.choose_distinct(&mut buffer, count).to_vec();
            assert_eq!(drawn.len(), count.min(50));
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), count.min(50));
        }
        buffer.sort_unstable();
        assert!(buffer.into_iter().eq(0..50));
        assert!(random.choose_distinct(&mut [0u8; 0], 3).is_empty());
    }

    #[test]
    fn gamma_has_its_mean_and_variance() {
        let mut random = Random::new(11);
        for shape in [1.0, 4.0, 1000.0] {
            let draws: Vec<f64> = (0..20_000).map(|_| random.gamma(shape)).collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
            assert!((mean - shape).abs() < 6.0 * (shape / 20_000.0).sqrt(), "{shape} {mean}");
            assert!((variance / shape - 1.0).abs() < 0.15, "{shape} {variance}");
        }
    }
}
