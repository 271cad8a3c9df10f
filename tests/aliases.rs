//! One call has many names: `pread64`, `__pread64_chk`, `__xstat`, `fread_unlocked`. A program that
//! uses one which the recorder does not know does I/O that nobody sees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use plimsoll_trace::encode::NO_FILE;

use crate::support::recording::{
    Process, all_finished, assert_nothing_lost, has, library, processes, program, root,
    run_recorded,
};

/// Calls and bytes by file and operation; each function has a file with its own name.
type Sums = BTreeMap<(String, String), (u64, u64)>;

#[test]
fn every_name_of_every_call_is_recorded() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, files) = (folder.path().join("rec"), folder.path().join("files"));
    std::fs::create_dir(&files).unwrap();
    let app = program("aliases.c", "cc", &[]);
    let outcome = run_recorded(&rec, &[app.to_str().unwrap(), files.to_str().unwrap()]);
    let said = outcome.stderr.as_str();
    assert_eq!(outcome.status, Some(0), "{}", said.lines().last().unwrap_or(""));
    let recorded = processes(&rec);
    let (expected, found) = (expected(said), found(&recorded, &files));
    let differing: Vec<_> = expected
        .keys()
        .chain(found.keys())
        .filter(|key| expected.get(key) != found.get(key))
        .map(|key| format!("{key:?}: expected {:?}, found {:?}", expected.get(key), found.get(key)))
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_nothing_lost(&recorded);
    assert!(all_finished(&recorded));
    for name in words(said, "skip ") {
        eprintln!("SKIPPED: this C library has no {name}");
    }
    if has(&["nm"]) {
        let tried: BTreeSet<&str> = words(said, "call ").chain(words(said, "skip ")).collect();
        let exported = exported();
        let untried: Vec<_> = exported.iter().filter(|it| !tried.contains(it.as_str())).collect();
        assert!(untried.is_empty(), "tests/programs/aliases.c has no call of {untried:?}");
        let unknown: Vec<_> = tried.iter().filter(|it| !exported.contains(**it)).collect();
        assert!(unknown.is_empty(), "the library does not export {unknown:?}");
    }
}

/// What follows the word on lines that begin with it.
fn words<'a>(said: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    said.lines().filter_map(move |line| line.strip_prefix(word))
}

/// Lines `expect FILE OPERATION CALLS BYTES`.
fn expected(said: &str) -> Sums {
    let mut sums = Sums::new();
    for line in words(said, "expect ") {
        let [file, operation, calls, bytes]: [&str; 4] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        add(&mut sums, file, operation, calls.parse().unwrap(), bytes.parse().unwrap());
    }
    sums
}

/// The same from the recording: names of files up to the dot, `-` for calls on no file.
fn found(recorded: &[Process], folder: &Path) -> Sums {
    let mut sums = Sums::new();
    for process in recorded {
        for event in &process.events {
            let path = process.files.get(&event.file).map(Path::new);
            let name = match path.map(|path| path.strip_prefix(folder)) {
                Some(Ok(name)) => name.to_str().unwrap().split('.').next().unwrap_or(""),
                None if event.file == NO_FILE => "-",
                _ => continue,
            };
            add(&mut sums, name, event.op.name(), 1, event.bytes());
        }
    }
    sums
}

fn add(sums: &mut Sums, file: &str, operation: &str, calls: u64, bytes: u64) {
    let sum = sums.entry((file.to_string(), operation.to_string())).or_default();
    *sum = (sum.0 + calls, sum.1 + bytes);
}

/// The functions that the library stands in for, but MPI's, which have tests of their own, and those of which nothing is recorded.
fn exported() -> BTreeSet<String> {
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().unwrap();
    assert!(listed.status.success());
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
    let is_mpi = |name: &&str| name.to_lowercase().contains("mpi_");
    let unrecorded = unrecorded();
    let is_recorded = |name: &&str| !is_mpi(name) && !unrecorded.contains(*name);
    names.filter(is_recorded).map(str::to_string).collect()
}

/// The names that docs/coverage.md lists as not recorded.
fn unrecorded() -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let listed = page.split("\n## served\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = listed.lines().filter(|line| line.starts_with("- "));
    let names: BTreeSet<String> =
        rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_string)).collect();
    assert!(names.contains("scandir64"), "{names:?}");
    names
}
