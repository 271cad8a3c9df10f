//! Measures of pairs that never happened, for benchmarks of verdicts: what is slow is known.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Outcome, Pair};
use plimsoll_score::{Columns, Source};
use plimsoll_stats::Random;

/// How a measure scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scatter {
    /// Log-normal, with this relative standard deviation.
    Normal(f64),
    /// Logarithms of Student's t with 3 degrees of freedom, of this scale: heavy tails both ways.
    Heavy(f64),
    /// Log-normal, each measure of a target repeating 0.7 of the last deviation.
    Correlated(f64),
}

impl Scatter {
    /// For a column heading.
    pub fn name(self) -> String {
        match self {
            Scatter::Normal(sd) => format!("{:.0} %", sd * 100.0),
            Scatter::Heavy(scale) => format!("heavy tail, {:.0} %", scale * 100.0),
            Scatter::Correlated(sd) => format!("correlated, {:.0} %", sd * 100.0),
        }
    }

    fn next(self, last: f64, random: &mut Random) -> f64 {
        match self {
            Scatter::Normal(sd) => sd * random.normal(),
            Scatter::Heavy(scale) => scale * random.normal() / (random.gamma(1.5) / 1.5).sqrt(),
            Scatter::Correlated(sd) => 0.7 * last + (1.0f64 - 0.49).sqrt() * sd * random.normal(),
        }
    }
}

/// Who is slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slow {
    /// Nobody.
    None,
    /// The first target, always.
    Target,
    /// The first client, always.
    Client,
    /// In each round one target: each in an equal share of the rounds, in random order.
    Moving,
    /// The first target in the middle third of the rounds.
    Episode,
}

/// One experiment to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// Targets, and as many clients, paired anew at random in every round.
    pub targets: usize,
    /// Rounds of one instance each.
    pub rounds: usize,
    /// How a measure scatters.
    pub scatter: Scatter,
    /// Who is slow.
    pub slow: Slow,
    /// The bandwidth of what is slow, over that of the others.
    pub speed: f64,
    /// Whether each client always writes to the same target.
    pub fixed_pairs: bool,
}

const MIB: u64 = 1 << 20;
const BURST: u64 = 64 * MIB;

impl Simulation {
    /// The measures of one seed.
    pub fn columns(&self, seed: u64) -> Columns {
        let mut columns = Columns::default();
        let source = columns.source(Source {
            label: "simulated".into(),
            experiment: "many-pairs".into(),
            machine: None,
        });
        self.instances(seed).iter().for_each(|instance| columns.add(source, instance));
        columns
    }

    /// The instances of one seed.
    pub fn instances(&self, seed: u64) -> Vec<Instance> {
        let mut random = Random::new(seed);
        let mut clients: Vec<usize> = (0..self.targets).collect();
        let mut last = vec![0.0; self.targets];
        let mut moving: Vec<usize> = (0..self.rounds).map(|round| round % self.targets).collect();
        random.shuffle(&mut moving);
        let round = |round: usize| {
            if !self.fixed_pairs {
                random.shuffle(&mut clients);
            }
            // The whole system is faster or slower from round to round.
            let common = (0.1 * random.normal()).exp();
            let pairs = (0..self.targets).map(|target| {
                last[target] = self.scatter.next(last[target], &mut random);
                let speed = self.speed_of(round, target, clients[target], moving[round]);
                pair(round, target, clients[target], common * speed * last[target].exp())
            });
            let pairs = pairs.collect();
            instance(round, self.targets, pairs)
        };
        (0..self.rounds).map(round).collect()
    }

    fn speed_of(&self, round: usize, target: usize, client: usize, moving: usize) -> f64 {
        let third = (self.rounds / 3).max(1);
        let is_slow = match self.slow {
            Slow::None => false,
            Slow::Target => target == 0,
            Slow::Client => client == 0,
            Slow::Moving => target == moving,
            Slow::Episode => target == 0 && (third..2 * third).contains(&round),
        };
        if is_slow { self.speed } else { 1.0 }
    }
}

fn pair(round: usize, target: usize, client: usize, speed: f64) -> Pair {
    let start = 1_700_000_000_000_000_000 + round as u64 * 20_000_000_000;
    let seconds = BURST as f64 / (100.0 * MIB as f64 * speed);
    Pair {
        client: format!("c{client}"),
        target: format!("t{target}"),
        server: None,
        processes: 1,
        bytes: BURST,
        start,
        end: start + (seconds * 1e9) as u64,
    }
}

fn instance(round: usize, targets: usize, pairs: Vec<Pair>) -> Instance {
    Instance {
        run: 0,
        group: 0,
        round: round as u32,
        instance: round as u64,
        setting: Setting::pairs(targets as u32, 1, Bytes::new(BURST)),
        varied: String::new(),
        outcome: Outcome::Complete,
        pairs,
    }
}
