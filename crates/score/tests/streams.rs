//! Verdicts on series that are never in memory: samples of servers, as a monitor takes them over a year.

use plimsoll_score::Kind;
use plimsoll_score::verdict::{Comparing, Test, Value, Verdicts, verdicts};
use plimsoll_stats::Random;

const SERVERS: u32 = 12;
const SAMPLES: u32 = 200_000;
/// A year of them.
const EVERY_NS: u64 = 365 * 86_400 * 1_000_000_000 / SAMPLES as u64;
const SETS_MAX: usize = 2_000;

/// Compares all samples as they are made; `level` is the speed of a server at a sample.
fn judged(level: impl Fn(u32, u32) -> f64) -> Verdicts {
    let mut random = Random::new(11);
    let mut comparing = Comparing::new(SETS_MAX);
    let mut most_held = 0;
    for sample in 0..SAMPLES {
        // What all servers have in common: nights are quiet.
        let common = 1.0 + 0.5 * (f64::from(sample) * 0.0115).sin();
        for server in 0..SERVERS {
            comparing.add(Value {
                component: server,
                start: u64::from(sample) * EVERY_NS,
                set: sample,
                setting: 0,
                value: common * level(server, sample) * (0.05 * random.normal()).exp(),
            });
        }
        if sample % 97 == 0 {
            most_held = most_held.max(comparing.held());
        }
    }
    assert!(most_held <= (SETS_MAX + 1) * SERVERS as usize, "{most_held}");
    let components = comparing.finish();
    let kept = components.iter().map(|it| it.measures.len()).max().unwrap_or(0);
    assert!((SETS_MAX / 2..=SETS_MAX).contains(&kept), "{kept}");
    verdicts(&components, &[], &Test::default())
}

#[test]
fn in_a_year_of_samples_slow_servers_are_found_and_dated() {
    let slow_from = SAMPLES / 5 * 3;
    let found = judged(|server, sample| match server {
        3 => 0.7,
        7 if sample >= slow_from => 0.6,
        9 if sample % 10 == 0 => 0.4,
        _ => 1.0,
    });
    let kinds: Vec<Option<Kind>> = found.verdicts.iter().map(|it| it.kind).collect();
    assert_eq!(kinds[3], Some(Kind::Persistent), "{kinds:?}");
    assert_eq!(kinds[7], Some(Kind::Drifting), "{kinds:?}");
    assert_eq!(kinds[9], Some(Kind::Transient), "{kinds:?}");
    let others = kinds.iter().enumerate().filter(|(it, _)| ![3, 7, 9].contains(it));
    assert!(others.into_iter().all(|(_, kind)| *kind == Some(Kind::Normal)), "{kinds:?}");
    let since = found.verdicts[7].stretch.unwrap().since / EVERY_NS;
    let stretch = u64::from(SAMPLES) / (SETS_MAX as u64 / 2);
    assert!(since.abs_diff(u64::from(slow_from)) <= 2 * stretch, "{since} {slow_from}");
    let low = &found.verdicts[9];
    let share = low.low as f64 / low.n as f64;
    assert!((share - 0.1).abs() < 0.03, "as frequent as in all of them: {share}");
}

#[test]
fn in_a_year_of_equal_servers_nobody_is_named() {
    let found = judged(|_, _| 1.0);
    let named = found.verdicts.iter().filter(|it| it.kind != Some(Kind::Normal)).count();
    assert_eq!((named, found.groups, found.moving), (0, None, None));
}
