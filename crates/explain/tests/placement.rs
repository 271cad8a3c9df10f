//! The finding about files on one target, where the targets of a site are known.

mod common;

use common::{Bed, MIB, MS, S, US};
use plimsoll_explain::{Analysis, FileId, Finding, Held, KnownTarget, Placement, findings};
use plimsoll_trace::Op;

const KNOWN: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// Four ranks write 16 MiB each, in calls of 1 MiB, and make it durable once, which takes all of them `sync` nanoseconds.
fn written(file_of: impl Fn(u32) -> u32, sync: u64) -> Bed {
    let bed = Bed::new();
    for rank in 0..4u32 {
        let mut process = bed.rank(rank, 4);
        let file = file_of(rank);
        for call in 0..16u64 {
            process.data(Op::Pwrite, file, (call * 4 + u64::from(rank)) * MIB, MIB, 500 * US);
        }
        process.call(Op::Fsync, file, sync);
        process.finish_at(4 * S);
    }
    bed
}

/// Tells the analysis that files lie where `target_of` says, of four targets with these rates.
fn placed(
    mut analysis: Analysis,
    rates: [Option<f64>; 4],
    target_of: impl Fn(&str) -> Option<usize>,
) -> Analysis {
    let targets = KNOWN.iter().zip(rates);
    let targets =
        targets.map(|(name, write_rate)| KnownTarget { name: name.to_string(), write_rate });
    let held = analysis
        .files
        .iter()
        .filter_map(|file| Some(Held { file: file.id, target: target_of(&file.path)? }));
    analysis.placement = Placement { held: held.collect(), targets: targets.collect() };
    analysis
}

fn one_target(analysis: &Analysis) -> Option<Finding> {
    findings(analysis).into_iter().find(|it| it.id == "one-target")
}

#[test]
fn a_shared_file_on_one_of_four() {
    let bed = written(|_| 1, 2 * S);
    let analysis = placed(bed.analyze(), [None; 4], |_| Some(1));
    let found = one_target(&analysis).unwrap();
    // 2.008 s inside calls, of which 64 MiB at 1 GiB/s and 64 calls of 20 us by four ranks are not the target's; three quarters.
    assert!((found.cost_seconds - 0.75 * 1.945).abs() < 0.01, "{}", found.cost_seconds);
    assert_eq!(found.severity.name(), "high");
    let evidence = found.evidence.join("\n");
    assert!(evidence.contains("64 MiB of 64 MiB"), "{evidence}");
    assert!(evidence.contains("went to t1, 100 % of it to /shared"), "{evidence}");
    assert!(evidence.contains("3 other targets: t0, t2, t3"), "{evidence}");
    assert!(evidence.contains("4 times as fast, if the others are as fast as t1"), "{evidence}");
    assert!(found.advice[0].contains("stow run --mount / -- PROGRAM"), "{:?}", found.advice);
}

#[test]
fn known_rates_count() {
    let analysis = written(|_| 1, 2 * S).analyze();
    let rates = [Some(32e6), Some(32e6), Some(4e6), Some(32e6)];
    let on_fast = one_target(&placed(analysis.clone(), rates, |_| Some(0))).unwrap();
    assert!(
        on_fast.evidence[1].contains("3.12 times as fast, by the rates of the site file"),
        "{:?}",
        on_fast.evidence
    );
    let on_slow = one_target(&placed(analysis.clone(), rates, |_| Some(2))).unwrap();
    assert!(on_slow.evidence[1].contains("25 times as fast"), "{:?}", on_slow.evidence);
    let others_are_slow = [Some(32e6), Some(4e6), Some(4e6), Some(4e6)];
    assert_eq!(one_target(&placed(analysis, others_are_slow, |_| Some(0))), None);
}

#[test]
fn nothing_is_said_where_nothing_would_be_gained() {
    let shared = written(|_| 1, 2 * S).analyze();
    assert_eq!(one_target(&shared), None, "no site is known");
    assert_eq!(one_target(&placed(shared.clone(), [None; 4], |_| None)), None, "not on a target");
    let mut alone = placed(shared, [None; 4], |_| Some(0));
    alone.placement.targets.truncate(1);
    assert_eq!(one_target(&alone), None, "there is no other target");
    let private = written(|_| 2, 2 * S).analyze();
    let each_its_own = |path: &str| path.strip_prefix("/private.").map(|it| it.parse().unwrap());
    assert_eq!(
        one_target(&placed(private.clone(), [None; 4], each_its_own)),
        None,
        "all are in use"
    );
    let in_pairs = one_target(&placed(private, [None; 4], |path| Some(each_its_own(path)? / 2)));
    assert!(in_pairs.unwrap().evidence[1].contains("2 times as fast"));
    let cached = written(|_| 1, 100 * US).analyze();
    assert_eq!(one_target(&placed(cached, [None; 4], |_| Some(0))), None, "memory took it");
}

#[test]
fn a_process_that_waits_for_each_piece_gains_nothing_from_more_targets() {
    let forced = |ranks: u32| {
        let bed = Bed::new();
        for rank in 0..ranks {
            let mut process = bed.rank(rank, ranks);
            for call in 0..200u64 {
                process.data(Op::Pwrite, 1, call * 4096, 4096, 10 * US);
                process.call(Op::Fsync, 1, 10 * MS);
            }
            process.finish_at(3 * S);
        }
        one_target(&placed(bed.analyze(), [None; 4], |_| Some(0)))
    };
    assert_eq!(forced(1), None);
    assert!(forced(2).unwrap().evidence[1].contains("2 times as fast"));
}

#[test]
fn a_target_that_is_not_in_the_list_is_passed_over() {
    let mut analysis = placed(written(|_| 1, 2 * S).analyze(), [None; 4], |_| Some(9));
    analysis.placement.held.push(Held { file: FileId::UNKNOWN, target: 0 });
    assert_eq!(one_target(&analysis), None);
}
