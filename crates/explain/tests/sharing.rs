//! Findings about how processes share the work and the files, each on a program that has the fault, and on one that
//! has not.

mod common;

use common::{Bed, KIB, MIB, MS, US, program};
use plimsoll_trace::Op;

/// Four ranks whose writes start together and finish one after the other, or together.
fn shared_writes(is_serial: bool) -> Bed {
    program(4, move |rank, process| {
        for round in 0..100u64 {
            process.until(round * 90 * MS);
            let nanos =
                if is_serial { u64::from(rank + 1) * 20 * MS } else { 20 * MS + round % 3 * MS };
            let at = (round * 4 + u64::from(rank)) * 128 * KIB;
            process.data(Op::Pwrite, 1, at, 128 * KIB, nanos);
        }
    })
}

#[test]
fn serialized_shared_writes() {
    let bed = shared_writes(true);
    let found = bed.findings();
    assert_eq!(found[0].id, "serialized-shared-writes");
    assert!((found[0].cost_seconds - 3.0).abs() < 0.2, "{}", found[0].cost_seconds);
    assert!(found[0].evidence.iter().any(|line| line.contains("queue")));
    assert_eq!(shared_writes(false).ids(), [""; 0]);
    assert!(
        found[0].evidence[0]
            .starts_with("4 processes write /shared; their writes and locks took 11.7 s beyond"),
        "{:?}",
        found[0].evidence
    );
}

/// So large that the storage is busy with one of them.
#[test]
fn large_writes_may_wait_for_each_other() {
    let queue = |length: u64| {
        program(4, move |rank, process| {
            for round in 0..100u64 {
                process.until(round * 90 * MS);
                let at = (round * 4 + u64::from(rank)) * length;
                process.data(Op::Pwrite, 1, at, length, u64::from(rank + 1) * 20 * MS);
            }
        })
    };
    assert_eq!(queue(4 * MIB - 4096).ids()[0], "serialized-shared-writes");
    assert_eq!(queue(4 * MIB).ids(), [""; 0]);
}

#[test]
fn writers_that_wait_for_a_lock_are_serial() {
    let bed = program(4, |rank, process| {
        for round in 0..20u64 {
            process.until(round * 400 * MS);
            process.call(Op::Lock, 1, MS + u64::from(rank) * 100 * MS);
            let at = (round * 4 + u64::from(rank)) * 128 * KIB;
            process.data(Op::Pwrite, 1, at, 128 * KIB, 90 * MS).call(Op::Unlock, 1, MS);
        }
    });
    let ids = bed.ids();
    assert_eq!(ids[0], "serialized-shared-writes");
    assert!(!ids.contains(&"lock-contention"), "said once: {ids:?}");
}

fn locks(nanos: u64) -> Bed {
    program(2, move |_, process| {
        for _ in 0..100 {
            process.call(Op::Flock, 2, nanos).call(Op::Funlock, 2, US);
        }
    })
}

#[test]
fn lock_contention() {
    let found = locks(10 * MS).findings();
    assert_eq!((found.len(), found[0].id), (1, "lock-contention"));
    assert!((found[0].cost_seconds - 1.0).abs() < 1e-6);
    assert_eq!(locks(10 * US).ids(), [""; 0]);
    let some_wait = program(4, |rank, process| {
        for _ in 0..100 {
            process.call(Op::Flock, 2, if rank < 2 { 10 * MS } else { 0 });
        }
    });
    let found = some_wait.findings();
    assert_eq!(found[0].evidence, ["2 processes waited 2 s in 400 lock calls, 5 ms each"]);
    assert!((found[0].cost_seconds - 1.0).abs() < 1e-6, "{}", found[0].cost_seconds);
}

fn uneven(slow: u64) -> Bed {
    program(8, move |rank, process| {
        let nanos = if rank == 3 { slow } else { 10 * MS + u64::from(rank) * 50 * US };
        for block in 0..100 {
            process.data(Op::Pread, 2, block * MIB, MIB, nanos);
        }
    })
}

#[test]
fn straggling_ranks() {
    let found = uneven(40 * MS).findings();
    assert_eq!((found.len(), found[0].id), (1, "straggling-ranks"));
    assert!((found[0].cost_seconds - 2.98).abs() < 0.02, "{}", found[0].cost_seconds);
    assert!(found[0].evidence[1].starts_with("rank 3 on node1"), "{:?}", found[0].evidence);
    assert!(found[0].advice[0].contains("no more data"));
    assert_eq!(uneven(10 * MS).ids(), [""; 0]);
}

/// A rank with so many blocks where the others have a hundred.
#[test]
fn ranks_that_move_more_are_told_from_slow_ones() {
    let found = |blocks: u64| {
        let bed = program(9, move |rank, process| {
            for block in 0..if rank == 3 { blocks } else { 100 } {
                process.data(Op::Pread, 2, block * MIB, MIB, 10 * MS + u64::from(rank) * 50 * US);
            }
        });
        bed.findings().into_iter().find(|it| it.id == "straggling-ranks").unwrap()
    };
    let more = found(400);
    assert_eq!(
        more.evidence[0],
        "1 of 9 processes has an I/O time beyond a modified Z score of 3.5; the median is 1.03 s"
    );
    assert!(more.evidence[1].starts_with("rank 3 on node1 took 4.06 s (score "));
    assert!(more.evidence[1].ends_with(") and moved 3 times the mean of the bytes"));
    assert!(more.advice[0].contains("divide it evenly"), "{:?}", more.advice);
    assert!(found(160).advice[0].contains("no more data"), "1.5 times the mean");
}

fn one_writes(ranks: u32, writers: u32) -> Bed {
    program(ranks, move |rank, process| {
        for block in 0..100 {
            if rank < writers {
                process.data(Op::Pwrite, 2, block * MIB, MIB, 10 * MS);
            }
        }
    })
}

#[test]
fn single_writer() {
    let found = one_writes(8, 1).findings();
    assert_eq!((found.len(), found[0].id), (1, "single-writer"));
    assert!((found[0].cost_seconds - 0.875).abs() < 1e-6);
    assert_eq!(one_writes(8, 8).ids(), [""; 0]);
    assert_eq!(one_writes(2, 1).ids(), [""; 0], "two ranks");
}
