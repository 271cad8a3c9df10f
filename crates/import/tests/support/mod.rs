//! What tests of imports share.
#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_history::{HistoryError, Selection, Store};
use plimsoll_import::{ImportError, NoteKind, Options, Outcome, Zone, import};

/// By kind, target, measure and end: length and value.
pub type Samples = BTreeMap<(&'static str, String, &'static str, u64), (u64, u64)>;

pub fn read(store: &Path) -> Samples {
    let mut all = Samples::new();
    let outcome: Result<(), HistoryError> =
        Store::open(store).unwrap().read(&Selection::default(), |batch| {
            let of = &batch.series.component;
            for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
                let key = (of.kind.name(), of.name.clone(), batch.series.measure.name(), *end);
                assert_eq!(all.insert(key.clone(), (*length, *value)), None, "{key:?} came twice");
            }
            Ok(())
        });
    outcome.unwrap();
    all
}

/// A captured sample, if there is one.
pub fn sample(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("PLIMSOLL_SAMPLES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("SKIPPED: needs captured samples (PLIMSOLL_SAMPLES names their folder)");
    None
}

pub fn options() -> Options {
    Options { zone: Some(Zone::named("America/Los_Angeles").unwrap()), ..Options::default() }
}

pub fn take(path: &Path, store: &Path) -> Outcome {
    import(path, store, &options()).unwrap_or_else(|error| panic!("{error}"))
}

/// How often something was noted of which the words have this in them.
pub fn noted(outcome: &Outcome, kind: NoteKind, what: &str) -> u64 {
    let notes = outcome.notes.iter().filter(|it| it.kind == kind && it.what.contains(what));
    notes.map(|it| it.count).sum()
}

/// Runs a program of Python with h5py and numpy; false, with a word, where there is none.
pub fn python(program: &str, arguments: &[&Path]) -> bool {
    let python = Path::new("/usr/bin/python3");
    let has = |it: &str| {
        Command::new(python).args(["-c", it]).output().is_ok_and(|it| it.status.success())
    };
    if !has("import h5py, numpy") {
        eprintln!("SKIPPED: needs python3 with h5py");
        return false;
    }
    let output = Command::new(python).arg("-c").arg(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// All files of a store, with their content.
pub fn content(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![store.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => all.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

/// Imports a file from a path with one bit exchanged, again and again: each time it is an error of one line, or a history that can be read.
pub fn exchange_bits(bytes: &[u8], path: &Path, import: impl Fn(&Path) -> Result<(), ImportError>) {
    let mut random = 1u64;
    for _ in 0..200 {
        let mut damaged = bytes.to_vec();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = (random >> 33) as usize % damaged.len();
        damaged[place] ^= 1 << (random >> 61);
        fs::write(path, damaged).unwrap();
        let other = tempfile::tempdir().unwrap();
        let store = other.path().join("store");
        match import(&store) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(()) => drop(read(&store)),
        }
    }
}
