//! Wrong use gets one clear line and exit status 2, never a panic.

use crate::support::command::{Outcome, binary, plimsoll};

#[track_caller]
fn refused(arguments: &str, part: &str) {
    let outcome = plimsoll(arguments);
    let message = outcome.stderr.trim_end();
    assert_eq!(outcome.status, Some(2), "{arguments}: {message}");
    assert!(message.starts_with("error: "), "{arguments}: {message}");
    assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
    assert!(message.contains(part), "{arguments}: {message:?} should contain {part:?}");
    assert!(message.len() < 500, "{arguments}: {message}");
    assert_eq!(message.matches("os error").count() / 2, 0, "said twice: {message}");
    assert!(outcome.stdout.is_empty(), "{arguments}: {}", outcome.stdout);
}

#[test]
fn contention() {
    let with = |rest: &str| format!("model contention {rest}");
    refused(&with("--targets -5 --per-job 1 --jobs 1"), "is negative");
    refused(&with("--targets NaN --per-job 1 --jobs 1"), "not a whole number");
    refused(&with("--targets 0 --per-job 1 --jobs 1"), "--targets is 0");
    refused(&with("--targets 480 --per-job 481 --jobs 1"), "only 480");
    refused(&with("--targets 480 --per-job 0 --jobs 1"), "--per-job is 0");
    refused(&with("--targets 480 --per-job 160 --jobs 1000000000000"), "from 0 to 100000000");
    refused(&with("--targets 480 --per-job 160 --jobs 99999999999999999999999"), "too large");
    refused(&with("--targets 18446744073709551615 --per-job 2 --jobs 2"), "--targets is");
    refused(&with("--targets 480 --per-job 1.5 --jobs 2"), "not a whole number");
    refused(&with("--targets 480 --per-job 1,2 --jobs 3"), "lists 2 jobs");
    refused(&with("--targets 480 --per-job 2 --jobs 2 --max-load 0.5"), "at least 1");
    refused(&with("--targets 480 --per-job 2 --jobs 2 --max-load nan"), "not a finite number");
    refused(&with("--targets 480 --per-job 2 --jobs 2 --trials 0"), "--trials is 0");
    refused(&with("--targets 480 --per-job 2 --jobs 1000000 --trials 9000000"), "fewer --trials");
    refused(&with("--targets 1 --per-job 1 --jobs 100000000 --trials 2"), "--jobs with --trials");
    refused(&with(&format!("--targets {} --per-job 1", "x".repeat(5000))), "not a whole number");
    refused(&with("--targets 480 --jobs 1"), "--per-job");
    refused(&with("--per-job 2 --jobs 1"), "--targets");
}

#[test]
fn throttle() {
    let with = |rest: &str| format!("model throttle {rest}");
    refused(&with("--targets 0 --noisy 0 --noise 0"), "--targets is 0");
    refused(&with("--targets 16 --noisy 17 --noise 1"), "--noisy is 17");
    refused(&with("--targets 16 --noisy 0 --noise 1"), "at least one noisy target");
    refused(&with("--targets 16 --noisy 4 --noise 64 --tf -0.1"), "is negative");
    refused(&with("--targets 16 --noisy 4 --noise 64 --tf inf"), "not a finite number");
    refused(&with("--targets 16 --noisy 4 --noise 64 --data 1GiB"), "go together");
    refused(&with("--targets 16 --noisy 4 --noise 64 --data 0B --rate 1B/s"), "greater than zero");
    refused(&with("--rates 100MB/s,0B/s --data 1GB"), "greater than zero");
    refused(&with("--rates 100MB,1MB/s --data 1GB"), "unknown unit");
    refused(&with("--rates 100MB/s"), "--data");
}

#[test]
fn absorb_and_utilization() {
    let absorb = |rest: &str| format!("model absorb {rest}");
    refused(&absorb("--compute 1s --burst 1GB --cache 0B --drain 0B/s"), "greater than zero");
    refused(&absorb("--compute 1 --burst 1GB --cache 0B --drain 1GB/s"), "no unit");
    refused(&absorb("--compute 1s --burst 1Gb --cache 0B --drain 1GB/s"), "unknown unit \"Gb\"");
    refused(&absorb("--compute 1s --burst 1GB --cache 0B"), "no drain rate");
    refused(
        &absorb("--compute 1s --burst 1GB --cache 0B --drain 1GB/s --efficiency 0"),
        "greater than 0",
    );
    refused(&absorb("--compute 999999999999d --burst 1B --cache 0B --drain 1B/s"), "too large");

    let utilization = |rest: &str| format!("model utilization {rest}");
    refused(&utilization("--writes 4KiB=1 --interval 0s --write-cost 1ms,1e-9"), "--interval");
    refused(&utilization("--writes 4KiB=1 --interval 1s"), "no cost of a write");
    refused(&utilization("--interval 1s --write-cost 1ms,1e-9"), "no transactions");
    refused(&utilization("--writes 4KiB --interval 1s --write-cost 1ms,1e-9"), "SIZE=N");
    refused(&utilization("--writes 4KiB=-1 --interval 1s --write-cost 1ms,1e-9"), "is negative");
    refused(
        &utilization("--writes 4KiB=1 --interval 1s --write-cost 1ms,nan"),
        "the cost of a byte",
    );
    refused(
        &utilization("--writes 1PiB=18446744073709551615 --interval 1s --write-cost 1ms,1e-9"),
        "overflows",
    );
    refused(
        &utilization("--write-count 0 --write-bytes 1B --interval 1s --write-cost 1ms,1e-9"),
        "no operation",
    );
}

#[test]
fn commands_and_files_that_do_not_exist() {
    refused("modle", "unrecognized subcommand");
    refused("model contention --tragets 4", "--tragets");
    refused("site show /nowhere/site.toml", "plimsoll site init");
    refused("site check /dev/zero", "larger than");
    refused("site show /dev/null", "version = 1");
    refused("model contention --per-job 2 --site /dev/null", "version = 1");
    refused("testbed slow t0 5MiB", "MiB/s");
    refused("testbed up --targets 0 --size 64MiB", "targets");
    refused("testbed up --targets 2 --size 64Mb", "unknown unit");
}

#[test]
fn no_command_at_all_gets_the_help() {
    for arguments in ["", "model", "site", "testbed"] {
        let outcome = plimsoll(arguments);
        assert_eq!(outcome.status, Some(2));
        assert!(outcome.stderr.starts_with("Examples:"), "{}", outcome.stderr);
    }
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    use std::process::Stdio;
    let mut child = binary()
        .args(["model", "contention", "--targets", "480", "--per-job", "2", "--jobs", "4096"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The last line against files that make a command take more and more memory, whatever is in them.
#[test]
fn a_command_takes_no_more_memory_than_it_may() {
    let simulate = |most: &str| -> Outcome {
        let mut command = binary();
        command
            .args(["simulate", "quiet", "--seeds", "1", "--processes", "4096"])
            .env("PLIMSOLL_MEMORY", most);
        command.output().unwrap().into()
    };
    assert_eq!(simulate("1GiB").status, Some(0));
    let ended = simulate("1MiB");
    assert_eq!((ended.status, ended.stderr.lines().count()), (Some(2), 1), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: this takes more than 1MiB of memory; hint: "));
    let wrong = simulate("much");
    assert_eq!((wrong.status, wrong.stderr.lines().count()), (Some(2), 1), "{}", wrong.stderr);
}
