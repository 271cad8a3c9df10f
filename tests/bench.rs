//! `plimsoll bench` on plain directories: what was measured is kept, and no file stays.

mod busy;
mod calls;
mod ends;
mod jobs;
mod peaks;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_measures::{Instance, Results};
use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::storage::{SmallDisk, Storage};

/// Benchmarks, and where their results are.
impl Storage {
    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// `plimsoll bench TEMPLATE --targets … -o results` and more.
    fn bench_command(&self, arguments: &str) -> Command {
        let mut command = binary();
        self.complete_bench(&mut command, arguments);
        command
    }

    fn complete_bench(&self, command: &mut Command, arguments: &str) {
        command.arg("bench").args(arguments.split_whitespace());
        command.arg("-o").arg(self.results()).arg("--targets").args(&self.targets);
    }

    fn bench(&self, arguments: &str) -> Outcome {
        self.bench_command(arguments).output().unwrap().into()
    }

    #[track_caller]
    fn bench_fine(&self, arguments: &str) -> Value {
        let outcome = self.bench(&format!("{arguments} --json"));
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
    }

    fn instances(&self) -> Vec<Instance> {
        let results = Results::open(&self.results()).unwrap();
        results.instances().unwrap().map(Result::unwrap).collect()
    }
}

/// Who wrote where, in which order: what a seed decides.
fn order(instances: &[Instance]) -> Vec<String> {
    let pairs = |instance: &Instance| {
        let pairs = instance.pairs.iter().map(|it| format!("{} -> {}", it.client, it.target));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let line = |it: &Instance| format!("{} ({}): {}", it.instance, it.varied, pairs(it));
    instances.iter().map(line).collect()
}

#[test]
fn every_byte_of_every_pair_is_accounted_for() {
    let storage = Storage::with_targets(3);
    let result =
        storage.bench_fine("many-pairs --burst 1MiB,2MiB --rounds 4 --rounds-max 4 --seed 7");
    let instances = storage.instances();
    // 1, 2 and 3 pairs, two burst sizes, four times.
    assert_eq!((instances.len(), result["instances"].as_u64()), (24, Some(24)));
    assert_eq!(result["failed"], 0);
    assert_eq!(result["settings"].as_array().unwrap().len(), 6);
    for instance in &instances {
        assert_eq!(instance.pairs.len().to_string(), instance.varied);
        for pair in &instance.pairs {
            assert_eq!(pair.bytes, instance.setting.burst.get());
            assert!(pair.end > pair.start);
        }
        let release = instance.pairs[0].start;
        let together = instance.pairs.iter().all(|pair| pair.start.abs_diff(release) < 1_000_000);
        assert!(together, "all pairs are released at one moment");
    }
    storage.assert_nothing_left();
    for file in ["plan.toml", "environment.json", "pairs.parquet", "instances.parquet"] {
        assert!(storage.results().join(file).is_file(), "{file}");
    }
}

#[test]
fn the_seed_decides_the_order_and_the_plan_repeats_it() {
    let (first, second) = (Storage::with_targets(2), Storage::with_targets(2));
    first
        .bench_fine("many-pairs --burst 64KiB --transfer 64KiB --rounds 5 --rounds-max 5 --seed 3");
    second
        .bench_fine("many-pairs --burst 64KiB --transfer 64KiB --rounds 5 --rounds-max 5 --seed 3");
    assert_eq!(order(&first.instances()), order(&second.instances()));
    let kept = first.results().join("plan.toml");
    let again = first.folder.path().join("again");
    let outcome: Outcome =
        binary().arg("bench").arg(&kept).arg("-o").arg(&again).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let repeated = Results::open(&again).unwrap();
    let repeated: Vec<Instance> = repeated.instances().unwrap().map(Result::unwrap).collect();
    assert_eq!(order(&repeated), order(&first.instances()));
}

#[test]
fn data_is_verified_by_every_engine_in_both_directions() {
    let ways =
        ["", "--read", "--engine uring --depth 4 --random", "--read --engine uring --depth 4"];
    for way in ways {
        let storage = Storage::with_targets(2);
        let arguments =
            "many-pairs --verify --burst 1MiB --transfer 64KiB --rounds 2 --rounds-max 2";
        let outcome = storage.bench(&format!("{arguments} {way}"));
        // Containers often forbid io_uring, and say so.
        if outcome.stderr.contains("cannot set up io_uring") {
            eprintln!("SKIPPED: {way} needs io_uring");
            continue;
        }
        assert_eq!(outcome.status, Some(0), "{way}: {}", outcome.stderr);
        assert_eq!(storage.instances().len(), 4);
        storage.assert_nothing_left();
    }
}

#[test]
fn every_template_runs_on_plain_directories() {
    let templates = [
        "pipeline",
        "target",
        "fanout",
        "fanout-striped",
        "many-pairs",
        "sharing",
        "sequences",
        "sweep",
    ];
    for template in templates {
        let storage = Storage::with_targets(2);
        let burst = "--transfer 64KiB --rounds 1 --rounds-max 1 --budget-time 20s";
        let values = if template == "target" { "--values 1,2" } else { "" };
        storage.bench_fine(&format!("{template} {burst} {values}"));
        assert!(!storage.instances().is_empty(), "{template}");
        storage.assert_nothing_left();
    }
}

#[test]
fn the_files_of_an_instance_are_gone_before_the_next() {
    let storage = Storage::with_targets(1);
    let Some(_disk) = SmallDisk::mount(&storage.targets[0], "32m") else { return };
    // Three times what the target holds.
    let result =
        storage.bench_fine("pipeline --caching synced --burst 4MiB --rounds 24 --rounds-max 24");
    assert_eq!((&result["instances"], &result["failed"]), (&24.into(), &0.into()));
    storage.assert_nothing_left();
}

#[test]
fn a_template_fits_a_small_target_and_says_what_is_smaller() {
    let storage = Storage::with_targets(1);
    let Some(_disk) = SmallDisk::mount(&storage.targets[0], "82m") else { return };
    let outcome = storage.bench("target --caching synced --rounds 1 --json");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let note = "note: target: 10 clients instead of 16, for 4 transfers of 1MiB each";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let instances = storage.instances();
    assert_eq!(instances.len(), 20, "1 to 10 clients, two sizes");
    let most = instances.iter().map(|instance| instance.pairs.len()).max();
    assert_eq!(most, Some(10));
    storage.assert_nothing_left();
}

#[test]
fn bursts_that_measure_memory_are_told() {
    for way in ["", "--read"] {
        let storage = Storage::with_targets(1);
        let Some(_disk) = SmallDisk::mount(&storage.targets[0], "32m") else { return };
        let arguments = "pipeline --caching synced --burst 1MiB --rounds 3 --rounds-max 3 --json";
        let outcome = storage.bench(&format!("{arguments} {way}"));
        let result = &serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"];
        assert_eq!((&result["bursts"], &result["cached_bursts"]), (&3.into(), &3.into()), "{way}");
        let note = "note: 3 of 3 bursts measured memory";
        assert!(outcome.stderr.contains(note), "{way}: {}", outcome.stderr);
    }
}

#[test]
fn a_dry_run_says_how_much_and_writes_nothing() {
    let storage = Storage::with_targets(2);
    let result = storage
        .bench_fine("many-pairs --burst 1MiB --rounds 6 --rounds-max 10 --precision 5% --dry-run");
    // Ten rounds are too few for any precision: all of them will be measured.
    assert_eq!(result["instances"], 20);
    assert_eq!(result["instances_most"], 20);
    // One pair, then two: three bursts a repetition.
    assert_eq!(result["bytes_moved"], 30 << 20);
    assert_eq!(result["bytes_most"], 30 << 20);
    assert_eq!(result["space_needed"], 1 << 20);
    assert!(!storage.results().exists());
    storage.assert_nothing_left();
}

#[test]
fn rounds_are_exact_alone_and_the_least_beside_a_most() {
    let storage = Storage::with_targets(1);
    for (arguments, least, most) in [
        ("--rounds 20", 20, 20),
        ("--rounds 6 --rounds-max 200", 30, 200),
        ("--rounds-max 3", 3, 3),
        ("--rounds 70 --precision 5%", 70, 210),
    ] {
        let result = storage.bench_fine(&format!("pipeline --burst 16m --dry-run {arguments}"));
        let instances = (&result["instances"], &result["instances_most"]);
        assert_eq!(instances, (&least.into(), &most.into()), "{arguments}");
        assert_eq!(result["space_needed"], 16 << 20, "16m is 16 MiB");
    }
    let outcome = storage.bench("pipeline --rounds 6 --rounds-max 5 --dry-run");
    assert!(outcome.stderr.contains("5 is less than rounds = 6"), "{}", outcome.stderr);
    let outcome = storage.bench("pipeline --burst 16mb --dry-run");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("unknown unit \"mb\""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("MiB") && outcome.stderr.contains("MB"), "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_written() {
    let storage = Storage::with_targets(2);
    let refused = [
        ("many-pair", "no template"),
        ("many-pairs --values 3", "3 pairs"),
        ("many-pairs --burst 1MiB --transfer 2MiB", "transfer"),
        ("many-pairs --burst 100TiB", "free"),
        ("many-pairs --transfer 1000B --caching direct --burst 100kB", "512"),
        ("many-pairs --precision 2", "precision"),
        ("many-pairs --rounds 0", "rounds"),
        ("many-pairs --budget-bytes 1MiB --burst 16MiB", "budget"),
        ("server", "server"),
    ];
    for (arguments, word) in refused {
        let outcome = storage.bench(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(!storage.results().exists(), "{arguments}");
    }
    storage.assert_nothing_left();
    let missing = binary().args(["bench", "pipeline", "--targets", "/no/such", "-o", "x"]).output();
    let missing = Outcome::from(missing.unwrap());
    let no_plan = Outcome::from(binary().args(["bench", "no-such-plan.toml"]).output().unwrap());
    assert!(no_plan.stderr.contains("no-such-plan.toml"), "{}", no_plan.stderr);
    assert!(missing.stderr.contains("not a directory"), "{}", missing.stderr);
}

#[test]
fn plans_with_mistakes_are_told_where() {
    let storage = Storage::with_targets(1);
    let path = storage.folder.path().join("plan.toml");
    let good =
        storage.bench("many-pairs --burst 64KiB --transfer 64KiB --values 1 --print-plan").stdout;
    let mistakes = [
        (good.replace("transfer =", "transfers ="), "transfers"),
        (good.replace("version = 1", "version = 9"), "version"),
        (good.replace("[[target]]", "[[tarrget]]"), "tarrget"),
        ("\u{0}".repeat(10), "plan.toml"),
    ];
    for (text, word) in mistakes {
        fs::write(&path, text).unwrap();
        let outcome = refused_plan(&path, &storage.results());
        assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
    assert!(!storage.results().exists());
    fs::write(&path, &good).unwrap();
    for (option, value) in [("--rounds", "3"), ("--targets", "/var/tmp")] {
        let beside = binary().arg("bench").arg(&path).args([option, value]).output().unwrap();
        let beside = Outcome::from(beside);
        assert_eq!(beside.status, Some(2));
        assert!(beside.stderr.contains("edit the plan"), "{}", beside.stderr);
    }
}

#[track_caller]
fn refused_plan(path: &Path, results: &Path) -> Outcome {
    let command = binary().arg("bench").arg(path).arg("-o").arg(results).output();
    let outcome = Outcome::from(command.unwrap());
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    outcome
}

#[test]
fn a_directory_is_one_target_whatever_it_is_called() {
    let storage = Storage::with_targets(1);
    let link = storage.folder.path().join("link");
    std::os::unix::fs::symlink(&storage.targets[0], &link).unwrap();
    let twice = binary()
        .args(["bench", "many-pairs", "--burst", "64KiB", "--transfer", "64KiB", "--targets"])
        .args([&storage.targets[0], &link])
        .arg("-o")
        .arg(storage.results())
        .output()
        .unwrap();
    let twice = Outcome::from(twice);
    assert!(twice.stderr.contains("one directory"), "{}", twice.stderr);
    assert!(!storage.results().exists());
    let odd = storage.folder.path().join("a=b");
    fs::create_dir(&odd).unwrap();
    let odd = Storage { folder: storage.folder, targets: vec![odd] };
    odd.bench_fine("pipeline --burst 64KiB --transfer 64KiB --rounds 1 --rounds-max 1");
    assert_eq!(odd.instances()[0].pairs[0].target, "a=b");
}
