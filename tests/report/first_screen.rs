//! What a person sees first: whose run it was, what I/O cost it, how fast it was, what to change.

use serde_json::Value;

use crate::support::command::binary;
use crate::support::recording::{program, record};

/// Records a program that writes and syncs, as a user and in a job, and gives its report.
fn report(arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &[]);
    let status = record(&rec)
        .env("LOGNAME", "anna")
        .env("SLURM_JOB_ID", "4711")
        .env("PMIX_NAMESPACE", "123456")
        .args(["--", traps.to_str().unwrap(), "plain", out.to_str().unwrap(), "1000"])
        .status();
    assert!(status.unwrap().success());
    let output = binary().arg("report").arg(&rec).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn it_says_who_ran_what_when_and_where() {
    let report: Value = serde_json::from_slice(&report(&["--json"])).unwrap();
    let report = &report["result"];
    assert!(report["command"].as_str().unwrap().contains("traps.c-cc plain "), "{report}");
    assert_eq!((&report["user"], &report["job"]), (&"anna".into(), &"4711".into()));
    let began = report["began"].as_str().unwrap();
    assert!(began.starts_with("20") && began.ends_with('Z') && began.len() == 20, "{began}");
    assert!(!report["nodes"].as_str().unwrap().is_empty());
    assert_eq!((&report["processes"], &report["mpi_ranks"]), (&1.into(), &Value::Null));
    let io = &report["io"];
    let share = |key: &str| io[key].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share("share_of_run_time")), "{io}");
    assert_eq!(share("share_of_run_time"), share("median_share"), "of one process");
    assert_eq!(share("share_of_run_time"), share("slowest_share"));
    let kinds = io["by_kind"].as_array().unwrap();
    let sum: f64 = kinds.iter().map(|it| it["share_of_run_time"].as_f64().unwrap()).sum();
    assert!((sum - share("share_of_run_time")).abs() < 1e-9, "kinds add up: {io}");
    for kind in ["write", "sync", "metadata"] {
        assert!(kinds.iter().any(|it| it["kind"] == kind), "{kind}: {io}");
    }
    assert!(report["conclusion"].as_str().unwrap().starts_with("I/O took "), "{report}");
}

#[test]
fn the_parts_come_in_the_order_in_which_people_ask() {
    let text = String::from_utf8(report(&[])).unwrap();
    let parts = [
        "\n  command ",
        "\n  began ",
        "\n  job ",
        "\n  user ",
        "\n  nodes ",
        "\n  processes ",
        "\nI/O took ",
        "\nI/O in the run time\n",
        "\n  median process ",
        "\n  slowest process ",
        "\nbandwidth\n",
        "\nfindings, worst first\n",
        "\ncalls by layer and operation\n",
        "\nfiles, most time first\n",
        "\nmost common request sizes\n",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some), "{places:?} of {parts:?} in\n{text}");
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn shares_are_percentages() {
    let text = String::from_utf8(report(&[])).unwrap();
    let table = text.split("patterns of access\n").nth(1).unwrap();
    let row = table.lines().nth(1).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[0], "write", "{row}");
    // Sequential, strided and random requests, unaligned ones, bytes touched again.
    assert_eq!(cells.iter().filter(|cell| **cell == "%").count(), 5, "{row}");
    assert!(row.contains("100 %") && row.contains(" 0 %"), "{row}");
    let sizes = text.split("most common request sizes\n").nth(1).unwrap();
    assert!(sizes.lines().nth(1).unwrap().contains("16 B  1,000  100 %"), "{sizes}");
}

/// Where fsync takes all the time, a line for writes alone would show nothing of it.
#[test]
fn calls_in_flight_are_drawn_by_what_they_do() {
    let text = String::from_utf8(report(&[])).unwrap();
    let lines = text.split("POSIX calls in flight over time").nth(1).unwrap().lines().skip(1);
    let drawn: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let kinds: Vec<&str> = drawn.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(kinds, ["write", "sync", "metadata"], "{text}");
    for line in &drawn {
        assert!(line.contains('█'), "the greatest is drawn highest: {line}");
        let greatest: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        assert!((0.0..=1.0).contains(&greatest), "one process: {line}");
    }
}
