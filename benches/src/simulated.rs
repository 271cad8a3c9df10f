//! Measures of pairs that never happened, for benchmarks of verdicts: what is slow is known.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Outcome, Pair};
use plimsoll_score::{Columns, Source};
use plimsoll_stats::Random;

use crate::noise::Noise;

/// Who is slow, and when. Where it is one, it is the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slow {
    /// Nobody.
    None,
    /// One target, always, at this speed.
    Target(f64),
    /// One client, always, at this speed.
    Client(f64),
    /// In each round one target: each in an equal share of the rounds, in random order.
    Moving(f64),
    /// One target in the middle third of the rounds.
    Episode(f64),
    /// One target from half-time on.
    Since(f64),
    /// One target until half-time.
    Until(f64),
    /// One target, falling to this speed in a line.
    Ramp(f64),
    /// One target in this share of the measures, independently, at this speed.
    Often(f64, f64),
    /// One target at a quarter throughout, the second at 30 % from half-time on.
    OneBesideDrift,
    /// One target at a quarter throughout, the second at 60 %.
    TwoSpeeds,
    /// One target at a quarter throughout, the second falling to 30 % in a line.
    OneBesideRamp,
    /// One target at bursts of 4 MiB and more, which are two of three settings.
    LargeBursts(f64),
    /// One target scatters by this much more.
    Noisier(f64),
    /// All but a third of the targets, at half speed.
    Most,
}

/// One experiment to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// Targets, and as many clients, paired anew at random in every round.
    pub targets: usize,
    /// Measures of each target.
    pub rounds: usize,
    /// How a measure scatters.
    pub noise: Noise,
    /// Who is slow.
    pub slow: Slow,
    /// Whether the targets of a round are measured one after the other, each in an instance of its own.
    pub in_turn: bool,
}

const MIB: u64 = 1 << 20;

impl Simulation {
    /// Pairs beside each other.
    pub fn new(targets: usize, rounds: usize, noise: Noise, slow: Slow) -> Self {
        Simulation { targets, rounds, noise, slow, in_turn: false }
    }

    /// The measures of one seed, and which were in a low state of the noise, by round and target.
    pub fn columns(&self, seed: u64) -> (Columns, Vec<Vec<bool>>) {
        let mut columns = Columns::default();
        let source = columns.source(Source {
            label: "simulated".into(),
            experiment: "many-pairs".into(),
            machine: None,
        });
        let (instances, low) = self.instances(seed);
        instances.iter().for_each(|instance| columns.add(source, instance));
        (columns, low)
    }

    fn instances(&self, seed: u64) -> (Vec<Instance>, Vec<Vec<bool>>) {
        let mut random = Random::new(seed);
        let noise = self.noise.draw(self.targets, self.rounds, &mut random);
        let mut clients: Vec<usize> = (0..self.targets).collect();
        let mut moving: Vec<usize> = (0..self.rounds).map(|round| round % self.targets).collect();
        random.shuffle(&mut moving);
        let mut instances = Vec::new();
        for (round, logs) in noise.logs.iter().enumerate() {
            random.shuffle(&mut clients);
            // The whole system is faster or slower from round to round.
            let common = 0.1 * random.normal();
            let burst = self.burst(round);
            let pairs: Vec<Pair> = (0..self.targets)
                .map(|target| {
                    let who = Who { round, target, client: clients[target], moving: moving[round] };
                    let speed = self.speed(&who, &mut random);
                    let number = if self.in_turn { round * self.targets + target } else { round };
                    pair(number, burst, &who, (common + logs[target]).exp() * speed)
                })
                .collect();
            if self.in_turn {
                instances.extend(pairs.into_iter().map(|pair| instance(round, burst, vec![pair])))
            } else {
                instances.push(instance(round, burst, pairs))
            }
        }
        (0..).zip(&mut instances).for_each(|(number, it)| it.instance = number);
        (instances, noise.low)
    }

    fn burst(&self, round: usize) -> u64 {
        match self.slow {
            Slow::LargeBursts(_) => [1, 4, 16][round % 3] * MIB,
            _ => 64 * MIB,
        }
    }

    /// The speed in a round of what falls in a line.
    fn falling(&self, to: f64, round: usize) -> f64 {
        1.0 - (1.0 - to) * round as f64 / (self.rounds - 1).max(1) as f64
    }

    fn speed(&self, who: &Who, random: &mut Random) -> f64 {
        let (half, third) = (self.rounds / 2, self.rounds / 3);
        let first = who.target == 0;
        let slowed = |is_slow: bool, speed: f64| if is_slow { speed } else { 1.0 };
        match self.slow {
            Slow::None => 1.0,
            Slow::Target(speed) => slowed(first, speed),
            Slow::Client(speed) => slowed(who.client == 0, speed),
            Slow::Moving(speed) => slowed(who.target == who.moving, speed),
            Slow::Episode(speed) => slowed(first && (third..2 * third).contains(&who.round), speed),
            Slow::Since(speed) => slowed(first && who.round >= half, speed),
            Slow::Until(speed) => slowed(first && who.round < half, speed),
            Slow::Ramp(speed) => slowed(first, self.falling(speed, who.round)),
            Slow::Often(share, speed) => slowed(first && random.unit() < share, speed),
            Slow::OneBesideDrift => {
                slowed(first, 0.25) * slowed(who.target == 1 && who.round >= half, 0.3)
            }
            Slow::TwoSpeeds => slowed(first, 0.25) * slowed(who.target == 1, 0.6),
            Slow::OneBesideRamp => {
                slowed(first, 0.25) * slowed(who.target == 1, self.falling(0.3, who.round))
            }
            Slow::LargeBursts(speed) => slowed(first && !who.round.is_multiple_of(3), speed),
            Slow::Noisier(sd) => slowed(first, (sd * random.normal()).exp()),
            Slow::Most => slowed(who.target >= self.targets / 3, 0.5),
        }
    }
}

struct Who {
    round: usize,
    target: usize,
    client: usize,
    moving: usize,
}

fn pair(number: usize, burst: u64, who: &Who, speed: f64) -> Pair {
    let start = 1_700_000_000_000_000_000 + number as u64 * 20_000_000_000;
    let seconds = burst as f64 / (100.0 * MIB as f64 * speed);
    Pair {
        client: format!("c{}", who.client),
        target: format!("t{}", who.target),
        server: None,
        processes: 1,
        bytes: burst,
        start,
        end: start + (seconds * 1e9) as u64,
    }
}

fn instance(round: usize, burst: u64, pairs: Vec<Pair>) -> Instance {
    Instance {
        run: 0,
        group: 0,
        round: round as u32,
        instance: 0,
        setting: Setting::pairs(pairs.len() as u32, 1, Bytes::new(burst)),
        varied: String::new(),
        outcome: Outcome::Complete,
        pairs,
    }
}
