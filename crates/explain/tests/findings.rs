//! Each finding on a program that has the fault, and on one that has not.

mod common;

use common::{Bed, KIB, MIB, MS, US, program};
use plimsoll_explain::FINDINGS;
use plimsoll_report::html::Severity;
use plimsoll_trace::Op;
use plimsoll_trace::definition::DefinitionKind;

#[test]
fn a_clean_program_gets_no_finding() {
    // Eight ranks write 1 MiB blocks of their own into a shared file, in parallel, then read
    // private input in large requests and sync once.
    let bed = program(8, |rank, process| {
        process.call(Op::Open, 1, MS).call(Op::Open, 2, MS);
        for block in 0..100 {
            let jitter = u64::from(rank) * 10 * US + block % 7 * 100 * US;
            process.data(Op::Pwrite, 1, (block * 8 + u64::from(rank)) * MIB, MIB, 10 * MS + jitter);
            process.data(Op::Pread, 2, block * MIB, MIB, 5 * MS + jitter);
        }
        process.call(Op::Fsync, 1, 200 * MS).call(Op::Close, 1, MS).call(Op::Close, 2, MS);
    });
    assert_eq!(bed.ids(), [""; 0]);
}

#[test]
fn collective_writes_with_few_aggregators_are_clean() {
    let bed = program(8, |rank, process| {
        for block in 0..100u64 {
            process.around(Op::MpiWriteAtAll, 1, 0, MIB, |process| {
                process.pause(10 * MS);
                if rank % 4 == 0 {
                    let offset = (block * 2 + u64::from(rank / 4)) * 4 * MIB;
                    process.data(Op::Pwrite, 1, offset, 4 * MIB, 40 * MS);
                } else {
                    process.pause(40 * MS);
                }
            });
        }
    });
    assert_eq!(bed.ids(), [""; 0]);
}

/// Independent MPI writes of 1000 bytes through data sieving: 80 % of their time is overhead.
fn sieving(cycle: u64) -> Bed {
    program(4, move |rank, process| {
        for record in 0..200u64 {
            let at = (record * 4 + u64::from(rank)) * 1000;
            process.around(Op::MpiWriteAt, 1, at, 1000, |process| {
                process.pause(US).call(Op::Lock, 1, cycle * 4);
                process.data(Op::Pread, 1, at / 4096 * 4096, 512 * KIB, cycle * 3);
                process.data(Op::Pwrite, 1, at / 4096 * 4096, 512 * KIB, cycle * 2);
                process.call(Op::Unlock, 1, cycle);
            });
        }
    })
}

#[test]
fn data_sieving_is_found_with_its_hint() {
    let bed = sieving(MS);
    let findings = bed.findings();
    let finding = &findings[0];
    assert_eq!(finding.id, "data-sieving");
    assert!((finding.cost_seconds - 1.6).abs() < 1e-6, "200 times 8 ms: {}", finding.cost_seconds);
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.evidence[0].starts_with("800 cycles"), "{:?}", finding.evidence);
    assert!(finding.evidence.iter().any(|line| line.contains("/shared")));
    assert!(finding.advice[0].contains("\"romio_ds_write\", \"disable\""));
    assert!(finding.advice[1].contains("romio_cb_write=enable"));
    let ids = bed.ids();
    for other in ["rereads", "rewrites", "lock-contention", "serialized-shared-writes"] {
        assert!(!ids.contains(&other), "{other} is a part of it: {ids:?}");
    }
    assert!(!sieving(10 * US).ids().contains(&"data-sieving"), "0.016 s do not matter");
}

#[test]
fn locks_inside_collective_writes_ask_for_collective_buffering() {
    let bed = program(2, |_, process| {
        for record in 0..100u64 {
            process.around(Op::MpiWriteAll, 1, record, 1000, |process| {
                process.pause(US).call(Op::Lock, 1, 5 * MS);
                process.data(Op::Pwrite, 1, record * MIB, 512 * KIB, 5 * MS);
                process.call(Op::Unlock, 1, 5 * MS);
            });
        }
    });
    let findings = bed.findings();
    assert_eq!(findings[0].id, "data-sieving");
    assert!(findings[0].advice[1].contains("\"romio_cb_write\", \"enable\""));
}

fn independent(length: u64, ranks_on_shared: bool) -> Bed {
    program(4, move |rank, process| {
        let file = if ranks_on_shared { 1 } else { 2 };
        for record in 0..200u64 {
            let at = (record * 4 + u64::from(rank)) * length;
            process.around(Op::MpiWriteAt, file, at, length, |process| {
                process.pause(US).data(Op::Pwrite, file, at, length, 5 * MS);
            });
        }
    })
}

#[test]
fn small_independent_writes_to_a_shared_file() {
    assert!(independent(4 * KIB, true).ids().contains(&"no-collective-buffering"));
    assert!(!independent(4 * KIB, false).ids().contains(&"no-collective-buffering"), "private");
    assert!(!independent(2 * MIB, true).ids().contains(&"no-collective-buffering"), "large");
    assert!(!independent(4 * KIB, true).ids().contains(&"small-requests"), "said once");
}

fn sequential(length: u64, calls: u64, nanos: u64) -> Bed {
    program(1, move |_, process| {
        for block in 0..calls {
            process.data(Op::Write, 2, block * length, length, nanos);
        }
    })
}

#[test]
fn small_requests() {
    let found = sequential(512, 20_000, 100 * US).findings();
    assert_eq!(found[0].id, "small-requests");
    assert!((found[0].cost_seconds - 1.99).abs() < 0.01, "{}", found[0].cost_seconds);
    assert_eq!(sequential(128 * KIB, 5_000, 100 * US).ids(), [""; 0], "large enough");
    assert_eq!(sequential(4096, 200_000, 2 * US).ids(), [""; 0], "as fast as large ones");
    assert_eq!(sequential(512, 900, MS).ids(), [""; 0], "too few");
}

#[test]
fn small_stdio_calls_are_buffered_by_the_c_library() {
    let bed = program(1, |_, process| {
        for block in 0..20_000 {
            process.data(Op::Fwrite, 2, block * 100, 100, 20 * US);
        }
    });
    assert_eq!(bed.ids(), [""; 0]);
}

fn unaligned(offset: u64, slower: u64) -> Bed {
    program(1, move |_, process| {
        for block in 0..200u64 {
            process.data(Op::Pwrite, 2, block * MIB, 256 * KIB, MS);
        }
        for block in 0..200u64 {
            let at = block * MIB + 512 * KIB + offset;
            process.data(Op::Pwrite, 2, at, 256 * KIB, slower * MS);
        }
    })
}

#[test]
fn unaligned_requests_are_held_against_aligned_ones() {
    let found = unaligned(100, 5).findings();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, "unaligned-requests");
    assert!((found[0].cost_seconds - 0.8).abs() < 1e-6);
    assert_eq!(unaligned(100, 1).ids(), [""; 0], "no slower");
    assert_eq!(unaligned(0, 5).ids(), [""; 0], "aligned");
}

#[test]
fn unaligned_requests_alone_cost_what_their_pages_do() {
    let only = |length: u64| {
        program(1, move |_, process| {
            for block in 0..400u64 {
                process.data(Op::Pwrite, 2, block * (length + 100) + 100, length, MS);
            }
        })
    };
    assert!(only(5000).ids().contains(&"unaligned-requests"));
    assert_eq!(only(MIB).ids(), [""; 0], "a page of 256");
}

fn opens(files: u32, nanos: u64) -> Bed {
    program(1, move |_, process| {
        for file in 3..files + 3 {
            process.define(DefinitionKind::File, file, 0, &format!("/many/{file}"));
            process.call(Op::Open, file, nanos).data(Op::Write, file, 0, 100, US);
            process.call(Op::Close, file, US);
        }
    })
}

#[test]
fn metadata_storm() {
    let found = opens(600, 2 * MS).findings();
    assert_eq!((found.len(), found[0].id), (1, "metadata-storm"));
    assert!(found[0].advice[0].contains("keep it open"));
    assert_eq!(opens(600, 10 * US).ids(), [""; 0], "fast");
    assert_eq!(opens(100, 10 * MS).ids(), [""; 0], "few");
}

fn syncs(every: u64) -> Bed {
    program(1, move |_, process| {
        for block in 0..100 {
            process.data(Op::Write, 2, block * MIB, MIB, MS);
            if block % every == every - 1 {
                process.call(Op::Fsync, 2, 20 * MS);
            }
        }
    })
}

#[test]
fn fsync_storm() {
    let found = syncs(1).findings();
    assert_eq!((found.len(), found[0].id), (1, "fsync-storm"));
    // All but one, without what the bytes take: 1.81 ms for each 1.04 ms that the operation takes.
    let cost = 1.98 * 1.04 / (1.04 + 1.73e-6 * MIB as f64);
    assert!((found[0].cost_seconds - cost).abs() < 1e-6, "{}", found[0].cost_seconds);
    assert_eq!(syncs(100).ids(), [""; 0], "once");
}

/// Writes of 4 KiB that take a millisecond each, into a file that was opened in this way.
fn opened(flags: u64, writes: u64) -> Bed {
    program(1, move |_, process| {
        process.open(2, flags);
        for block in 0..writes {
            process.data(Op::Pwrite, 2, block * 4 * KIB, 4 * KIB, MS);
        }
    })
}

#[test]
fn forced_writes() {
    const O_DSYNC: u64 = 0o10_000;
    let found = opened(1 | O_DSYNC, 500).findings();
    assert_eq!((found.len(), found[0].id), (1, "forced-writes"));
    assert!((found[0].cost_seconds - 0.498).abs() < 1e-3, "{}", found[0].cost_seconds);
    assert!(found[0].evidence[0].starts_with("500 writes of 4 KiB on average to 1 file, opened"));
    assert_eq!(opened(1, 500).ids(), [""; 0]);
    let first = opened(1 | O_DSYNC, 2000).ids();
    assert_eq!(first, ["forced-writes", "small-requests"], "either would save it");
}

fn again(op: Op, times: u64) -> Bed {
    program(1, move |_, process| {
        for round in 0..times {
            for block in 0..100 {
                process.data(op, 2, (block + round * 100 % 100) * MIB, MIB, 5 * MS);
            }
        }
    })
}

#[test]
fn rereads_and_rewrites() {
    let found = again(Op::Pread, 4).findings();
    assert_eq!((found.len(), found[0].id), (1, "rereads"));
    assert!((found[0].cost_seconds - 1.5).abs() < 1e-6, "three of four: {}", found[0].cost_seconds);
    assert_eq!(again(Op::Pwrite, 4).ids(), ["rewrites"]);
    assert_eq!(again(Op::Pread, 1).ids(), [""; 0]);
    assert_eq!(again(Op::Pwrite, 1).ids(), [""; 0]);
}

fn random(length: u64, nanos: u64) -> Bed {
    program(1, move |_, process| {
        let mut state = 1u64;
        for _ in 0..2000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            process.data(Op::Pread, 2, (state >> 33) / length * length, length, nanos);
        }
    })
}

#[test]
fn random_access() {
    let found = random(4 * KIB, 2 * MS).findings();
    assert_eq!((found.len(), found[0].id), (1, "random-access"));
    assert!(found[0].cost_seconds > 3.9);
    assert_eq!(random(4 * KIB, 3 * US).ids(), [""; 0], "from memory");
    let large = random(2 * MIB, 4 * MS).ids();
    assert!(!large.contains(&"random-access"), "{large:?}");
}

#[test]
fn names_are_unique_and_kebab_case() {
    let mut ids: Vec<&str> = FINDINGS.iter().map(|kind| kind.id).collect();
    assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), FINDINGS.len());
}

#[test]
fn worst_comes_first() {
    let bed = program(1, |_, process| {
        for block in 0..100 {
            process.data(Op::Write, 2, block * MIB, MIB, MS).call(Op::Fsync, 2, 5 * MS);
            process.call(Op::Flock, 2, 9 * MS);
        }
    });
    assert_eq!(bed.ids(), ["lock-contention", "fsync-storm"]);
    assert!(bed.findings().windows(2).all(|w| w[0].cost_seconds >= w[1].cost_seconds));
}

/// Processes wait for their own calls only: with twice as many of them nobody waits for longer.
#[test]
fn a_flood_of_stdio_calls_costs_what_each_process_makes() {
    let cost = |ranks: u32| {
        let bed = program(ranks, |_, process| {
            for block in 0..100_000 {
                process.data(Op::Fwrite, 2, block * 100, 100, 20 * US);
            }
        });
        let flood = bed.findings().into_iter().find(|finding| finding.id == "stdio-flood");
        flood.expect("a flood").cost_seconds
    };
    let (one, two) = (cost(1), cost(2));
    assert!(one > 1.0 && one <= 2.0, "{one}");
    assert!((two - one).abs() < 0.05 * one, "{one} {two}");
}
