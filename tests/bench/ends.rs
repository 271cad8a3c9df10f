//! The ways in which an experiment ends before its time.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_measures::{Outcome as Ended, Results};
use rustix::process::{Pid, Signal, kill_process};

use super::order;
use crate::support::command::{Outcome, binary};
use crate::support::storage::{SmallDisk, Storage};

const SLOWLY: &str = "many-pairs --burst 64KiB --transfer 64KiB --pause 50ms --seed 5";

impl Storage {
    fn start_bench(&self, arguments: &str) -> Child {
        let mut command = self.bench_command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until some instances are in the journal.
    #[track_caller]
    pub fn wait_for_instances(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let journal = self.results().join("journal.ndjson");
        while fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() > count).eq(&false)
        {
            assert!(Instant::now() < deadline, "no instances");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn resume(&self) -> Outcome {
        binary().args(["bench", "--resume"]).arg(self.results()).output().unwrap().into()
    }
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn an_interrupted_experiment_keeps_what_it_measured_and_goes_on() {
    let (whole, parts) = (Storage::with_targets(2), Storage::with_targets(2));
    whole.bench_fine(&format!("{SLOWLY} --rounds 8 --rounds-max 8"));
    let mut child = parts.start_bench(&format!("{SLOWLY} --rounds 8 --rounds-max 8"));
    parts.wait_for_instances(3);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    parts.assert_nothing_left();
    let measured = parts.instances().len();
    assert!((3..16).contains(&measured), "{measured}");
    assert!(!Results::open(&parts.results()).unwrap().complete);
    let other = binary().args(["bench", "--seed", "9", "--resume"]).arg(parts.results()).output();
    let other = Outcome::from(other.unwrap());
    assert!(other.stderr.contains("--seed would change"), "{}", other.stderr);
    let outcome = parts.resume();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(order(&parts.instances()), order(&whole.instances()));
    assert!(parts.resume().stderr.contains("complete"));
}

#[test]
fn the_end_of_a_batch_job_is_told_by_the_exit_status() {
    let storage = Storage::with_targets(2);
    let mut child = storage.start_bench(&format!("{SLOWLY} --rounds 90 --rounds-max 90"));
    storage.wait_for_instances(2);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143), "as a shell tells of SIGTERM");
    storage.assert_nothing_left();
}

#[test]
fn a_log_shows_now_and_then_that_the_work_goes_on() {
    let storage = Storage::with_targets(1);
    // Eleven pauses between twelve rounds.
    let arguments =
        "pipeline --burst 64KiB --transfer 64KiB --pause 300ms --rounds 12 --rounds-max 12";
    let told = |seconds: &str| {
        let mut command = storage.bench_command(arguments);
        let outcome: Outcome =
            command.env("PLIMSOLL_PROGRESS_SECONDS", seconds).output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        fs::remove_dir_all(storage.results()).unwrap();
        let lines = outcome.stderr.lines().filter(|line| line.starts_with("progress: "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let lines = told("1");
    assert!(lines.len() >= 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("progress: measuring, ")), "{lines:?}");
    assert_eq!(told("0"), Vec::<String>::new());
    assert_eq!(told("3600"), Vec::<String>::new(), "a short job says nothing");
}

#[test]
fn a_killed_experiment_loses_nothing_and_leaves_nothing() {
    let storage = Storage::with_targets(2);
    let mut child = storage.start_bench(&format!("{SLOWLY} --rounds 10 --rounds-max 10"));
    storage.wait_for_instances(2);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let measured = storage.instances().len();
    assert!(measured >= 2, "{measured}");
    // The workers see that their coordinator is gone, and clean up.
    storage.wait_until_empty();
    assert_eq!(storage.resume().status, Some(0));
    assert_eq!(storage.instances().len(), 20);
    storage.assert_nothing_left();
}

#[test]
fn a_target_that_vanishes_ends_the_experiment_with_what_was_measured() {
    let storage = Storage::with_targets(2);
    let child = storage.start_bench(&format!("{SLOWLY} --rounds 50 --rounds-max 50"));
    storage.wait_for_instances(4);
    fs::rename(&storage.targets[1], storage.folder.path().join("gone")).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("ost1") && outcome.stderr.contains("--resume"),
        "{}",
        outcome.stderr
    );
    let instances = storage.instances();
    assert!(instances.len() > 4 && instances.len() < 100);
    assert!(matches!(instances.last().unwrap().outcome, Ended::Failed(_)));
    assert_eq!(fs::read_dir(&storage.targets[0]).unwrap().count(), 0, "the other one is clean");
}

#[test]
fn a_target_that_fills_up_ends_the_experiment_with_what_was_measured() {
    let storage = Storage::with_targets(1);
    let Some(full) = SmallDisk::mount(&storage.targets[0], "32m") else { return };
    let arguments =
        "pipeline --caching synced --burst 4MiB --pause 50ms --rounds 90 --rounds-max 90";
    let mut child = storage.start_bench(arguments);
    storage.wait_for_instances(2);
    // Written by somebody else meanwhile, also where the file of a burst was that is done.
    let mut other = fs::File::create(storage.targets[0].join("other")).unwrap();
    while child.try_wait().unwrap().is_none() {
        let _ = other.write_all(&[1; 1 << 16]);
    }
    drop(other);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("No space left"), "{}", outcome.stderr);
    assert!(storage.instances().len() > 2);
    fs::remove_file(storage.targets[0].join("other")).unwrap();
    storage.assert_nothing_left();
    drop(full);
}

#[test]
fn a_read_only_target_is_refused() {
    let storage = Storage::with_targets(1);
    let Some(_disk) = SmallDisk::mount(&storage.targets[0], "32m") else { return };
    let target = &storage.targets[0];
    assert!(
        Command::new("mount").args(["-o", "remount,ro"]).arg(target).status().unwrap().success()
    );
    let outcome = storage.bench("pipeline --burst 64KiB --transfer 64KiB");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("read-only"), "{}", outcome.stderr);
}

#[test]
fn precision_and_budget_end_an_experiment_early() {
    let precise = Storage::with_targets(1);
    let result = precise.bench_fine(
        "pipeline --burst 64KiB --transfer 64KiB --rounds 6 --rounds-max 2000 --precision 99%",
    );
    assert!(result["ending"].as_str().unwrap().contains("as precise as asked"), "{result}");
    // Twenty are the least for an interval, which must have stayed narrow for a third of the rounds.
    assert!((30..2000).contains(&precise.instances().len()));
    let bounded = Storage::with_targets(1);
    let result = bounded.bench_fine(
        "pipeline --burst 1MiB --rounds 6 --rounds-max 200 --precision 0.1% --budget-bytes 10MiB",
    );
    let ending = result["ending"].as_str().unwrap();
    let said = "the budget is spent, and the precision of 0.1 % was not reached: a median of fewer than 30 rounds";
    assert!(ending.contains(said), "{ending}");
    assert_eq!(bounded.instances().len(), 10);
}

#[test]
fn a_precision_that_was_not_reached_is_not_claimed() {
    let storage = Storage::with_targets(1);
    let result = storage.bench_fine(
        "pipeline --burst 64KiB,128KiB --transfer 64KiB --rounds 6 --rounds-max 32 --precision 0.01%",
    );
    let ending = result["ending"].as_str().unwrap();
    let said = "complete, but the precision of 0.01 % was not reached";
    assert!(ending.starts_with(said) && ending.contains("of 2 of 2 settings"), "{ending}");
    assert!(ending.contains("rounds might be enough"), "{ending}");
}
