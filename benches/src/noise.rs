//! Noise that storage has: how measures scatter when nothing is slow, all components alike.

use plimsoll_stats::Random;

/// How the speed of a component scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Log-normal, with this relative standard deviation.
    Normal(f64),
    /// Logarithms of Student's t with 3 degrees of freedom, of this scale: heavy tails both ways.
    Heavy(f64),
    /// Log-normal of the second number, each measure repeating this part of the last deviation.
    Correlated(f64, f64),
    /// Slower by an exponential share, never faster: logarithms of this scale.
    OneSided(f64),
    /// Slower by the sum of two such shares of 10 %.
    Gamma,
    /// At half speed with this probability, independently, beside 3 % noise.
    Bimodal(f64),
    /// At half speed for the first number of measures on average, at full speed for the second, beside 5 % noise.
    States(f64, f64),
    /// Log-normal times of this deviation, which end with a slice: this many slices are the usual time.
    Sliced(f64, f64),
    /// In this share of the rounds a random half of the components is at 60 %, beside 5 % noise.
    Shocks(f64),
    /// Log-normal, of 5 to 9 % from component to component.
    Unequal,
    /// Times longer by 5 % of a Pareto share of exponent 1.5.
    Pareto,
    /// At 100, 70 or 40 % with probabilities 0.7, 0.2 and 0.1, drawn anew with probability 0.4 in a round, beside 3 % noise.
    ThreeStates,
    /// At 60 % in one round of seven, each component in its own, beside 3 % noise.
    Sawtooth,
    /// Log-normal of 3 or of 20 % for all alike, which stays as it is with probability 0.8.
    Volatile,
    /// The mean of four log-normal numbers, of 15 % in all.
    MovingAverage,
    /// Log-normal of 15 %, repeating 0.6 of the last deviation, in slices of a tenth of the usual time.
    CorrelatedSlices,
    /// Slower by 15 % of the size of a normal number that repeats 0.7 of the last one, never faster. Not looked at during
    /// the design, as all that follow.
    OneSidedCorrelated,
    /// At half speed for two rounds, after 4 to 16 at full speed, beside 4 % noise.
    Visits,
    /// Neighbours share log-normal noise of 10 % that repeats 0.5 of the last deviation, and have 4 % of their own.
    Shared,
    /// Waves: log-normal of 12 %, autoregressive of second order with 1.2 and -0.6.
    Waves,
    /// The sum of three log-normal numbers of 6 % that repeat 0.3, 0.7 and 0.95 of the last deviation.
    LongMemory,
    /// Logarithms of Student's t with 3 degrees of freedom, of 6 %, half of which lasts for the next measure.
    HeavyCorrelated,
}

/// What the tests were designed with.
pub const USED: [Noise; 26] = [
    Noise::Normal(0.05),
    Noise::Normal(0.15),
    Noise::Heavy(0.05),
    Noise::Heavy(0.15),
    Noise::Correlated(0.5, 0.05),
    Noise::Correlated(0.8, 0.05),
    Noise::Correlated(0.5, 0.15),
    Noise::Correlated(0.8, 0.15),
    Noise::OneSided(0.2),
    Noise::Gamma,
    Noise::Bimodal(0.1),
    Noise::Bimodal(0.3),
    Noise::Sliced(0.1, 1.5),
    Noise::Sliced(0.2, 4.0),
    Noise::Shocks(0.3),
    Noise::Unequal,
    Noise::States(2.0, 6.0),
    Noise::States(3.0, 9.0),
    Noise::States(6.0, 18.0),
    Noise::States(10.0, 90.0),
    Noise::ThreeStates,
    Noise::Pareto,
    Noise::Sawtooth,
    Noise::Volatile,
    Noise::MovingAverage,
    Noise::CorrelatedSlices,
];

/// What was chosen before the last change of the design, and looked at once it was done.
pub const HELD_OUT: [Noise; 6] = [
    Noise::OneSidedCorrelated,
    Noise::Visits,
    Noise::Shared,
    Noise::Waves,
    Noise::LongMemory,
    Noise::HeavyCorrelated,
];

impl Noise {
    /// For a row of a table.
    pub fn name(self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        match self {
            Noise::Normal(sd) => percent(sd),
            Noise::Heavy(scale) => format!("heavy tail, {}", percent(scale)),
            Noise::Correlated(rho, sd) => format!("autoregressive {rho}, {}", percent(sd)),
            Noise::OneSided(scale) => format!("one-sided, {}", percent(scale)),
            Noise::Gamma => "gamma, one-sided".into(),
            Noise::Bimodal(share) => format!("half speed in {}", percent(share)),
            Noise::States(low, normal) => format!("half speed for {low}, full for {normal}"),
            Noise::Sliced(sd, slices) => format!("{}, {slices} slices", percent(sd)),
            Noise::Shocks(share) => format!("shocks to half of them in {}", percent(share)),
            Noise::Unequal => "5 to 9 %".into(),
            Noise::Pareto => "Pareto".into(),
            Noise::ThreeStates => "three states".into(),
            Noise::Sawtooth => "every seventh round".into(),
            Noise::Volatile => "3 or 20 %".into(),
            Noise::MovingAverage => "mean of four, 15 %".into(),
            Noise::CorrelatedSlices => "autoregressive 0.6, 15 %, 10 slices".into(),
            Noise::OneSidedCorrelated => "one-sided, 15 %, autoregressive 0.7".into(),
            Noise::Visits => "half speed for 2, full for 4 to 16".into(),
            Noise::Shared => "10 % shared by two, autoregressive 0.5".into(),
            Noise::Waves => "waves, 12 %".into(),
            Noise::LongMemory => "long memory, 10 %".into(),
            Noise::HeavyCorrelated => "heavy tail, 6 %, autoregressive 0.5".into(),
        }
    }

    /// Logarithms of speeds, by round and component; for states, also whether each was low.
    pub fn draw(self, components: usize, rounds: usize, random: &mut Random) -> Drawn {
        let mut state: Vec<State> = (0..components).map(|it| self.begin(it, random)).collect();
        let (mut logs, mut low) = (Vec::new(), Vec::new());
        let mut is_volatile = random.unit() < 0.5;
        for round in 0..rounds {
            let shocked: Vec<bool> = match self {
                Noise::Shocks(share) if random.unit() < share => {
                    (0..components).map(|_| random.unit() < 0.5).collect()
                }
                _ => vec![false; components],
            };
            is_volatile ^= random.unit() < 0.2;
            let spread = if is_volatile { 0.2 } else { 0.03 };
            let step =
                |(it, shocked): (&mut State, bool)| self.step(it, round, shocked, spread, random);
            let mut row: Vec<(f64, bool)> = state.iter_mut().zip(shocked).map(step).collect();
            if self == Noise::Shared {
                for pair in 0..components.div_ceil(2) {
                    let shared = 0.1 * state[2 * pair].next(0.5, random);
                    row[2 * pair..].iter_mut().take(2).for_each(|it| it.0 += shared);
                }
            }
            logs.push(row.iter().map(|it| it.0).collect());
            low.push(row.iter().map(|it| it.1).collect());
        }
        Drawn { logs, low }
    }

    fn begin(self, component: usize, random: &mut Random) -> State {
        let is_low = match self {
            Noise::States(low, normal) => random.unit() < low / (low + normal),
            _ => false,
        };
        let (last, speed) = ([(); 4].map(|()| random.normal()), three_states(random));
        let phase = random.index(7);
        State {
            last,
            is_low,
            speed,
            phase,
            to_a_visit: 2 * phase as i32,
            sd: 0.05 + 0.01 * (component % 5) as f64,
        }
    }

    fn step(
        self,
        state: &mut State,
        round: usize,
        shocked: bool,
        spread: f64,
        random: &mut Random,
    ) -> (f64, bool) {
        let half = 0.5f64.ln();
        let log = match self {
            Noise::Normal(sd) => sd * random.normal(),
            Noise::Heavy(scale) => scale * random.normal() / (random.gamma(1.5) / 1.5).sqrt(),
            Noise::Correlated(rho, sd) => sd * state.next(rho, random),
            Noise::OneSided(scale) => scale * (1.0 - random.unit()).ln(),
            Noise::Gamma => -0.1 * random.gamma(2.0),
            Noise::Bimodal(share) => {
                let depth = if random.unit() < share { half } else { 0.0 };
                depth + 0.03 * random.normal()
            }
            Noise::States(low, normal) => {
                let was_low = state.is_low;
                let leaves = random.unit() < 1.0 / if was_low { low } else { normal };
                state.is_low = was_low != leaves;
                return (f64::from(u8::from(was_low)) * half + 0.05 * random.normal(), was_low);
            }
            Noise::Sliced(sd, slices) => sliced((sd * random.normal()).exp(), slices),
            Noise::Shocks(_) => f64::from(u8::from(shocked)) * 0.6f64.ln() + 0.05 * random.normal(),
            Noise::Unequal => state.sd * random.normal(),
            Noise::Pareto => {
                let longer = (1.0 - random.unit()).powf(-1.0 / 1.5) - 1.0;
                -(1.0 + 0.05 * longer).ln()
            }
            Noise::ThreeStates => {
                if random.unit() < 0.4 {
                    state.speed = three_states(random);
                }
                return (state.speed.ln() + 0.03 * random.normal(), state.speed < 1.0);
            }
            Noise::Sawtooth => {
                let is_low = round % 7 == state.phase;
                f64::from(u8::from(is_low)) * 0.6f64.ln() + 0.03 * random.normal()
            }
            Noise::Volatile => spread * random.normal(),
            Noise::MovingAverage => {
                state.last.rotate_left(1);
                state.last[3] = random.normal();
                0.15 * state.last.iter().sum::<f64>() / 2.0
            }
            Noise::CorrelatedSlices => sliced((0.15 * state.next(0.6, random)).exp(), 10.0),
            Noise::OneSidedCorrelated => -0.15 * state.next(0.7, random).abs(),
            Noise::Visits => {
                if state.to_a_visit == -2 {
                    state.to_a_visit = 4 + random.index(13) as i32;
                }
                state.to_a_visit -= 1;
                let is_low = state.to_a_visit < 0;
                let depth = if is_low { half } else { 0.0 };
                return (depth + 0.04 * random.normal(), is_low);
            }
            Noise::Shared => 0.04 * random.normal(),
            Noise::Waves => {
                let [now, last, ..] = state.last;
                // Such a series of unit steps has a variance of 3.57.
                let next = 1.2 * now - 0.6 * last + random.normal() * 0.28f64.sqrt();
                state.last = [next, now, 0.0, 0.0];
                0.12 * now
            }
            Noise::LongMemory => {
                let mut sum = 0.0;
                for (it, rho) in state.last.iter_mut().zip([0.3f64, 0.7, 0.95]) {
                    sum += *it;
                    *it = rho * *it + (1.0 - rho * rho).sqrt() * random.normal();
                }
                0.06 * sum
            }
            Noise::HeavyCorrelated => {
                let new = random.normal() / (random.gamma(1.5) / 1.5).sqrt();
                state.last[0] = 0.5 * state.last[0] + 0.75f64.sqrt() * new;
                0.06 * state.last[0]
            }
        };
        (log, false)
    }
}

/// What was drawn.
pub struct Drawn {
    /// Logarithms of speeds, by round and component.
    pub logs: Vec<Vec<f64>>,
    /// Whether each was in a low state.
    pub low: Vec<Vec<bool>>,
}

struct State {
    last: [f64; 4],
    is_low: bool,
    speed: f64,
    phase: usize,
    /// Rounds to the next visit, below 0 during one.
    to_a_visit: i32,
    sd: f64,
}

impl State {
    fn next(&mut self, rho: f64, random: &mut Random) -> f64 {
        let now = self.last[0];
        self.last[0] = rho * now + (1.0 - rho * rho).sqrt() * random.normal();
        now
    }
}

/// The logarithm of the speed when a time over the usual one is rounded up to whole slices.
fn sliced(time: f64, slices: f64) -> f64 {
    -((time * slices).ceil().max(1.0) / slices).ln()
}

fn three_states(random: &mut Random) -> f64 {
    match random.unit() {
        it if it < 0.7 => 1.0,
        it if it < 0.9 => 0.7,
        _ => 0.4,
    }
}
