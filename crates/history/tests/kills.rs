//! A writer that is killed again and again loses nothing that it took.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_history::{Settings, Writer};
use support::*;

/// Set for the process that is killed: the store, and the first second that it appends.
const STORE: &str = "PLIMSOLL_TEST_KILLED_STORE";
const FROM: &str = "PLIMSOLL_TEST_KILLED_FROM";

const TARGETS: u64 = 3;

/// What is killed: appends, closes often, with another thread that keeps the store, and tells each second that it appended.
#[test]
fn is_killed() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let from: u64 = std::env::var(FROM).unwrap().parse().unwrap();
    let settings =
        Settings { seal_after: Duration::from_millis(7), seal_rows: 100, ..Settings::default() };
    let (mut appender, mut keeper) = Writer::open_apart(Path::new(&path), settings).unwrap();
    let latest = AtomicU64::new(from);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let second = latest.load(Ordering::Relaxed);
                keeper.maintain(START + second * 1000, &|| false).unwrap();
                if second + 1 == from + 20_000 {
                    break;
                }
            }
        });
        // It ends by itself should nobody kill it.
        for second in from..from + 20_000 {
            appender.append(&scrape(TARGETS, second)).unwrap();
            println!("\nappended {second}");
            appender.tidy(START + second * 1000);
            latest.store(second, Ordering::Relaxed);
        }
    });
}

#[test]
fn kills_lose_nothing_that_was_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (mut next, mut appended) = (0, Vec::new());
    for round in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["is_killed", "--exact", "--nocapture"])
            .env(STORE, &path)
            .env(FROM, next.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut seconds = output.lines().map_while(Result::ok).filter_map(|line| {
            line.strip_prefix("appended ").and_then(|it| it.parse::<u64>().ok())
        });
        // At another moment each time.
        let mut last = None;
        for second in seconds.by_ref().take(5 + 13 * round as usize) {
            last = Some(second);
        }
        std::thread::sleep(Duration::from_millis(round % 5));
        child.kill().unwrap();
        child.wait().unwrap();
        last = seconds.last().or(last);
        let last = last.expect("it appended something");
        appended.push((next, last));
        next = last + 2;
    }
    let samples = read(&path);
    for (from, last) in appended {
        for second in from..=last {
            for target in 0..TARGETS {
                let reading = reading(target, second);
                let before = support::reading(target, second.saturating_sub(1));
                let end = START + second * 1000;
                for (now, then) in reading.values.iter().zip(&before.values) {
                    let key = (now.measure.name(), now.bin, reading.component.name.clone(), end);
                    let expected = match now.measure.name() {
                        "in_flight" => Some((0, now.value)),
                        // The first of a process has nothing to be compared to.
                        _ if second == from => None,
                        _ => Some((1000, now.value - then.value)),
                    };
                    assert_eq!(samples.get(&key).copied(), expected, "{key:?}");
                }
            }
        }
    }
}
