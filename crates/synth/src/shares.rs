//! Which target gets how much of a minute's load.

use plimsoll_stats::Random;

use crate::Plan;
use crate::level::{Level, draw};
use crate::plan::{SHARE_MINUTES, SHARE_SHAPE, WIDE_MINUTES, WIDE_SHARE};

/// The shares of all targets, of reads or of writes: of Dirichlet's distribution, so that the mean share of a target is its weight, and the whole is the load whatever
/// the shares. Now and then a wide job is on: then the first targets get the same, and what they get together does not change.
#[derive(Debug, Clone)]
pub struct Shares {
    weights: Vec<f64>,
    levels: Vec<Level>,
    /// Targets of the wide job; 0 where none is planted.
    wide: usize,
    is_wide: bool,
}

impl Shares {
    /// Draws the first ones.
    pub fn new(plan: &Plan, random: &mut Random) -> Self {
        let weights = plan.weights();
        let level = |weight: &f64| Level::new(SHARE_SHAPE * weight, SHARE_MINUTES, random);
        let levels = weights.iter().map(level).collect();
        let is_wide = random.unit() < WIDE_SHARE;
        Shares { weights, levels, wide: plan.wide_targets(), is_wide }
    }

    /// Goes on by a minute, and shares this load out: bytes of each target, in whole MiB, as disks do. Each has some bytes on top.
    pub fn step(&mut self, random: &mut Random, load: f64, on_top: f64, bytes: &mut Vec<u64>) {
        if random.unit() * WIDE_MINUTES < 1.0 {
            self.is_wide = random.unit() < WIDE_SHARE;
        }
        let drawn = self.levels.iter_mut().zip(&self.weights);
        let shares: Vec<f64> = drawn.map(|(level, weight)| level.step(random) * weight).collect();
        self.share_out(shares, load, on_top, bytes);
    }

    /// The same of a minute that has nothing to do with those before.
    pub fn anew(&mut self, random: &mut Random, load: f64, on_top: f64, bytes: &mut Vec<u64>) {
        self.is_wide = random.unit() < WIDE_SHARE;
        let drawn = self.weights.iter();
        let shares = drawn.map(|weight| draw(SHARE_SHAPE * weight, random) * weight).collect();
        self.share_out(shares, load, on_top, bytes);
    }

    fn share_out(&self, mut shares: Vec<f64>, load: f64, on_top: f64, bytes: &mut Vec<u64>) {
        if self.is_wide && self.wide > 0 {
            let mean = shares[..self.wide].iter().sum::<f64>() / self.wide as f64;
            shares[..self.wide].fill(mean);
        }
        let all: f64 = shares.iter().sum();
        let mebibytes = |share: f64| (load * share / all + on_top) / f64::from(1 << 20);
        bytes.clear();
        bytes.extend(shares.into_iter().map(|share| (mebibytes(share).round() as u64) << 20));
    }
}
