//! `plimsoll report` and `plimsoll compare` on recordings of real programs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, program, run_recorded};

mod first_screen;
mod planted;
mod runtime;
pub mod summaries;

pub fn json(arguments: &[&str]) -> Value {
    let output = binary().args(arguments).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = document["schema"].as_str().unwrap();
    assert!(["plimsoll.report/2", "plimsoll.compare/2"].contains(&schema), "{schema}");
    document["result"].clone()
}

/// Records `traps NAME out COUNT` into a folder of that name.
pub fn recorded(folder: &Path, name: &str, count: u64) -> String {
    let rec = folder.join(name);
    let traps = program("traps.c", "cc", &[]);
    let out = folder.join("out");
    let command = [traps.to_str().unwrap(), name, out.to_str().unwrap(), &count.to_string()];
    assert_eq!(run_recorded(&rec, &command).status, Some(0));
    rec.to_str().unwrap().to_string()
}

#[test]
fn totals_add_up_and_every_key_is_there() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let report = json(&["report", &recorded(folder.path(), "plain", 1000)]);
    let totals = report["totals"].as_array().unwrap();
    let of = |operation: &str| {
        let row = totals.iter().find(|row| row["operation"] == operation).unwrap();
        (row["calls"].as_u64().unwrap(), row["bytes"].as_u64().unwrap())
    };
    assert_eq!(of("pwrite"), (1000, 16_000));
    assert_eq!(of("fsync"), (1, 0));
    assert!(totals.iter().all(|row| row["seconds"].is_number() && row["layer"].is_string()));
    for direction in ["read", "write"] {
        for key in
            ["perceived", "first_to_last", "data_only", "effective_mpi", "effective_posix", "layer"]
        {
            let value = report["bandwidth"][direction].get(key);
            assert!(value.is_some(), "{direction} {key}");
            assert!(direction == "write" || value == Some(&Value::Null), "nothing was read");
        }
    }
    let write = &report["bandwidth"]["write"];
    assert_eq!((&write["layer"], &write["effective_mpi"]), (&"posix".into(), &Value::Null));
    let rate = |key: &str| write[key].as_f64().unwrap();
    let ratio = rate("data_only") / rate("effective_posix");
    assert!((0.5..1.5).contains(&ratio), "one process writes one by one: {ratio}");
    assert!(rate("perceived") < rate("data_only"), "the fsync takes time, too");
    let files = report["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"].as_str().unwrap().ends_with("/out")));
    assert_eq!(report["ranks"].as_array().unwrap().len(), 1);
    assert_eq!((&report["lost_events"], &report["clock_error_seconds"]), (&0.into(), &0.0.into()));
    assert!(report["findings"].is_array());
}

#[test]
fn a_clean_program_gets_no_finding() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("out");
    let rec = folder.path().join("rec");
    let of = format!("of={}", out.display());
    let outcome = run_recorded(
        &rec,
        &["dd", "if=/dev/zero", &of, "bs=4M", "count=16", "conv=fsync", "status=none"],
    );
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let report = json(&["report", rec.to_str().unwrap()]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "{}", report["findings"]);
}

#[test]
fn the_page_is_one_file_without_links_outward() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = recorded(folder.path(), "forks", 500);
    let page = folder.path().join("report.html");
    let output = binary().args(["report", &rec, "--html"]).arg(&page).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let html = fs::read_to_string(&page).unwrap();
    assert!(
        html.to_lowercase().starts_with("<!doctype html>") && html.trim_end().ends_with("</html>")
    );
    for outward in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outward), "{outward}");
    }
    for part in [
        "The run",
        "I/O in the run time",
        "<figcaption>I/O takes ",
        "<figcaption>What each process does: ",
        "Bandwidth",
        "Findings",
        "Over time",
        "Bytes written, by process and time",
        "most common request sizes",
        "Counters of every operation, file by file",
        "Files of the runtime",
        "Processes",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

/// Kinds of calls have their colours, headings say what is seen, and the verdict comes first.
#[test]
fn two_recordings_have_one_page_with_one_time_line() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let before = recorded(folder.path(), "plain", 3000);
    let after = recorded(folder.path(), "quick", 30);
    let page = folder.path().join("change.html");
    let file = page.to_str().unwrap();
    let output = binary().args(["compare", &before, &after, "--html", file]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let again = binary().args(["compare", &before, &after, "--html", file]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "nothing is replaced without --force");
    let html = fs::read_to_string(&page).unwrap();
    let verdict = html.find("The second run is ").expect("the verdict");
    assert!(verdict < html.find("<figure").unwrap());
    assert!(html.contains(" changes most: ") || html.contains("by kind is about the same"));
    let map = html.split_once("\"kind\":\"heat\"").unwrap().1.split_once("</script>").unwrap().0;
    let rows = map.split_once("\"rows\":[").unwrap().1.split_once(']').unwrap().0;
    let (first, second) = rows.split_once(",\"\",").expect("an empty row between the two");
    assert!(first.starts_with("\"before, ") && second.starts_with("\"after, "), "{rows}");
    let classes = map.split_once("\"classes\":[").unwrap().1.split_once(']').unwrap().0;
    let colours = map.split_once("\"colours\":[").unwrap().1.split_once(']').unwrap().0;
    let known = ["read", "write", "metadata", "sync", "lock", "waiting in MPI-IO", "other"];
    for (class, colour) in classes.split(',').zip(colours.split(',')) {
        let place = known.iter().position(|it| format!("\"{it}\"") == class);
        assert_eq!(place.map(|it| it.to_string()).as_deref(), Some(colour), "{classes} {colours}");
    }
    assert!(html.contains("Made by plimsoll compare."));
}

#[test]
fn compare_says_what_changed() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let before = recorded(folder.path(), "plain", 3000);
    let after = recorded(folder.path(), "quick", 30);
    let changes = json(&["compare", &before, &after]);
    let pwrite =
        changes["operations"].as_array().unwrap().iter().find(|it| it["operation"] == "pwrite");
    let pwrite = pwrite.unwrap();
    assert_eq!((&pwrite["calls_before"], &pwrite["calls_after"]), (&3000.into(), &30.into()));
    assert!(changes["speedup"].as_f64().unwrap() > 0.0);
    assert!(["faster", "slower", "about the same"].contains(&changes["verdict"].as_str().unwrap()));
}

#[test]
fn what_is_not_a_recording_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let report =
        |path: &Path| -> Outcome { binary().arg("report").arg(path).output().unwrap().into() };
    let empty = report(folder.path());
    assert_eq!(empty.status, Some(2));
    assert!(empty.stderr.contains("is not a recording"), "{}", empty.stderr);
    assert_eq!(report(&folder.path().join("nowhere")).status, Some(2));
    fs::write(folder.path().join("x.rec"), "junk").unwrap();
    let junk = report(folder.path());
    assert_eq!(junk.status, Some(2));
    assert_eq!(junk.stderr.lines().count(), 1, "{}", junk.stderr);
}

#[test]
fn damage_costs_only_what_is_damaged() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = recorded(folder.path(), "plain", 60_000);
    let file = fs::read_dir(&rec).unwrap().map(|it| it.unwrap().path());
    let mut file = file.filter(|it| it.extension().is_some_and(|it| it == "rec"));
    let file = file.next().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&file, &bytes).unwrap();
    let report = json(&["report", &rec]);
    let calls: u64 =
        report["totals"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).sum();
    assert!(calls > 40_000 && calls < 60_004, "{calls}");
    assert!(report["notes"].to_string().contains("damage"), "{}", report["notes"]);
}

/// Most processes and phases are small here, and the last ones are not.
#[test]
fn tables_that_are_cut_keep_what_matters() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let script = "for i in $(seq 20); do cat /etc/hostname > /dev/null; sleep 0.03; done; \
                  dd if=/dev/zero of=big bs=1M count=20 conv=fsync";
    let mut command = binary();
    command.args(["record", "-q", "-o"]).arg(&rec).args(["sh", "-c", script]);
    command.env("PLIMSOLL_LIBRARY", library()).current_dir(folder.path());
    assert!(command.output().unwrap().status.success());
    let report = |more: &[&str]| -> Outcome {
        binary().arg("report").arg(&rec).args(more).output().unwrap().into()
    };
    let shown = report(&["--wide"]).stdout;
    let after = |title: &str| shown.split_once(title).unwrap_or_else(|| panic!("{shown}")).1;
    let slowest = after("slowest process").lines().next().unwrap().trim();
    let first = after("processes, most time first\n").lines().nth(1).unwrap();
    assert!(first.trim_start().starts_with(slowest), "{slowest}: {shown}");
    let phases = after("I/O phases\n").split("\n\n").next().unwrap();
    // All others are a few bytes. Where the machine is busy, what was written may be two phases.
    assert!(phases.contains(" MiB"), "{shown}");
    assert!(shown.contains("phases that are not shown: "), "{shown}");
    let nothing = folder.path().join("nothing");
    let mut command = binary();
    command.args(["record", "-q", "-o"]).arg(&nothing).arg("true");
    assert!(command.env("PLIMSOLL_LIBRARY", library()).output().unwrap().status.success());
    let json = binary().arg("report").arg(&nothing).arg("--json").output().unwrap().stdout;
    assert!(!String::from_utf8(json).unwrap().contains("-0.0"), "a time of nothing");
}
