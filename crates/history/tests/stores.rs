//! Stores as their users write and read them.

mod support;

use std::fs;
use std::path::Path;

use plimsoll_guarded::Readers;
use plimsoll_history::{
    Component, ComponentKind, Day, HistoryError, Measure, Reading, Selection, Settings, Store,
    Value, Writer,
};
use support::*;

#[test]
fn samples_come_back_from_logs_and_files_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 3, 0..10, 1000);
    let from_log = read(&path);
    // At the first second, nothing but the level is known.
    assert_eq!(from_log.len(), 3 * (9 * 6 + 1));
    let key =
        |measure, second: u64| (measure, 0, "scratch-OST0001".to_string(), START + second * 1000);
    assert_eq!(from_log[&key("read_bytes", 4)], (1000, 4 * 4096 + 1));
    assert_eq!(from_log[&key("in_flight", 5)], (0, 2));
    assert_eq!(globbed(&path).len(), 0);
    writer.seal().unwrap();
    assert_eq!(read(&path), from_log);
    assert_eq!(globbed(&path), [path.join("day=2026-01-01/part-0-0.parquet")]);
    fill(&mut writer, 3, 10..12, 1000);
    assert_eq!(read(&path).len(), from_log.len() + 2 * 3 * 6);
    let only = Selection {
        since: Some(START + 3000),
        until: Some(START + 5000),
        measures: &[Measure::ReadBytes],
        is_wanted: Some(&|component| component.name.ends_with('2')),
    };
    let some = read_selected(&path, &only);
    assert!(some.keys().all(|it| it.0 == "read_bytes" && it.2 == "scratch-OST0002"));
    assert_eq!(some.keys().map(|it| it.3 - START).collect::<Vec<_>>(), [4000, 5000]);
    let store = Store::open(&path).unwrap();
    let days = store.days(&Selection::default()).unwrap();
    assert_eq!(days.iter().map(Day::to_string).collect::<Vec<_>>(), ["2026-01-01"]);
    assert_eq!(store.series(days[0], &only).unwrap().len(), 1);
}

#[test]
fn a_store_is_private_has_one_writer_and_takes_no_other_directory() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let first = open(&path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let held = Writer::open(&path, Settings::default()).unwrap_err();
    assert!(matches!(held, HistoryError::Held { holder: Some(_), .. }), "{held}");
    drop(first);
    drop(open(&path));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let open_to_all = Writer::open(&path, Settings::default()).unwrap_err();
    assert!(matches!(open_to_all, HistoryError::NotOwn { .. }), "{open_to_all}");
    let other = folder.path().join("home");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis"), "thesis").unwrap();
    let occupied = Writer::open(&other, Settings::default()).unwrap_err();
    assert!(matches!(occupied, HistoryError::Occupied { .. }), "{occupied}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "nothing was put there");
    let none = Store::open(&other).unwrap_err();
    assert!(matches!(none, HistoryError::NotAStore { .. }), "{none}");
    fs::write(other.join("_plimsoll-history"), "plimsoll history 2\n").unwrap();
    for error in [Store::open(&other).err(), Writer::open(&other, Settings::default()).err()] {
        assert!(matches!(error, Some(HistoryError::Newer { version: 2, .. })), "{error:?}");
    }
}

#[test]
fn a_log_cut_at_any_byte_opens_with_everything_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    let log = path.join(".log-0");
    let mut wholes = vec![(0, 0)];
    for second in 0..6 {
        writer.append(&scrape(1, second)).unwrap();
        wholes.push((fs::metadata(&log).unwrap().len() as usize, read(&path).len()));
    }
    drop(writer);
    let bytes = fs::read(&log).unwrap();
    let expected = |cut: usize| wholes.iter().rev().find(|it| it.0 <= cut).unwrap().1;
    for cut in 0..=bytes.len() {
        fs::write(&log, &bytes[..cut]).unwrap();
        assert_eq!(read(&path).len(), expected(cut), "read when cut at {cut}");
    }
    // The same through a writer, which makes a file of it.
    for cut in (0..=bytes.len()).step_by(97).chain([bytes.len()]) {
        let copy = folder.path().join(format!("cut-{cut}"));
        drop(open(&copy));
        fs::write(copy.join(".log-0"), &bytes[..cut]).unwrap();
        drop(open(&copy));
        assert!(!copy.join(".log-0").exists());
        assert_eq!(read(&copy).len(), expected(cut), "sealed when cut at {cut}");
    }
}

#[test]
fn a_kill_between_any_two_steps_of_sealing_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 2, 0..5, 1000);
    let all = read(&path);
    let log = fs::read(path.join(".log-0")).unwrap();
    writer.seal().unwrap();
    drop(writer);
    // The file has its name, and the log is still there.
    fs::write(path.join(".log-0"), &log).unwrap();
    assert_eq!(read(&path), all);
    let mut writer = open(&path);
    assert_eq!((read(&path), path.join(".log-0").exists()), (all.clone(), false));
    // Numbers go on behind what is there.
    fill(&mut writer, 2, 5..7, 1000);
    assert!(path.join(".log-1").exists());
    drop(writer);
    // A day that was being replaced.
    fs::create_dir(path.join(".new-day=2026-01-01")).unwrap();
    fs::write(path.join(".new-day=2026-01-01/part-0-1.parquet"), "half").unwrap();
    fs::rename(path.join("day=2026-01-01"), path.join(".old-day=2026-01-01")).unwrap();
    drop(open(&path));
    let after = read(&path);
    assert!(all.iter().all(|(key, value)| after.get(key) == Some(value)));
    // The first second after the restart gives levels only.
    assert_eq!(after.len(), all.len() + 2 * (1 + 6));
    assert!(!path.join(".new-day=2026-01-01").exists());
}

#[test]
fn a_damaged_log_is_set_aside_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 1, 0..5, 1000);
    drop(writer);
    let all = read(&path).len();
    fs::write(path.join(".log-1"), [7u8; 100]).unwrap();
    let mut writer = open(&path);
    assert_eq!(read(&path).len(), all);
    assert!(path.join(".damaged-log-1").exists());
    writer.append(&scrape(1, 9)).unwrap();
    assert!(path.join(".log-2").exists(), "its number is not used again");
}

#[test]
fn merging_and_aging_change_no_sum_and_globs_find_each_sample_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    // 20 files of 60 s.
    fill(&mut writer, 2, 0..1200, 60);
    let all = read(&path);
    assert_eq!(globbed(&path).len(), 20);
    let now = START + 3_600_000;
    writer.maintain(now).unwrap();
    let names = first_day(&path);
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.contains(&"part-0-15.parquet".into()), "{names:?}");
    assert_eq!(read(&path), all);
    // Two days later.
    live_on(&mut writer);
    let later = now + 2 * Day::MILLIS;
    (0..4).for_each(|_| writer.maintain(later).unwrap());
    assert_eq!(first_day(&path), ["aged-0-19.parquet"]);
    let aged = read(&path);
    assert_eq!(sums(&aged), sums(&all));
    let lengths = |measure: &str| -> Vec<u64> {
        let mut all: Vec<u64> =
            aged.iter().filter(|it| it.0.0 == measure).map(|it| it.1.0).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    assert_eq!(lengths("write_sizes"), [4000, 5000], "windows");
    assert_eq!(lengths("opens"), [59_000, 60_000], "minutes");
    assert_eq!(aged.keys().filter(|it| it.0 == "read_bytes").count(), 2 * 240);
    // Samples that arrive late for an aged day join it.
    let hidden = fs::read_dir(&path)
        .unwrap()
        .filter(|it| it.as_ref().unwrap().file_name().to_str().unwrap().starts_with(".new-"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn readers_find_every_sample_once_while_days_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 2, 0..320, 5);
    live_on(&mut writer);
    let all = sums(&read(&path));
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) || looks < 3 {
                assert_eq!(sums(&read(&path)), all);
                looks += 1;
            }
        });
        for _ in 0..8 {
            writer.maintain(START + 1000).unwrap();
        }
        for _ in 0..4 {
            writer.maintain(START + 3 * Day::MILLIS).unwrap();
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(first_day(&path).len(), 1);
}

#[test]
fn old_days_go_by_age_and_by_budget_but_never_the_present_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let settings = Settings { keep_days: 3, ..Settings::default() };
    let mut writer = Writer::open(&path, settings).unwrap();
    for day in 0..5 {
        let second = day * 86_400 + 10;
        fill(&mut writer, 1, second..second + 2, second + 2);
        writer.seal().unwrap();
    }
    let days = || globbed(&path).len();
    assert_eq!(days(), 5);
    let now = START + 4 * Day::MILLIS + 3_600_000;
    (0..20).for_each(|_| writer.maintain(now).unwrap());
    assert_eq!(days(), 4, "three days and the present one");
    drop(writer);
    let settings = Settings { bytes_max: Some(1), ..settings };
    let mut writer = Writer::open(&path, settings).unwrap();
    (0..20).for_each(|_| writer.maintain(now).unwrap());
    assert_eq!(days(), 1);
    assert!(path.join("day=2026-01-05").exists());
}

#[test]
fn servers_are_attributes_and_two_that_report_one_target_never_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    let by = |server: &str, second: u64, bytes: u64| Reading {
        server: server.into(),
        values: vec![Value::new(Measure::ReadBytes, bytes)],
        ..reading(1, second)
    };
    let readings = [("a", 1, 10), ("a", 2, 20), ("b", 3, 500), ("b", 4, 510), ("a", 4, 40)];
    for (server, second, bytes) in readings {
        writer.append(&[by(server, second, bytes)]).unwrap();
    }
    writer.append(&[by("a", 5, 50)]).unwrap();
    writer.append(&[by("a", 6, 70)]).unwrap();
    let check = || {
        let mut seen = Vec::new();
        let store = Store::open(&path).unwrap();
        let outcome: Result<(), HistoryError> =
            store.read(&Selection::default(), |batch| {
                let rows = batch.ends.iter().zip(batch.values);
                seen.extend(rows.map(|(end, value)| {
                    (batch.series.server.clone(), (end - START) / 1000, *value)
                }));
                Ok(())
            });
        outcome.unwrap();
        seen
    };
    let expected =
        [("a", 2, 10), ("b", 4, 10), ("a", 6, 20)].map(|(a, b, c)| (a.to_string(), b, c));
    assert_eq!(check(), expected);
    writer.seal().unwrap();
    assert_eq!(check(), expected);
    assert_eq!(ComponentKind::Ost, component(1).kind);
}

#[test]
fn a_full_disk_gives_an_error_and_missing_samples_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new(arguments[0]).args(&arguments[1..]).status();
        status.is_ok_and(|status| status.success())
    };
    let place = folder.path().to_str().unwrap();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", place]) {
        println!("SKIPPED: a small file system needs root");
        return;
    }
    let path = folder.path().join("store");
    let outcome = std::panic::catch_unwind(|| {
        let mut writer = open(&path);
        fill(&mut writer, 4, 0..50, 1000);
        let before = read(&path);
        fs::write(folder.path().join("filler"), vec![1; 400_000]).unwrap_err();
        let mut refused = 0;
        for second in 50..200 {
            match writer.append(&scrape(4, second)) {
                Ok(_) => {}
                Err(error) => {
                    assert!(error.is_full(), "{error}");
                    assert!(error.to_string().contains("samples are missing"), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 50, "{refused}");
        let full = read(&path);
        assert!(before.iter().all(|(key, value)| full.get(key) == Some(value)));
        assert!(writer.seal().is_err_and(|error| error.is_full()));
        assert_eq!(read(&path), full, "what could not be sealed stays");
        drop(writer);
        let mut writer = open(&path);
        assert_eq!(read(&path), full, "a store on a full disk opens");
        fs::remove_file(folder.path().join("filler")).unwrap();
        fill(&mut writer, 4, 200..210, 1000);
        writer.seal().unwrap();
        assert_eq!(read(&path).len(), full.len() + 4 * (1 + 9 * 6));
    });
    assert!(mount(&["umount", place]));
    outcome.unwrap();
}

/// Who may write beside a store can put another in its place; the writer stays with the one that it opened.
#[test]
fn a_store_that_is_exchanged_gives_its_samples_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("store"), folder.path().join("moved"));
    let mut writer = open(&path);
    fill(&mut writer, 2, 0..1200, 60);
    let all = read(&path);
    fs::rename(&path, &moved).unwrap();
    let mut other = open(&path);
    fill(&mut other, 1, 0..20, 1);
    let forged = read(&path);
    live_on(&mut writer);
    for now in [START + 3_600_000, START + 3 * Day::MILLIS] {
        (0..4).for_each(|_| writer.maintain(now).unwrap());
    }
    assert_eq!(first_day(&moved), ["aged-0-19.parquet"], "it was merged");
    assert_eq!(sums(&read(&moved)), sums(&all));
    assert_eq!(read(&path), forged);
}

/// A page about a store is for those who may read all of it.
#[test]
fn whoever_may_read_a_store_may_read_each_file_of_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let open_to_all = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let readers = || Store::open(&path).unwrap().readers().unwrap();
    let mut writer = open(&path);
    assert_eq!(readers(), Readers::OwnerAlone);
    open_to_all(&path, 0o755);
    fill(&mut writer, 1, 0..20, 10);
    assert_eq!(readers(), Readers::OwnerAlone, "its files are private");
    drop(writer);
    for file in globbed(&path) {
        open_to_all(file.parent().unwrap(), 0o755);
        open_to_all(&file, 0o644);
    }
    assert_eq!(readers(), Readers::Everyone);
    open_to_all(&globbed(&path)[1], 0o600);
    assert_eq!(readers(), Readers::OwnerAlone);
}

/// A day of ten thousand targets is read in many passes, of which none opens a file.
#[test]
fn a_day_that_is_open_is_read_again_whatever_becomes_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 3, 0..40, 10);
    writer.append(&scrape(3, 40)).unwrap();
    let store = Store::open(&path).unwrap();
    let days = store.days(&Selection::default()).unwrap();
    let mut day = store.day(days[0]).unwrap();
    let all = read(&path);
    fs::remove_dir_all(path.join(days[0].directory())).unwrap();
    let mut found = Samples::new();
    for target in [2, 0, 1] {
        let is_wanted = |it: &Component| *it == component(target);
        let selection = Selection { is_wanted: Some(&is_wanted), ..Selection::default() };
        assert_eq!(day.series(&selection).len(), 6);
        let outcome: Result<(), HistoryError> = day.read(&selection, |batch| {
            add_to(&mut found, batch);
            Ok(())
        });
        outcome.unwrap();
    }
    assert_eq!(found, all);
}
