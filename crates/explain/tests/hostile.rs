//! Whatever a recording says, the analysis ends, does not panic and keeps its promises.

mod common;

use common::Bed;
use plimsoll_explain::{Options, Recording, analyze, call_on_each_rank, compare, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};
use proptest::prelude::*;

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10_000, any::<u64>(), Just(0), Just(u64::MAX), Just(i64::MAX as u64)]
}

fn any_call() -> impl Strategy<Value = (u32, Call)> {
    let op = (0..Op::ALL.len()).prop_map(|index| Op::ALL[index]);
    let outcome =
        prop_oneof![any_number().prop_map(Outcome::Value), any::<u32>().prop_map(Outcome::Error)];
    let times = (any_number(), any_number());
    (0u32..3, op, 0u32..5, any_number(), any_number(), outcome, any_number(), times).prop_map(
        |(thread, op, file, offset, length, outcome, argument, (start, end))| {
            let is_data = op.class().is_data();
            let (offset, length) = if is_data { (offset, length) } else { (UNKNOWN_OFFSET, 0) };
            (thread, Call { op, file, offset, length, outcome, argument, start, end })
        },
    )
}

fn any_anchor() -> impl Strategy<Value = Anchor> {
    // The writer itself adds to the anchors, so they stay below the half of what fits.
    let number = || prop_oneof![0u64..10_000, 0u64..1 << 62];
    (number(), number(), number()).prop_map(|(ticks, monotonic_ns, realtime_ns)| Anchor {
        ticks,
        monotonic_ns,
        realtime_ns,
    })
}

/// Boots, starts, barriers and calls of processes.
type Processes = Vec<(u8, Anchor, Vec<u64>, Vec<(u32, Call)>)>;

fn any_processes() -> impl Strategy<Value = Processes> {
    let calls = prop::collection::vec(any_call(), 0..60);
    let barriers = prop::collection::vec(any_number(), 0..3);
    prop::collection::vec((0u8..3, any_anchor(), barriers, calls), 1..4)
}

fn write(bed: &Bed, processes: &Processes) {
    for (index, (boot, anchor, barriers, calls)) in processes.iter().enumerate() {
        let program = Program {
            pid: index as u32,
            rank: Some(index as u32),
            boot_id: [*boot; 16],
            ..Program::default()
        };
        let path = bed.path().join(format!("{index}.rec"));
        let mut writer = ProcessWriter::create(&path, &program, *anchor).unwrap();
        writer.define(DefinitionKind::File, 1, 0, b"/one").unwrap();
        writer.define(DefinitionKind::File, 2, 0, b"/two").unwrap();
        for (number, ticks) in barriers.iter().enumerate() {
            writer.define(DefinitionKind::Barrier, number as u32, *ticks, b"").unwrap();
        }
        for (thread, call) in calls {
            // A last event far in the future would overflow the writer's own anchors.
            let call = Call { end: call.end.min(1 << 62), ..*call };
            writer.call(*thread, &call).unwrap();
        }
        writer.finish().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn absurd_events_are_survived(processes in any_processes()) {
        let bed = Bed::new();
        write(&bed, &processes);
        let recording = Recording::open(bed.path()).unwrap();
        let run = |threads| {
            analyze(&recording, &Options { threads, ..Options::default() }).unwrap()
        };
        let analysis = run(1);
        prop_assert!(format!("{analysis:?}") == format!("{:?}", run(2)), "threads matter");
        for call in analysis.slow_calls.iter().take(2) {
            let calls = call_on_each_rank(&recording, call, 2);
            prop_assert!(calls.contains(call), "{call:?} is not in {calls:?}");
        }
        let calls: u64 = analysis.totals.iter().map(|entry| entry.totals.calls).sum();
        prop_assert_eq!(calls, analysis.events);
        let of_files: u64 =
            analysis.files.iter().flat_map(|f| f.ops.iter()).map(|entry| entry.totals.calls).sum();
        prop_assert_eq!(of_files, analysis.events);
        for bandwidth in &analysis.bandwidths {
            let busy = bandwidth.busy.unwrap();
            prop_assert!(busy.at_least_seconds <= busy.seconds + 1e-6);
            prop_assert!(busy.seconds <= busy.at_most_seconds + 1e-6);
            prop_assert!(busy.at_most_seconds <= analysis.span_seconds * 1.000_001 + 1e-6);
        }
        for finding in findings(&analysis) {
            prop_assert!(finding.cost_seconds.is_finite() && finding.cost_seconds > 0.0);
        }
        compare(&analysis, &analysis);
    }

    #[test]
    fn damaged_bytes_are_survived(
        processes in any_processes(),
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let bed = Bed::new();
        write(&bed, &processes);
        let path = bed.path().join("0.rec");
        let mut content = std::fs::read(&path).unwrap();
        let at = at.index(content.len());
        for (index, byte) in bytes.into_iter().enumerate() {
            if let Some(slot) = content.get_mut(at + index) {
                *slot = byte;
            }
        }
        std::fs::write(&path, content).unwrap();
        if let Ok(recording) = Recording::open(bed.path()) {
            let analysis = analyze(&recording, &Options::default()).unwrap();
            findings(&analysis);
        }
    }
}
