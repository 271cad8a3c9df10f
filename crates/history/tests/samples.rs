//! Real counters of Lustre servers (LMT's database of NERSC's Edison), replayed.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_history::{
    Component, ComponentKind, HistoryError, Measure, Reading, Selection, Store, Value,
};
use support::*;

fn sample(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("PLIMSOLL_SAMPLES").map_or(beside, PathBuf::from);
    let path = folder.join("lmt").join(name);
    let has_program = Command::new("sqlite3").arg("-version").output().is_ok();
    if path.is_file() && has_program {
        return Some(path);
    }
    eprintln!("SKIPPED: needs sqlite3 and captured samples (PLIMSOLL_SAMPLES names their folder)");
    None
}

/// What a query of a database says.
fn query(database: &Path, sql: &str) -> Vec<Vec<String>> {
    let uri = format!("file:{}?immutable=1", database.display());
    let output = Command::new("sqlite3").args(["-separator", "|", &uri, sql]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// All counters of targets and of metadata operations, by moment.
fn readings(database: &Path) -> BTreeMap<u64, Vec<Reading>> {
    let mut all: BTreeMap<u64, Vec<Reading>> = BTreeMap::new();
    let targets = "select strftime('%s', t.TIMESTAMP), i.OST_NAME, s.HOSTNAME, d.READ_BYTES, d.WRITE_BYTES, \
         d.KBYTES_FREE, d.INODES_FREE \
         from OST_DATA d join TIMESTAMP_INFO t using (TS_ID) join OST_INFO i using (OST_ID) \
         left join OSS_INFO s using (OSS_ID) order by t.TIMESTAMP, d.OST_ID";
    for row in query(database, targets) {
        let number = |place: usize| row[place].parse::<f64>().unwrap_or(0.0) as u64;
        let component = Component::new(ComponentKind::Ost, &row[1]).of_file_system("scratch");
        let seconds = number(0);
        all.entry(seconds).or_default().push(Reading {
            component,
            server: row[2].clone(),
            time: seconds * 1_000_000_000,
            epoch: 0,
            values: vec![
                Value::new(Measure::ReadBytes, number(3)),
                Value::new(Measure::WrittenBytes, number(4)),
                Value::new(Measure::FreeBytes, number(5) * 1024),
                Value::new(Measure::FreeInodes, number(6)),
            ],
        });
    }
    let operations = "select strftime('%s', t.TIMESTAMP), o.OPERATION_NAME, sum(d.SAMPLES) \
         from MDS_OPS_DATA d join TIMESTAMP_INFO t using (TS_ID) join OPERATION_INFO o using (OPERATION_ID) \
         group by 1, 2 order by 1, 2";
    let measure = |name: &str| match name {
        "open" => Some(Measure::Opens),
        "close" => Some(Measure::Closes),
        "getattr" => Some(Measure::GetAttributes),
        "setattr" => Some(Measure::SetAttributes),
        "mkdir" => Some(Measure::Mkdirs),
        "rmdir" => Some(Measure::Rmdirs),
        "unlink" => Some(Measure::Unlinks),
        "rename" => Some(Measure::Renames),
        "getxattr" => Some(Measure::GetExtendedAttributes),
        "statfs" => Some(Measure::StatFileSystems),
        "link" => Some(Measure::Links),
        "mknod" => Some(Measure::Mknods),
        _ => None,
    };
    let mut metadata: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for row in query(database, operations) {
        let Some(measure) = measure(&row[1]) else { continue };
        let value = Value::new(measure, row[2].parse::<f64>().unwrap_or(0.0) as u64);
        metadata.entry(row[0].parse().unwrap()).or_default().push(value);
    }
    for (seconds, values) in metadata {
        let component = Component::new(ComponentKind::Mdt, "MDT0000").of_file_system("scratch");
        let (server, time) = ("mds".to_string(), seconds * 1_000_000_000);
        all.entry(seconds).or_default().push(Reading { component, server, time, epoch: 0, values });
    }
    all
}

#[test]
fn a_reset_gives_no_rate_and_a_gap_is_missing() {
    let Some(database) = sample("lmtdb-reset.sqlite3") else { return };
    let readings = readings(&database);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    for readings in readings.values() {
        writer.append(readings).unwrap();
    }
    writer.seal().unwrap();
    let has_target =
        |some: &Vec<Reading>| some.iter().any(|it| it.component.kind == ComponentKind::Ost);
    let moments = readings.iter().filter(|(_, some)| has_target(some)).map(|it| *it.0);
    let moments: Vec<u64> = moments.collect();
    let gap = moments.windows(2).max_by_key(|it| it[1] - it[0]).unwrap();
    assert!(gap[1] - gap[0] > 60, "{gap:?}");
    // An independent reading: differences of neighbouring samples, where the counter did not go back.
    let mut last: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
    let (mut expected, mut resets) = (BTreeMap::new(), 0);
    for (moment, readings) in &readings {
        for reading in readings.iter().filter(|it| it.component.kind == ComponentKind::Ost) {
            for value in &reading.values[..2] {
                let key = (reading.component.name.clone(), value.measure.name());
                if let Some((before, counted)) = last.insert(key.clone(), (*moment, value.value)) {
                    if value.value >= counted {
                        let length = (moment - before) * 1000;
                        expected.insert((key, moment * 1000), (length, value.value - counted));
                    } else {
                        resets += 1;
                    }
                }
            }
        }
    }
    assert!(resets > 0);
    let mut found = BTreeMap::new();
    for ((measure, _, target, end), sample) in read(&path) {
        if ["read_bytes", "written_bytes"].contains(&measure) {
            found.insert(((target, measure), end), sample);
        }
    }
    assert_eq!(found, expected);
    // Whatever spans the gap is longer than what is spread over windows.
    let spanning = found
        .iter()
        .filter(|((_, end), (length, _))| (end - length) / 1000 <= gap[0] && end / 1000 >= gap[1]);
    assert!(spanning.into_iter().all(|(_, (length, _))| *length > plimsoll_history::GAP_MILLIS));
}

#[test]
fn real_counters_take_at_most_three_bytes_a_sample() {
    let Some(database) = sample("snx11025_2018-01-28.sqlite3") else { return };
    let readings: Vec<Vec<Reading>> = readings(&database).into_values().collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    // The five minutes again and again, so that a day of them is weighed and not the end of a file.
    let length = readings.len() as u64;
    let (mut samples, mut moment) = (0, readings[0][0].time);
    let (first, last) = (&readings[0], &readings[length as usize - 1]);
    let growth: BTreeMap<&Component, Vec<u64>> = last
        .iter()
        .map(|reading| {
            let from = first.iter().find(|it| it.component == reading.component).unwrap();
            let values = reading.values.iter().zip(&from.values);
            (
                &reading.component,
                values.map(|(to, from)| to.value.saturating_sub(from.value)).collect(),
            )
        })
        .collect();
    for round in 0..20 {
        for readings in &readings {
            let mut readings = readings.clone();
            for reading in &mut readings {
                reading.time = moment;
                let grown = growth.get(&reading.component);
                for (place, value) in reading.values.iter_mut().enumerate() {
                    let grown = grown.and_then(|it| it.get(place)).copied().unwrap_or(0);
                    if value.measure.form() == plimsoll_history::Form::Increment {
                        value.value += round * grown;
                    }
                }
            }
            samples += writer.append(&readings).unwrap().samples;
            moment += 5_000_000_000;
        }
    }
    let log = std::fs::metadata(path.join(".log-0")).unwrap().len();
    writer.seal().unwrap();
    let bytes: u64 = globbed(&path).iter().map(|it| std::fs::metadata(it).unwrap().len()).sum();
    let each = bytes as f64 / samples as f64;
    println!(
        "{samples} samples: {each:.2} bytes each, {:.2} before they are sealed",
        log as f64 / samples as f64
    );
    assert!(each <= 3.0, "{each:.2} bytes a sample");
    let mut by_measure: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let store = Store::open(&path).unwrap();
    let outcome: Result<(), HistoryError> = store.read(&Selection::default(), |batch| {
        let sum = by_measure.entry(batch.series.measure.name()).or_default();
        sum.0 += batch.values.len() as u64;
        sum.1 = batch.values.iter().fold(sum.1, |sum, value| sum.wrapping_add(*value));
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(by_measure.values().map(|it| it.0).sum::<u64>(), samples);
}
