//! Simulations from the binary.

use std::fs;

use crate::support::command::{json, plimsoll, text};

const KEYS: [&str; 10] = [
    "makespan",
    "fluid_bound",
    "static_makespan",
    "moved_bytes",
    "messages",
    "coordinator_messages",
    "read_makespan",
    "cv",
    "events",
    "seed",
];

#[test]
fn a_scenario_by_name_gives_the_documented_keys() {
    let result = json("simulate heavy-noise --seed 3");
    for key in KEYS {
        assert!(result[key].is_number(), "{key}: {result}");
    }
    assert_eq!((&result["policy"], &result["seed"]), (&"window".into(), &3.into()));
    let policies = result["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 5);
    assert!(policies.iter().all(|policy| policy["makespan"].is_number()));
    let paper =
        policies.iter().find(|policy| policy["policy"] == "coordinator:tf=optimal").unwrap();
    assert!(paper["coordinator_messages"].as_u64().unwrap() > 0);
    assert!(result["of_bound"].as_f64().unwrap() < 1.05, "{result}");
}

/// Makespan over the fluid bound as measured on real devices (docs/routing.md, one at 1/17).
const RACED: [(&str, f64); 5] = [
    ("static", 13.012),
    ("coordinator:tf=0.1", 6.495),
    ("coordinator:tf=optimal", 1.081),
    ("coordinator:tf=optimal:split=256KiB", 1.019),
    ("window", 0.984),
];

#[test]
fn the_simulator_agrees_with_the_race_on_real_devices() {
    let result = json("simulate one-slow --processes-per-node 4");
    let policies = result["policies"].as_array().unwrap();
    for (name, measured) in RACED {
        let policy = policies.iter().find(|policy| policy["policy"] == name).unwrap();
        let simulated = policy["of_bound"].as_f64().unwrap();
        assert!((simulated / measured - 1.0).abs() < 0.15, "{name}: {simulated}, was {measured}");
    }
}

/// Uselton's cost of a request, and M/D/1 with processor sharing: 8 ms at a load of 0.4. The run ends, so that a little less is seen.
#[test]
fn requests_that_cost_and_open_arrivals_are_as_the_formulas_say() {
    let of = |result: &serde_json::Value, key: &str| {
        let policies = result["policies"].as_array().unwrap();
        let policy = policies.iter().find(|policy| policy["policy"] == "static").unwrap();
        policy[key].as_f64().unwrap()
    };
    let costs = of(&json("simulate request-cost"), "of_bound");
    let expected = 1.0 + 1.04e-3 / (1.73e-9 * 4_194_304.0);
    assert!((costs / expected - 1.0).abs() < 2e-3, "{costs}, expected {expected}");
    let open = json("simulate open-arrivals");
    let delay = of(&open, "mean_delay");
    assert!((delay / (0.008 / 0.6) - 1.0).abs() < 0.08, "{delay}");
    let late = json("simulate late-notice");
    assert!(of(&late, "of_bound") < 1.03 && of(&late, "of_bound") > 1.02, "a look late: {late}");
}

#[test]
fn threads_do_not_change_a_digit() {
    let with =
        |threads: u32| text(&format!("simulate light-noise --seeds 4 --json --threads {threads}"));
    assert_eq!(with(1), with(4));
}

#[test]
fn flags_change_the_scenario_and_end_its_sweep() {
    let result = json("simulate scale --processes 256 --targets 4 --policy static --block 1MiB");
    assert_eq!((&result["processes"], &result["targets"]), (&256.into(), &4.into()));
    assert_eq!(result["data"], 256u64 * (1 << 20));
    assert_eq!(result["policies"].as_array().unwrap().len(), 1);
    let both = json(
        "simulate heavy-noise --policy window,paper --tf optimal --split 4MiB --seeds 3 --processes 64",
    );
    assert_eq!(both["policies"][1]["policy"], "coordinator:tf=optimal:split=4MiB");
    assert_eq!(both["seeds"], 3);
}

#[test]
fn a_sweep_gives_a_row_for_each_value_and_a_plot() {
    let sweep = "simulate tf-sweep --blocks 1 --policy coordinator:tf=0.1:inquiry=off";
    let result = json(sweep);
    let points = result["points"].as_array().unwrap();
    assert_eq!(points.len(), 13);
    let makespan = |index: usize| points[index]["makespan"].as_f64().unwrap();
    assert!(makespan(0) > makespan(4) && makespan(4) > makespan(7), "{result}");
    assert!(text(sweep).contains("makespan of coordinator"), "a plot");
}

const SITE: &str = r#"version = 1
[limits]
server = "500MiB/s"
network = "900MiB/s"
[[server]]
name = "oss0"
role = "storage"
[[server]]
name = "oss1"
role = "storage"
[[target]]
name = "ost0"
path = "/ost0"
server = "oss0"
peak = { write = "300MiB/s" }
[[target]]
name = "ost1"
path = "/ost1"
server = "oss1"
peak = { write = "200MiB/s" }
[[target]]
name = "ost2"
path = "/ost2"
server = "oss0"
peak = { write = "300MiB/s" }
"#;

/// Two targets of one server that lets 500 MiB/s through, and one of 200 MiB/s on another.
#[test]
fn the_storage_of_a_site() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let run = |site: &str| {
        fs::write(&file, site).unwrap();
        format!("simulate quiet --processes 210 --block 10MiB --site {}", file.display())
    };
    let command = run(SITE);
    let result = json(&command);
    assert_eq!(result["targets"], 3);
    let bound = |result: &serde_json::Value| result["fluid_bound"].as_f64().unwrap();
    assert!((bound(&result) - 3.0).abs() < 1e-6, "2100 MiB at 700 MiB/s: {result}");
    let each = json(&format!("{command} --each-target --policy static"));
    let ends = each["each_target"].as_array().unwrap();
    let end = |target: usize| ends[target]["end"].as_f64().unwrap();
    assert!((end(0) - 2.8).abs() < 1e-6 && (end(1) - 2.8).abs() < 1e-6, "250 each: {each}");
    assert!((end(2) - 3.5).abs() < 1e-6, "oss1 comes after oss0: {each}");
    let free = json(&run(&SITE.replace("server = \"500MiB/s\"\nnetwork = \"900MiB/s\"", "")));
    assert!((bound(&free) - 2100.0 / 800.0).abs() < 1e-6, "{free}");
    let command = run(&SITE.replace("peak = { write = \"200MiB/s\" }", ""));
    let outcome = plimsoll(&command);
    assert!(outcome.stderr.contains("no peak write rate for target ost1"), "{}", outcome.stderr);
    let outcome = plimsoll(&run("version = 1\n"));
    assert!(outcome.stderr.contains("has no targets"), "{}", outcome.stderr);
    run(SITE);
    let swept = json(&format!("simulate scale --policy static --site {}", file.display()));
    assert_eq!((&swept["targets"], &swept["processes"]), (&3.into(), &1024.into()), "no sweep");
}

/// A coordinator has nothing to move where no block waits; the window does not mind.
#[test]
fn processes_that_are_held_back() {
    let run = |paced: &str| {
        json(&format!(
            "simulate one-slow --processes-per-node 4 --policy window,coordinator:tf=optimal {paced}"
        ))
    };
    let of_bound = |result: &serde_json::Value, policy: usize| {
        result["policies"][policy]["of_bound"].as_f64().unwrap()
    };
    let (at_once, paced) = (run(""), run("--paced 0B"));
    assert!(of_bound(&at_once, 1) < 1.2, "{at_once}");
    assert!(of_bound(&paced, 1) > 5.0, "{paced}");
    assert!(of_bound(&paced, 0) < 1.1, "{paced}");
    assert_eq!(at_once["data"], paced["data"]);
    assert_eq!(run("--paced 1GiB")["makespan"], at_once["makespan"], "never held back");
}

#[test]
fn a_sweep_of_two_parameters_gives_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let (file, page) = (folder.path().join("pay.toml"), folder.path().join("pay.html"));
    let golden = include_str!("../scenarios/when-does-it-pay.toml");
    let small = golden
        .replace("values = [0.2, 1, 5, 20, 60, 200]", "values = [0.2, 1]")
        .replace("seeds = 9", "seeds = 1");
    fs::write(&file, &small).unwrap();
    let shown = text(&format!("simulate {} --html {}", file.display(), page.display()));
    assert!(shown.contains("down: duration of a quiet burst"), "{shown}");
    assert!(shown.contains("50 s*") && shown.contains("\u{2588} "), "{shown}");
    assert!(shown.contains("60 s: 70 % of Titan's low sequences"), "{shown}");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("class=\"gain4\"") && page.contains("a, 60 s: 70 % of"), "the map");
    assert!(
        page.contains("Static placement takes ") && page.contains(" of 12 points, "),
        "in words"
    );
    assert!(page.contains("<figcaption>window is up to "), "a heading that is a statement");
    fs::write(&file, small.replace("mark = 50", "mark = 51")).unwrap();
    let outcome = plimsoll(&format!("simulate {}", file.display()));
    assert!(outcome.stderr.contains("a mark that is none of across_values"), "{}", outcome.stderr);
}

#[test]
fn a_scenario_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let golden = include_str!("../scenarios/quiet.toml");
    fs::write(&file, golden.replace("processes = 256", "processes = 32")).unwrap();
    assert_eq!(json(&format!("simulate {}", file.display()))["processes"], 32);
    for (change, part) in [
        (("processes = 256", "processes = 0"), "application.processes is zero"),
        (("targets = 16", "targets = 0"), "storage.targets is zero"),
        (("targets = 16", "targets = 99999999"), "at most 60000"),
        (("block = \"64MiB\"", "block = \"9PiB\""), "too large"),
        (("block = \"64MiB\"", "blocc = \"64MiB\""), "unknown field `blocc`"),
        (("processes = 256", "processes = 256\nsubmit = \"slow\""), "unknown variant `slow`"),
        (("processes = 256", "processes = 256\noutstanding = \"1MiB\""), "needs submit"),
        (("version = 1", "version = 7"), "has version 7"),
        (("\"striped\"", "\"stripe\""), "unknown policy"),
        (("[storage]", "[storage"), "line "),
    ] {
        fs::write(&file, golden.replace(change.0, change.1)).unwrap();
        let outcome = plimsoll(&format!("simulate {}", file.display()));
        assert_eq!(outcome.status, Some(2), "{change:?}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(part), "{change:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.trim_end().lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn wrong_use_is_refused_in_one_line() {
    for (arguments, part) in [
        ("simulate", "which scenario? hint: a TOML file, or heavy-noise"),
        ("simulate no-such-scenario", "--list"),
        ("simulate no/such/file.toml", "cannot read scenario"),
        ("simulate quiet --processes 0", "application.processes is zero"),
        ("simulate quiet --targets 0", "storage.targets is zero"),
        ("simulate quiet --seeds 0", "seeds is zero"),
        ("simulate quiet --processes 99999999999", "too large"),
        ("simulate quiet --processes -3", "is negative"),
        ("simulate quiet --policy fast", "unknown policy"),
        ("simulate quiet --policy window --tf 0.1", "policy coordinator"),
        ("simulate stochastic --policy paper --tf optimal", "hint: --tf 0.1"),
        ("simulate plfs-scale --policy paper --no-sweep", "placement"),
        ("simulate quiet --block 0B", "application.block is zero"),
        ("simulate --fuzz 0", "--fuzz 100"),
        ("simulate --fuzz 3 --html page.html", "--html"),
        ("simulate --fuzz 3 --policy window", "--policy"),
        ("simulate --fuzz 3 --processes 3", "--processes"),
        ("simulate --fuzz 3 --threads 1", "--threads"),
        ("simulate --list --html page.html", "--html"),
        ("simulate --list --seed 3", "--seed"),
        ("simulate tf-sweep --each-target", "--no-sweep"),
        ("simulate tf-sweep --policy window", "changes no policy"),
        ("simulate quiet --policy static:tf=0.1", "policy static has no setting tf"),
        ("simulate quiet --processes 5000000000", "too large; hint: at most 16000000"),
        ("simulate quiet --processes 16000001", "too large; hint: at most 16000000"),
        ("simulate quiet --targets 60001", "too large; hint: at most 60000"),
        ("simulate quiet --policy paper:split=1B", "writes, at most"),
    ] {
        let outcome = plimsoll(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.trim_end().lines().count(), 1, "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("out of range integral"), "{}", outcome.stderr);
    }
}

#[test]
fn a_page_with_charts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let outcome = plimsoll(&format!("simulate heavy-noise --seeds 6 --html {}", file.display()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("<svg") && page.contains("Makespan over the seeds"));
    assert!(!page.contains("<pre"), "no text art beside charts");
    let subtitle = "64 noise streams on 4 of 16 targets, 256 processes with one block each; 5 policies, 6 seeds";
    assert!(page.contains(&format!("<p class=\"subtitle\">{subtitle}</p>")), "what is seen");
    let shows = page.find("What it shows").unwrap();
    assert!(shows < page.find("<svg").unwrap(), "the answer comes first");
    assert!(page.contains("window was done first: it took "), "who");
    let (main, footer) = page.split_once("<footer>").unwrap();
    assert!(footer.contains("Huang, sections 3.4 and 5.2") && !main.contains("Huang, sections"));
}

/// The conclusion of a sweep is on its page, and lines are not named after the first of the values.
#[test]
fn a_page_of_a_sweep_says_what_the_sweep_shows() {
    let folder = tempfile::tempdir().unwrap();
    let (file, page) = (folder.path().join("tf.toml"), folder.path().join("tf.html"));
    let golden = include_str!("../scenarios/tf-sweep.toml");
    let (head, sweep) = golden.split_once("values = [").unwrap();
    let (_, rest) = sweep.split_once(']').unwrap();
    fs::write(&file, format!("{head}values = [0, 0.3, 0.5, 1]{rest}")).unwrap();
    text(&format!("simulate {} --processes-per-node 1 --html {}", file.display(), page.display()));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("values of the throttling factor."), "who is done first");
    let along = html.split_once("coordinator:inquiry=off and coordinator take ").unwrap().1;
    assert!(along.starts_with("69.6 s with a throttling factor of 0, and "), "{}", &along[..80]);
    assert!(along.contains(" from a throttling factor of 0.5 on."), "{}", &along[..200]);
    assert!(html.contains("</svg>coordinator:inquiry=off</button>"), "the legend");
    assert!(html.contains("<figcaption>Makespan: from 5."));
}

#[test]
fn random_faults_are_survived() {
    let result = json("simulate --fuzz 40 --seed 7");
    assert_eq!((&result["runs"], &result["failed"]), (&40.into(), &0.into()), "{result}");
}

#[test]
fn every_scenario_is_listed() {
    let listed = json("simulate --list");
    let names = listed["scenarios"].as_array().unwrap();
    assert!(names.len() >= 10 && names.iter().all(|one| one["title"].is_string()));
}

/// A run that lost everything must not look like the fastest of all.
#[test]
fn what_was_lost_is_said_and_has_no_makespan() {
    let folder = tempfile::tempdir().unwrap();
    let (file, page) = (folder.path().join("loses.toml"), folder.path().join("loses.html"));
    let all_die = "[[fault]]\nat = \"10ms\"\nwhat = \"process-dies\"\nwhich = ";
    let golden =
        include_str!("../scenarios/quiet.toml").replace("processes = 256", "processes = 2");
    let loses = format!("{golden}{all_die}0\n{all_die}1\n");
    fs::write(&file, &loses).unwrap();
    let command = format!("simulate {} --force --html {}", file.display(), page.display());
    let result = json(&command);
    for key in [
        "makespan",
        "makespan_mean",
        "static_makespan",
        "eab",
        "read_makespan",
        "cv",
        "process_p95",
    ] {
        assert!(result[key].is_null(), "{key}: {result}");
    }
    assert!(result["lost_bytes"].as_u64().unwrap() > 0, "{result}");
    for policy in result["policies"].as_array().unwrap() {
        assert!(policy["lost_bytes"].as_u64().unwrap() > 0, "{policy}");
        assert!(policy["makespan"].is_null() && policy["speedup"].is_null(), "{policy}");
    }
    let shown = text(&command);
    assert!(shown.contains("lost data: window (1 of 1 runs), coordinator"), "{shown}");
    assert!(!shown.contains("0 s"), "{shown}");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("lost data: window"));
    assert!(!page.contains("Makespan over the seeds"), "no box at 0");
    let swept = format!("{loses}[sweep]\nparameter = \"stripes\"\nvalues = [1, 2]\n");
    fs::write(
        &file,
        swept.replace(
            "[\"window\", \"coordinator:tf=0.1\", \"coordinator:tf=0.1:split=4MiB\", ",
            "[",
        ),
    )
    .unwrap();
    let swept = json(&command);
    assert_eq!(swept["points"][3]["lost_bytes"], 128 << 20, "{swept}");
    assert!(swept["points"][3]["makespan"].is_null(), "{swept}");
    let quiet = json("simulate quiet --processes 2");
    assert!(quiet["policies"][0]["lost_bytes"].is_null(), "nothing was lost, so no column");
}
