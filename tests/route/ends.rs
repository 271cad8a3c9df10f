//! The ways in which a race ends before its time.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::command::Outcome;
use crate::support::storage::{SmallDisk, Storage};

const BLOCK_BYTES: u64 = 4 << 20;
const BLOCKS: u64 = 24;
const VICTIM: u32 = 2;

impl Storage {
    fn start_race(&self, arguments: &str) -> Child {
        let course = format!("--writers 3 --blocks {BLOCKS} --block-size 4MiB --json");
        let mut command = self.race_command(&format!("{course} {arguments}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Files of a writer that have data.
    fn written(&self, writer: u32) -> Vec<PathBuf> {
        let directories = self.targets.iter().flat_map(|target| fs::read_dir(target).unwrap());
        let files = directories.flatten().map(|entry| entry.path().join(format!("writer{writer}")));
        files.filter(|it| fs::metadata(it).is_ok_and(|facts| facts.blocks() > 0)).collect()
    }

    /// Waits until a writer of the race has written something. False when the program ended.
    #[track_caller]
    fn wait_for_data(&self, writer: u32, child: &mut Child) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.written(writer).is_empty() {
            assert!(Instant::now() < deadline, "no data");
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

/// The process that has a file open.
fn process_of(file: &str, parent: &Child) -> Option<Pid> {
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let text = fs::read_to_string(children).ok()?;
    let pids = text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok());
    let has_open = |pid: &i32| {
        let Ok(links) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        links.flatten().any(|link| {
            fs::read_link(link.path()).is_ok_and(|it| it.to_string_lossy().ends_with(file))
        })
    };
    pids.into_iter().find(has_open).and_then(Pid::from_raw)
}

fn can_run(outcome: &Outcome) -> bool {
    let can = !outcome.stderr.contains("io_uring is not available");
    if !can {
        eprintln!("SKIPPED: needs io_uring");
    }
    can
}

#[test]
fn a_writer_that_is_killed_costs_its_own_data_and_nobody_elses() {
    let mut hits = 0;
    for policy in ["static", "striped", "paper:none", "paper-split:0.5", "window"] {
        let storage = Storage::with_targets(2);
        let mut child = storage.start_race(&format!("--policy {policy} --rounds 2 --verify"));
        // The third: before the races, rates are measured with one writer for each target.
        if !storage.wait_for_data(VICTIM, &mut child) {
            let outcome = Outcome::from(child.wait_with_output().unwrap());
            assert!(!can_run(&outcome), "{}", outcome.stderr);
            return;
        }
        let killed = process_of(&format!("/writer{VICTIM}"), &child)
            .map(|pid| kill_process(pid, Signal::KILL));
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        storage.assert_nothing_left();
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        let runs = result["result"]["runs"].as_array().cloned().unwrap_or_default();
        let harmed: Vec<&Value> = runs.iter().filter(|run| run["lost_bytes"] != 0).collect();
        // It may have been done with its own before the signal came; then nothing is lost.
        if killed.is_none() || harmed.is_empty() {
            assert_eq!(outcome.status, Some(0), "{policy}: {}", outcome.stderr);
            continue;
        }
        hits += 1;
        assert_eq!(outcome.status, Some(1), "{policy}: {}", outcome.stderr);
        assert_eq!(harmed.len(), 1, "{policy}: the next race has new writers");
        let lost = harmed[0]["lost_bytes"].as_u64().unwrap();
        assert!(lost <= BLOCKS * BLOCK_BYTES, "{policy}: {lost}");
        let on_targets = harmed[0]["targets"].as_array().unwrap().iter();
        let committed: u64 = on_targets.map(|it| it["target_bytes"].as_u64().unwrap()).sum();
        assert_eq!(committed + lost, 3 * BLOCKS * BLOCK_BYTES, "{policy}");
        assert_eq!(harmed[0]["read_back_bytes"], committed, "{policy}");
        assert_eq!(harmed[0]["wrong_pages"], 0, "{policy}");
        let notes = result["result"]["notes"].to_string();
        let word = format!("writer {VICTIM} died (signal: 9");
        assert!(notes.contains(&word), "{policy}: {notes}");
    }
    assert!(hits > 0, "no signal came in time");
}

#[test]
fn an_interrupted_race_leaves_nothing_and_shows_what_was_measured() {
    let storage = Storage::with_targets(2);
    let mut child = storage.start_race("--policy window,static --rounds 1000");
    if !storage.wait_for_data(0, &mut child) {
        return;
    }
    std::thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, Some(130), "{}", outcome.stderr);
    storage.assert_nothing_left();
    if !outcome.stdout.is_empty() {
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(result["result"]["ending"], "interrupted");
    }
}

#[test]
fn a_killed_coordinator_leaves_nothing() {
    let storage = Storage::with_targets(2);
    let mut child = storage.start_race("--policy static --rounds 1000 --noise ost0:1");
    if !storage.wait_for_data(2, &mut child) {
        return;
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    // A kill between two races, when there are no writers, leaves empty directories; the next
    // run removes them.
    let deadline = Instant::now() + Duration::from_secs(10);
    while !storage.is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    storage.race_fine("--policy static --writers 1 --blocks 1 --block-size 4KiB --rounds 1");
    storage.wait_until_empty();
}

/// Room that a killed run has taken is there again.
#[test]
fn what_a_killed_run_left_is_removed_before_room_is_asked_for() {
    let storage = Storage::with_targets(1);
    let Some(_disk) = SmallDisk::mount(&storage.targets[0], "32m") else { return };
    let left = storage.targets[0].join(".plimsoll-work-0-1");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("owner"), rustix::system::uname().nodename().to_bytes()).unwrap();
    fs::write(left.join("writer0"), vec![1u8; 24 << 20]).unwrap();
    let course = "--policy static --writers 1 --blocks 4 --block-size 4MiB --buffered --rounds 1";
    let refused = storage.race(&format!("{course} --dry-run"));
    assert!(refused.stderr.contains("are free"), "a dry run removes nothing: {}", refused.stderr);
    let outcome = storage.race(course);
    assert!(outcome.stderr.contains("1 killed run(s)"), "{}", outcome.stderr);
    assert!(outcome.status == Some(0) || !can_run(&outcome), "{}", outcome.stderr);
    storage.assert_nothing_left();
}

/// What writers share with --shared: it stayed until the machine was started again.
#[test]
fn what_a_killed_run_left_in_memory_is_removed_by_the_next() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        eprintln!("SKIPPED: there is no /dev/shm here");
        return;
    }
    let left = memory.join(format!(".plimsoll-work-{}-left", std::process::id()));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("owner"), rustix::system::uname().nodename().to_bytes()).unwrap();
    fs::write(left.join("node"), "leases").unwrap();
    let storage = Storage::with_targets(1);
    storage.race_fine("--policy static --writers 1 --blocks 1 --block-size 4KiB --rounds 1");
    let is_there = left.exists();
    let _ = fs::remove_dir_all(&left);
    assert!(!is_there);
}

/// What a full target does not take goes elsewhere, by every policy.
#[test]
fn a_target_that_fills_up_costs_nothing() {
    for policy in ["static", "striped", "paper:0.1", "paper-split", "window"] {
        let storage = Storage::with_targets(2);
        let Some(_disk) = SmallDisk::mount(&storage.targets[1], "32m") else { return };
        // Three writers: before the races, rates are measured with one for each target.
        let course = "--writers 3 --blocks 8 --block-size 1MiB --buffered --json --verify";
        let mut command = storage.race_command(&format!("{course} --rounds 8 --policy {policy}"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        if !storage.wait_for_data(2, &mut child) {
            let outcome = Outcome::from(child.wait_with_output().unwrap());
            assert!(!can_run(&outcome), "{}", outcome.stderr);
            return;
        }
        // Somebody else takes whatever a race sets free. What is printed fits into the pipe.
        let path = storage.targets[1].join("other");
        let mut other = fs::File::create(&path).unwrap();
        while child.try_wait().unwrap().is_none() {
            let _ = other.write_all(&vec![1u8; 1 << 20]);
            std::thread::sleep(Duration::from_millis(1));
        }
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        let _ = fs::remove_file(path);
        storage.assert_nothing_left();
        assert_eq!(outcome.status, Some(0), "{policy}: {}", outcome.stderr);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let runs = result["result"]["runs"].as_array().unwrap();
        let refused = |run: &Value| run["failed_attempts"].as_u64().unwrap();
        assert!(runs.iter().map(refused).sum::<u64>() > 0, "{policy}");
        assert!(runs.iter().all(|run| run["lost_bytes"] == 0), "{policy}");
    }
}
