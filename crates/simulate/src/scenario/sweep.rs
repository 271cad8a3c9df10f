//! One or two parameters that take several values.

use plimsoll_domain::{Bytes, Nanos};
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
mod tests {
    use super::*;
    use crate::scenario::{Distribution, Durations, embedded};

    fn sweep(parameter: Parameter, values: &[f64]) -> Sweep {
        Sweep {
            parameter,
            values: values.to_vec(),
            across: None,
            across_values: Vec::new(),
            mark: None,
            mark_name: None,
            marks: Vec::new(),
        }
    }

    #[test]
    fn what_would_not_be_done_is_refused() {
        let refusal = |sweep: Sweep, name: &str| {
            let mut scenario = embedded(name).unwrap();
            scenario.sweep = Some(sweep);
            scenario.check().err().map_or(String::new(), |error| error.to_string())
        };
        for (parameter, value, name, problem) in [
            (Parameter::Processes, 1.4, "quiet", "has a value of 1.4; hint: whole numbers"),
            (Parameter::Stripes, 0.6, "quiet", "has a value of 0.6"),
            (Parameter::Cache, 1e300, "quiet", "hint: whole numbers"),
            (Parameter::Processes, 1e12, "quiet", "hint: at most 16000000"),
            (Parameter::Scale, 100.0, "scale", "not in the ratio of processes to targets"),
            (Parameter::Tf, 1e308, "tf-sweep", "has a value of 1e308; hint: 0 to 1000000"),
            (Parameter::Tf, 0.1, "absorb", "changes no policy"),
            (Parameter::SlowSeconds, 5.0, "quiet", "changes nothing without noise"),
        ] {
            let refused = refusal(sweep(parameter, &[value]), name);
            assert!(refused.contains(problem), "{parameter:?} {value}: {refused}");
        }
        for (one, other) in [
            (Parameter::Processes, Parameter::Processes),
            (Parameter::Pairs, Parameter::Processes),
            (Parameter::Block, Parameter::BurstSeconds),
        ] {
            let both =
                Sweep { across: Some(other), across_values: vec![16.0], ..sweep(one, &[16.0]) };
            assert!(refusal(both, "quiet").contains("both set"), "{one:?} {other:?}");
        }
        assert_eq!(refusal(sweep(Parameter::Scale, &[1024.0, 4096.0]), "scale"), "");
    }

    #[test]
    fn parameters_have_names_and_set_what_they_say() {
        let mut scenario = embedded("stochastic").unwrap();
        (scenario.storage.targets, scenario.application.processes) = (4, 8);
        (scenario.storage.rate, scenario.application.blocks) = ("100MB/s".parse().unwrap(), 5);
        let lasts = |seconds: u64| Durations {
            mean: Nanos::new(seconds * 1_000_000_000),
            distribution: Distribution::Fixed,
            spread: 1.0,
        };
        if let Noise::OnOff { slow, normal, .. } = &mut scenario.noise[0] {
            (*slow, *normal) = (lasts(2), lasts(6));
        }
        let with = |parameter, value| super::with(&scenario, [(parameter, value)]);
        let sizes = |it: Scenario| (it.application.processes, it.storage.targets);
        assert_eq!(sizes(with(Parameter::Processes, 16.0)), (16, 4));
        assert_eq!(sizes(with(Parameter::Scale, 16.0)), (16, 8), "two processes a target");
        assert_eq!(sizes(with(Parameter::Pairs, 16.0)), (16, 16));
        // 400 MB/s for 3 s, in 40 blocks.
        let burst = with(Parameter::BurstSeconds, 3.0).application.block;
        assert_eq!(burst, Bytes::new(30_000_000));
        let slowness = with(Parameter::SlowSeconds, 5.0).noise.remove(0);
        let Noise::OnOff { slow, normal, .. } = slowness else { panic!("{slowness:?}") };
        assert_eq!((slow.mean_ns(), normal.mean_ns()), (5e9, 15e9), "as often as before");
        assert_eq!(with(Parameter::Block, 7.0).application.block, Bytes::new(7));
        assert_eq!(with(Parameter::Cache, 7.0).application.cache, Bytes::new(7));
        assert_eq!(with(Parameter::Stripes, 3.0).application.stripes, 3);
        let labels = [Parameter::Tf, Parameter::Scale, Parameter::SlowSeconds, Parameter::Block];
        let expected = ["throttling factor", "processes", "slowness, s", "block, bytes"];
        assert_eq!(labels.map(Parameter::label), expected);
    }

    #[test]
    fn marks_need_a_second_parameter() {
        let mut scenario = embedded("quiet").unwrap();
        let plain = sweep(Parameter::Processes, &[16.0]);
        let at = SweepMark { at: 16.0, name: String::new() };
        for marked in [
            Sweep { mark: Some(16.0), ..plain.clone() },
            Sweep { marks: vec![at], ..plain.clone() },
        ] {
            scenario.sweep = Some(marked);
            let refused = scenario.check().unwrap_err().to_string();
            assert!(refused.contains("has marks but no second parameter"), "{refused}");
        }
    }

    #[test]
    fn what_differed_only_in_its_factor_is_run_once() {
        let mut scenario = embedded("tf-sweep").unwrap();
        let policies = ["coordinator:tf=0.1", "coordinator:tf=0.5", "static"];
        scenario.policies = policies.iter().map(|policy| policy.parse().unwrap()).collect();
        let (value, _, point) = sweep(Parameter::Tf, &[-0.0]).points(&scenario).remove(0);
        let names: Vec<String> = point.policies.iter().map(ToString::to_string).collect();
        assert_eq!(
            (names, value.to_string()),
            (vec!["coordinator:tf=0".into(), "static".into()], "0".into())
        );
    }

    /// The block was once computed for the processes of the scenario, not for those of the row.
    #[test]
    fn a_burst_is_as_long_as_it_says_whatever_else_changes() {
        let scenario = embedded("quiet").unwrap();
        for parameter in [Parameter::Processes, Parameter::Pairs] {
            let sweeps = [
                Sweep {
                    across: Some(parameter),
                    across_values: vec![4.0, 8.0],
                    ..sweep(Parameter::BurstSeconds, &[1.0, 3.0])
                },
                Sweep {
                    across: Some(Parameter::BurstSeconds),
                    across_values: vec![1.0, 3.0],
                    ..sweep(parameter, &[4.0, 8.0])
                },
            ];
            for (nth, sweep) in sweeps.iter().enumerate() {
                for (value, across, point) in sweep.points(&scenario) {
                    let seconds = if nth == 0 { value } else { across.unwrap() };
                    let total = point.application.total_bytes() as f64;
                    let burst = total / point.storage.total_rate();
                    assert!((burst / seconds - 1.0).abs() < 1e-6, "{value} {across:?}: {burst}");
                }
            }
        }
    }
}
