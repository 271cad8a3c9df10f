//! A scenario with all its policies, seeds and values of a sweep.

use std::num::NonZero;
use std::sync::atomic::AtomicU64;

use plimsoll_route::Policy;
use plimsoll_stats::Sample;

use crate::factor::factor_for;
use crate::queue::HORIZON_NS;
use crate::seeds::{Order, run_all};
use crate::{Outcome, Scenario, SimulateError, fluid_bound_ns};

/// How often to run, and with which random numbers.
#[derive(Debug, Clone, Copy)]
pub struct Repetition {
    /// The first seed; the others follow it.
    pub first_seed: u64,
    /// How many.
    pub seeds: u32,
    /// Threads; as many as there are processors if not said.
    pub threads: Option<NonZero<usize>>,
}

/// What came out at one point of a sweep, or of a scenario without one.
#[derive(Debug, Clone)]
pub struct Point {
    /// Value of the sweep's parameter.
    pub value: Option<f64>,
    /// Value of its second parameter.
    pub across: Option<f64>,
    /// The scenario with both set.
    pub scenario: Scenario,
    /// The fluid bound in seconds, a value for each seed; empty where faults make it
    /// meaningless.
    pub bounds: Vec<f64>,
    /// Without routing, a makespan for each seed; empty where a seed lost something.
    pub static_makespans: Vec<f64>,
    /// Each policy.
    pub policies: Vec<PolicyOutcomes>,
}

/// All seeds of one policy at one point.
#[derive(Debug, Clone)]
pub struct PolicyOutcomes {
    /// Which.
    pub policy: Policy,
    /// In the order of seeds.
    pub outcomes: Vec<Outcome>,
}

/// Number of runs that an experiment takes, for a progress bar.
pub fn runs(scenario: &Scenario, repetition: Repetition) -> u64 {
    let points = points(scenario);
    let with_static = |scenario: &Scenario| scenario.policies_to_run().len() as u64;
    points.iter().map(|(_, _, scenario)| with_static(scenario)).sum::<u64>()
        * u64::from(repetition.seeds)
}

/// Runs everything. Outcomes do not depend on the number of threads.
pub fn experiment(
    scenario: &Scenario,
    repetition: Repetition,
    done: &AtomicU64,
) -> Result<Vec<Point>, SimulateError> {
    scenario.check()?;
    let points = points(scenario);
    let seeds =
        move || (0..repetition.seeds).map(move |nth| repetition.first_seed + u64::from(nth));
    let orders: Vec<Order<'_>> = points
        .iter()
        .flat_map(|(_, _, scenario)| {
            let each = move |policy| seeds().map(move |seed| Order { scenario, policy, seed });
            scenario.policies_to_run().into_iter().flat_map(each)
        })
        .collect();
    // Before any run: whoever asks for what cannot be should not wait for it.
    orders.iter().try_for_each(|it| factor_for(it.scenario, &it.policy).map(drop))?;
    // Before any run: of what cannot end, some policies would not tell for long.
    let all_bounds: Vec<Vec<f64>> = points
        .iter()
        .map(|(_, _, scenario)| bounds(scenario, seeds()))
        .collect::<Result<_, SimulateError>>()?;
    let mut outcomes = run_all(&orders, repetition.threads, done)?.into_iter();
    let mut results = Vec::with_capacity(points.len());
    for ((value, across, scenario), bounds) in points.iter().zip(all_bounds) {
        let mut all: Vec<PolicyOutcomes> = scenario
            .policies_to_run()
            .into_iter()
            .map(|policy| PolicyOutcomes {
                policy,
                outcomes: outcomes.by_ref().take(repetition.seeds as usize).collect(),
            })
            .collect();
        let baseline = all.iter().find(|one| one.policy == Scenario::BASELINE);
        let static_makespans = baseline.map_or(Vec::new(), PolicyOutcomes::makespans);
        all.truncate(scenario.policies.len());
        results.push(Point {
            value: *value,
            across: *across,
            scenario: scenario.clone(),
            bounds,
            static_makespans,
            policies: all,
        });
    }
    Ok(results)
}

/// The fluid bound of each seed in seconds; none where faults make it meaningless.
fn bounds(
    scenario: &Scenario,
    seeds: impl Iterator<Item = u64>,
) -> Result<Vec<f64>, SimulateError> {
    if !scenario.fault.is_empty() {
        return Ok(Vec::new());
    }
    let bound = |seed| match fluid_bound_ns(scenario, seed)? {
        bound_ns if bound_ns < HORIZON_NS => Ok(bound_ns as f64 / 1e9),
        _ => Err(SimulateError::TooLong { seed }),
    };
    seeds.map(bound).collect()
}

fn points(scenario: &Scenario) -> Vec<(Option<f64>, Option<f64>, Scenario)> {
    match &scenario.sweep {
        None => vec![(None, None, scenario.clone())],
        Some(sweep) => {
            let points = sweep.points(scenario).into_iter();
            points.map(|(value, across, scenario)| (Some(value), across, scenario)).collect()
        }
    }
}

impl PolicyOutcomes {
    /// A makespan for each seed; none where a seed lost something.
    pub fn makespans(&self) -> Vec<f64> {
        let makespans = self.outcomes.iter().map(|outcome| outcome.makespan);
        makespans.collect::<Option<Vec<f64>>>().unwrap_or_default()
    }

    /// Something of each outcome, as a sample over the seeds. There is none where a seed does not have
    /// it: the other seeds alone would make a policy look good that loses data now and then.
    pub fn over_seeds<V: Into<Option<f64>>>(&self, of: impl Fn(&Outcome) -> V) -> Option<Sample> {
        let values = self.outcomes.iter().map(|outcome| of(outcome).into());
        Sample::new(values.collect::<Option<Vec<f64>>>()?).ok()
    }

    /// Makespan over another time of the same seed.
    pub fn relative_to(&self, other: &[f64]) -> Option<Sample> {
        let ratios =
            self.makespans().into_iter().zip(other).map(|(makespan, time)| makespan / time);
        Sample::new(ratios.collect()).ok()
    }

    /// Runs that lost something.
    pub fn runs_with_loss(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.lost_bytes > 0).count()
    }
}
