//! Parts of a recording that are gathered apart, written, read back and merged give the same
//! report as the whole.

mod common;

use common::{Bed, KIB, MS, S, US};
use plimsoll_explain::{Analysis, ExplainError, Frame, Gathered, Options, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::{Op, Program};
use proptest::prelude::*;
use proptest::sample::Index;

/// What a process does again and again.
#[derive(Debug, Clone, Copy)]
enum Habit {
    Write { file: u32, offset: u64, length: u64 },
    Read { file: u32, offset: u64, length: u64 },
    Print { length: u64 },
    Collective { length: u64 },
    Independent { length: u64 },
    Open,
    Fail,
    Sync,
    Lock,
    Thread,
}

fn any_habit() -> impl Strategy<Value = Habit> {
    let place = || (1u32..6, 0u64..50, 1u64..200);
    prop_oneof![
        place().prop_map(|(file, offset, length)| Habit::Write {
            file,
            offset: offset * 4 * KIB,
            length: length * 512
        }),
        place().prop_map(|(file, offset, length)| Habit::Read {
            file,
            offset: offset * 8 * KIB,
            length: length * 1000
        }),
        (1u64..100).prop_map(|length| Habit::Print { length }),
        (1u64..100).prop_map(|length| Habit::Collective { length: length * KIB }),
        (1u64..100).prop_map(|length| Habit::Independent { length: length * 100 }),
        Just(Habit::Open),
        Just(Habit::Fail),
        Just(Habit::Sync),
        Just(Habit::Lock),
        Just(Habit::Thread),
    ]
}

/// The boot of a process and what it does, each so often.
type Processes = Vec<(u8, Vec<(Habit, u64)>)>;

fn any_processes() -> impl Strategy<Value = Processes> {
    let habits = prop::collection::vec((any_habit(), 1u64..200), 0..12);
    prop::collection::vec((1u8..3, habits), 1..9)
}

fn write(bed: &Bed, processes: &Processes) {
    let ranks = processes.len() as u32;
    for (number, (boot, habits)) in processes.iter().enumerate() {
        let rank = number as u32;
        let host = format!("node{boot}");
        let start = common::START + u64::from(*boot) * 77 * US;
        let mut process = bed.rank_on(rank, ranks, &host, *boot, start);
        process.define(DefinitionKind::File, 3, 0, "/usr/lib/python3/x.pyc");
        process.define(DefinitionKind::File, 4, 0, &format!("/many.{}", rank % 3));
        process.define(DefinitionKind::Hint, 1, 0, &format!("cb_nodes={}", rank % 2));
        process.define(DefinitionKind::Barrier, 0, start + 5 * US + u64::from(rank), "");
        process.define(DefinitionKind::Note, 0, 0, &format!("note of {host}"));
        for (step, (habit, times)) in habits.iter().enumerate() {
            for turn in 0..*times {
                let nanos = (1 + (turn * 7 + step as u64) % 13) * (1 + u64::from(rank)) * US / 4;
                let at = turn * 64 * KIB;
                match *habit {
                    Habit::Write { file, offset, length } => {
                        process.data(Op::Pwrite, file, offset + at, length, nanos)
                    }
                    Habit::Read { file, offset, length } => {
                        process.data(Op::Pread, file, offset + at, length, nanos)
                    }
                    Habit::Print { length } => process.data(Op::Fwrite, 2, at, length, nanos / 8),
                    Habit::Collective { length } => {
                        process.around(Op::MpiWriteAtAll, 1, at, length, |it| {
                            it.call(Op::Lock, 1, nanos / 2);
                            it.data(Op::Pread, 1, at, length, nanos);
                            it.data(Op::Pwrite, 1, at, length, nanos);
                            it.call(Op::Unlock, 1, US).pause(nanos);
                        })
                    }
                    Habit::Independent { length } => {
                        process.around(Op::MpiWriteAt, 1, at, length, |it| {
                            it.data(Op::Pwrite, 1, at, length, nanos);
                        })
                    }
                    Habit::Open => process.call(Op::Open, 4, nanos).call(Op::Close, 4, nanos),
                    Habit::Fail => process.fail(Op::Stat, 0, nanos),
                    Habit::Sync => process.call(Op::Fsync, 1, nanos * 3),
                    Habit::Lock => process.call(Op::Lock, 1, nanos).call(Op::Unlock, 1, US),
                    Habit::Thread => {
                        process.thread = 1 + (process.thread + 1) % 3;
                        process.pause(nanos)
                    }
                };
            }
        }
        process.finish();
    }
}

/// All that is printed, and more.
fn shown(analysis: &Analysis) -> String {
    format!("{analysis:?} {:?}", findings(analysis))
}

fn through_bytes(part: &Gathered) -> Gathered {
    Gathered::from_bytes(&part.to_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn parts_that_are_merged_are_the_whole(
        processes in any_processes(),
        parts in prop::collection::vec(0usize..4, 9),
        merges in prop::collection::vec(any::<(Index, Index)>(), 4),
        detailed_files in prop_oneof![Just(256usize), Just(1)],
        include_runtime: bool,
    ) {
        let bed = Bed::new();
        write(&bed, &processes);
        let options = Options { detailed_files, include_runtime, ..Options::default() };
        let whole = Frame::new(bed.open(), &options).gather_all();
        // Each part in a frame of its own, as on another node.
        let mut gathered: Vec<Gathered> = (0..4)
            .map(|part| {
                let frame = Frame::new(bed.open(), &Options { threads: 1, ..options.clone() });
                let own = (0..processes.len()).filter(|process| parts[*process] == part);
                through_bytes(&frame.gather(own))
            })
            .collect();
        for (from, into) in merges {
            if gathered.len() < 2 {
                break;
            }
            let other = gathered.swap_remove(from.index(gathered.len()));
            let into = into.index(gathered.len());
            gathered[into].merge(other).unwrap();
            gathered[into] = through_bytes(&gathered[into]);
        }
        let mut merged = gathered.pop().unwrap();
        gathered.into_iter().for_each(|other| merged.merge(other).unwrap());
        prop_assert!(merged.to_bytes() == whole.to_bytes(), "bytes differ");
        let (merged, whole) = (merged.finish().unwrap(), whole.finish().unwrap());
        prop_assert_eq!(shown(&merged), shown(&whole));
        prop_assert_eq!(whole.processes.len(), processes.len());
    }
}

/// More sizes, durations, requests and slow calls than are kept.
fn crowded(bed: &Bed, ranks: u32) {
    for rank in 0..ranks {
        let mut process = bed.rank(rank, ranks);
        for turn in 0..6000u64 {
            let length = 1 + (turn * 37 + u64::from(rank) * 11) % 5000;
            process.data(Op::Pwrite, 1, turn * 8 * KIB, length, US + turn % 97);
        }
        for turn in 0..40 {
            process.around(Op::MpiWriteAt, 1, turn * KIB, KIB, |it| {
                it.data(Op::Pwrite, 1, turn * KIB, KIB, MS);
            });
        }
        process.finish_at(S);
    }
}

#[test]
fn what_is_cut_short_is_cut_alike() {
    let bed = Bed::new();
    crowded(&bed, 6);
    let frame = Frame::new(bed.open(), &Options::default());
    let whole = frame.gather_all();
    let mut merged = frame.gather([]);
    for process in [3, 0, 5, 1, 4, 2] {
        merged.merge(through_bytes(&frame.gather([process]))).unwrap();
    }
    assert_eq!(merged.to_bytes(), whole.to_bytes());
    let (merged, whole) = (merged.finish().unwrap(), whole.finish().unwrap());
    assert_eq!(shown(&merged), shown(&whole));
    let sizes = &whole.request_sizes.iter().find(|it| it.layer.name() == "posix").unwrap().common;
    assert!(sizes.missed_at_most > 0, "sizes were dropped: {sizes:?}");
    assert!(whole.durations.iter().any(|sample| (sample.seconds.len() as u64) < sample.calls));
    assert_eq!(whole.slow_calls.len(), Options::default().slow_calls);
    assert!(
        whole.slow_calls.iter().all(|call| call.process == 0),
        "of equally slow ones the first"
    );
}

#[test]
fn every_process_is_in_one_part() {
    let bed = Bed::new();
    (0..7).for_each(|rank| bed.rank(rank, 7).finish_at(S));
    let frame = Frame::new(bed.open(), &Options::default());
    let parts: Vec<Vec<usize>> = (0..3).map(|part| frame.part(part, 3)).collect();
    let mut all: Vec<usize> = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (0..7).collect::<Vec<_>>());
    assert!(parts.iter().all(|part| (2..=3).contains(&part.len())), "{parts:?}");
    assert!(frame.part(0, 9).len() == 1 && frame.part(8, 9).is_empty());
}

#[test]
fn a_process_counts_once() {
    let bed = Bed::new();
    (0..2).for_each(|rank| bed.rank(rank, 2).finish_at(S));
    let frame = Frame::new(bed.open(), &Options::default());
    let mut gathered = frame.gather([0, 0, 0, 2, 99]);
    let error = gathered.merge(frame.gather([1, 0])).unwrap_err();
    assert!(matches!(error, ExplainError::GatheredTwice { .. }));
    assert_eq!(error.to_string(), "rank 0 is in two of the parts, and would count twice");
    gathered.merge(frame.gather([1])).unwrap();
    assert_eq!(gathered.to_bytes(), frame.gather_all().to_bytes());
}

#[test]
fn a_part_is_no_whole() {
    let bed = Bed::new();
    (0..3).for_each(|rank| bed.rank(rank, 3).finish_at(S));
    let error = Frame::new(bed.open(), &Options::default()).gather([0]).finish().unwrap_err();
    assert!(matches!(error, ExplainError::Incomplete { absent: 2, processes: 3, .. }));
    assert!(error.to_string().contains("2 of 3 processes"), "{error}");
    assert!(error.to_string().contains("rank 1"), "{error}");
}

#[test]
fn parts_of_different_recordings_are_not_merged() {
    let (one, other) = (Bed::new(), Bed::new());
    for bed in [&one, &other] {
        (0..2).for_each(|rank| bed.rank(rank, 2).finish_at(S));
    }
    let part =
        |bed: &Bed, options: &Options, process| Frame::new(bed.open(), options).gather([process]);
    let options = Options::default();
    let with_runtime = Options { include_runtime: true, ..Options::default() };
    for foreign in [part(&other, &options, 1), part(&one, &with_runtime, 1)] {
        let error = part(&one, &options, 0).merge(foreign).unwrap_err();
        assert!(matches!(error, ExplainError::DifferentFrames { .. }), "{error}");
        assert!(error.to_string().contains("hint:"), "{error}");
    }
    part(&one, &options, 0).merge(part(&one, &options, 1)).unwrap();
}

#[test]
fn a_damaged_summary_is_refused() {
    let bed = Bed::new();
    let mut rank = bed.rank_with(0, 1, Program { job: "9".into(), ..Program::default() });
    rank.data(Op::Pwrite, 1, 0, KIB, MS);
    rank.finish_at(S);
    let bytes = Frame::new(bed.open(), &Options::default()).gather_all().to_bytes();
    for length in [0, 5, 20, 21, 24, bytes.len() / 2, bytes.len() - 1] {
        assert!(Gathered::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Gathered::from_bytes(&changed).is_err(), "byte {at}");
    }
    let mut newer = bytes.clone();
    newer[17] = 4;
    let error = Gathered::from_bytes(&newer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is a summary of version 4, and this program reads versions up to 3"
    );
    assert!(matches!(Gathered::from_bytes(b"PAR1"), Err(ExplainError::NotASummary)));
    assert!(Gathered::is_summary(&bytes) && !Gathered::is_summary(b"PAR1"));
}

/// As if somebody had computed the checksum anew.
#[test]
fn forged_summaries_are_survived() {
    let bed = Bed::new();
    let habits = [
        Habit::Write { file: 1, offset: 0, length: 512 },
        Habit::Read { file: 4, offset: 100, length: 4096 },
        Habit::Collective { length: KIB },
        Habit::Thread,
        Habit::Open,
        Habit::Sync,
    ];
    write(&bed, &vec![(1, habits.map(|habit| (habit, 3)).to_vec()); 2]);
    let sound = Frame::new(bed.open(), &Options::default()).gather_all().to_bytes();
    let (first, end) = (21, sound.len() - 4);
    let (mut read, mut refused) = (0, 0);
    for (number, at) in (first..end).step_by((end - first) / 120).enumerate() {
        let mut forged = sound[..end].to_vec();
        forged[at] = [0, 1, 0x7f, 0x80, 0xff][number % 5];
        forged.extend(crc32c::crc32c(&forged).to_le_bytes());
        match Gathered::from_bytes(&forged) {
            Ok(gathered) => {
                read += 1;
                gathered.finish().iter().for_each(|analysis| drop(findings(analysis)));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 5 && refused > 5, "{read} were read and {refused} refused");
}

#[test]
fn what_finds_no_room_is_refused_whatever_the_order() {
    let bed = Bed::new();
    for number in 0..4 {
        let mut rank = bed.rank(number, 4);
        rank.data(Op::Pwrite, 1, 0, KIB, US);
        rank.finish_at(S);
    }
    let frame = Frame::new(bed.open(), &Options::default());
    // Two operations each: it opens the file too.
    frame.gather_within(0..4, 8).finish().unwrap();
    for most in 0..4 {
        let gathered = frame.gather_within(0..4, 2 * most);
        assert!(gathered.require_room().is_err() && gathered.process_count() <= most);
        let error = gathered.finish().unwrap_err();
        assert!(matches!(error, ExplainError::NoRoom { left_out } if left_out == 4 - most as u64));
        assert!(error.to_string().contains("left out; hint: save summaries"), "{error}");
    }
    // Who did nothing needs none.
    bed.rank(4, 5).finish();
    let with_idle = Frame::new(bed.open(), &Options::default());
    assert_eq!(with_idle.gather_within(0..5, 8).process_count(), 5);
    // In parts there is room, and parts that lack something do not make a whole.
    let mut parts = frame.gather_within(0..2, 4);
    parts.merge(frame.gather_within(2..4, 4)).unwrap();
    parts.finish().unwrap();
    let mut parts = frame.gather_within(0..2, 4);
    parts.merge(through_bytes(&frame.gather_within(2..4, 2))).unwrap();
    assert!(matches!(parts.finish().unwrap_err(), ExplainError::Incomplete { absent: 1, .. }));
}
