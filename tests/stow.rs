//! `plimsoll stow`: files as containers on many targets, and what becomes of them when targets fill up or go away.

mod full_disk;
mod holes;
mod homes;
mod mount;
mod mount_bytes;
mod mount_hostile;
mod run;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Target, Writer};
use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::storage::{SmallDisk, Storage};

/// A folder with targets, and the program run in it.
struct Place {
    storage: Storage,
}

impl Place {
    fn new(targets: usize) -> Self {
        Place { storage: Storage::with_targets(targets) }
    }

    fn path(&self) -> &Path {
        self.storage.folder.path()
    }

    fn run(&self, arguments: &str) -> Outcome {
        let mut command = binary();
        command.arg("stow").args(arguments.split_whitespace()).current_dir(self.path());
        command.output().unwrap().into()
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        let outcome = self.run(&format!("{arguments} --json"));
        assert!(outcome.status.is_some_and(|it| it < 2), "{arguments}: {}", outcome.stderr);
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
        document["result"].clone()
    }

    /// Makes a plain file of this length, whose bytes all differ from their neighbours.
    fn plain(&self, name: &str, length: usize) -> Vec<u8> {
        let bytes: Vec<u8> = (0..length as u64).map(|it| (it * it / 7 + it) as u8).collect();
        fs::write(self.path().join(name), &bytes).unwrap();
        bytes
    }

    /// Writes a file that only its owner can open.
    fn private(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[track_caller]
    fn cat(&self, arguments: &str) -> Vec<u8> {
        let mut command = binary();
        command.args(["stow", "cat"]).args(arguments.split_whitespace()).current_dir(self.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

#[test]
fn a_file_goes_into_a_container_and_comes_back() {
    let place = Place::new(3);
    let bytes = place.plain("big.dat", 9_000_001);
    let copied = place.json("cp big.dat big --targets ost0,ost1,ost2 --policy striped");
    assert_eq!((&copied["copied_bytes"], &copied["targets"]), (&9_000_001.into(), &3.into()));
    let info = place.json("info big");
    assert_eq!((&info["size"], &info["logs"]), (&9_000_001.into(), &3.into()));
    assert!(info["segments"].as_u64() > Some(2) && info["index_bytes"].as_u64() > Some(0));
    let targets = info["targets"].as_array().unwrap();
    let names: Vec<&str> = targets.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ost0", "ost1", "ost2"]);
    let on_targets: u64 = targets.iter().map(|it| it["bytes"].as_u64().unwrap()).sum();
    assert_eq!(on_targets, 9_000_001);
    assert!(place.cat("big") == bytes);
    let checked = place.run("check big");
    assert_eq!(checked.status, Some(0), "{}", checked.stdout);
    assert_eq!(place.run("cp big back.dat").status, Some(0));
    assert!(fs::read(place.path().join("back.dat")).unwrap() == bytes);
    assert_eq!(place.run("cp big other --targets ost0 --policy static").status, Some(0));
    assert!(place.cat("other") == bytes);
    let entries = place.json("ls .");
    let kinds: Vec<(&str, &str)> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["kind"].as_str().unwrap()))
        .filter(|(_, kind)| *kind != "directory")
        .collect();
    let expected =
        [("back.dat", "file"), ("big", "container"), ("big.dat", "file"), ("other", "container")];
    assert_eq!(kinds, expected);
    assert_eq!(place.json("stat big")["containers"][0]["size"], 9_000_001);
    assert_eq!(place.json("du big")["targets"].as_array().unwrap().len(), 3);
    assert_eq!(place.run("rm other").status, Some(0));
    assert_eq!(place.run("flatten big").status, Some(0));
    assert!(fs::read(place.path().join("big")).unwrap() == bytes);
    place.storage.assert_nothing_left();
}

#[test]
fn targets_may_be_named_from_the_directory_above() {
    let place = Place::new(2);
    fs::create_dir(place.path().join("sub")).unwrap();
    let bytes = place.plain("plain", 100_000);
    let outcome = place.run("cp plain big --targets sub/../ost0,sub/../ost1");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(place.cat("big"), bytes);
}

#[test]
fn compacting_keeps_what_is_seen_and_writes_the_index() {
    let place = Place::new(2);
    let bytes = place.plain("big.dat", 3_000_000);
    place.json("cp big.dat big --targets ost0,ost1");
    let note = place.run("info big").stdout;
    assert!(note.contains("no merged index is used: there is none"), "{note}");
    let compacted = place.json("compact big --below 100");
    assert!(compacted["merged_index_bytes"].as_u64() > Some(0), "{compacted}");
    // Every segment has a slot page beside what is seen, so that all of them are copied.
    assert_eq!(compacted["copied_bytes"], 3_000_000);
    let info = place.json("info big");
    assert_eq!(info["merged_index_bytes"], compacted["merged_index_bytes"]);
    assert!(place.cat("big") == bytes);
    assert_eq!(place.run("check big").status, Some(0));
}

#[test]
fn what_makes_no_sense_is_told_in_one_line_with_a_hint() {
    let place = Place::new(1);
    place.plain("file", 100);
    for (arguments, told) in [
        ("cp file big", "which targets?"),
        ("cp file big --targets missing", "no target of"),
        ("cp file ost0 --targets ost0", "exists; hint"),
        ("cp nothing big --targets ost0", "cannot read nothing"),
        ("cp file big --targets ost0 --policy static --throttle 0.1", "for --policy window"),
        ("cp file big --targets ost0 --throttle optimal", "hint: --throttle 0.1"),
        ("cat file", "Not a directory"),
        ("cat ost0", "is not a container: it has no plimsoll-container; hint"),
        ("info nothing", "No such file"),
        ("cp file big --targets ost0,x/../ost0", "two targets are called"),
    ] {
        let mut command = binary();
        command.arg("stow").args(arguments.split_whitespace()).current_dir(place.path());
        let outcome: Outcome = command.env("PLIMSOLL_SITE", "").output().unwrap().into();
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(told), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments}: {}", outcome.stderr);
    }
    place.storage.assert_nothing_left();
    let hidden: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(hidden.len(), 2, "half a container is none: {hidden:?}");
}

#[test]
fn a_target_that_went_away_is_named_and_never_read_as_zeros() {
    let place = Place::new(2);
    let bytes = place.plain("big.dat", 9_000_000);
    let copied = place.run("cp big.dat big --targets ost0,ost1 --policy striped");
    assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    fs::rename(place.path().join("ost1"), place.path().join("moved")).unwrap();
    let outcome = place.run("cat big");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("log 1 on target ost1: No such file"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("bytes 0 to "), "{}", outcome.stderr);
    let found = place.run("check big");
    assert_eq!(found.status, Some(1));
    assert!(found.stdout.contains("log 1 on target ost1"), "{}", found.stdout);
    let info = place.json("info big");
    assert!(info["lost_bytes"].as_u64() > Some(0) && info["size"].is_null(), "{info}");
    let outcome = place.run("stat big");
    assert_eq!(outcome.status, Some(1));
    let told = "the size of big cannot be told: log 1 on target ost1: No such file";
    assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
    assert!(place.json("stat big")["containers"][0]["size"].is_null());
    assert_eq!(place.run("ls").status, Some(0));
    assert!(place.cat("big --targets ost1=moved") == bytes);
    let rest = place.run("rm big");
    assert_eq!(rest.status, Some(1), "{}", rest.stderr);
    assert!(rest.stderr.contains("log 1 on target ost1 is left"), "{}", rest.stderr);
}

#[test]
fn a_full_target_is_left_for_others_and_the_last_one_tells_why() {
    let place = Place::new(2);
    let Some(_disk) = SmallDisk::mount(&place.storage.targets[0], "1m") else { return };
    let bytes = place.plain("big.dat", 6_000_000);
    let outcome = place.run("cp big.dat big --targets ost0,ost1");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("target ost0 took no more"), "{}", outcome.stderr);
    assert!(place.cat("big") == bytes);
    assert_eq!(place.run("check big").status, Some(0));
    let outcome = place.run("cp big.dat none --targets ost0");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("No space left on device"), "{}", outcome.stderr);
    assert!(!place.path().join("none").exists());
    assert_eq!(place.run("rm big").status, Some(0));
    place.storage.assert_nothing_left();
}

#[test]
fn a_damaged_record_is_told_by_its_place_in_the_file() {
    let place = Place::new(1);
    let bytes = place.plain("big.dat", 500_000);
    assert_eq!(place.run("cp big.dat big --targets ost0").status, Some(0));
    let folder = fs::read_dir(&place.storage.targets[0]).unwrap().next().unwrap().unwrap().path();
    let log = folder.join("log-0000");
    let mut damaged = fs::read(&log).unwrap();
    let place_of_data = damaged.len() - 10_000;
    damaged[place_of_data] ^= 4;
    fs::write(&log, damaged).unwrap();
    let found = place.run("check big");
    assert_eq!(found.status, Some(1));
    assert!(found.stdout.contains("of the file: damaged"), "{}", found.stdout);
    let outcome = place.run("cp big back.dat");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("its checksum differs"), "{}", outcome.stderr);
    assert!(!place.path().join("back.dat").exists());
    let outcome = place.run("flatten big");
    assert_eq!(outcome.status, Some(2));
    assert_eq!(place.json("info big")["size"], bytes.len() as u64, "the container is still there");
}

#[test]
fn flattening_goes_on_where_it_was_interrupted() {
    let place = Place::new(1);
    let bytes = place.plain("big.dat", 5_000_000);
    assert_eq!(place.run("cp big.dat big --targets ost0").status, Some(0));
    // The first block is there, and what was half written.
    place.private("big/flat", &bytes[..4_500_000]);
    assert_eq!(place.run("flatten big").status, Some(0));
    assert!(fs::read(place.path().join("big")).unwrap() == bytes);
    // What is there and wrong is noticed, removed, and the container stays.
    assert_eq!(place.run("cp big.dat second --targets ost0").status, Some(0));
    place.private("second/flat", &vec![1; 4_500_000]);
    let outcome = place.run("flatten second");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("is not what the container holds"), "{}", outcome.stderr);
    assert!(place.cat("second") == bytes && !place.path().join("second/flat").exists());
    // One that others could open is not gone on with.
    fs::write(place.path().join("second/flat"), vec![1; 4_500_000]).unwrap();
    fs::set_permissions(place.path().join("second/flat"), fs::Permissions::from_mode(0o644))
        .unwrap();
    assert_eq!(place.run("flatten second").status, Some(0));
}

#[test]
fn a_copy_to_stdout_is_the_file_and_nothing_else() {
    let place = Place::new(1);
    fs::write(place.path().join("text"), "content").unwrap();
    assert_eq!(place.run("cp text big --targets ost0").status, Some(0));
    for options in ["", " --json"] {
        let copied = place.run(&format!("cp big /dev/stdout{options}"));
        assert_eq!((copied.status, copied.stdout.as_str()), (Some(0), "content"));
        assert!(copied.stderr.contains("copied"), "{}", copied.stderr);
    }
}

/// What is in a container is part of it, or keeps it from being removed.
#[test]
fn nothing_is_copied_into_a_container() {
    let place = Place::new(1);
    fs::write(place.path().join("text"), "content").unwrap();
    assert_eq!(place.run("cp text big --targets ost0").status, Some(0));
    for command in ["cp text big/in --targets ost0", "cp big big/in"] {
        let refused = place.run(command);
        assert_eq!(refused.status, Some(2), "{command}: {}", refused.stdout);
    }
    assert_eq!(place.run("rm big").status, Some(0));
}

#[test]
fn a_copy_that_is_interrupted_leaves_nothing() {
    let place = Place::new(2);
    let mut copy = binary()
        .args(["stow", "cp", "/dev/stdin", "big", "--targets", "ost0,ost1"])
        .current_dir(place.path())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = copy.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, &vec![1; 9 << 20]).unwrap();
    let pid = rustix::process::Pid::from_child(&copy);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    drop(pipe);
    let outcome: Outcome = copy.wait_with_output().unwrap().into();
    assert_eq!(outcome.status, Some(143), "{}", outcome.stderr);
    place.storage.assert_nothing_left();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "the targets");
}

/// The attack: whoever is waited for half a second at each of his containers keeps a listing for hours.
#[test]
fn containers_that_somebody_holds_are_listed_as_such_and_one_is_waited_for() {
    const CONTAINERS: usize = 100;
    let place = Place::new(1);
    let target = Target { name: "ost0".into(), path: place.storage.targets[0].clone() };
    let held: Vec<fs::File> = (0..CONTAINERS)
        .map(|number| {
            let path = place.path().join(format!("box{number:03}"));
            Container::create(&path, std::slice::from_ref(&target)).unwrap();
            // The owner's readers share this lock where it is there, and the marker where it is not.
            let file = fs::File::create(path.join("lock-readers")).unwrap();
            file.lock().unwrap();
            file
        })
        .collect();
    let kinds = || -> Vec<String> {
        let entries = place.json("ls .")["entries"].clone();
        let boxes = entries.as_array().unwrap().iter();
        let boxes = boxes.filter(|it| it["name"].as_str().unwrap().starts_with("box"));
        boxes.map(|it| it["kind"].as_str().unwrap().to_string()).collect()
    };
    let holder = format!("container, held by process {} of user ", std::process::id());
    let listed = kinds();
    assert_eq!(listed.len(), CONTAINERS);
    assert!(listed.iter().all(|it| it.starts_with(&holder)), "{listed:?}");
    drop(held);
    assert_eq!(kinds(), vec!["container"; CONTAINERS]);
}

/// Each of them is told by a line, and no line looks through the whole container.
#[test]
fn thousands_of_damaged_records_are_told() {
    const RECORDS: u64 = 20_000;
    let place = Place::new(1);
    let target = Target { name: "ost0".into(), path: place.storage.targets[0].clone() };
    let container = Container::create(&place.path().join("box"), &[target]).unwrap();
    let container = Arc::new(container);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    for number in 0..RECORDS {
        // Not side by side, so that each is a record of its own.
        writer.write_at(b"precious", number * 16).unwrap();
    }
    writer.close().unwrap();
    let log = place.storage.targets[0].join(format!("plimsoll-stow-{}/log-0000", container.id()));
    let mut content = fs::read(&log).unwrap();
    let mut at = 0;
    while let Some(next) = content[at..].windows(8).position(|it| it == b"precious") {
        at += next + 8;
        content[at - 1] ^= 1;
    }
    fs::write(&log, content).unwrap();
    let found = place.json("check box");
    assert_eq!(found["problems"], RECORDS);
    let lines = found["found"].as_array().unwrap();
    assert_eq!(lines.len() as u64, RECORDS);
    assert_eq!(lines[7]["where"], "log 0 on target ost0");
    assert_eq!(lines[7]["problem"], "bytes 112 to 120 of the file: damaged");
}
