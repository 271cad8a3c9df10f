//! The throttling factor of a scenario.

use plimsoll_route::Factor;
use plimsoll_theory::Noise as NoiseModel;

use crate::SimulateError;
use crate::noise::Timeline;
use crate::scenario::{Home, Noise, Policy, Router, Scenario, Tf, Where};

/// Huang's equation 1 for the noise of a scenario; for targets of different rates, its general form
/// with equal data: what the fastest takes in beyond its own.
pub fn optimal_factor(scenario: &Scenario) -> Result<f64, SimulateError> {
    let all = scenario.storage.targets;
    let rate_of = |target: usize| scenario.storage.rate_of(target);
    let is_even = (0..all as usize).all(|target| rate_of(target) == rate_of(0));
    match scenario.noise.as_slice() {
        [] => {
            let fastest = (0..all as usize).map(rate_of).fold(0.0, f64::max);
            let mean = scenario.storage.total_rate() / f64::from(all.max(1));
            Ok((fastest / mean - 1.0).max(0.0))
        }
        [Noise::Streams { streams, targets, own_streams, .. }] if is_even => {
            let noisy = u64::from(targets.unwrap_or(all));
            let (streams, own) = (u64::from(*streams), u64::from(*own_streams));
            let model = NoiseModel::new(u64::from(all), noisy, streams, own);
            model.map(|model| model.throttling_factor()).map_err(|_| SimulateError::NoOptimum)
        }
        // Which targets are noisy is the same for every seed.
        noise @ [Noise::Streams { on: Where::First, .. }] => {
            let lines = Timeline::of_all(noise, all as usize, 0);
            let left =
                |(target, line): (usize, &Timeline)| rate_of(target) * line.now().own_fraction(1);
            let rates: Vec<f64> = lines.iter().enumerate().map(left).collect();
            let mean = rates.iter().sum::<f64>() / f64::from(all.max(1));
            Ok(rates.iter().copied().fold(0.0, f64::max) / mean - 1.0)
        }
        _ => Err(SimulateError::NoOptimum),
    }
}

/// The throttling factor for a policy, if the policy can write what the scenario has.
pub(crate) fn factor_for(scenario: &Scenario, policy: &Policy) -> Result<Factor, SimulateError> {
    let application = &scenario.application;
    let is_in_groups = application.placement == Home::Grouped && application.stripes <= 1;
    match policy.router == Router::Paper && !is_in_groups {
        true => Err(SimulateError::PaperPlacement),
        false => factor(scenario, policy.tf),
    }
}

/// The throttling factor as the router takes it.
fn factor(scenario: &Scenario, tf: Tf) -> Result<Factor, SimulateError> {
    let millionths = |value: f64| Factor::from_millionths((value * 1e6).round() as u64);
    match tf {
        Tf::Unbounded => Ok(Factor::NONE),
        Tf::Given(value) => Ok(millionths(value)),
        Tf::Optimal => Ok(millionths(optimal_factor(scenario)?)),
    }
}
