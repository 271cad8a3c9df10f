//! What is written is read back, and what is damaged is said.

use std::path::Path;

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, NO_FILE, Outcome, SECOND_OF_CALL, UNKNOWN_OFFSET};
use plimsoll_trace::layout::{
    Anchor, BLOCK_BYTES, CHUNK_HEADER_BYTES, CHUNK_MAGIC, HEADER_BYTES, PROCESSORS_MAX,
};
use plimsoll_trace::{
    Damage, Event, Op, ProcessFile, ProcessWriter, Program, ThreadDecoder, TraceError,
    WritingProcess,
};
use proptest::prelude::*;

const START: Anchor = Anchor { ticks: 1_000, monotonic_ns: 1_000, realtime_ns: 9_000 };

fn write(path: &Path, calls: &[(u32, Call)]) {
    let program = Program { pid: 42, host: "node1".into(), ..Program::default() };
    let _ = std::fs::remove_file(path);
    let mut writer = ProcessWriter::create(path, &program, START).unwrap();
    writer.define(DefinitionKind::File, 1, 0, b"/data/out").unwrap();
    for (thread, call) in calls {
        writer.call(*thread, call).unwrap();
    }
    writer.finish().unwrap();
}

fn read(path: &Path) -> (Vec<(u32, Event)>, Vec<String>, Damage) {
    let file = ProcessFile::open(path).unwrap();
    let mut files = Vec::new();
    let (chunks, mut damage) = file
        .scan(|definition| files.push(String::from_utf8_lossy(definition.text).into_owned()))
        .unwrap();
    let mut events = Vec::new();
    let (mut buffer, mut decoder, mut thread) = (Vec::new(), ThreadDecoder::new(), None);
    for chunk in &chunks {
        if thread.replace(chunk.thread) != Some(chunk.thread) {
            decoder = ThreadDecoder::new();
        }
        let payload = file.payload(chunk, &mut buffer).unwrap();
        let lost =
            decoder.decode(chunk.base_ticks, payload, |event| events.push((chunk.thread, event)));
        damage.bytes += lost as u64;
    }
    (events, files, damage)
}

fn call(op: Op, start: u64, end: u64) -> Call {
    let (offset, length) = if op.class().is_data() { (0, 0) } else { (UNKNOWN_OFFSET, 0) };
    Call { op, file: NO_FILE, offset, length, outcome: Outcome::Value(0), argument: 0, start, end }
}

fn any_call() -> impl Strategy<Value = (u32, Call)> {
    let op = (0..Op::ALL.len()).prop_map(|index| Op::ALL[index]);
    let op = op.prop_filter("a call of its own", |op| *op != Op::Enter);
    let outcome =
        prop_oneof![any::<u64>().prop_map(Outcome::Value), any::<u32>().prop_map(Outcome::Error)];
    let offset = prop_oneof![Just(UNKNOWN_OFFSET), 0u64..1 << 50, any::<u64>()];
    let length = prop_oneof![Just(4096u64), any::<u64>()];
    let span = prop_oneof![0u64..5000, 0u64..1 << 40];
    (0u32..3, op, any::<u32>(), offset, length, outcome, any::<u64>(), (any::<u32>(), span))
        .prop_map(|(thread, op, file, offset, length, outcome, argument, (start, span))| {
            let is_data = op.class().is_data();
            let (offset, length) = if is_data { (offset, length) } else { (UNKNOWN_OFFSET, 0) };
            let start = u64::from(start);
            let end = start + span;
            (thread, Call { op, file, offset, length, outcome, argument, start, end })
        })
}

fn as_event(call: &Call) -> Event {
    let is_data = call.op.class().is_data();
    Event {
        op: call.op,
        file: call.file,
        offset: (is_data && call.offset != UNKNOWN_OFFSET).then_some(call.offset),
        length: call.length,
        outcome: call.outcome,
        argument: call.argument,
        start: call.start,
        end: call.end,
        depth: 0,
    }
}

proptest! {
    #[test]
    fn any_calls_read_back(calls in proptest::collection::vec(any_call(), 0..400)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.rec");
        write(&path, &calls);
        let (events, files, damage) = read(&path);
        prop_assert_eq!(damage, Damage::default());
        prop_assert_eq!(files, ["/data/out"]);
        for thread in 0..3 {
            let of = |list: &[(u32, Event)]| -> Vec<Event> {
                list.iter().filter(|(by, _)| *by == thread).map(|(_, event)| *event).collect()
            };
            let expected: Vec<(u32, Event)> =
                calls.iter().map(|(thread, call)| (*thread, as_event(call))).collect();
            prop_assert_eq!(of(&events), of(&expected));
        }
    }

    #[test]
    fn any_damage_is_survived(
        calls in proptest::collection::vec(any_call(), 1..50),
        at in HEADER_BYTES..HEADER_BYTES + 2 * BLOCK_BYTES,
        value: u8,
        cut in proptest::option::of(0usize..HEADER_BYTES + 3 * BLOCK_BYTES),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.rec");
        write(&path, &calls);
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        std::fs::write(&path, bytes).unwrap();
        if ProcessFile::open(&path).is_ok() {
            let _ = read(&path);
        }
    }

    #[test]
    fn no_payload_panics(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mut events = 0u64;
        let left = ThreadDecoder::new().decode(0, &bytes, |_| events += 1);
        prop_assert!(left <= bytes.len());
    }
}

#[test]
fn calls_inside_a_call_have_a_depth_also_across_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    let mut calls = vec![(7, call(Op::Enter, 2_000, 2_000))];
    // On the same tick as the call around it, as a coarse clock may have it.
    calls.push((7, call(Op::Pwrite, 2_000, 2_000)));
    // Enough to fill more than one chunk.
    for index in 0..20_000u64 {
        let start = 2_010 + index * 100;
        calls.push((7, Call { length: index, ..call(Op::Pwrite, start, start + 50) }));
    }
    calls.push((7, call(Op::MpiWriteAt, 2_000, 3_000_000)));
    calls.push((7, call(Op::Fsync, 3_000_100, 3_000_200)));
    write(&path, &calls);
    let (events, _, damage) = read(&path);
    assert_eq!(damage, Damage::default());
    assert_eq!(events.len(), 20_003);
    assert!(events[..20_001].iter().all(|(_, event)| event.depth == 1));
    assert_eq!(events[20_001].1.depth, 0);
    assert_eq!((events[20_001].1.start, events[20_001].1.end), (2_000, 3_000_000));
    assert_eq!(events[20_002].1.depth, 0);
}

#[test]
fn a_flipped_bit_is_noticed_and_the_other_chunks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    let calls: Vec<(u32, Call)> =
        (0..2).map(|thread| (thread, call(Op::Fsync, 2_000, 3_000))).collect();
    write(&path, &calls);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[HEADER_BYTES + 64] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let (events, _, damage) = read(&path);
    assert_eq!(damage.chunks, 1);
    assert_eq!(events.len(), 1);
}

#[test]
fn what_cannot_be_read_behind_a_broken_header_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    let calls: Vec<(u32, Call)> =
        (0..3).map(|thread| (thread, call(Op::Fsync, 2_000, 3_000))).collect();
    write(&path, &calls);
    let mut bytes = std::fs::read(&path).unwrap();
    let magic = CHUNK_MAGIC.to_le_bytes();
    let chunks: Vec<usize> = (HEADER_BYTES..bytes.len())
        .step_by(CHUNK_HEADER_BYTES)
        .filter(|at| bytes[*at..].starts_with(&magic))
        .collect();
    assert_eq!(chunks.len(), 4, "one for each thread, and one of definitions");
    bytes[chunks[1]] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let (events, _, damage) = read(&path);
    assert_eq!(events.len(), 1, "where the next one begins is not known");
    assert_eq!((damage.chunks, damage.bytes), (1, (bytes.len() - chunks[1]) as u64));
}

#[test]
fn foreign_newer_and_damaged_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    std::fs::write(&path, "not a recording").unwrap();
    assert!(matches!(ProcessFile::open(&path), Err(TraceError::Foreign { .. })));
    write(&path, &[]);
    let good = std::fs::read(&path).unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        std::fs::write(&path, bytes).unwrap();
        ProcessFile::open(&path)
    };
    assert!(matches!(with(8, 99), Err(TraceError::Version { found: 99, .. })));
    assert!(matches!(with(20, 99), Err(TraceError::Damaged { .. })));
    assert!(matches!(ProcessFile::open(folder.path()), Err(TraceError::Read { .. })));
}

#[test]
fn bytes_and_time_are_counted_once() {
    let event = |op, outcome, argument| Event {
        outcome,
        argument,
        ..as_event(&Call { length: 100, ..call(op, 1, 2) })
    };
    assert_eq!(event(Op::Pread, Outcome::Value(70), 0).bytes(), 70);
    assert_eq!(event(Op::Pread, Outcome::Error(5), 0).bytes(), 0);
    assert_eq!(event(Op::Open, Outcome::Value(3), 0).bytes(), 0, "a descriptor, not data");
    for op in [Op::CopyFileRangeRead, Op::Sendfile, Op::SpliceWrite] {
        let first = event(op, Outcome::Value(70), 0);
        assert!(!first.is_second_of_call() && first.is_spent(), "{op:?}");
        let second = event(op, Outcome::Value(70), SECOND_OF_CALL);
        assert!(second.is_second_of_call() && !second.is_spent(), "{op:?}");
    }
    let flags = event(Op::Open, Outcome::Value(3), SECOND_OF_CALL);
    assert!(!flags.is_second_of_call() && flags.is_spent(), "what else an argument may be");
    for (op, is_spent) in [(Op::AioRead, false), (Op::AioSync, false), (Op::Fsync, true)] {
        assert_eq!(event(op, Outcome::Value(0), 0).is_spent(), is_spent, "{op:?}");
    }
}

#[test]
fn a_moment_is_that_of_the_clocks() {
    let now = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let before = now();
    let (first, second) = (Anchor::now(), Anchor::now());
    assert!((before..=now()).contains(&first.realtime_ns), "{first:?}");
    assert_eq!(first.ticks, first.monotonic_ns);
    assert!(0 < first.monotonic_ns && first.monotonic_ns <= second.monotonic_ns);
}

#[test]
fn this_process_knows_itself() {
    let program = plimsoll_trace::Program::current();
    assert_eq!(program.pid, std::process::id());
    assert_eq!(program.parent_pid, std::os::unix::process::parent_id());
    assert!(program.began_ns > 0 && !program.host.is_empty() && !program.arguments.is_empty());
    assert_eq!(Path::new(&program.program), std::env::current_exe().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    ProcessWriter::create(&path, &program, START).unwrap().finish().unwrap();
    let file = ProcessFile::open(&path).unwrap();
    assert_eq!((file.header().rank, file.header().ranks), (-1, 0), "no MPI program");
    assert_ne!(file.header().identity.boot_id, [0; 16]);
    assert_eq!(file.writing_process(), WritingProcess::Running);
}

#[test]
fn processors_and_user_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let setting = |name: &str, program: Program| {
        let path = folder.path().join(name);
        ProcessWriter::create(&path, &program, START).unwrap().finish().unwrap();
        ProcessFile::open(&path).unwrap().header().circumstances
    };
    let processors = vec![0, 1, 9, PROCESSORS_MAX - 1, PROCESSORS_MAX];
    let bound = setting("bound", Program { processors, ..Program::default() });
    assert_eq!(bound.is_known, 1);
    assert_eq!((bound.processors[0], bound.processors[1]), (0b11, 0b10));
    assert_eq!(bound.processors[PROCESSORS_MAX / 8 - 1], 0b1000_0000);
    assert_eq!(bound.processors.iter().map(|byte| byte.count_ones()).sum::<u32>(), 4);
    let named = setting("named", Program { user: "ann".into(), ..Program::default() });
    assert_eq!((named.is_known, &named.user[..4]), (1, &b"ann\0"[..]));
    let began = setting("began", Program { began_ns: 7, ..Program::default() });
    assert_eq!((began.is_known, began.began_ns), (1, 7));
    assert_eq!(setting("nothing", Program::default()).is_known, 0);
}

/// A block may be full before a thread's chunk is.
#[test]
fn chunks_of_many_threads_do_not_cross_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rec");
    let calls: Vec<(u32, Call)> = (0..30_000u64)
        .map(|index| {
            let (start, length) = (2_000 + index * 100, index * index);
            ((index % 5) as u32, Call { length, ..call(Op::Pwrite, start, start + 50) })
        })
        .collect();
    write(&path, &calls);
    let (mut events, files, damage) = read(&path);
    assert_eq!(damage, Damage::default());
    assert_eq!(files, ["/data/out"]);
    events.sort_by_key(|(_, event)| event.start);
    let expected: Vec<(u32, Event)> =
        calls.iter().map(|(thread, call)| (*thread, as_event(call))).collect();
    assert!(events == expected, "{} of {}", events.len(), expected.len());
    let (chunks, _) = ProcessFile::open(&path).unwrap().scan(|_| ()).unwrap();
    for thread in 0..5 {
        let mine = chunks.iter().filter(|chunk| chunk.thread == thread);
        let sequences: Vec<u32> = mine.map(|chunk| chunk.sequence).collect();
        assert!(sequences.len() > 1);
        assert_eq!(sequences, (0..sequences.len() as u32).collect::<Vec<_>>(), "{thread}");
    }
}

#[test]
fn chunks_beyond_the_limit_are_counted_and_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.rec");
    let mut writer = ProcessWriter::create(&path, &Program::default(), START).unwrap();
    for thread in 0..9 {
        let (op, outcome) = (Op::Read, Outcome::Value(1));
        let call =
            Call { op, file: 0, offset: 0, length: 1, outcome, argument: 0, start: 1, end: 2 };
        writer.call(thread, &call).unwrap();
    }
    writer.finish().unwrap();
    let file = ProcessFile::open(&path).unwrap();
    let (all, damage) = file.scan(|_| ()).unwrap();
    assert_eq!((all.len(), damage.chunks), (9, 0));
    let mut buffer = Vec::new();
    let beyond = all[4..].iter().map(|chunk| file.payload(chunk, &mut buffer).unwrap().len());
    let beyond = beyond.sum::<usize>() as u64;
    assert!(beyond > 0);
    let (some, damage) = file.scan_at_most(4, |_| ()).unwrap();
    assert_eq!((&some[..], damage.chunks, damage.bytes), (&all[..4], 5, beyond));
    let (some, damage) = file.scan_at_most(9, |_| ()).unwrap();
    assert_eq!((some, damage), (all, Damage::default()), "as many as allowed");
}
