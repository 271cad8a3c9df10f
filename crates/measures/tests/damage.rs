//! Damage, foreign files and full disks: told, never silent.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_measures::{Instance, JOURNAL, Journal, MeasuresError, Results};
use serde_json::json;

struct Experiment {
    _place: tempfile::TempDir,
    directory: PathBuf,
}

/// Ten instances; the journal is handed to the test.
fn experiment() -> (Experiment, Journal) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    let mut journal = Journal::create(&directory, "burst", "seed = 1\n", &json!({})).unwrap();
    for number in 0..10 {
        journal.append(&common::instance(number, 3)).unwrap();
    }
    (Experiment { _place: place, directory }, journal)
}

fn numbers(directory: &Path) -> Vec<u64> {
    let results = Results::open(directory).unwrap();
    results.instances().unwrap().map(|it| it.unwrap().instance).collect()
}

fn change(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_directory_with_anything_of_ours_is_not_written_over() {
    let (experiment, journal) = experiment();
    let create = || Journal::create(&experiment.directory, "other", "", &json!({}));
    assert!(create().unwrap_err().to_string().contains("--resume"));
    journal.finish(true, json!({})).unwrap();
    assert!(matches!(create(), Err(MeasuresError::Exists { .. })));
    // A plan that somebody keeps where results are to go is not ours to replace.
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("plan.toml"), "mine").unwrap();
    assert!(Journal::create(place.path(), "x", "", &json!({})).is_err());
    assert_eq!(fs::read(place.path().join("plan.toml")).unwrap(), b"mine");
}

#[test]
fn a_journal_reads_its_own_results_whatever_has_their_name() {
    let (experiment, journal) = experiment();
    let (directory, aside) = (&experiment.directory, experiment.directory.with_extension("aside"));
    fs::rename(directory, aside).unwrap();
    drop(Journal::create(directory, "planted", "", &json!({})).unwrap());
    let results = journal.results().unwrap();
    assert_eq!((results.experiment.as_str(), results.plan_text.as_str()), ("burst", "seed = 1\n"));
    assert_eq!(results.instances().unwrap().count(), 10);
}

#[test]
fn a_damaged_line_is_named_and_the_others_are_read() {
    let (experiment, journal) = experiment();
    drop(journal);
    let path = experiment.directory.join(JOURNAL);
    change(&path, |bytes| {
        let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let at = newlines.map(|(at, _)| at).nth(3).unwrap();
        bytes[at + 40] ^= 1;
    });
    assert_eq!(numbers(&experiment.directory), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    let results = Results::open(&experiment.directory).unwrap();
    let damage = &results.warnings[1];
    assert!(damage.ends_with("is damaged: line 5; of 10 instances 1 are lost"), "{damage}");
    let (journal, resumed) = Journal::resume(&experiment.directory).unwrap();
    assert_eq!((resumed.instances, resumed.warnings.len()), (10, 1));
    journal.finish(true, json!({})).unwrap();
    let results = Results::open(&experiment.directory).unwrap();
    assert!(results.warnings.iter().any(|it| it.contains("line 5")), "{:?}", results.warnings);
}

/// Bytes at which the lines of a journal begin, the header's first.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

#[test]
fn damaged_lines_at_the_end_are_cut_off_and_measured_again() {
    for (damaged, torn) in [(1, false), (3, false), (2, true), (10, false)] {
        let (experiment, journal) = experiment();
        drop(journal);
        let path = experiment.directory.join(JOURNAL);
        change(&path, |bytes| {
            let starts = line_starts(bytes);
            starts[11 - damaged..11].iter().for_each(|start| bytes[start + 40] ^= 1);
            bytes.extend_from_slice(if torn { b"0123" } else { b"" });
        });
        let left = 10 - damaged as u64;
        let (mut journal, resumed) = Journal::resume(&experiment.directory).unwrap();
        assert_eq!((resumed.instances, resumed.torn), (left, torn));
        let told = resumed.warnings.last().unwrap();
        assert!(told.starts_with(&format!("{damaged} damaged line")), "{:?}", resumed.warnings);
        (left..10).for_each(|it| journal.append(&common::instance(it, 3)).unwrap());
        journal.finish(true, json!({})).unwrap();
        let results = Results::open(&experiment.directory).unwrap();
        assert_eq!(results.warnings, Vec::<String>::new());
        assert_eq!(numbers(&experiment.directory), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn a_torn_line_is_dropped_and_told() {
    let (experiment, journal) = experiment();
    drop(journal);
    let path = experiment.directory.join(JOURNAL);
    for cut in [1, 30] {
        let (experiment, journal) = self::experiment();
        drop(journal);
        let path = experiment.directory.join(JOURNAL);
        change(&path, |bytes| bytes.truncate(bytes.len() - cut));
        assert_eq!(numbers(&experiment.directory).len(), 9);
        let results = Results::open(&experiment.directory).unwrap();
        assert!(results.warnings[1].contains("cut off"), "{:?}", results.warnings);
        let (mut journal, resumed) = Journal::resume(&experiment.directory).unwrap();
        assert!(resumed.torn && resumed.instances == 9 && resumed.plan_text == "seed = 1\n");
        journal.append(&common::instance(9, 3)).unwrap();
        assert_eq!(numbers(&experiment.directory).len(), 10);
    }
    // Torn within the header: nothing was measured.
    change(&path, |bytes| bytes.truncate(10));
    assert!(Journal::resume(&experiment.directory).is_err());
}

#[test]
fn what_a_newer_program_wrote_is_refused() {
    let (experiment, journal) = experiment();
    journal.finish(true, json!({})).unwrap();
    for name in ["journal.ndjson", "summary.json"] {
        let path = experiment.directory.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let newer = text.replacen("\"version\":1", "\"version\":2", 1);
        let newer = newer.replacen("\"version\": 1", "\"version\": 2", 1);
        fs::write(&path, newer).unwrap();
        let error = Results::open(&experiment.directory).unwrap_err().to_string();
        assert!(error.contains("version 2") && error.contains("newer plimsoll"), "{error}");
        fs::write(&path, text).unwrap();
    }
    for name in ["pairs.parquet", "instances.parquet"] {
        let path = experiment.directory.join(name);
        let before = fs::read(&path).unwrap();
        change(&path, |bytes| {
            let at = bytes.windows(2).rposition(|it| it == b"/1").unwrap();
            bytes[at + 1] = b'2';
        });
        let error = Results::open(&experiment.directory).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
        fs::write(&path, before).unwrap();
    }
    assert_eq!(numbers(&experiment.directory).len(), 10);
}

#[test]
fn damaged_files_that_the_journal_can_replace_are_only_warned_of() {
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    let flip = |bytes: &mut Vec<u8>| {
        let half = bytes.len() / 2;
        bytes[half..].iter_mut().step_by(7).for_each(|it| *it ^= 1);
    };
    let clear = |bytes: &mut Vec<u8>| bytes.clear();
    let scribble = |bytes: &mut Vec<u8>| *bytes = vec![b'{', 0xff];
    let damages: [fn(&mut Vec<u8>); 4] = [cut, flip, clear, scribble];
    for name in ["pairs.parquet", "instances.parquet", "summary.json", "environment.json"] {
        for damage in damages {
            let (experiment, journal) = experiment();
            journal.finish(true, json!({})).unwrap();
            change(&experiment.directory.join(name), damage);
            let results = Results::open(&experiment.directory).unwrap();
            assert!(results.warnings.iter().any(|it| it.contains(name)), "{:?}", results.warnings);
            assert_eq!(numbers(&experiment.directory), (0..10).collect::<Vec<_>>(), "{name}");
        }
    }
    // A summary that cannot be read does not keep anybody from going on.
    let (experiment, journal) = experiment();
    journal.finish(false, json!({})).unwrap();
    change(&experiment.directory.join("summary.json"), cut);
    let (_, resumed) = Journal::resume(&experiment.directory).unwrap();
    assert_eq!(resumed.instances, 10);
    assert!(resumed.warnings[0].contains("summary.json"), "{:?}", resumed.warnings);
}

#[test]
fn an_empty_journal_is_called_that() {
    let (experiment, journal) = experiment();
    drop(journal);
    change(&experiment.directory.join(JOURNAL), Vec::clear);
    let error = Results::open(&experiment.directory).unwrap_err().to_string();
    assert!(error.contains("journal.ndjson: it is empty"), "{error}");
    let error = Journal::resume(&experiment.directory).unwrap_err().to_string();
    assert!(error.contains("journal.ndjson: it is empty"), "{error}");
}

#[test]
fn two_runners_do_not_write_one_journal() {
    let (experiment, journal) = experiment();
    assert!(matches!(Journal::resume(&experiment.directory), Err(MeasuresError::Busy { .. })));
    drop(journal);
    assert!(Journal::resume(&experiment.directory).is_ok());
}

#[test]
fn instances_come_in_order_and_with_times_that_exist() {
    let (_experiment, mut journal) = experiment();
    assert!(journal.append(&common::instance(9, 1)).is_err());
    let mut late: Instance = common::instance(10, 1);
    late.pairs[0].end = u64::MAX;
    let error = journal.append(&late).unwrap_err().to_string();
    assert_eq!(error, "cannot keep instance 10: a time lies behind the year 2262");
    journal.append(&common::instance(12, 1)).unwrap();
}

#[test]
fn an_experiment_that_goes_on_after_an_end_is_read_from_its_journal() {
    let (experiment, journal) = experiment();
    journal.finish(false, json!({})).unwrap();
    let results = Results::open(&experiment.directory).unwrap();
    assert!(!results.complete && results.warnings[0].contains("ended early"));
    let (mut journal, resumed) = Journal::resume(&experiment.directory).unwrap();
    journal.append(&common::instance(resumed.instances, 3)).unwrap();
    assert_eq!(numbers(&experiment.directory).len(), 11, "the Parquet files are not up to date");
    journal.finish(true, json!({})).unwrap();
    assert_eq!(numbers(&experiment.directory).len(), 11);
    assert!(matches!(Journal::resume(&experiment.directory), Err(MeasuresError::Complete { .. })));
}

/// A limit of file size gives the same short write as a full disk, without making one.
#[test]
fn a_full_disk_is_told_and_leaves_the_journal_readable() {
    const ME: &str = "PLIMSOLL_TEST_FULL";
    let Some(directory) = std::env::var_os(ME) else {
        let place = tempfile::tempdir().unwrap();
        let script = "trap '' XFSZ; ulimit -f 40; exec \"$0\" --exact \
                      a_full_disk_is_told_and_leaves_the_journal_readable --nocapture";
        let mut command = std::process::Command::new("bash");
        command.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
        let output = command.env(ME, place.path().join("results")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let directory = PathBuf::from(directory);
    let mut journal = Journal::create(&directory, "burst", "", &json!({})).unwrap();
    let mut kept = 0;
    let error = loop {
        match journal.append(&common::instance(kept, 20)) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, MeasuresError::Full { .. }), "{error}");
    assert!(error.to_string().contains("--resume"), "{error}");
    // The line has the system's words; a source would be printed behind it once more.
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
    assert_eq!(numbers(&directory).len() as u64, kept);
    assert_eq!(Results::open(&directory).unwrap().warnings.len(), 1, "no line is torn");
    assert!(journal.append(&common::instance(kept, 20)).is_err());
    journal.append(&common::instance(kept, 0)).expect("a short line still has room");
    assert_eq!(numbers(&directory).len() as u64, kept + 1);
}

/// Some damage reaches assertions of the Parquet library, such as an offset below zero.
#[test]
fn no_damaged_byte_of_a_parquet_file_ends_the_program() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/results-v1");
    let place = tempfile::tempdir().unwrap();
    let (pairs, instances) = ("pairs.parquet", "instances.parquet");
    fs::copy(golden.join(instances), place.path().join(instances)).unwrap();
    let good = fs::read(golden.join(pairs)).unwrap();
    let (mut understood, mut refused) = (0, 0);
    for at in (0..good.len()).step_by(17) {
        let mut damaged = good.clone();
        damaged[at] ^= 0x81;
        fs::write(place.path().join(pairs), damaged).unwrap();
        let read = Results::open(place.path())
            .and_then(|results| results.instances()?.collect::<Result<Vec<_>, _>>());
        match read {
            Ok(_) => understood += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(understood > 0 && refused > 0, "{understood} understood, {refused} refused");
}

/// Instances with this many pairs each, as Parquet files without their journal.
fn finished(directory: &Path, pairs: &[(u64, u64)]) {
    let mut journal = Journal::create(directory, "burst", "", &json!({})).unwrap();
    for (number, pairs) in pairs {
        journal.append(&common::instance(*number, *pairs)).unwrap();
    }
    journal.finish(true, json!({})).unwrap();
    fs::remove_file(directory.join(JOURNAL)).unwrap();
}

/// As after filtering one of the files with another program.
#[test]
fn pairs_that_are_missing_or_belong_to_nothing_are_counted() {
    let place = tempfile::tempdir().unwrap();
    let (ours, others) = (place.path().join("ours"), place.path().join("others"));
    finished(&ours, &[(0, 3), (1, 3), (2, 3), (3, 0), (5, 2), (6, 1)]);
    finished(&others, &[(0, 3), (1, 1), (4, 2), (5, 2), (7, 1)]);
    fs::copy(others.join("pairs.parquet"), ours.join("pairs.parquet")).unwrap();
    let results = Results::open(&ours).unwrap();
    let told = |words: &str| {
        assert!(results.warnings.iter().any(|it| it.contains(words)), "{:?}", results.warnings);
    };
    told("lacks 6 pairs that were measured: 1 instances have fewer, 2 have none and are left out");
    told("3 pairs belong to instances that instances.parquet does not have");
    let read: Vec<Instance> = results.instances().unwrap().map(|it| it.unwrap()).collect();
    let found: Vec<(u64, usize)> = read.iter().map(|it| (it.instance, it.pairs.len())).collect();
    assert_eq!(found, [(0, 3), (1, 1), (3, 0), (5, 2)]);
}

/// Found by fuzzing: instances that claim nearly as many pairs as there are numbers, more than one of them.
#[test]
fn counts_that_cannot_be_are_told_and_do_not_overflow() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/results-v1");
    let folder = tempfile::tempdir().unwrap();
    for name in ["pairs.parquet", "instances.parquet"] {
        fs::copy(golden.join(name), folder.path().join(name)).unwrap();
    }
    change(&folder.path().join("instances.parquet"), |bytes| {
        let place = 0xb4f9 % bytes.len();
        bytes[place..place + 2].fill(0xff);
    });
    if let Ok(results) = Results::open(folder.path()) {
        results.instances().unwrap().take_while(Result::is_ok).count();
    }
}

/// Found by fuzzing: a header that claims thousands of millions of bytes, all behind the end of the file.
#[test]
fn a_header_that_claims_what_is_behind_the_end_does_not_keep_us() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/results-v1");
    let folder = tempfile::tempdir().unwrap();
    let pairs = folder.path().join("pairs.parquet");
    fs::copy(golden.join("pairs.parquet"), &pairs).unwrap();
    let damage = [0x29, 0x01, 0x00, 0x5b, 0xff, 0xff, 0xfe, 0x61, 0x77, 0xf7];
    change(&pairs, |bytes| bytes[40..50].copy_from_slice(&damage));
    let results = Results::open(folder.path()).and_then(|it| it.instances().map(Iterator::count));
    assert!(results.is_err() || results.is_ok_and(|count| count < 100));
}
