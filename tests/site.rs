//! `plimsoll site`: init, show, check.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::{Outcome, binary, samples};

fn site(folder: &Path, arguments: &[&str]) -> Outcome {
    binary().current_dir(folder).arg("site").args(arguments).output().unwrap().into()
}

fn shown(folder: &Path, arguments: &[&str]) -> Value {
    let outcome = site(folder, arguments);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
}

#[test]
fn init_writes_a_file_that_checks_and_never_overwrites_it() {
    let folder = tempfile::tempdir().unwrap();
    let written = shown(folder.path(), &["init", "--json"]);
    assert!(!written["clients"].as_array().unwrap().is_empty(), "this machine is a client");
    assert_eq!(shown(folder.path(), &["show", "--json"]), written);
    assert_eq!(site(folder.path(), &["check"]).status, Some(0));

    let file = folder.path().join("site.toml");
    let before = fs::read_to_string(&file).unwrap();
    let again = site(folder.path(), &["init"]);
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("--update"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn update_adds_what_is_new_and_keeps_every_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let mine = "# mine\nversion = 1 # keep me\n[[target]]\nname = \"own\"\npath = \"/\"\n";
    fs::write(&file, mine).unwrap();
    assert_eq!(site(folder.path(), &["init", "--update"]).status, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(mine), "{text}");
    assert_eq!(site(folder.path(), &["init", "--update"]).status, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "a second time adds nothing");
}

#[test]
fn init_to_standard_output_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = site(folder.path(), &["init", "-o", "-"]);
    assert_eq!(outcome.status, Some(0));
    assert!(outcome.stdout.contains("version = 1"), "{}", outcome.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn check_fails_for_what_this_machine_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[target]]\nname = \"a\"\npath = \"/nowhere/at/all\"\n";
    fs::write(folder.path().join("site.toml"), text).unwrap();
    let outcome = site(folder.path(), &["check"]);
    assert_eq!(outcome.status, Some(1), "a failed check, not wrong use");
    assert!(outcome.stdout.contains("/nowhere/at/all"), "{}", outcome.stdout);
    assert_eq!(site(folder.path(), &["check", "--offline"]).status, Some(0));
}

#[test]
fn broken_files_get_one_line_with_the_line_number() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("site.toml"), "version = 1\n[[target]]\nnmae = \"a\"\n").unwrap();
    let outcome = site(folder.path(), &["check"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.stderr.lines().count(), 1);
    assert!(outcome.stderr.contains("line 3: unknown field `nmae`"), "{}", outcome.stderr);
}

#[test]
fn models_take_from_the_site_what_flags_leave_out() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../domain/tests/golden/site-v1.toml");
    let model = |arguments: &str| -> Value {
        let output = binary()
            .args(["model"])
            .args(arguments.split_whitespace())
            .args(["--json", "--site", golden])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].clone()
    };
    assert_eq!(model("contention --per-job 1 --jobs 2")["targets"], 2);
    assert_eq!(model("contention --per-job 1 --jobs 2 --targets 7")["targets"], 7, "flags win");
    let flag =
        model("utilization --writes 1MiB=100 --interval 1s --target OST0000 --write-cost 1s,0");
    assert_eq!(flag["time"], 100.0, "flags win");
    let flags = model("utilization --writes 1MiB=100 --interval 1s --write-cost 1s,0");
    assert_eq!(flags["time"], 100.0, "no target is needed when flags say it all");
    let busy = model("utilization --writes 1MiB=100 --interval 1s --target OST0000");
    let seconds = 100.0 * (1.04e-3 + 1.73e-9 * 1048576.0);
    assert!((busy["time"].as_f64().unwrap() - seconds).abs() < 1e-9);
}

#[test]
fn the_drain_rate_is_that_of_all_targets_within_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| {
        format!("[[target]]\nname = \"{name}\"\npath = \"/\"\npeak = {{ write = \"3GB/s\" }}\n")
    };
    let drain = |limits: &str| -> f64 {
        let text = format!("version = 1\n{limits}\n{}{}", target("a"), target("b"));
        fs::write(folder.path().join("site.toml"), text).unwrap();
        let output = binary()
            .current_dir(folder.path())
            .args(
                "model absorb --compute 1s --burst 1GB --cache 0B --site site.toml --json"
                    .split(' '),
            )
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["result"]["drain"].as_f64().unwrap()
    };
    assert_eq!(drain(""), 6e9);
    assert_eq!(drain("limits = { network = \"5GB/s\" }"), 5e9);
}

#[test]
fn devices_on_servers_are_not_looked_for_here() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[server]]\nname = \"s\"\nrole = \"combined\"\n\
        [[target]]\nname = \"a\"\nserver = \"s\"\ndevice = \"/dev/no-such-disk\"\n";
    fs::write(folder.path().join("site.toml"), text).unwrap();
    assert_eq!(site(folder.path(), &["check"]).status, Some(0));
    fs::write(folder.path().join("site.toml"), text.replace("server = \"s\"\n", "")).unwrap();
    assert_eq!(site(folder.path(), &["check"]).status, Some(1));
}

/// A Lustre client's own /proc, captured by others: seven targets on two servers.
#[test]
fn lustre_targets_are_found_in_a_captured_tree() {
    let Some(samples) = samples("discovery of Lustre targets") else { return };
    let archive = samples.join("lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz");
    let root = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(root.path()).status();
    assert!(unpacked.unwrap().success());
    fs::create_dir_all(root.path().join("proc/self")).unwrap();
    let mount = "9 1 0:1 / /lustre rw - lustre 172.20.20.1@o2ib:/lustrefs rw\n";
    fs::write(root.path().join("proc/self/mountinfo"), mount).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    let found = shown(folder.path(), &["init", "--root", root, "--json"]);
    let targets = found["targets"].as_array().unwrap();
    let indexes: Vec<u64> = targets.iter().map(|it| it["lustre_index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(targets[3]["server"], "172.20.20.6@o2ib");
    assert_eq!(targets[3]["name"], "lustrefs-OST0003");
    let servers = found["servers"].as_array().unwrap();
    assert_eq!(servers.iter().filter(|server| server["role"] == "storage").count(), 2);
    assert_eq!(servers.iter().filter(|server| server["role"] == "metadata").count(), 1);
}
