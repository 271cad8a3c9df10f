//! Wright's chapter 6, from the binary, to the printed digits.

use crate::support::command::json;
use serde_json::Value;

fn contention(targets: u64, per_job: u64, jobs: u64) -> Value {
    json(&format!("model contention --targets {targets} --per-job {per_job} --jobs {jobs}"))
}

fn printed(value: &Value) -> String {
    format!("{:.3}", value.as_f64().unwrap())
}

/// In use, requested, load, as printed.
type Row = (&'static str, u64, &'static str);

/// Tables 6.2 (480 targets) and 6.4 (Stampede, 160 targets): targets, per job, then for one
/// job, two jobs, …: in use, requested, load.
#[test]
fn tables_6_2_and_6_4() {
    let tables: [(u64, u64, &[Row]); 3] = [
        (
            480,
            160,
            &[
                ("160.000", 160, "1.000"),
                ("266.667", 320, "1.200"),
                ("337.778", 480, "1.421"),
                ("385.185", 640, "1.662"),
                ("416.790", 800, "1.919"),
                ("437.860", 960, "2.192"),
                ("451.907", 1120, "2.478"),
                ("461.271", 1280, "2.775"),
                ("467.514", 1440, "3.080"),
                ("471.676", 1600, "3.392"),
            ],
        ),
        (
            480,
            64,
            &[
                ("64.000", 64, "1.000"),
                ("119.467", 128, "1.071"),
                ("167.538", 192, "1.146"),
                ("209.199", 256, "1.224"),
                ("245.306", 320, "1.304"),
                ("276.599", 384, "1.388"),
                ("303.719", 448, "1.475"),
                ("327.223", 512, "1.565"),
                ("347.593", 576, "1.657"),
                ("365.247", 640, "1.752"),
            ],
        ),
        (
            160,
            128,
            &[
                ("128.000", 128, "1.000"),
                ("153.600", 256, "1.667"),
                ("158.720", 384, "2.419"),
                ("159.744", 512, "3.205"),
                ("159.949", 640, "4.001"),
                ("159.990", 768, "4.800"),
                ("159.998", 896, "5.600"),
                ("160.000", 1024, "6.400"),
                ("160.000", 1152, "7.200"),
                ("160.000", 1280, "8.000"),
            ],
        ),
    ];
    for (targets, per_job, rows) in tables {
        for (jobs, (in_use, requested, load)) in (1..).zip(rows) {
            let result = contention(targets, per_job, jobs);
            assert_eq!(printed(&result["in_use"]), *in_use, "{targets} {per_job} {jobs}");
            assert_eq!(result["requested"], *requested);
            assert_eq!(printed(&result["load"]), *load, "{targets} {per_job} {jobs}");
        }
    }
}

/// Section 6.3: each rank is a job of two stripes. The text prints 2.4, 3, 8.53 and 17.06 (cut
/// off, not rounded: Table 6.5 has 17.07).
#[test]
fn plfs_load_of_section_6_3() {
    for (ranks, load) in [(512, "2.42"), (688, "3.04"), (2048, "8.53"), (4096, "17.07")] {
        let result = contention(480, 2, ranks);
        assert_eq!(format!("{:.2}", result["load"].as_f64().unwrap()), load, "{ranks} ranks");
    }
}

/// Table 6.3: stripes per job; targets used by exactly 1, 2, 3, 4 of four jobs, means of five
/// runs; predicted in use and load; actual in use.
const TABLE_6_3: [(u64, [f64; 4], &str, &str, f64); 5] = [
    (32, [103.2, 11.2, 0.8, 0.0], "115.759", "1.106", 115.2),
    (64, [172.6, 35.8, 3.4, 0.4], "209.199", "1.224", 212.2),
    (96, [199.4, 76.4, 9.8, 0.6], "283.392", "1.355", 286.2),
    (128, [211.6, 111.4, 22.4, 2.6], "341.182", "1.501", 348.0),
    (160, [191.8, 147.0, 41.8, 7.2], "385.185", "1.662", 387.8),
];

#[test]
fn table_6_3_lies_in_the_99_percent_band_of_a_mean_of_five() {
    for (per_job, used_by, in_use, load, actual_in_use) in TABLE_6_3 {
        let result = json(&format!(
            "model contention --targets 480 --per-job {per_job} --jobs 4 --trials 2000 --mean-of 5"
        ));
        assert_eq!(printed(&result["in_use"]), in_use);
        assert_eq!(printed(&result["load"]), load);
        let simulated = &result["monte_carlo"];
        let inside = |band: &Value, value: f64| {
            let (low, high) = (band["low"].as_f64().unwrap(), band["high"].as_f64().unwrap());
            assert!((low..=high).contains(&value), "{value} is not from {low} to {high}");
        };
        inside(&simulated["measures"][0], actual_in_use);
        for (k, measured) in (1..).zip(used_by) {
            let row = simulated["shared_by"].as_array().unwrap().iter().find(|row| row["k"] == k);
            // A k that never occurred in any trial is a band of zero.
            match row {
                Some(band) => inside(band, measured),
                None => assert_eq!(measured, 0.0),
            }
        }
    }
}

#[test]
fn distribution_is_complete_and_equal_to_the_list_form() {
    let equal = contention(480, 160, 4);
    let list = json("model contention --targets 480 --per-job 160,160,160,160");
    assert_eq!(equal, list);
    let shared_by = equal["shared_by"].as_object().unwrap();
    assert_eq!(shared_by.keys().collect::<Vec<_>>(), ["0", "1", "2", "3", "4"]);
    let all: f64 = shared_by.values().map(|targets| targets.as_f64().unwrap()).sum();
    assert!((all - 480.0).abs() < 1e-9);
    // 480 (1/3)^4 targets are shared by all four.
    assert!((shared_by["4"].as_f64().unwrap() - 480.0 / 81.0).abs() < 1e-9);
    assert!(equal["worst"].as_f64().unwrap() > 3.99);
    assert_eq!(equal["worst_at_most"], 4.0, "some target has all four jobs, almost surely");
}

#[test]
fn the_inverse_question_has_a_tight_answer() {
    let arguments = "model contention --targets 480 --per-job 64 --jobs 10 --max-load 1.5";
    let inverse = &json(arguments)["inverse"];
    let needed = inverse["targets_needed"].as_u64().unwrap();
    let load = |targets, per_job| contention(targets, per_job, 10)["load"].as_f64().unwrap();
    assert!(load(needed, 64) <= 1.5 && load(needed - 1, 64) > 1.5);
    let most = inverse["per_job_at_most"].as_u64().unwrap();
    assert!(load(480, most) <= 1.5 && load(480, most + 1) > 1.5);
}

#[test]
fn an_impossible_load_is_an_answer_not_a_failure() {
    let one = "model contention --targets 500 --per-job 27 --jobs 1 --max-load 1";
    assert_eq!(json(one)["inverse"]["targets_needed"], 27);
    let ten = "model contention --targets 480 --per-job 64 --jobs 10 --max-load 1";
    let inverse = &json(ten)["inverse"];
    assert_eq!(inverse["targets_needed"], Value::Null);
    assert!(inverse["notes"][0].as_str().unwrap().contains("down to 1"), "{inverse}");
    let none = "model contention --targets 480 --per-job 64 --jobs 0 --max-load 2";
    assert!(json(none)["inverse"]["notes"][0].as_str().unwrap().contains("without jobs"));
}

#[test]
fn equal_seeds_give_equal_trials() {
    let run = |seed: u32| {
        json(&format!("model contention --targets 48 --per-job 5,9 --trials 50 --seed {seed}"))
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn zero_jobs_one_job_and_a_hundred_million_jobs_have_answers() {
    assert_eq!(contention(480, 160, 0)["load"], Value::Null);
    assert_eq!(contention(480, 160, 1)["worst"], 1.0);
    assert_eq!(contention(1, 1, 1)["load"], 1.0);
    let crowd = contention(480, 160, 100_000_000);
    assert_eq!(crowd["in_use"], 480.0);
    assert!(crowd["worst"].as_f64().unwrap() > 33_333_334.0);
}
