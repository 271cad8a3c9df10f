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
        let both = Sweep { across: Some(other), across_values: vec![16.0], ..sweep(one, &[16.0]) };
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
    for marked in
        [Sweep { mark: Some(16.0), ..plain.clone() }, Sweep { marks: vec![at], ..plain.clone() }]
    {
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
