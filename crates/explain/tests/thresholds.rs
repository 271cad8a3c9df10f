//! Where a finding begins: at its limit, and not just below it.

mod common;

use common::{Bed, KIB, MIB, MS, Rank, S, US, program};
use plimsoll_explain::{Finding, Volume};
use plimsoll_trace::Op;
use plimsoll_trace::definition::DefinitionKind;

fn find(bed: &Bed, id: &str) -> Option<Finding> {
    bed.findings().into_iter().find(|finding| finding.id == id)
}

fn has(bed: &Bed, id: &str) -> bool {
    find(bed, id).is_some()
}

/// One process that does this.
fn one(work: impl Fn(&mut Rank)) -> Bed {
    program(1, |_, process| work(process))
}

#[test]
fn a_thousand_requests_are_a_pattern() {
    // The first follows none.
    let small = |calls: u64| {
        one(move |process| {
            for block in 0..=calls {
                process.data(Op::Write, 2, block * 512, 512, MS);
            }
        })
    };
    assert!(has(&small(1000), "small-requests"));
    assert!(!has(&small(999), "small-requests"));
}

/// Blocks whose distance grows, so that none follows a pattern.
fn jump(process: &mut Rank, calls: u64, length: u64, nanos: u64) {
    for block in 0..=calls {
        process.data(Op::Pread, 2, block * block * 2 * length, length, nanos);
    }
}

/// Blocks that follow each other behind so many that jumped.
fn follow(process: &mut Rank, jumps: u64, calls: u64, length: u64, nanos: u64) {
    for block in 1..=calls {
        process.data(Op::Pread, 2, (jumps * jumps * 2 + block) * length, length, nanos);
    }
}

#[test]
fn a_thousand_jumps_are_random_access() {
    // Beside fewer that do not jump and are faster.
    let random = |calls: u64, length: u64| {
        one(move |process| {
            jump(process, calls, length, 4 * MS);
            follow(process, calls, 900, length, 100 * US);
        })
    };
    assert!(has(&random(1000, 4 * KIB), "random-access"));
    assert!(!has(&random(999, 4 * KIB), "random-access"));
    assert!(has(&random(1000, MIB - KIB), "random-access"));
    assert!(!has(&random(1000, MIB), "random-access"), "as good as sequential");
}

#[test]
fn half_of_the_requests_jump_and_the_others_tell_what_that_costs() {
    // Of two processes.
    let mixed = |sequential: u64| {
        program(2, move |rank, process| {
            jump(process, 500, 4 * KIB, 2 * MS);
            follow(process, 500, (sequential + u64::from(rank)) / 2, 4 * KIB, 10 * US);
        })
    };
    let cost = |sequential| find(&mixed(sequential), "random-access").map(|it| it.cost_seconds);
    let near = |cost: Option<f64>, expected: f64| (cost.unwrap() - expected).abs() < 1e-5;
    assert!(near(cost(1000), 500.0 * 1990e-6), "10 us for each");
    let of_4_kib = 4096.0 / f64::from(1 << 30);
    assert!(near(cost(999), 500.0 * (2e-3 - of_4_kib)), "too few: at 1 GiB/s");
    assert_eq!(cost(1001), None, "most follow a pattern");
}

/// So many aligned writes of 256 KiB in 1 ms, and so many in 5 ms that are not aligned.
fn unaligned(aligned: u64, unaligned: u64, length: u64) -> Option<Finding> {
    let bed = one(move |process| {
        for block in 0..aligned {
            process.data(Op::Pwrite, 2, block * 4 * MIB, 256 * KIB, MS);
        }
        for block in 0..unaligned {
            process.data(Op::Pwrite, 2, block * 4 * MIB + 2 * MIB + 100, length, 5 * MS);
        }
    });
    find(&bed, "unaligned-requests")
}

#[test]
fn a_hundred_requests_tell_what_alignment_costs() {
    let evidence = |found: Option<Finding>| found.map(|it| it.evidence);
    assert_eq!(
        evidence(unaligned(300, 100, 256 * KIB)).unwrap(),
        [
            "100 writes of at least 4 KiB, 256 KiB on average, do not begin and end on page boundaries \
             (25 % of all such writes); aligned ones of that size are 5 times as fast",
            "mostly on /private.0 (100 %)"
        ]
    );
    assert_eq!(evidence(unaligned(300, 99, 256 * KIB)), None);
    for length in [64 * KIB, MIB] {
        let found = unaligned(100, 100, length).expect("four times as small or large");
        assert!(found.evidence[0].contains("; aligned ones of that size are "), "{length}");
    }
    let by_pages = |found: Option<Finding>| {
        found.is_some_and(|it| {
            it.evidence[0].ends_with("of the pages that they touch are not theirs")
        })
    };
    assert!(by_pages(unaligned(99, 400, 5000)), "too few to compare");
    assert!(by_pages(unaligned(400, 400, 5000)), "of another size");
}

#[test]
fn what_unaligned_requests_alone_cost() {
    let bed = program(2, |_, process| {
        for block in 0..400u64 {
            process.data(Op::Pwrite, 2, block * MIB + 100, 6 * KIB, 5 * MS);
        }
    });
    let found = find(&bed, "unaligned-requests").unwrap();
    // They touch two pages each.
    assert!((found.cost_seconds - 400.0 * 0.005 * 0.25).abs() < 1e-9, "{}", found.cost_seconds);
    assert!(found.evidence[0].contains("(100 % of all such writes); 25 % of the pages"));
}

/// Asking at the end of a file for what is not there moves nothing that could be aligned.
#[test]
fn nothing_is_not_unaligned() {
    let bed = one(|process| {
        for _ in 0..200 {
            process.short(Op::Pread, 2, 100, 8 * KIB, 0, 5 * MS);
        }
    });
    assert!(!has(&bed, "unaligned-requests"));
}

/// So many locks of 10 ms, beside this time in large writes to a file of its own.
fn locked(locks: u64, ranks: u32, writing: u64, run: u64) -> bool {
    let bed = Bed::new();
    for rank in 0..ranks {
        let mut process = bed.rank(rank, ranks);
        for block in 0..100 {
            process.data(Op::Pwrite, 2, block * MIB, MIB, writing / 100);
        }
        for _ in 0..locks {
            process.call(Op::Flock, 2, 10 * MS).call(Op::Funlock, 2, 0);
        }
        process.finish_at(run);
    }
    has(&bed, "lock-contention")
}

#[test]
fn a_cost_matters_from_a_part_of_the_run_or_of_io_on() {
    assert!(locked(5, 1, 0, 200 * MS));
    assert!(!locked(4, 1, 0, 200 * MS), "less than 50 ms");
    assert!(locked(50, 1, 6 * S, 10 * S));
    assert!(!locked(49, 1, 6 * S, 10 * S), "less than a twentieth of the run and a tenth of I/O");
    assert!(locked(10, 2, 880 * MS, 100 * S), "0.1 s of the 0.98 s of each process");
    assert!(!locked(9, 2, 920 * MS, 100 * S), "0.09 s of 1.01 s");
}

/// Rank 0 writes so many blocks, the others together the rest of a hundred.
fn single_writer(ranks: u32, of_first: u64) -> bool {
    has(
        &program(ranks, move |rank, process| {
            let blocks = match rank {
                0 => of_first,
                1 => 100 - of_first,
                _ => 0,
            };
            for block in 0..blocks {
                process.data(Op::Pwrite, 2, block * MIB, MIB, 10 * MS);
            }
        }),
        "single-writer",
    )
}

#[test]
fn one_of_four_ranks_that_writes_nearly_all_is_a_single_writer() {
    assert!(single_writer(4, 95));
    assert!(!single_writer(4, 94));
    assert!(!single_writer(3, 95), "a fair share");
}

/// So many independent writes of two ranks together, in 10 ms each.
fn independent(writes: u64, length: u64, large: u64) -> Option<Finding> {
    let bed = program(2, move |rank, process| {
        for block in (u64::from(rank)..writes).step_by(2) {
            process.around(Op::MpiWriteAt, 1, block * length, length, |process| {
                process.pause(10 * MS);
            });
        }
        for block in (u64::from(rank)..large).step_by(2) {
            // Of another file.
            process.around(Op::MpiWriteAt, 2, block * MIB, MIB, |process| {
                process.pause(4 * MS);
            });
        }
    });
    find(&bed, "no-collective-buffering")
}

#[test]
fn a_hundred_independent_writes_are_worth_collecting() {
    assert!(independent(100, 4 * KIB, 0).is_some());
    assert!(independent(99, 4 * KIB, 0).is_none());
    // Beside others that are faster.
    assert!(independent(100, MIB - 1, 1000).is_some());
    assert!(independent(100, MIB, 1000).is_none(), "as good as collected");
}

#[test]
fn eight_large_requests_tell_how_fast_they_are() {
    let cost = |large| independent(200, 512 * KIB, large).unwrap().cost_seconds;
    // Half a MiB takes 2 ms at the rate of 1 MiB in 4 ms.
    assert!((cost(8) - 100.0 * 0.008).abs() < 1e-6, "{}", cost(8));
    let at_1_gib = 0.5 / 1024.0;
    assert!((cost(7) - 100.0 * (0.010 - at_1_gib)).abs() < 1e-6, "{}", cost(7));
}

/// Reads of 1 MiB at the end of a file find nothing there: they do not say how fast large reads are.
#[test]
fn requests_that_move_nothing_tell_no_rate() {
    let bed = one(|process| {
        for block in 0..2000 {
            process.data(Op::Read, 2, block * 512, 512, MS);
        }
        for _ in 0..10 {
            process.short(Op::Read, 2, 2000 * 512, MIB, 0, MS);
        }
    });
    let cost = find(&bed, "small-requests").unwrap().cost_seconds;
    assert!((cost - 1.999).abs() < 1e-3, "{cost}");
    let volumes = [(0, 0, None), (0, 5, None), (5, 0, None), (5, 2 * S, Some(2.5))];
    for (bytes, nanos, rate) in volumes {
        assert_eq!(Volume { calls: 1, bytes, nanos }.bytes_per_second(), rate);
    }
}

/// Each of two ranks makes so many collective writes in 10 ms each.
fn collective(calls: u64, length: u64) -> bool {
    let bed = program(2, move |_, process| {
        for _ in 0..calls {
            process.around(Op::MpiWriteAtAll, 1, 0, length, |process| {
                process.pause(10 * MS);
            });
        }
    });
    has(&bed, "small-collective-requests")
}

#[test]
fn a_hundred_collective_calls_of_each_rank_are_worth_joining() {
    assert!(collective(100, 4 * KIB));
    assert!(!collective(99, 4 * KIB));
    assert!(collective(100, 512 * KIB - 1));
    assert!(!collective(100, 512 * KIB), "1 MiB together");
}

#[test]
fn calls_that_go_past_the_buffer_of_a_stream_are_no_flood() {
    let written = |length: u64| {
        one(move |process| {
            for block in 0..100_000 {
                process.data(Op::Fwrite, 2, block * length, length, 20 * US);
            }
        })
    };
    let found = find(&written(4095), "stdio-flood").unwrap();
    assert_eq!(
        found.evidence[..2],
        [
            "100,000 stdio writes of 4 KiB on average took 2 s in all processes together, 20 µs each",
            "most time goes into fwrite: 2 s in 100,000 calls"
        ]
    );
    assert!(!has(&written(4096), "stdio-flood"));
}

#[test]
fn a_thousand_calls_on_names_are_a_storm() {
    let looked_up = |calls| {
        one(move |process| {
            for _ in 0..calls {
                process.call(Op::Stat, 2, MS);
            }
        })
    };
    assert!(has(&looked_up(1000), "metadata-storm"));
    assert!(!has(&looked_up(999), "metadata-storm"));
}

#[test]
fn ten_syncs_and_four_of_each_file_are_a_storm() {
    let synced = |files: u32, of_each: u64| {
        one(move |process| {
            for file in 3..files + 3 {
                process.define(DefinitionKind::File, file, 0, &format!("/many/{file}"));
                for block in 0..of_each {
                    process.data(Op::Write, file, block * MIB, MIB, MS);
                    process.call(Op::Fsync, file, 50 * MS);
                }
            }
        })
    };
    assert!(has(&synced(1, 10), "fsync-storm"));
    assert!(!has(&synced(1, 9), "fsync-storm"));
    assert!(has(&synced(3, 4), "fsync-storm"));
    assert!(!has(&synced(4, 3), "fsync-storm"), "checkpoints");
}

#[test]
fn syncs_cost_what_each_process_waits_for() {
    let bed = program(4, |_, process| {
        for block in 0..20 {
            process.data(Op::Write, 2, block * MIB, MIB, MS).call(Op::Fsync, 2, 50 * MS);
        }
    });
    let found = find(&bed, "fsync-storm").unwrap();
    // 1 MiB takes a target 1.81 ms, and the operation 1.04 ms.
    let waiting = 1.04 / (1.04 + 1.73e-6 * MIB as f64);
    assert!((found.cost_seconds - 19.0 * 0.050 * waiting).abs() < 1e-6, "{}", found.cost_seconds);
    assert_eq!(found.evidence[2], "spread over 4 files, 25 % of it on /private.0");
}

#[test]
fn syncs_of_much_data_are_no_storm() {
    let synced = |piece: u64| {
        one(move |process| {
            for block in 0..20 {
                process.data(Op::Write, 2, block * piece, piece, MS).call(Op::Fsync, 2, 50 * MS);
            }
        })
    };
    assert!(has(&synced(MIB), "fsync-storm"));
    assert!(!has(&synced(32 * MIB), "fsync-storm"), "the bytes take the time");
}

/// A fifth of the bytes, and less.
#[test]
fn a_fifth_that_is_read_again_is_no_header() {
    let again = |blocks: u64| {
        one(move |process| {
            for block in 0..blocks {
                process.data(Op::Pread, 2, block * MIB, MIB, 10 * MS);
            }
            for block in 0..20 {
                process.data(Op::Pread, 2, block * MIB, MIB, 10 * MS);
            }
        })
    };
    assert!(has(&again(80), "rereads"));
    assert!(!has(&again(81), "rereads"));
}
