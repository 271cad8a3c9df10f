//! Programs whose figures can be counted: all run for 10 s.

use crate::common::{Bed, KIB, MIB, MS, Rank, S, US, program};
use plimsoll_trace::{Op, Program};

/// Large requests of 2 MiB in 20 ms each: 100 MiB/s that others are compared with.
fn large(process: &mut Rank, op: Op, file: u32, calls: u64) {
    for block in 0..calls {
        process.data(op, file, GIB + block * 2 * MIB, 2 * MIB, 20 * MS);
    }
}

const GIB: u64 = 1 << 30;

pub fn all() -> Vec<(&'static str, Bed)> {
    vec![
        ("Small requests, with large ones to compare with", small_requests(1002, 10)),
        ("Small requests, one fewer than makes a pattern", small_requests(1001, 10)),
        ("Small requests, and too few large ones for a rate", small_requests(1002, 7)),
        ("Unaligned requests beside aligned ones of that size", unaligned(200, 4 * KIB)),
        ("Unaligned requests beside too few aligned ones", unaligned(99, 4 * KIB)),
        ("Unaligned requests beside far larger aligned ones", unaligned(200, 64 * KIB)),
        ("Unaligned requests beside many aligned ones of that size", unaligned(1000, 4 * KIB)),
        ("Random requests beside sequential ones", random(1200, 1100, 64 * KIB)),
        ("Random requests beside too few sequential ones", random(1200, 999, 64 * KIB)),
        ("Fewer random than sequential requests", random(1200, 1300, 64 * KIB)),
        ("Large random requests", random(1000, 10, 2 * MIB)),
        ("Too few random requests for a pattern", random(999, 10, 64 * KIB)),
        ("Two files that are read twice, and one that is written twice", repeated()),
        ("Independent MPI writes beside large ones", independent(12, 120)),
        ("Independent MPI writes, and too few large ones", independent(3, 99)),
        ("Independent MPI writes that are just large enough", just_large_enough()),
        ("Data sieving in collective and independent writes", sieving()),
        ("Small collective writes on a crowded node", collective(120, 4 * KIB)),
        ("Collective writes that are large together", collective(120, 512 * KIB)),
        ("Ranks that wait for a late one", late()),
        ("Writers that wait for a lock", locked()),
        ("Writers that queue", queueing()),
        ("A rank with more data, and one that is slow", stragglers(5, true)),
        ("A rank that is slow with no more data", stragglers(5, false)),
        ("A rank that is slow with more data", stragglers(0, true)),
        ("One rank writes for all", single_writer()),
        ("Files that are opened again and again", metadata(Op::Open, 1200)),
        ("Names that are made and removed", metadata(Op::Unlink, 1200)),
        ("Attributes that are asked for again and again", metadata(Op::Stat, 1200)),
        ("Syncs after each write", syncs(12, 2)),
        ("Syncs of checkpoints", syncs(9, 3)),
        ("Two threads, and a process beside the ranks", threads()),
        ("Small requests that matter little", little()),
        ("No calls at all", program(2, |_, _| {})),
    ]
}

/// 4 KiB reads of 0.2 ms by both processes, of which the first of each follows no pattern, and writes of 1000 bytes by the first.
fn small_requests(calls: u64, larges: u64) -> Bed {
    program(2, move |rank, process| {
        large(process, Op::Pread, 1, larges / 2 + u64::from(rank) * (larges % 2));
        for block in 0..calls / 2 + u64::from(rank) * (calls % 2) {
            process.data(Op::Pread, 1, block * 4 * KIB, 4 * KIB, 200 * US);
        }
        if rank == 0 {
            (0..1500).for_each(|it| {
                process.data(Op::Write, 2, it * 1000, 1000, 100 * US);
            });
        }
        // As large as a small one may not be.
        (0..20).for_each(|it| {
            process.data(Op::Pread, 2, it * 64 * KIB, 64 * KIB, MS);
        });
    })
}

/// 300 writes of 5000 bytes that take 4 ms each, and aligned ones of 1 ms.
fn unaligned(aligned: u64, length: u64) -> Bed {
    program(1, move |_, process| {
        for block in 0..300 {
            process.data(Op::Pwrite, 1, block * 5000 + 17, 5000, 4 * MS);
        }
        for block in 0..aligned {
            process.data(Op::Pwrite, 2, block * length, length, MS);
        }
    })
}

fn random(calls: u64, sequential: u64, length: u64) -> Bed {
    program(1, move |_, process| {
        for block in 0..sequential {
            process.data(Op::Pread, 2, block * length, length, MS);
        }
        for block in 0..calls {
            let place = (block * block * 7 + block * 13) % 4001;
            process.data(Op::Pread, 1, place * 4 * MIB, length, 5 * MS);
        }
    })
}

fn repeated() -> Bed {
    program(2, |rank, process| {
        for turn in 0..3 {
            (0..50).for_each(|it| {
                process.data(Op::Pread, 1, it * MIB, MIB, 5 * MS);
            });
            if rank == 0 && turn < 2 {
                (0..40).for_each(|it| {
                    process.data(Op::Pread, 2, it * MIB, MIB, 5 * MS);
                });
            }
        }
        // A tenth of what is written is written again: headers.
        (0..50).chain(0..5).for_each(|it| {
            process.data(Op::Pwrite, 2, 10 * GIB + it * MIB, MIB, 5 * MS);
        });
    })
}

fn independent(larges: u64, calls: u64) -> Bed {
    program(2, move |rank, process| {
        let mut write = |at: u64, length: u64, nanos: u64| {
            process.around(Op::MpiWriteAt, 1, at, length, |it| {
                it.pause(US).data(Op::Pwrite, 1, at, length, nanos);
            });
        };
        (0..larges)
            .for_each(|it| write(GIB + (2 * it + u64::from(rank)) * 2 * MIB, 2 * MIB, 20 * MS));
        (0..calls).for_each(|it| write((2 * it + u64::from(rank)) * 64 * KIB, 64 * KIB, 10 * MS));
    })
}

/// A third of the time is a lock, a third a read, a third a write; the first rank writes collectively.
fn sieving() -> Bed {
    program(2, |rank, process| {
        let op = if rank == 0 { Op::MpiWriteAtAll } else { Op::MpiWriteAt };
        for record in 0..150u64 {
            let at = (2 * record + u64::from(rank)) * 1000;
            process.around(op, 1, at, 1000, |it| {
                it.pause(US).call(Op::Lock, 1, 3 * MS);
                it.data(Op::Pread, 1, at, 64 * KIB, 4 * MS);
                it.data(Op::Pwrite, 1, at, 64 * KIB, 2 * MS);
                it.call(Op::Unlock, 1, MS);
            });
        }
    })
}

/// Three ranks on one processor; each call takes 20 ms, of which the first rank writes for 2 ms.
fn collective(calls: u64, length: u64) -> Bed {
    let bed = Bed::new();
    for rank in 0..3 {
        let program = Program { processors: vec![0], ..Program::default() };
        let mut process = bed.rank_with(rank, 3, program);
        for call in 0..calls {
            let at = call * 3 * length;
            process.around(Op::MpiWriteAtAll, 1, at + u64::from(rank) * length, length, |it| {
                it.pause(18 * MS);
                if rank == 0 {
                    it.data(Op::Pwrite, 1, at, 3 * length, 2 * MS);
                } else {
                    it.pause(2 * MS);
                }
            });
            process.pause(10 * MS);
        }
        process.finish_at(10 * S);
    }
    bed
}

/// Three ranks; two of them wait 400 ms for the third, which is inside for 50 ms only.
fn late() -> Bed {
    program(3, |rank, process| {
        for turn in 0..10u64 {
            process.until(turn * 900 * MS);
            if rank == 2 {
                process.pause(400 * MS);
            }
            let end = turn * 900 * MS + 450 * MS;
            process.around(Op::MpiSetView, 1, 0, 0, |it| {
                it.until(end);
            });
        }
    })
}

/// Four processes want to write for 40 ms each time, of which each writes 10 ms, one after the other.
fn locked() -> Bed {
    program(4, |rank, process| {
        for turn in 0..40u64 {
            process.until(turn * 100 * MS);
            process.call(Op::Lock, 1, (1 + u64::from(rank) * 10) * MS);
            process.data(Op::Pwrite, 1, (turn * 4 + u64::from(rank)) * 64 * KIB, 64 * KIB, 9 * MS);
        }
        // A lock of its own file is no queue of writers.
        process.call(Op::Lock, 2, 500 * MS);
    })
}

/// At first three write at once, 30 ms for what one alone writes in 10 ms then; who reads meanwhile does not count.
fn queueing() -> Bed {
    program(3, |rank, process| {
        for turn in 0..100u64 {
            let at = (3 * turn + u64::from(rank)) * 64 * KIB;
            process.data(Op::Pwrite, 1, at, 64 * KIB, 30 * MS);
        }
        for turn in 0..200u64 {
            match rank {
                0 => process.data(Op::Pwrite, 1, GIB + turn * 64 * KIB, 64 * KIB, 10 * MS),
                _ => process.data(Op::Pread, 1, turn * MIB, MIB, 10 * MS),
            };
        }
    })
}

/// Two ranks read 200 MiB in 2 s each, and write some 1000 bytes at a time.
fn little() -> Bed {
    program(2, |rank, process| {
        large(process, Op::Pread, 1, 100);
        if rank == 0 {
            (0..1500).for_each(|it| {
                process.data(Op::Write, 2, it * 1000, 1000, 100 * US);
            });
        }
    })
}

fn just_large_enough() -> Bed {
    program(2, |rank, process| {
        for block in 0..120 {
            let at = (2 * block + u64::from(rank)) * MIB;
            process.around(Op::MpiWriteAt, 1, at, MIB, |it| {
                it.pause(US).data(Op::Pwrite, 1, at, MIB, 20 * MS);
            });
        }
        // Calls that take no time are not among the slow ones.
        process.around(Op::MpiReadAt, 1, 0, 0, |_| {});
    })
}

/// The sixth takes `slow` times as long for each block, and the fourth has four times as many, if `more`.
fn stragglers(slow: u64, more: bool) -> Bed {
    program(8, move |rank, process| {
        let slow = if rank == 5 { slow.max(1) } else { 1 };
        let blocks = if rank == 3 && more { 200 } else { 50 };
        (0..blocks).for_each(|it| {
            process.data(Op::Pwrite, 2, it * MIB, MIB, slow * 10 * MS + u64::from(rank) * MS);
        });
    })
}

fn single_writer() -> Bed {
    program(4, |rank, process| {
        let blocks = if rank == 1 { 100 } else { 1 };
        (0..blocks).for_each(|it| {
            process.data(Op::Pwrite, 2, it * MIB, MIB, 20 * MS);
        });
    })
}

fn metadata(op: Op, calls: u64) -> Bed {
    program(2, move |rank, process| {
        (0..calls / 2).for_each(|_| {
            process.call(op, 1 + rank, MS);
        });
        process.call(Op::Mkdir, 2, MS).fail(Op::Access, 2, MS).call(Op::Close, 1, 10 * MS);
        // One of them writes for longer than all that.
        if rank == 0 {
            process.data(Op::Pwrite, 2, 0, 10 * MIB, 2 * S);
        }
    })
}

fn syncs(calls: u64, files: u32) -> Bed {
    program(2, move |rank, process| {
        // What the other one does costs no sync, nor does what the C library hands on.
        if rank == 1 {
            process.data(Op::Pread, 2, 0, 10 * MIB, 3 * S);
            process.call(Op::Fflush, 2, MS).call(Op::MpiSync, 1, MS);
            return;
        }
        for it in 0..calls {
            process.data(Op::Pwrite, 1 + it as u32 % files.min(2), it * MIB, MIB, 10 * MS);
            process.call(Op::Fsync, 1 + it as u32 % files.min(2), 300 * MS);
        }
    })
}

/// A helper with a fifth of the I/O time takes part, one with a hundredth does not.
fn threads() -> Bed {
    let bed = program(2, |_, process| {
        for thread in 1..3 {
            process.thread = thread;
            process.now = 0;
            (0..100).for_each(|it| {
                process.data(Op::Pread, 2, it * MIB, MIB, 10 * MS);
            });
        }
    });
    for (number, calls) in [(1, 20), (2, 1)] {
        let mut helper = bed.helper(number, Program::default());
        (0..calls).for_each(|it| {
            helper.data(Op::Write, 2, it * KIB, KIB, 10 * MS);
        });
        helper.finish_at(10 * S);
    }
    bed
}
