//! How often verdicts on stragglers are right, and how often they name what is not slow, by
//! simulation. docs/straggler-verdicts.md shows the tables.
//!
//! `cargo bench --package plimsoll-benches --bench verdicts [-- EXPERIMENTS [SEED [errors|power|kinds|heldout
//! [NOISE]]]]`, where NOISE picks the row of one noise in the tables of errors

use std::sync::OnceLock;

use plimsoll_benches::noise::{HELD_OUT, Noise, USED};
use plimsoll_benches::simulated::{Simulation, Slow};
use plimsoll_score::Kind;
use plimsoll_score::verdict::{
    CLIENTS_ERROR, Compared, TARGETS_ERROR, Test, Verdict, in_common, verdicts,
};

/// The tests were designed while looking at this seed; another one tells whether that matters.
const SEED: u64 = 20_260_131;
const ROUNDS: [usize; 4] = [10, 15, 20, 40];
const TARGETS: [usize; 3] = [4, 16, 64];
const POWER_NOISES: [Noise; 5] = [
    Noise::Normal(0.05),
    Noise::Normal(0.15),
    Noise::Heavy(0.05),
    Noise::Correlated(0.5, 0.05),
    Noise::Bimodal(0.1),
];

static FIRST: OnceLock<u64> = OnceLock::new();

fn seed(number: u64) -> u64 {
    FIRST.get().copied().unwrap_or(SEED) + number
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let number = |at: usize| given.get(at).and_then(|it| it.parse::<u64>().ok());
    let experiments = number(0).unwrap_or(200);
    let first = *FIRST.get_or_init(|| number(1).unwrap_or(SEED));
    let part = given.get(2).map_or("all", String::as_str);
    let wanted = |name: &str| part == "all" || part == name;
    let rows = |noises: &[Noise]| -> Vec<Noise> {
        let is_row = |it: &Noise| given.get(3).is_none_or(|name| *name == it.name());
        noises.iter().copied().filter(is_row).collect()
    };
    println!("{experiments} simulated experiments for each cell, from seed {first}\n");
    if wanted("errors") {
        errors("Nothing is slow", &rows(&USED), experiments);
    }
    if wanted("heldout") {
        errors(
            "Nothing is slow, noises that were not looked at during the design",
            &rows(&HELD_OUT),
            experiments,
        );
    }
    if wanted("power") {
        persistent(experiments);
    }
    if wanted("kinds") {
        kinds(experiments);
    }
}

/// What was said of one simulated experiment.
struct Said {
    targets: Vec<Option<Verdict>>,
    clients: Vec<Option<Verdict>>,
    two_groups: bool,
    low: Vec<Vec<bool>>,
}

impl Said {
    fn of(simulation: &Simulation, seed: u64) -> Self {
        let (columns, low) = simulation.columns(seed);
        let test = Test::default();
        let compared = Compared::new(&columns);
        let common = in_common(&columns.settings);
        let judged = |it, error| verdicts(it, &common, &Test { error, ..test });
        let targets = judged(&compared.targets, TARGETS_ERROR);
        let clients = judged(&compared.clients, CLIENTS_ERROR);
        let numbered = |prefix: &str, list: &[Verdict]| {
            let names = if prefix == "t" { &columns.targets } else { &columns.clients };
            let verdict =
                |it: usize| Some(list[names.find(&format!("{prefix}{it}"))? as usize].clone());
            (0..simulation.targets).map(verdict).collect()
        };
        Said {
            targets: numbered("t", &targets.verdicts),
            clients: numbered("c", &clients.verdicts),
            two_groups: targets.groups.is_some(),
            low,
        }
    }

    fn kind(&self, target: usize) -> Option<Kind> {
        self.targets[target].as_ref().and_then(|it| it.kind)
    }

    /// Whether anything is named but the first `allowed` targets.
    fn names_beside(&self, allowed: usize) -> bool {
        let named = |it: &Option<Verdict>| {
            it.as_ref().and_then(|it| it.kind).is_some_and(Kind::is_straggler)
        };
        self.targets.iter().skip(allowed).any(named) || self.clients.iter().any(named)
    }

    /// Whether anything is said of a target that its states contradict, or of a client at all.
    fn is_wrong(&self) -> bool {
        let named = |it: &Option<Verdict>| {
            it.as_ref().and_then(|it| it.kind).is_some_and(Kind::is_straggler)
        };
        let wrong = |target: usize| {
            let Some(verdict) = &self.targets[target] else { return false };
            named(&self.targets[target]) && !self.is_true(target, verdict)
        };
        (0..self.targets.len()).any(wrong) || self.clients.iter().any(named)
    }

    /// Whether the states bear a verdict out: low in at least three quarters of the time that it calls slow, in at most a quarter of the rest.
    fn is_true(&self, target: usize, verdict: &Verdict) -> bool {
        let states: Vec<bool> = self.low.iter().map(|it| it[target]).collect();
        let share = |part: &mut dyn Iterator<Item = &bool>| {
            let part: Vec<&bool> = part.collect();
            part.iter().filter(|it| ***it).count() as f64 / part.len().max(1) as f64
        };
        match (verdict.kind, &verdict.stretch) {
            (Some(Kind::Persistent), _) => share(&mut states.iter()) >= 0.75,
            (_, Some(it)) => {
                let outside = &mut states[..it.first].iter().chain(&states[it.end..]);
                share(&mut states[it.first..it.end].iter()) >= 0.75 && share(outside) <= 0.25
            }
            (Some(Kind::Transient), None) => {
                let all: f64 = self.low.iter().flatten().filter(|it| **it).count() as f64
                    / (self.low.len() * self.targets.len()) as f64;
                share(&mut states.iter()) >= 1.5 * all
            }
            _ => false,
        }
    }
}

fn share(simulation: &Simulation, experiments: u64, is_so: impl Fn(&Said) -> bool) -> f64 {
    let so = (0..experiments).filter(|number| is_so(&Said::of(simulation, seed(*number)))).count();
    100.0 * so as f64 / experiments as f64
}

fn heading(first: &str, columns: impl Iterator<Item = String>) {
    let columns: Vec<String> = columns.collect();
    println!("| {first} | {} |", columns.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
}

fn errors(title: &str, noises: &[Noise], experiments: u64) {
    println!("## {title}: % of experiments in which any target or client is named\n");
    println!(
        "Behind a slash, where noise has states: % in which the states contradict what is said.\n"
    );
    let columns = TARGETS.iter().flat_map(|it| ROUNDS.map(|rounds| format!("{it}, {rounds}")));
    heading("noise; targets, rounds", columns);
    for noise in noises {
        let cell = |targets: usize, rounds: usize| {
            let it = Simulation::new(targets, rounds, *noise, Slow::None);
            let named = share(&it, experiments, |said| said.names_beside(0));
            match noise {
                Noise::States(..) | Noise::ThreeStates | Noise::Visits => {
                    format!("{named:.1} / {:.1}", share(&it, experiments, Said::is_wrong))
                }
                _ => format!("{named:.1}"),
            }
        };
        let cells: Vec<String> =
            TARGETS.iter().flat_map(|it| ROUNDS.map(|rounds| cell(*it, rounds))).collect();
        println!("| {} | {} |", noise.name(), cells.join(" | "));
    }
    println!();
}

fn persistent(experiments: u64) {
    println!(
        "## One slow target: % of experiments in which it is called persistent and nothing else is named\n"
    );
    let columns = TARGETS.iter().flat_map(|it| ROUNDS.map(|rounds| format!("{it}, {rounds}")));
    heading("noise, speed; targets, rounds", columns);
    for noise in POWER_NOISES {
        for speed in [0.9, 0.8, 0.7, 0.5, 0.25] {
            let cell = |targets: usize, rounds: usize| {
                let it = Simulation::new(targets, rounds, noise, Slow::Target(speed));
                let hit =
                    |said: &Said| said.kind(0) == Some(Kind::Persistent) && !said.names_beside(1);
                format!("{:.0}", share(&it, experiments, hit))
            };
            let cells: Vec<String> =
                TARGETS.iter().flat_map(|it| ROUNDS.map(|rounds| cell(*it, rounds))).collect();
            println!("| {}, {:.0} % | {} |", noise.name(), speed * 100.0, cells.join(" | "));
        }
    }
    println!();
}

fn kinds(experiments: u64) {
    println!("## % of experiments in which the right thing is said, and nothing else is named\n");
    let columns = [4, 16].iter().flat_map(|it| ROUNDS.map(|rounds| format!("{it}, {rounds}")));
    heading("what is so, noise; targets, rounds", columns);
    for (what, slow, in_turn, hit) in truths() {
        for noise in [Noise::Normal(0.05), Noise::Normal(0.15), Noise::Correlated(0.5, 0.05)] {
            let cell = |targets: usize, rounds: usize| {
                let it = Simulation { in_turn, ..Simulation::new(targets, rounds, noise, slow) };
                format!("{:.0}", share(&it, experiments, hit))
            };
            let cells: Vec<String> =
                [4, 16].iter().flat_map(|it| ROUNDS.map(|rounds| cell(*it, rounds))).collect();
            println!("| {what}, {} | {} |", noise.name(), cells.join(" | "));
        }
    }
    println!();
}

type Hit = fn(&Said) -> bool;

/// What is so, and what is to be said of it.
fn truths() -> Vec<(&'static str, Slow, bool, Hit)> {
    let drifts: Hit = |said| said.kind(0) == Some(Kind::Drifting) && !said.names_beside(1);
    let comes_and_goes: Hit = |said| said.kind(0) == Some(Kind::Transient) && !said.names_beside(1);
    vec![
        ("30 % since half-time", Slow::Since(0.3), false, drifts),
        ("70 % since half-time", Slow::Since(0.7), false, drifts),
        ("falls to 30 %", Slow::Ramp(0.3), false, drifts),
        ("30 % until half-time", Slow::Until(0.3), false, |said| {
            said.kind(0) == Some(Kind::Recovered) && !said.names_beside(1)
        }),
        ("50 % in the middle third", Slow::Episode(0.5), false, comes_and_goes),
        ("50 % in 30 % of the measures", Slow::Often(0.3, 0.5), false, comes_and_goes),
        ("50 % in 15 % of the measures", Slow::Often(0.15, 0.5), false, comes_and_goes),
        ("one at 25 %, another drifts: the slow one", Slow::OneBesideDrift, false, |said| {
            said.kind(0) == Some(Kind::Persistent) && !said.names_beside(2)
        }),
        ("one at 25 %, another drifts: both", Slow::OneBesideDrift, false, |said| {
            said.kind(0) == Some(Kind::Persistent)
                && said.kind(1) == Some(Kind::Drifting)
                && !said.names_beside(2)
        }),
        ("one at 25 %, another at 60 %: both", Slow::TwoSpeeds, false, |said| {
            let persistent = |it: &usize| said.kind(*it) == Some(Kind::Persistent);
            [0, 1].iter().all(persistent) && !said.names_beside(2)
        }),
        ("one at 25 %, another falls to 30 %: the slow one", Slow::OneBesideRamp, false, |said| {
            said.kind(0) == Some(Kind::Persistent) && !said.names_beside(2)
        }),
        ("50 % at large bursts", Slow::LargeBursts(0.5), false, |said| {
            said.kind(0) == Some(Kind::SomeSettings) && !said.names_beside(1)
        }),
        ("scatters by 20 % more", Slow::Noisier(0.2), false, |said| {
            said.kind(0) == Some(Kind::Noisier) && !said.names_beside(1)
        }),
        ("each slow in turn: nobody is named", Slow::Moving(0.5), false, |said| {
            !said.names_beside(0)
        }),
        ("two thirds at 50 %: two groups", Slow::Most, false, |said| {
            said.two_groups && !said.names_beside(0)
        }),
        ("50 %, one target an instance", Slow::Target(0.5), true, |said| {
            said.kind(0) == Some(Kind::Persistent) && !said.names_beside(1)
        }),
        ("a client at 50 %", Slow::Client(0.5), false, |said| {
            let client = said.clients[0].as_ref().and_then(|it| it.kind);
            let others = said.clients.iter().skip(1).chain(&said.targets).flatten();
            client == Some(Kind::Persistent)
                && !others.filter_map(|it| it.kind).any(Kind::is_straggler)
        }),
    ]
}
