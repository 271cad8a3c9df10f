//! Real histories: NERSC's Edison in three forms, a burst buffer, a reset.

mod support;

use plimsoll_import::NoteKind;
use support::*;

const TOKIO: &str = "tokio/snx11025_2018-01-28.hdf5";
const PYLMT: &str = "tokio/snx11025_2018-01-28.h5lmt";
const LMT: &str = "lmt/snx11025_2018-01-28.sqlite3";

/// Counts of TOKIO's step i end with its next time, rates of pyLMT's step i end at its time, LMT's counters are compared: then all three are the same.
#[test]
fn three_forms_of_five_minutes_are_the_same_series() {
    let (Some(tokio), Some(pylmt), Some(lmt)) = (sample(TOKIO), sample(PYLMT), sample(LMT)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let stores = ["tokio", "pylmt", "lmt"].map(|it| folder.path().join(it));
    let told = [take(&tokio, &stores[0]), take(&pylmt, &stores[1]), take(&lmt, &stores[2])];
    let formats: Vec<&str> = told.iter().map(|it| it.format.as_str()).collect();
    assert_eq!(formats, ["TOKIO HDF5", "pyLMT HDF5", "LMT database"]);
    let [tokio_has, pylmt_has, lmt_has] = [read(&stores[0]), read(&stores[1]), read(&stores[2])];
    // 24 targets and 60 steps; 12 operations; load of 24 servers and one of metadata.
    let count = |of: &Samples, measure: &str| of.keys().filter(|it| it.2 == measure).count();
    for has in [&tokio_has, &pylmt_has, &lmt_has] {
        assert_eq!((count(has, "read_bytes"), count(has, "written_bytes")), (1440, 1440));
        assert_eq!((count(has, "opens"), count(has, "closes")), (60, 60));
    }
    assert_eq!((count(&tokio_has, "cpu_load"), count(&lmt_has, "cpu_load")), (1500, 1525));
    assert_eq!((count(&tokio_has, "free_bytes"), count(&lmt_has, "free_bytes")), (1440, 1525));
    let mut same = 0;
    for (key, value) in &tokio_has {
        let in_lmt = lmt_has.get(key).unwrap_or_else(|| panic!("LMT has no {key:?}"));
        assert_eq!(value, in_lmt, "{key:?}");
        same += 1;
    }
    assert_eq!(same, told[0].imported.samples);
    let mut same = 0;
    for (key, value) in pylmt_has.iter().filter(|it| !it.0.1.ends_with("-MDS")) {
        assert_eq!(value, &lmt_has[key], "{key:?}");
        same += 1;
    }
    // 2 * 1440 bytes, 61 loads of 24 servers, 60 of each operation that happened at all.
    assert_eq!(same, 2 * 1440 + 61 * 24 + 60 * 9);
    // What the files are wrong about.
    assert_eq!(noted(&told[0], NoteKind::Repaired, "units \"bytes/sec\""), 2);
    assert_eq!(noted(&told[0], NoteKind::LeftOut, "memused"), 1);
    assert_eq!(noted(&told[2], NoteKind::Repaired, "without a zone"), 61);
    assert_eq!(noted(&told[1], NoteKind::LeftOut, "first step"), 1);
}

#[test]
fn the_three_forms_in_one_store_are_counted_once() {
    let (Some(tokio), Some(pylmt), Some(lmt)) = (sample(TOKIO), sample(PYLMT), sample(LMT)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let first = take(&lmt, &store);
    let before = read(&store);
    let second = take(&tokio, &store).imported;
    assert_eq!((second.samples, second.differing), (0, 0));
    assert!(second.already_there > 9000, "{second:?}");
    let third = take(&pylmt, &store).imported;
    // The load of a server without a name, and operations that were there.
    assert_eq!((third.samples, third.differing), (61, 0), "{third:?}");
    let bytes = |has: &Samples| -> u64 {
        has.iter().filter(|it| it.0.2 == "written_bytes").map(|it| it.1.1).sum()
    };
    assert_eq!(bytes(&before), bytes(&read(&store)));
    let again = take(&lmt, &store).imported;
    assert_eq!((again.samples, again.already_there), (0, first.imported.samples));
}

#[test]
fn rates_of_a_burst_buffer_and_its_missing_steps() {
    let Some(path) = sample("tokio/sample_tokiots.hdf5") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let told = take(&path, &store);
    // 64 devices, 360 steps of 10 s, read and written; 16,002 are -0.0 in each.
    assert_eq!(noted(&told, NoteKind::LeftOut, "-0.0"), 2 * 16_002);
    assert_eq!(told.imported.samples, 2 * (64 * 360 - 16_002));
    let has = read(&store);
    assert!(has.iter().all(|(key, (length, _))| key.0 == "block_device" && *length == 10_000));
    let bytes: u64 = has.iter().filter(|it| it.0.2 == "written_bytes").map(|it| it.1.1).sum();
    assert!((bytes as f64 / 6.40949e10 - 1.0).abs() < 1e-5, "{bytes}");
}

#[test]
fn a_reset_is_told_and_counts_nothing() {
    let Some(path) = sample("lmt/lmtdb-reset.sqlite3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let told = take(&path, &store);
    assert_eq!(noted(&told, NoteKind::LeftOut, "counters that were reset"), 2);
    let has = read(&store);
    let written: Vec<u64> =
        has.iter().filter(|it| it.0.2 == "written_bytes").map(|it| it.1.1).collect();
    // 26 readings: the first has nothing before it, the eighth is after a reset.
    assert_eq!(written.len(), 24);
    assert_eq!(
        written.iter().sum::<u64>(),
        274_820_641_179_842 - 274_819_451_570_722 + 796_777_736
    );
}

#[test]
fn what_is_no_history_is_one_line() {
    for (name, expected) in [
        ("lmt/sample_nersc_jobsdb.sqlite3", "no table TIMESTAMP_INFO"),
        ("tokio/versions_test.hdf5", "neither of TOKIO"),
        ("lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz", "unpack it first"),
    ] {
        let Some(path) = sample(name) else { return };
        let folder = tempfile::tempdir().unwrap();
        let error = plimsoll_import::import(&path, &folder.path().join("store"), &options());
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

/// Real files, cut off anywhere and with bits exchanged: one line, and the store is byte for byte what it was; or a history that can be read.
#[test]
fn damaged_real_files_leave_the_store_as_it_was() {
    const MUTATIONS: u64 = 30;
    let reset = "lmt/lmtdb-reset.sqlite3";
    for name in [TOKIO, PYLMT, "tokio/sample_tokiots.hdf5", LMT, reset] {
        let Some(path) = sample(name) else { return };
        let folder = tempfile::tempdir().unwrap();
        let (damaged, store) = (folder.path().join("damaged"), folder.path().join("store"));
        take(&path, &store);
        let (bytes, before) = (std::fs::read(&path).unwrap(), content(&store));
        let (mut random, mut refused) = (bytes.len() as u64, 0);
        for mutation in 0..2 * MUTATIONS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (random >> 20) as usize % bytes.len();
            let mut changed = bytes.clone();
            if mutation < MUTATIONS {
                changed.truncate(place);
            } else {
                // Most of a file is numbers, in which nothing can be wrong: half of the exchanges are where formats have their tables.
                let place = if mutation % 2 == 0 { place } else { place % 8192 };
                changed[place] ^= 1 << (random >> 61);
            }
            std::fs::write(&damaged, &changed).unwrap();
            match plimsoll_import::import(&damaged, &store, &options()) {
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains('\n'), "{error}");
                    assert!(content(&store) == before, "{name}, mutation {mutation}: {error}");
                }
                Ok(_) => {
                    read(&store);
                    std::fs::remove_dir_all(&store).unwrap();
                    take(&path, &store);
                    assert!(content(&store) == before, "{name}, mutation {mutation}");
                }
            }
        }
        assert!(refused > MUTATIONS / 2, "{name}: {refused}");
    }
}
