//! Names, limits and bounds: what a reader of a recording is told, and what is kept of very much.

mod common;

use std::mem::offset_of;

use common::{Bed, KIB, MIB, MS, S, US};
use plimsoll_explain::{
    AccessCounts, CLASSES, CallKind, Direction, Frame, MpiTime, Options, ProcessState,
    RepeatedBytes, RuntimeKind, Serialisation, UnseenProgram, class_of, class_start,
};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::layout::{CHUNK_HEADER_BYTES, CHUNK_MAGIC, ChunkHeader, ChunkKind};
use plimsoll_trace::{Op, Unseen};

#[test]
fn what_is_printed_has_its_name() {
    assert_eq!(CallKind::ALL.map(CallKind::name), ["read", "write", "sync", "metadata"]);
    let states = [
        (ProcessState::Finished, "finished"),
        (ProcessState::Running, "running"),
        (ProcessState::Killed, "killed"),
        (ProcessState::Unfinished, "running or killed"),
        (ProcessState::Executed, "executed"),
        (ProcessState::Stopped, "stopped"),
    ];
    assert!(states.iter().all(|(state, name)| state.name() == *name));
    let missing = |reason| {
        let (program, detail) = ("a".to_string(), String::new());
        UnseenProgram { program, reason, detail, processes: 1 }.missing()
    };
    assert_eq!(missing(Unseen::Static), "all of it");
    assert_eq!(missing(Unseen::SetId), "all of it and of what it starts");
    assert_eq!(MpiTime { nanos: 2_500_000_000, ..MpiTime::default() }.seconds(), 2.5);
}

#[test]
fn classes_begin_at_powers_of_two() {
    assert_eq!([0, 1, 2, 3, 4, 11].map(class_start), [0, 1, 2, 4, 8, 1024]);
    assert_eq!(
        (class_start(64), class_start(65)),
        (1 << 63, 1 << 63),
        "there are no larger numbers"
    );
    for class in 1..CLASSES {
        assert_eq!(class_of(class_start(class)), class);
        assert_eq!(class_of(class_start(class) - 1), class - 1);
    }
}

#[test]
fn histograms_have_a_class_for_each_power_of_two() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Write, 2, 0, 4 * KIB, MS).data(Op::Write, 2, 4 * KIB, 5000, MS);
    rank.finish();
    let analysis = bed.analyze();
    let classes = analysis.request_sizes[0].histogram.classes();
    assert_eq!(classes.len(), CLASSES);
    assert_eq!((classes[13].calls, classes[13].bytes), (2, 4096 + 5000));
    assert_eq!(classes.iter().map(|it| it.calls).sum::<u64>(), 2);
}

#[test]
fn a_recording_knows_its_command_and_how_much_was_read() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Write, 2, 0, 4 * KIB, MS).data(Op::Write, 2, 4 * KIB, 5000, MS);
    rank.finish();
    let recording = bed.open();
    assert_eq!(recording.command(), None);
    assert_eq!(recording.processes()[0].chunks().len(), 1);
    let notes = vec!["a note".to_string(); 3];
    let recording = recording.with_command(Some("app -n 3".into()), notes);
    assert_eq!(recording.command(), Some("app -n 3"));
    assert_eq!(
        recording.first_notes(2).collect::<Vec<_>>(),
        ["a note", "a note", "and 1 more note"]
    );
    let gathered = Frame::new(recording, &Options::default()).gather_all();
    assert_eq!((gathered.events(), gathered.process_count()), (2, 1));
}

/// More requests than are kept: those that are kept lie all over the time and have all durations.
#[test]
fn samples_are_taken_from_all_over_the_time() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for request in 0..20_000u64 {
        rank.data(Op::Pwrite, 2, request * KIB, KIB, (100 + request % 10) * US);
    }
    rank.finish();
    let analysis = bed.analyze();
    let detail = analysis.files[0].detail.as_ref().unwrap();
    assert_eq!((detail.samples.len(), detail.sampled_from), (1024, 20_000));
    for tenth in 0..10 {
        let inside = |start: u64| start / (2_090 * MS / 10) == tenth;
        let count = detail.samples.iter().filter(|it| inside(it.start_ns)).count();
        assert!((60..150).contains(&count), "{count} of 1024 in tenth {tenth}");
    }
    let durations = &analysis.durations[0];
    assert_eq!((durations.calls, durations.seconds.len()), (20_000, 2000));
    for step in 0..10 {
        let length = f64::from(100 + step) * 1e-6;
        let count = durations.seconds.iter().filter(|it| (**it - length).abs() < 1e-9).count();
        assert!((140..270).contains(&count), "{count} of 2000 with {length} s");
    }
}

/// So many hints, notes and libraries are kept, each once.
#[test]
fn texts_are_kept_once_and_up_to_a_limit() {
    let bed = Bed::new();
    for number in 0..2 {
        let mut rank = bed.rank(number, 2);
        for note in 0..60 {
            rank.define(DefinitionKind::Note, 0, 0, &format!("note {}", note % 40));
            rank.define(DefinitionKind::Hint, 1, 0, &format!("key{}=1", note % 30));
        }
        rank.define(DefinitionKind::MpiLibrary, 0, 0, "Open MPI 5");
        rank.call(Op::Open, 1, MS);
        rank.finish();
    }
    let recording = bed.open();
    assert_eq!(recording.notes().count(), 40);
    assert_eq!(recording.mpi_libraries().collect::<Vec<_>>(), ["Open MPI 5"]);
    let analysis = bed.analyze();
    let shared = analysis.files.iter().find(|it| it.path == "/shared").unwrap();
    assert_eq!(shared.hints.len(), 30);
}

#[test]
fn of_very_many_texts_the_first_are_kept() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for number in 0..5000 {
        rank.define(DefinitionKind::Note, 0, 0, &format!("note {number}"));
        rank.define(DefinitionKind::Hint, 1, 0, &format!("key{number}=1"));
    }
    rank.call(Op::Open, 1, MS);
    rank.finish();
    assert_eq!(bed.open().notes().count(), 4096);
    let analysis = bed.analyze();
    assert_eq!(analysis.files[0].hints.len(), 1024, "of one process");
}

#[test]
fn many_files_that_cannot_be_read_are_counted() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Write, 2, 0, 100, MS);
    rank.finish();
    let with_bad = |count: usize| {
        for number in 0..count {
            std::fs::write(bed.path().join(format!("bad{number:03}.rec")), [0u8; 5000]).unwrap();
        }
        let warnings = bed.open().warnings().to_vec();
        let named =
            warnings.iter().filter(|it| it.contains("is not a file of a recording")).count();
        let more = warnings.iter().find(|it| it.contains("more files cannot be read")).cloned();
        (named, more)
    };
    assert_eq!(with_bad(2), (2, None));
    assert_eq!(with_bad(1000), (1000, None));
    assert_eq!(with_bad(1003), (1000, Some("3 more files cannot be read".to_string())));
    let told = bed.analyze().warnings;
    assert_eq!((told.len(), told[20].as_str()), (21, "and 981 more warnings like these"));
}

/// Two ranks of two nodes, one of whose clocks is 5 s ahead: both leave a barrier at the same moment.
#[test]
fn clocks_of_nodes_meet_at_barriers() {
    let bed = Bed::new();
    for (number, host, boot, ahead) in
        [(0, "node1", 1, 0), (1, "node1", 1, 0), (2, "node2", 2, 5 * S), (3, "node2", 2, 5 * S)]
    {
        let start = 1000 + ahead;
        let mut rank = bed.rank_on(number, 4, host, boot, start);
        // Ranks of one node leave it 2 ms apart.
        let exit = start + S + u64::from(number % 2) * 2 * MS;
        rank.define(DefinitionKind::Barrier, 0, exit, "");
        rank.until(2 * S).data(Op::Pwrite, 2, 0, MIB, 100 * MS);
        rank.finish();
    }
    let analysis = bed.analyze();
    assert!((analysis.clock_error_seconds.unwrap() - 0.001).abs() < 1e-9);
    // The first of node1 leaves where the middle of node2 does: node2 is 1 ms earlier than it says.
    assert!((analysis.span_seconds - 2.101).abs() < 1e-6, "{}", analysis.span_seconds);
    // Nobody knows how far a third node is off that was at no barrier.
    let mut rank = bed.rank_on(4, 5, "node3", 3, 1000);
    rank.data(Op::Pwrite, 2, 0, MIB, 100 * MS);
    rank.finish();
    assert_eq!(bed.analyze().clock_error_seconds, None);
}

/// A clock that is behind by 5 s at the first barrier and by 100 us more ten seconds later drifts by 10 parts per million.
#[test]
fn clocks_that_drift_meet_at_both_barriers() {
    let span = |late: u64| {
        let bed = Bed::new();
        for (number, host, boot, exit) in [(0, "node1", 1, 11 * S), (1, "node2", 2, 11 * S - late)]
        {
            let mut rank = bed.rank_on(number, 2, host, boot, 1000);
            rank.define(DefinitionKind::Barrier, 0, 1000 + S, "");
            rank.define(DefinitionKind::Barrier, 1, 1000 + exit, "");
            rank.finish_at(exit);
        }
        let analysis = bed.analyze();
        assert_eq!(analysis.clock_error_seconds, None, "no node has two ranks");
        analysis.span_seconds
    };
    // One second before the first barrier it was 10 us farther off.
    assert!((span(100 * US) - 11.000_01).abs() < 1e-8, "{}", span(100 * US));
    // A tenth is no drift but damage: the clocks meet once.
    assert!((span(S) - 11.0).abs() < 1e-6, "{}", span(S));
}

#[test]
fn no_contention_has_no_share_of_it() {
    let none = Serialisation::default();
    assert_eq!(none.serial_share(), None);
    let half = Serialisation { contended_seconds: 2.0, serial_seconds: 1.0, ..none };
    assert_eq!(half.serial_share(), Some(0.5));
}

#[test]
fn shares_of_nothing_are_none_and_others_are_parts_of_all() {
    assert_eq!(RepeatedBytes::default().share(), None);
    let half = RepeatedBytes { repeated: 5, bytes: 10, is_estimate: false };
    assert_eq!(half.share(), Some(0.5));
    let nothing = AccessCounts::default();
    assert_eq!((nothing.unaligned_page_share(), nothing.unaligned_stripe_share()), (None, None));
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    // One of four begins and ends on boundaries of stripes, two of pages.
    for (offset, length) in [(0, MIB), (MIB, 4 * KIB), (2 * MIB + 1, 100), (3 * MIB, 10)] {
        rank.data(Op::Pwrite, 2, offset, length, MS);
    }
    rank.finish();
    let writes = &bed.analyze().access[1];
    let shares = (writes.unaligned_page_share(), writes.unaligned_stripe_share());
    assert_eq!(shares, (Some(0.5), Some(0.75)));
}

#[test]
fn kinds_of_runtime_files_have_names() {
    let names: std::collections::BTreeSet<&str> = RuntimeKind::ALL.map(RuntimeKind::name).into();
    assert_eq!(names.len(), 4);
    assert!(names.contains("MPI and launcher") && names.contains("interpreter's modules"));
}

/// What sync writes back is what was written to any file before.
#[test]
fn a_sync_of_all_files_is_time_of_writing() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    rank.data(Op::Pwrite, 1, 0, MIB, 100 * MS).data(Op::Pwrite, 2, 0, MIB, 100 * MS);
    rank.call(Op::Sync, 0, 300 * MS).call(Op::Sync, 0, 400 * MS);
    rank.finish();
    let write = *bed.analyze().headline(Direction::Write);
    assert!((write.busy.unwrap().seconds - 0.5).abs() < 1e-3, "{write:?}");
    assert!(
        (write.data_busy.unwrap().seconds - 0.2).abs() < 1e-3,
        "the second sync has nothing to do"
    );
}

/// The first thread ends after the second, and both have more events than fit into a chunk.
#[test]
fn a_recording_lasts_until_the_last_call_of_any_thread() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for (thread, requests) in [(1, 15_000u64), (2, 12_000)] {
        (rank.thread, rank.now) = (thread, 0);
        for request in 0..requests {
            rank.data(
                Op::Pwrite,
                2,
                request * 7919 % 1000 * KIB,
                KIB + request % 100,
                (100 + request % 7) * US,
            );
        }
    }
    rank.finish();
    assert!(bed.open().processes()[0].chunks().len() > 2);
    let expected: u64 = (0..15_000).map(|it| 100 + it % 7).sum();
    let span = bed.analyze().span_seconds;
    assert!((span - expected as f64 * 1e-6).abs() < 1e-9, "{span}");
}

#[test]
fn a_chunk_that_cannot_be_read_is_told_with_its_size() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    (0..500).for_each(|it| {
        rank.data(Op::Pwrite, 2, it * 7919 % 100 * KIB, KIB, MS);
    });
    rank.finish();
    assert!(bed.analyze().warnings.is_empty());
    let path = bed.path().join("node1.0.rec");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|it| *it != 0).unwrap();
    bytes[last - 20] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    let warnings = bed.analyze().warnings;
    let damaged = warnings.iter().find(|it| it.contains("node1.0.rec is damaged: "));
    assert!(damaged.is_some_and(|it| it.contains(" in 1 chunk cannot be read")), "{warnings:?}");
}

/// Moments that lie years ahead are damage. What is left of their calls is held against the end of the recording.
#[test]
fn calls_that_reach_beyond_the_recording_are_counted() {
    const YEARS: u64 = 1 << 56;
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for (start, nanos) in [(0, S), (YEARS, S), (S, YEARS), (S, S)] {
        rank.now = start;
        rank.data(Op::Pwrite, 2, 0, MIB, nanos);
    }
    rank.finish();
    let analysis = bed.analyze();
    assert!((analysis.span_seconds - 2.0).abs() < 1e-6, "{}", analysis.span_seconds);
    assert_eq!((analysis.events_outside_span, analysis.events), (2, 4));
}

/// As of a process that was killed, whose recorder knew operations that are not known here.
#[test]
fn events_that_cannot_be_understood_are_told_with_their_size() {
    let bed = Bed::new();
    let mut rank = bed.rank(0, 1);
    for thread in [1, 2, 3] {
        (rank.thread, rank.now) = (thread, 0);
        rank.data(Op::Pwrite, 2, 0, KIB, MS);
    }
    rank.finish();
    let path = bed.path().join("node1.0.rec");
    let mut bytes = std::fs::read(&path).unwrap();
    let magic = CHUNK_MAGIC.to_le_bytes();
    let chunks: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&magic)).collect();
    let is_of_events =
        |at: &usize| bytes[at + offset_of!(ChunkHeader, kind)] == ChunkKind::Events as u8;
    let chunks: Vec<usize> = chunks.into_iter().filter(is_of_events).take(2).collect();
    let mut unknown = 0;
    for at in chunks {
        bytes[at + offset_of!(ChunkHeader, sealed)] = 0;
        bytes[at + CHUNK_HEADER_BYTES] = 0xfe;
        unknown += bytes[at + offset_of!(ChunkHeader, committed)];
    }
    std::fs::write(&path, bytes).unwrap();
    let analysis = bed.analyze();
    assert_eq!(analysis.events, 1, "of the third thread");
    let said = format!("is damaged: {unknown} bytes in 0 chunks cannot be read");
    assert!(analysis.warnings[0].contains(&said), "{said}: {:?}", analysis.warnings);
}
