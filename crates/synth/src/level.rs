//! Load that stays for a while and then changes.

use plimsoll_stats::Random;

/// A value of mean 1 that is drawn anew with some probability each minute. Its correlation with itself some minutes later is that of not having been drawn
/// anew: (1 - 1/n)^lag for a mean stay of n minutes.
#[derive(Debug, Clone)]
pub struct Level {
    value: f64,
    shape: f64,
    stay_minutes: f64,
}

impl Level {
    /// Draws the first value.
    pub fn new(shape: f64, stay_minutes: f64, random: &mut Random) -> Self {
        let value = draw(shape, random);
        Level { value, shape, stay_minutes }
    }

    /// Goes on by a minute and returns the value.
    pub fn step(&mut self, random: &mut Random) -> f64 {
        if random.unit() * self.stay_minutes < 1.0 {
            self.value = draw(self.shape, random);
        }
        self.value
    }
}

/// Returns a number of the gamma distribution with mean 1. Of shapes below 1: one of the next shape times a power of a uniform one (Marsaglia and Tsang, 2000,
/// section 6).
pub fn draw(shape: f64, random: &mut Random) -> f64 {
    let drawn = match shape {
        it if it < 1.0 => random.gamma(it + 1.0) * random.unit().powf(1.0 / it),
        it => random.gamma(it),
    };
    drawn / shape
}
