//! Targets that are alike, on storage that saves something up while it rests.

mod made;

use made::SECOND;
use plimsoll_measures::Instance;
use plimsoll_score::rest::unrested;
use plimsoll_score::{Columns, Kind, Options, Peaks, Score, score};
use plimsoll_stats::Random;

/// What a burst takes at the limit, and what a rest saves of it at most, in seconds.
const BURST: f64 = 0.4;
const SAVED: f64 = 0.1;

/// 24 instances of four targets with one limit, this many seconds apart; the third had no rest before the first instance.
/// `speed` is the third's.
fn throttled(pause: f64, speed: f64) -> Columns {
    let mut random = Random::new(11);
    let mut rests = [1.0, 1.0, 0.0, 1.0];
    let mut start = 1_700_000_000.0;
    let mut instances: Vec<Instance> = Vec::new();
    for number in 0..24u64 {
        let mut clients: Vec<usize> = (0..4).collect();
        random.shuffle(&mut clients);
        let mut took = |target: usize| {
            let limited = if target == 2 { BURST / speed } else { BURST };
            (limited - SAVED.min(rests[target])) * (0.005 * random.normal()).exp()
        };
        let times: [f64; 4] = std::array::from_fn(&mut took);
        let pairs = times.iter().enumerate().map(|(target, seconds)| {
            let nanos = (seconds * SECOND as f64) as u64;
            (format!("c{}", clients[target]), format!("t{target}"), nanos)
        });
        let mut instance = made::instance(number, pairs);
        for pair in &mut instance.pairs {
            let nanos = pair.end - pair.start;
            pair.start = (start * 1e9) as u64;
            pair.end = pair.start + nanos;
        }
        instances.push(instance);
        let longest = times.iter().copied().fold(0.0, f64::max);
        rests = times.map(|it| longest - it + pause);
        start += longest + pause;
    }
    made::columns("many-pairs", instances)
}

fn scored(columns: &Columns) -> Score {
    score(columns, &Peaks::new(columns, None), &Options::default())
}

#[test]
fn one_that_ended_last_once_is_slow_for_ever_without_pauses_and_that_is_said() {
    let columns = throttled(0.002, 1.0);
    let found = scored(&columns).target_verdicts;
    let third = columns.targets.find("t2").unwrap();
    assert_eq!(found.verdicts[third as usize].kind, Some(Kind::Persistent), "it is slower indeed");
    let unrested = unrested(&columns, &found);
    assert_eq!(unrested.iter().map(|it| it.target).collect::<Vec<_>>(), [third]);
    let it = &unrested[0];
    assert!(it.rest < 0.01 && (it.usual - SAVED).abs() < 0.01, "{it:?}");
    assert!((it.pause - BURST).abs() < 0.01, "{it:?}");
}

#[test]
fn what_scatters_is_not_excused() {
    let columns = throttled(0.002, 1.0);
    let mut found = scored(&columns).target_verdicts;
    let third = columns.targets.find("t2").unwrap() as usize;
    found.verdicts[third].kind = Some(Kind::Noisier);
    assert_eq!(unrested(&columns, &found), []);
}

#[test]
fn pauses_make_them_alike() {
    let columns = throttled(0.2, 1.0);
    let found = scored(&columns).target_verdicts;
    assert!(found.verdicts.iter().all(|it| it.kind == Some(Kind::Normal)), "{found:?}");
    assert_eq!(unrested(&columns, &found), []);
}

#[test]
fn what_is_slow_in_spite_of_rests_or_slower_than_rests_explain_has_no_excuse() {
    for (pause, speed) in [(0.2, 0.7), (0.002, 0.3)] {
        let columns = throttled(pause, speed);
        let found = scored(&columns).target_verdicts;
        let third = columns.targets.find("t2").unwrap();
        assert_eq!(found.verdicts[third as usize].kind, Some(Kind::Persistent));
        assert_eq!(unrested(&columns, &found), [], "{pause} {speed}");
    }
}
