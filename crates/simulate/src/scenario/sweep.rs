//! One or two parameters that take several values.

use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_route::Tf;
use serde::{Deserialize, Serialize};

use super::{Noise, Scenario, ScenarioError};

/// Values to try one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// What changes.
    pub parameter: Parameter,
    /// To what.
    pub values: Vec<f64>,
    /// A second parameter: every value of it with every value of the first.
    #[serde(default)]
    pub across: Option<Parameter>,
    /// Its values.
    #[serde(default)]
    pub across_values: Vec<f64>,
    /// A value of the second parameter that was measured somewhere, to be marked.
    #[serde(default)]
    pub mark: Option<f64>,
    /// What the mark is.
    #[serde(default)]
    pub mark_name: Option<String>,
    /// Other values along the second parameter that were measured, which need not be among its
    /// values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<SweepMark>,
}

/// Something that was measured, along the second parameter of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepMark {
    /// Where.
    pub at: f64,
    /// What it is.
    pub name: String,
}

/// What can change from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// Throttling factor of every policy that has one.
    Tf,
    /// Processes, everything else as it is.
    Processes,
    /// Processes, with targets in the same ratio to them as in the scenario.
    Scale,
    /// Processes, one for each target, as node-target pairs.
    Pairs,
    /// Seconds that a burst takes on quiet targets: the size of blocks follows.
    BurstSeconds,
    /// Seconds that slowness lasts on average: normal times keep their ratio to it.
    SlowSeconds,
    /// Bytes of a block.
    Block,
    /// Bytes of cache of a process.
    Cache,
    /// Targets that a process's file lies on.
    Stripes,
    /// Bytes that each node of the buffer holds; 0 is no buffer.
    BufferCapacity,
    /// Bytes per second that each node of the buffer takes in.
    BufferRate,
}

impl Parameter {
    /// What to call it in a table.
    pub fn label(self) -> &'static str {
        match self {
            Parameter::Tf => "throttling factor",
            Parameter::Processes | Parameter::Scale => "processes",
            Parameter::Pairs => "pairs",
            Parameter::BurstSeconds => "burst, s",
            Parameter::SlowSeconds => "slowness, s",
            Parameter::Block => "block, bytes",
            Parameter::Cache => "cache, bytes",
            Parameter::Stripes => "stripes",
            Parameter::BufferCapacity => "buffer, bytes",
            Parameter::BufferRate => "buffer, bytes/s",
        }
    }

    /// The key of a scenario that it sets: two parameters that set the same do not go together.
    fn sets(self) -> &'static str {
        match self {
            Parameter::Tf => "tf",
            Parameter::Processes | Parameter::Scale | Parameter::Pairs => "processes",
            Parameter::BurstSeconds | Parameter::Block => "block",
            Parameter::SlowSeconds => "slow",
            Parameter::Cache => "cache",
            Parameter::Stripes => "stripes",
            Parameter::BufferCapacity => "buffer.capacity",
            Parameter::BufferRate => "buffer.rate",
        }
    }

    /// Refuses values that would be rounded or clamped, and a parameter that would change nothing.
    fn check(self, values: &[f64], scenario: &Scenario) -> Result<(), ScenarioError> {
        let refuse = |problem: String, hint: &str| {
            Err(ScenarioError::value(&format!("sweep over {}", self.label()), &problem, hint))
        };
        // Beyond, a floating-point number has no place for every whole one.
        let is_whole = |value: f64| value.fract() == 0.0 && value <= (1u64 << 53) as f64;
        let targets = |processes: f64| {
            processes * f64::from(scenario.storage.targets)
                / f64::from(scenario.application.processes)
        };
        let is_possible = |value: &&f64| match self {
            Parameter::Tf => Tf::RANGE.contains(*value),
            Parameter::BurstSeconds | Parameter::SlowSeconds => true,
            Parameter::Scale => is_whole(**value) && is_whole(targets(**value)),
            _ => is_whole(**value),
        };
        if let Some(bad) = values.iter().find(|value| !is_possible(value)) {
            return match self {
                Parameter::Tf => refuse(format!("has a value of {bad:e}"), "0 to 1000000"),
                Parameter::Scale => refuse(
                    format!(
                        "has a value of {bad}, which is not in the ratio of processes to targets"
                    ),
                    "whole numbers, multiples of processes over targets",
                ),
                _ => refuse(format!("has a value of {bad}"), "whole numbers"),
            };
        }
        let has_tf = || scenario.policies.iter().any(|policy| policy.tf != Tf::Unbounded);
        let is_on_off = |noise: &Noise| matches!(noise, Noise::OnOff { .. });
        match self {
            Parameter::Tf if !has_tf() => {
                let hint = "policies = [\"coordinator\"] or [\"window:tf=0.1\"], or no sweep";
                refuse("changes no policy, as none has one".into(), hint)
            }
            Parameter::SlowSeconds if !scenario.noise.iter().any(is_on_off) => refuse(
                "changes nothing without noise that comes and goes".into(),
                "kind = \"on-off\"",
            ),
            Parameter::BufferCapacity | Parameter::BufferRate if scenario.buffer.is_none() => {
                refuse("changes nothing without a buffer".into(), "[buffer]")
            }
            _ => Ok(()),
        }
    }

    /// Sets the parameter in a scenario. What makes no sense is found by checking the scenario
    /// afterwards.
    pub fn set(self, scenario: &mut Scenario, value: f64) {
        let count = value as u32;
        let application = &mut scenario.application;
        match self {
            Parameter::Tf => {
                let bounded = scenario.policies.iter_mut().filter(|p| p.tf != Tf::Unbounded);
                bounded.for_each(|policy| policy.tf = Tf::Given(value));
                // What differed only in its factor is now the same.
                let mut kept = Vec::new();
                scenario.policies.retain(|policy| {
                    let is_new = !kept.contains(policy);
                    kept.push(*policy);
                    is_new
                });
            }
            Parameter::Processes => application.processes = count,
            Parameter::Scale => {
                let per_target =
                    f64::from(application.processes) / f64::from(scenario.storage.targets.max(1));
                application.processes = count;
                scenario.storage.targets = (value / per_target).round().max(1.0) as u32;
            }
            Parameter::Pairs => {
                application.processes = count;
                scenario.storage.targets = count;
            }
            Parameter::BurstSeconds => {
                let rate = scenario.storage.total_rate();
                let blocks = f64::from(application.processes) * f64::from(application.blocks);
                application.block = Bytes::new((value * rate / blocks.max(1.0)) as u64);
            }
            Parameter::SlowSeconds => set_slowness(&mut scenario.noise, value),
            Parameter::Block => application.block = Bytes::new(value as u64),
            Parameter::Cache => application.cache = Bytes::new(value as u64),
            Parameter::Stripes => application.stripes = count,
            Parameter::BufferCapacity => {
                let buffers = scenario.buffer.iter_mut();
                buffers.for_each(|buffer| buffer.capacity = Bytes::new(value as u64));
            }
            Parameter::BufferRate => {
                let buffers = scenario.buffer.iter_mut();
                buffers.for_each(|buffer| buffer.rate = BytesPerSec::new(value as u64));
            }
        }
    }
}

fn set_slowness(noise: &mut [Noise], seconds: f64) {
    for noise in noise {
        if let Noise::OnOff { slow, normal, .. } = noise {
            let factor = seconds * 1e9 / slow.mean_ns().max(1.0);
            slow.mean = Nanos::new((slow.mean_ns() * factor) as u64);
            normal.mean = Nanos::new((normal.mean_ns() * factor) as u64);
        }
    }
}

/// The scenario of one point.
fn with<const N: usize>(scenario: &Scenario, mut settings: [(Parameter, f64); N]) -> Scenario {
    // How large the blocks of a burst are follows from everything else, so it is set last.
    settings.sort_by_key(|(parameter, _)| *parameter == Parameter::BurstSeconds);
    let mut scenario = Scenario { sweep: None, ..scenario.clone() };
    for (parameter, value) in settings {
        parameter.set(&mut scenario, value);
    }
    scenario
}

impl Sweep {
    /// Every scenario of the sweep: the value, the second value if there is one, and the
    /// scenario with both set.
    pub fn points(&self, scenario: &Scenario) -> Vec<(f64, Option<f64>, Scenario)> {
        // A sum with zero has no sign where the value is a negative zero.
        let unsigned = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v + 0.0).collect() };
        let mut points = Vec::new();
        for value in unsigned(&self.values) {
            let Some(across) = self.across else {
                points.push((value, None, with(scenario, [(self.parameter, value)])));
                continue;
            };
            for other in unsigned(&self.across_values) {
                let both = with(scenario, [(self.parameter, value), (across, other)]);
                points.push((value, Some(other), both));
            }
        }
        points
    }

    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        const POINTS_MAX: usize = 10_000;
        let refuse = |problem: &str, hint: &str| Err(ScenarioError::value("sweep", problem, hint));
        if self.values.is_empty() {
            return refuse("has no values", "values = [1, 2, 4]");
        }
        if self.across.is_some() == self.across_values.is_empty() {
            return refuse("has across without across_values, or these without it", "give both");
        }
        if self.values.len() * self.across_values.len().max(1) > POINTS_MAX {
            return refuse("has too many points", "at most 10000");
        }
        if self.across.is_none() && (self.mark.is_some() || !self.marks.is_empty()) {
            return refuse("has marks but no second parameter", "give across and across_values");
        }
        if self.mark.is_some_and(|mark| !self.across_values.contains(&mark)) {
            return refuse(
                "has a mark that is none of across_values",
                "marks = [{ at = 60, ... }]",
            );
        }
        let marks = || self.marks.iter().map(|mark| &mark.at);
        let all = || self.values.iter().chain(&self.across_values).chain(marks());
        if !all().all(|value| value.is_finite() && *value >= 0.0) {
            return refuse("has a value that is negative or not finite", "values = [1, 2, 4]");
        }
        self.parameter.check(&self.values, scenario)?;
        let Some(across) = self.across else { return Ok(()) };
        if across.sets() == self.parameter.sets() {
            let problem = format!("has two parameters that both set {}", across.sets());
            return refuse(&problem, "one of them");
        }
        across.check(&self.across_values, scenario)
    }
}

#[cfg(test)]
mod tests;
