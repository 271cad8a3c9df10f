//! The other models, from the binary, against their papers.

use crate::support::command::{json, text};

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap()
}

/// Huang, section 3.4: 0.31 for heavy and 0.06 for light noise.
#[test]
fn throttling_factors_of_the_paper() {
    for (noise, noisy, factor) in [(64, 4, "0.31"), (16, 1, "0.06")] {
        let result = json(&format!("model throttle --targets 16 --noisy {noisy} --noise {noise}"));
        assert_eq!(format!("{:.2}", number(&result["throttling_factor"])), factor);
        assert_eq!(result["time_unit"], "D/B");
        let bound = number(&result["fluid_bound"]);
        assert!((number(&result["routed_time"]) - bound).abs() < 1e-9, "the optimum is the bound");
    }
}

/// Section 5.3 measured 290 s static and 125 s at TF 0.2, 2.3 times; the model says 2.5.
#[test]
fn throttling_at_a_given_allowance_in_seconds() {
    let result = json(
        "model throttle --targets 16 --noisy 4 --noise 64 --tf 0.2 --data 1000MB --rate 100MB/s",
    );
    assert!((number(&result["static_time"]) - 170.0).abs() < 1e-9);
    assert!((number(&result["routed_time"]) - 68.0).abs() < 1e-9, "17 (1 - 3 * 0.2) * 10 s");
    assert!((number(&result["speedup"]) - 2.5).abs() < 1e-9);
    assert!((number(&result["read_time"]) - 12.0).abs() < 1e-9);
    assert!((number(&result["moved_out"]) - 0.6).abs() < 1e-9);
    assert_eq!(result["time_unit"], "s");
}

#[test]
fn no_more_data_moves_than_there_is() {
    let wide = json("model throttle --targets 16 --noisy 4 --noise 64 --tf 5");
    assert_eq!(wide["moved_out"], 1.0);
    assert!((number(&wide["moved_in"]) - 1.0 / 3.0).abs() < 1e-12, "12 quiet take from 4 noisy");
    assert!(wide["notes"][0].as_str().unwrap().contains("exceeds"));
    let quiet = json("model throttle --targets 16 --noisy 4 --noise 0 --tf 0.5");
    assert_eq!((&quiet["moved_in"], &quiet["read_time"]), (&0.0.into(), &1.0.into()));
}

#[test]
fn more_streams_of_our_own_weaken_the_noise() {
    let result = json("model throttle --targets 16 --noisy 4 --noise 64 --streams 16");
    assert!((number(&result["static_time"]) - 2.0).abs() < 1e-9);
}

#[test]
fn throttling_with_measured_rates() {
    let result = json("model throttle --rates 100MB/s,100MB/s,100MB/s,20MB/s --data 100MB");
    assert_eq!(result["static_time"], 5.0);
    assert_eq!(result["fluid_bound"], 1.25);
    assert_eq!(result["routed_time"], 1.25);
    assert_eq!(result["speedup"], 4.0);
    assert_eq!(result["targets"][3]["throttling_factor"], -0.75);
}

#[test]
fn absorption_in_each_of_its_cases() {
    // The burst fits and drains while computing.
    let fits = json("model absorb --compute 10s --burst 50MB --cache 60MB --drain 10MB/s");
    assert_eq!((number(&fits["stall"]), number(&fits["efficiency"])), (0.0, 1.0));
    // The cache is the limit: (W - M) / S.
    let cache = json("model absorb --compute 10s --burst 50MB --cache 30MB --drain 10MB/s");
    assert_eq!(cache["stall"], 2.0);
    // The drain is the limit: (W - S C) / S, efficiency s; without cache s / (s + 1).
    let drain = json("model absorb --compute 10s --burst 200MB --cache 1GB --drain 10MB/s");
    assert_eq!((number(&drain["stall"]), number(&drain["efficiency"])), (10.0, 0.5));
    assert!((number(&drain["efficiency_sync"]) - 1.0 / 3.0).abs() < 1e-12);
    // 90 % of a burst of 200 MB at 10 MB/s: 18 s.
    assert!((number(&drain["inverse"]["compute_at_least"]) - 18.0).abs() < 1e-9);
    let sync = json("model absorb --compute 10s --burst 200MB --cache 0B --drain 10MB/s");
    assert_eq!(sync["efficiency"], sync["efficiency_sync"]);
}

/// Uselton and Wright, Table I: a target writes 4 KiB transactions at 1/(1.04e-3 + 1.73e-9 b).
#[test]
fn utilization_from_a_histogram_and_from_counts() {
    let costs = "--interval 5s --write-cost 1.04ms,1.73e-9 --read-cost 0.802ms,1.23e-9";
    let histogram = json(&format!("model utilization --writes 4KiB=1000,1MiB=100 {costs}"));
    let seconds = 1100.0 * 1.04e-3 + 1.73e-9 * (4096.0 * 1e3 + 1048576.0 * 100.0);
    assert!((number(&histogram["time"]) - seconds).abs() < 1e-9);
    assert!((number(&histogram["fsu"]) - 20.0 * seconds).abs() < 1e-9);
    assert!((number(&histogram["optimal_share"]) - 100.0 / 1100.0).abs() < 1e-12);
    let counts =
        json(&format!("model utilization --write-count 1100 --write-bytes 108953600B {costs}"));
    assert_eq!(counts["time"], histogram["time"]);
    assert_eq!(counts["optimal_share"], serde_json::Value::Null, "sizes are not known");
    let both = json(&format!("model utilization --writes 4KiB=1000 --reads 4KiB=10 {costs}"));
    assert!(number(&both["time"]) > 0.0 && both["class"] == "moderate");
}

#[test]
fn utilization_of_several_targets_is_their_mean() {
    let rest = "--writes 1MiB=100 --interval 5s --write-cost 1.04ms,1.73e-9";
    let one = json(&format!("model utilization {rest}"));
    let four = json(&format!("model utilization {rest} --targets 4"));
    for key in ["fsu", "observed"] {
        assert!((number(&one[key]) / number(&four[key]) - 4.0).abs() < 1e-12, "{key}");
    }
    assert_eq!(one["achievable"], four["achievable"], "of one target");
}

#[test]
fn utilization_is_never_clamped() {
    let busy =
        json("model utilization --writes 1MiB=10000 --interval 5s --write-cost 1.04ms,1.73e-9");
    assert!(number(&busy["fsu"]) > 500.0 && busy["class"] == "busy");
}

#[test]
fn people_get_tables_bars_and_plots() {
    let contention = text("model contention --targets 480 --per-job 160 --jobs 4");
    assert!(contention.contains("targets in use          385.185\n"), "{contention}");
    assert!(contention.contains('█') && contention.contains('▁'), "{contention}");
    let throttle = text("model throttle --targets 16 --noisy 4 --noise 64");
    assert!(
        throttle.contains("throttling factor")
            && throttle.contains("write time, in D/B\n     17 │"),
        "{throttle}"
    );
}
