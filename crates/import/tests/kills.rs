//! Imports that are killed, that meet another import, and that go on beside what appends to the store.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_history::{Component, ComponentKind, Measure, Reading, Settings, Value, Writer};
use plimsoll_import::{Options, import};
use support::*;

/// Days of the table, each of which is given to the store on its own.
const DAYS: u64 = 40;
const START: u64 = 1_577_836_800;

/// What a process of its own imports, and where to.
const FILE: &str = "PLIMSOLL_TEST_IMPORTED_FILE";
const STORE: &str = "PLIMSOLL_TEST_IMPORTED_TO";

/// The process that is killed; as a test it does nothing.
#[test]
fn is_killed() {
    let (Some(file), Some(store)) = (std::env::var_os(FILE), std::env::var_os(STORE)) else {
        return;
    };
    match import(Path::new(&file), Path::new(&store), &Options::default()) {
        Ok(_) => {}
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}

fn importing(file: &Path, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "is_killed", "--nocapture"])
        .env(FILE, file)
        .env(STORE, store)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn table(folder: &Path, name: &str, targets: u64) -> PathBuf {
    let path = folder.join(name);
    let mut text = String::from("time,target,written_bytes,length_ms\n");
    for step in 0..DAYS * 48 {
        for target in 0..targets {
            let end = START + (step + 1) * 1800;
            text += &format!("{end},{name}-OST000{target},{},60000\n", step * 10 + target);
        }
    }
    fs::write(&path, text).unwrap();
    path
}

fn days(store: &Path) -> usize {
    let Ok(entries) = fs::read_dir(store) else { return 0 };
    let names = entries.filter_map(|it| Some(it.ok()?.file_name()));
    names.filter(|it| it.to_string_lossy().starts_with("day=")).count()
}

/// Killed at any moment, also while days are given one by one, the same import again makes the store what it would have been.
#[test]
fn what_a_killed_import_left_is_completed_by_the_same_again() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = table(folder.path(), "a", 3);
    let whole = folder.path().join("whole");
    import(&file, &whole, &Options::default()).unwrap();
    let (expected, mut in_between) = (read(&whole), 0);
    for kill in (0..36).step_by(3).chain(1..=4) {
        let store = folder.path().join(format!("store{kill}"));
        let mut child = importing(&file, &store);
        // Some after a time, others once so many days are there.
        if kill % 6 == 0 {
            std::thread::sleep(Duration::from_millis(kill * 5));
        } else {
            while days(&store) < kill as usize && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = days(&store) as u64;
        in_between += u64::from(left > 0 && left < DAYS);
        // A second kill, while it is completed.
        let mut child = importing(&file, &store);
        while (days(&store) as u64) < (left + DAYS) / 2 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let told = import(&file, &store, &Options::default()).unwrap().imported;
        assert_eq!((told.differing, told.overlapping), (0, 0));
        assert!(read(&store) == expected, "kill {kill}");
        let again = import(&file, &store, &Options::default()).unwrap().imported;
        assert_eq!((again.samples, again.already_there), (0, expected.len() as u64));
    }
    println!("{in_between} of 16 kills came while days were given");
}

/// One import goes on at a time: another says so, and changes nothing.
#[test]
fn of_two_imports_at_once_each_is_whole_or_says_that_another_goes_on() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let files = ["a", "b"].map(|it| table(folder.path(), it, 2));
    let store = folder.path().join("store");
    for _ in 0..4 {
        let children = files.each_ref().map(|file| importing(file, &store));
        for child in children {
            let output = child.wait_with_output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_refused = output.status.code() == Some(3) && words.contains("import");
            assert!(output.status.success() || is_refused, "{words}");
        }
    }
    for file in &files {
        import(file, &store, &Options::default()).unwrap();
    }
    let each = files.each_ref().map(|file| {
        let alone = folder.path().join("alone");
        import(file, &alone, &Options::default()).unwrap();
        let has = read(&alone);
        fs::remove_dir_all(alone).unwrap();
        has
    });
    assert!(read(&store) == each.into_iter().flatten().collect::<Samples>());
}

/// What a monitor appends meanwhile, and what is imported, are both there.
#[test]
fn an_import_goes_on_beside_what_appends() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = table(folder.path(), "a", 2);
    let store = folder.path().join("store");
    let mut writer = Writer::open(&store, Settings::default()).unwrap();
    let mut child = importing(&file, &store);
    let (mut second, mut is_over) = (0u64, false);
    let begin = START + (DAYS - 1) * 86_400;
    let mut appended = 0;
    // On until it is over, and then some more.
    while !is_over || second < 600 {
        let values = vec![Value::new(Measure::ReadBytes, second * 7)];
        let component = Component::new(ComponentKind::Ost, "m-OST0000");
        let time = (begin + second) * 1_000_000_000;
        let reading = Reading { component, server: "oss1".into(), time, epoch: 0, values };
        appended += writer.append(&[reading]).unwrap().samples;
        if second % 100 == 0 {
            writer.seal().unwrap();
        }
        second += 1;
        is_over |= second % 10 == 0 && child.try_wait().unwrap().is_some();
    }
    writer.seal().unwrap();
    drop(writer);
    assert!(child.wait().unwrap().success());
    let has = read(&store);
    let of_monitor = has.keys().filter(|it| it.1 == "m-OST0000").count() as u64;
    assert_eq!(of_monitor, appended);
    assert_eq!(has.len() as u64 - of_monitor, DAYS * 48 * 2);
}
