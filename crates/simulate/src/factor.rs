//! The throttling factor of a scenario.

use plimsoll_route::{Factor, Policy, PolicyKind};
use plimsoll_theory::{MeasuredRates, Noise as NoiseModel};

use crate::SimulateError;
use crate::noise::Timeline;
use crate::scenario::{Home, Noise, Scenario, Where};

/// Returns TF* by Huang's equation 1 for the noise of a scenario; for targets of different rates, by
/// its general form with equal data.
///
/// # Errors
/// Fails for noise that neither covers.
pub fn optimal_factor(scenario: &Scenario) -> Result<f64, SimulateError> {
    let all = scenario.storage.targets;
    let rates: Vec<f64> =
        (0..all as usize).map(|target| scenario.storage.rate_of(target)).collect();
    let is_even = rates.iter().all(|rate| *rate == rates[0]);
    let model = match scenario.noise.as_slice() {
        [] => MeasuredRates::equal_data(1.0, &rates).map(|model| model.throttling_factor()),
        [Noise::Streams { streams, targets, own_streams, .. }] if is_even => {
            let noisy = u64::from(targets.unwrap_or(all));
            let (streams, own) = (u64::from(*streams), u64::from(*own_streams));
            let model = NoiseModel::new(u64::from(all), noisy, streams, own);
            model.map(|model| model.throttling_factor())
        }
        // Which targets are noisy is the same for every seed.
        noise @ [Noise::Streams { on: Where::First, .. }] => {
            let lines = Timeline::of_all(noise, all as usize, 0);
            let left = |(rate, line): (&f64, &Timeline)| rate * line.now().own_fraction(1);
            let rates: Vec<f64> = rates.iter().zip(&lines).map(left).collect();
            MeasuredRates::equal_data(1.0, &rates).map(|model| model.throttling_factor())
        }
        _ => return Err(SimulateError::NoOptimum),
    };
    model.map_err(|_| SimulateError::NoOptimum)
}

/// Returns the throttling factor for a policy.
///
/// # Errors
/// Fails if the policy cannot write what the scenario has, or wants an optimum that is not known.
pub(crate) fn factor_for(scenario: &Scenario, policy: &Policy) -> Result<Factor, SimulateError> {
    let application = &scenario.application;
    let is_in_groups = application.placement == Home::Grouped && application.stripes <= 1;
    if policy.kind == PolicyKind::Coordinator && !is_in_groups {
        return Err(SimulateError::CoordinatorPlacement);
    }
    policy.tf.factor(|| optimal_factor(scenario))
}
