//! `plimsoll top`: one look for people and programs, and the live view in a terminal.

mod live;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;

use crate::support::command::{binary, json, plimsoll, samples, text};
use crate::support::growing::{CapturedTarget, while_working};

/// The history that version 1 of the program wrote.
fn history() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../history/tests/golden/v1").to_string()
}

fn named<'a>(rows: &'a Value, name: &str) -> &'a Value {
    let rows = rows.as_array().unwrap();
    rows.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
}

#[test]
fn a_server_whose_counters_grow_has_rates_and_one_that_stands_still_has_none() {
    let root = tempfile::tempdir().unwrap();
    let target = CapturedTarget::new(root.path(), "scratch-OST0003");
    CapturedTarget::new(root.path(), "scratch-OST0004");
    let arguments = format!("top --once --interval 500ms --root {}", root.path().display());
    let result = while_working(|| target.grow(), || json(&arguments));
    let target = named(&result["targets"], "scratch-OST0003");
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap_or_else(|| panic!("{target:#?}"));
        assert!((value / expected - 1.0).abs() < 0.02, "{value} {expected}: {target:#?}");
    };
    // By the server's own clock: 1000 writes of 100 kB a second, 0.1 ms and 50 µs each.
    near(&target["write_rate"], 1e8);
    near(&target["write_operation_rate"], 1000.0);
    near(&target["write_size"], 1e5);
    near(&target["fsu"], 15.0);
    assert_eq!(target["class"], "moderate");
    assert_eq!(target["read_rate"], 0.0, "nothing was read, and that is known");
    let still = named(&result["targets"], "scratch-OST0004");
    for key in ["fsu", "class", "read_rate", "write_rate", "operation_size"] {
        assert_eq!(still[key], Value::Null, "{key} is not known: {still:#?}");
    }
    let whole = &result["file_systems"][0];
    assert_eq!((&whole["name"], &whole["target_count"]), (&"scratch".into(), &2.into()));
    assert_eq!(whole["known_count"], 1);
    let notes = result["notes"].to_string();
    assert!(notes.contains("were assumed"), "{notes}");
}

#[test]
fn a_captured_server_of_metadata_has_its_operations_by_name() {
    let Some(samples) = samples("a server of metadata") else { return };
    let root = tempfile::tempdir().unwrap();
    let archive = samples.join("lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz");
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(root.path()).status();
    assert!(tar.unwrap().success());
    // Its other texts tell the time at which they were captured, and the last one that is read is that of the reading.
    fs::remove_dir_all(root.path().join("proc/fs/lustre/osd-zfs/lustrefs-MDT0000")).unwrap();
    let folder = root.path().join("proc/fs/lustre/mdt/lustrefs-MDT0000");
    for name in ["rename_stats", "job_stats"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let path = folder.join("md_stats");
    let captured = fs::read_to_string(&path).unwrap();
    let stats = OpenOptions::new().write(true).open(&path).unwrap();
    // As captured, but 100 more opens and 10 more closes a second.
    let grow = || {
        let seconds = UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let more = |line: &str| {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            words[1] = match words[0].as_str() {
                "snapshot_time" => format!("{seconds:.9}"),
                "open" => format!("{:020.0}", 1e6 + seconds * 100.0),
                "close" => format!("{:020.0}", 1e6 + seconds * 10.0),
                _ => format!("{:0>20}", words[1]),
            };
            words.join(" ") + "\n"
        };
        let text: String = captured.lines().map(more).collect();
        stats.write_all_at(text.as_bytes(), 0).unwrap();
        stats.set_len(text.len() as u64).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    };
    grow();
    let arguments = format!("top --once --interval 500ms --root {}", root.path().display());
    let result = while_working(grow, || json(&arguments));
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap_or_else(|| panic!("{result:#}"));
        assert!((value / expected - 1.0).abs() < 0.02, "{value} {expected}: {result:#}");
    };
    near(&named(&result["metadata"], "lustrefs-MDT0000")["metadata_operation_rate"], 110.0);
    let rate = |name: &str| {
        let all = result["metadata_operations"].as_array().unwrap();
        let operation = all.iter().find(|it| it["operation"] == name);
        &operation.unwrap_or_else(|| panic!("no {name} in {all:#?}"))["operation_rate"]
    };
    near(rate("opens"), 100.0);
    near(rate("closes"), 10.0);
    assert_eq!(*rate("get_attributes"), 0.0, "none came, and that is known");
    let targets = result["targets"].as_array().unwrap();
    assert!(targets.iter().all(|it| it["kind"] != "mdt"), "no target of data");
    assert_eq!(named(&result["targets"], "lustrefs-OST0000")["kind"], "ost");
}

#[test]
fn this_machine_under_load_shows_what_is_written() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let block = vec![7u8; 1 << 20];
    let path = folder.path().join("load");
    let (begun, mut written) = (Instant::now(), 0u64);
    let write = || {
        let mut file = File::create(&path).unwrap();
        (0..4).for_each(|_| file.write_all(&block).unwrap());
        file.sync_all().unwrap();
        written += 4 << 20;
        std::thread::sleep(Duration::from_millis(100));
    };
    let result = while_working(write, || json("top --once"));
    let rate = written as f64 / begun.elapsed().as_secs_f64();
    let targets = result["targets"].as_array().unwrap();
    let rates = targets.iter().filter_map(|it| it["write_rate"].as_f64());
    let most = rates.fold(0.0, f64::max);
    if targets.is_empty() || !has_device(folder.path()) {
        eprintln!("SKIPPED: needs a block device below /var/tmp");
        return;
    }
    // Nobody else's load makes it less; that of a busy machine makes our own uneven.
    assert!(most > 0.25 * rate, "{most} of {rate}: {targets:#?}");
    let busiest = targets.iter().find(|it| it["write_rate"].as_f64() == Some(most)).unwrap();
    assert!(busiest["fsu"].as_f64().unwrap() > 0.0, "{busiest:#?}");
    assert!(busiest["write_size"].as_f64().unwrap() > 0.0);
}

fn has_device(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = fs::metadata(path).unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
}

#[test]
fn a_store_is_shown_as_it_ends() {
    let result = json(&format!("top --once --store {}", history()));
    let targets = result["targets"].as_array().unwrap();
    assert!(!targets.is_empty());
    assert!(targets.iter().all(|it| it["fsu"].as_f64().is_some()), "{targets:#?}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("the last sample is") && notes.contains("were assumed"), "{notes}");
    let shown = text(&format!("top --once --store {}", history()));
    assert!(shown.contains("scratch-OST000") && shown.contains("were assumed"), "{shown}");
}

#[test]
fn costs_of_the_site_file_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site.toml");
    let assumed = json(&format!("top --once --store {}", history()));
    let target = |name: &str| {
        format!(
            "[[target]]\nname = \"{name}\"\npath = \"/there/{name}\"\n\
             [target.cost.read]\nseconds_per_operation = 0.001\nseconds_per_byte = 5e-9\n\
             [target.cost.write]\nseconds_per_operation = 0.001\nseconds_per_byte = 5e-9\n\n"
        )
    };
    let names: Vec<&str> = assumed["targets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    let all: String = names.iter().map(|name| target(name)).collect();
    fs::write(&site, format!("version = 1\n{all}")).unwrap();
    let arguments = format!("top --once --store {} --site {}", history(), site.display());
    let measured = json(&arguments);
    for name in names {
        let fsu = |of: &Value| named(&of["targets"], name)["fsu"].as_f64().unwrap();
        // Ten times what is assumed of an operation, and of a byte.
        let (once, ten) = (fsu(&assumed), fsu(&measured));
        assert!((ten - 10.0 * once).abs() <= 1e-6 * ten, "{name}: {once} {ten}");
    }
    assert!(!measured["notes"].to_string().contains("were assumed"));
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    for (arguments, words) in [
        ("top", "plimsoll top --once prints one table"),
        ("top --json", "plimsoll top --once --json"),
        ("top --once --interval 1us", "too short"),
        ("top --once --store /no/such/place", "/no/such/place"),
        ("top --store a --root b", "cannot be used with"),
    ] {
        let outcome = plimsoll(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
    }
    let empty = tempfile::tempdir().unwrap();
    let shown = binary().args(["top", "--once", "--root"]).arg(empty.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("(none)"));
}
