//! The parts of a report, each from the analysis alone.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_explain::{
    Analysis, Direction, FileAnalysis, FileId, LogsOfTarget, MpiTime, OpTable, Phase,
    ProcessAnalysis, RequestSizes, RuntimeSummary,
};
use plimsoll_machine::{LayoutHead, LustreFiles, Machine};
use plimsoll_report::{Record, Unit, sparkline};
use plimsoll_trace::{Layer, Op};

use super::numbers::*;

/// Calls by layer and operation, those with most time first.
pub fn totals(ops: &OpTable) -> Vec<Record> {
    let mut rows: Vec<_> = ops.iter().collect();
    rows.sort_by_key(|it| (it.op.layer(), std::cmp::Reverse(it.totals.nanos)));
    rows.iter()
        .map(|it| {
            Record::new()
                .text("layer", "layer", it.op.layer().name())
                .text("operation", "operation", it.op.name())
                .number(&CALLS, it.totals.calls)
                .number(&ERRORS, it.totals.errors)
                .number(&BYTES, it.totals.bytes)
                .number(&SECONDS, it.totals.seconds())
        })
        .collect()
}

/// Returns where the time of MPI-IO calls goes (Wright, figure 4.8).
pub fn mpi_time(record: Record, analysis: &Analysis) -> Record {
    let time = &analysis.mpi_time;
    if time.calls == 0 {
        return record;
    }
    let rows = parts(time).into_iter().map(|(part, nanos)| {
        let seconds = nanos as f64 * 1e-9;
        Record::new()
            .text("part", "part", part)
            .number(&SECONDS, seconds)
            .number(&SHARE, seconds / time.seconds())
    });
    record.rows("mpi_time", "where the time of MPI-IO calls goes", rows.collect())
}

pub fn parts(time: &MpiTime) -> [(&'static str, u64); 6] {
    [
        ("read", time.read_nanos),
        ("write", time.write_nanos),
        ("lock", time.lock_nanos),
        ("unlock", time.unlock_nanos),
        ("other", time.other_nanos),
        ("waiting", time.waiting_nanos()),
    ]
}

/// Files, those with most time first.
pub fn files(record: Record, analysis: &Analysis, rows: usize) -> Record {
    let lustre = LustreFiles::of(&Machine::host());
    let shown: Vec<(&FileAnalysis, Option<String>)> =
        analysis.files.iter().take(rows).map(|it| (it, layout(&lustre, &it.path))).collect();
    // A column that says nothing is left out: few machines have Lustre.
    let has_layouts = shown.iter().any(|(_, layout)| layout.is_some());
    let row = |(it, layout): (&FileAnalysis, Option<String>)| {
        if has_layouts { file(it).optional_text("layout", "layout", layout) } else { file(it) }
    };
    let rows_shown = shown.into_iter().map(row).collect();
    let record = record.rows("files", "files, most time first", rows_shown);
    match analysis.files.len().saturating_sub(rows) {
        0 => record,
        more => record.note(not_shown("files", more)),
    }
}

/// Returns how a file lies on Lustre's targets, if it still exists and is there.
fn layout(lustre: &LustreFiles, path: &str) -> Option<String> {
    Some(match lustre.layout(Path::new(path))? {
        LayoutHead::Composite => "composite".to_string(),
        LayoutHead::Striped { stripe_count, stripe_size } => {
            format!("{stripe_count} x {}", Bytes::new(u64::from(stripe_size)))
        }
    })
}

fn file(file: &FileAnalysis) -> Record {
    let [read, write] = &file.headlines;
    Record::new()
        .text("path", "file", &file.path)
        .number(&IO_SECONDS, file.own.total_seconds())
        .number(&READ_BYTES, file.own.bytes(Direction::Read))
        .number(&WRITTEN_BYTES, file.own.bytes(Direction::Write))
        .optional_text("use", "use", use_of(file))
        .number(&READERS, u64::from(file.readers))
        .number(&WRITERS, u64::from(file.writers))
        .number(&READ_RATE, read.perceived())
        .number(&WRITE_RATE, write.perceived())
        .rows("operations", "", totals(&file.ops))
}

/// Returns whether several processes use it; not known of files without a name.
fn use_of(file: &FileAnalysis) -> Option<String> {
    let word = if file.is_shared() { "shared" } else { "private" };
    (file.id > FileId::FOLDED).then(|| word.to_string())
}

/// Files of the runtime, which are in nothing else.
pub fn runtime(record: Record, analysis: &Analysis) -> Record {
    if analysis.runtime.is_empty() {
        return record;
    }
    let row = |it: &RuntimeSummary| {
        let all = it.ops.all();
        Record::new()
            .text("kind", "what", it.kind.name())
            .number(&FILES, it.files)
            .number(&CALLS, all.calls)
            .number(&READ_BYTES, it.ops.bytes(Direction::Read))
            .number(&WRITTEN_BYTES, it.ops.bytes(Direction::Write))
            .number(&SECONDS, all.seconds())
    };
    let title = "files of the runtime, not added up above (--include-runtime does)";
    record.rows("runtime", title, analysis.runtime.iter().map(row).collect())
}

/// What containers did on their targets, target by target; those with most time where not all are shown.
pub fn logs(record: Record, analysis: &Analysis, rows: usize) -> Record {
    if analysis.logs.is_empty() {
        return record;
    }
    let mut targets: Vec<&LogsOfTarget> = analysis.logs.iter().collect();
    if targets.len() > rows {
        targets.sort_by_key(|it| std::cmp::Reverse(it.ops.all().nanos));
    }
    let row = |it: &LogsOfTarget| {
        let of = |wanted: Op| it.ops.sum(|op| op == wanted);
        let (written, read) = (of(Op::LogWrite), of(Op::LogRead));
        Record::new()
            .text("target", "target", &it.target)
            .number(&LOGS, it.logs)
            .number(&LOG_WRITTEN_BYTES, written.bytes)
            .number(&LOG_WRITES, written.calls)
            .number(&LOG_WRITE_SECONDS, written.seconds())
            .number(&LOG_WAIT_SECONDS, of(Op::LogWait).seconds())
            .number(&LOG_SYNC_SECONDS, of(Op::LogSync).seconds())
            .number(&LOG_READ_BYTES, read.bytes)
            .number(&LOG_READ_SECONDS, read.seconds())
            .rows("operations", "", totals(&it.ops))
    };
    let title = "logs of containers, within the calls above and not added up there";
    let shown = targets.iter().take(rows).map(|it| row(it)).collect();
    let record = record.rows("logs", title, shown);
    match targets.len().saturating_sub(rows) {
        0 => record,
        more => record.note(not_shown("targets with logs", more)),
    }
}

fn not_shown(what: &str, more: usize) -> String {
    let more = Unit::Count.show(more as f64);
    format!("{what} that are not shown: {more}; --top N shows more, --json all")
}

/// Processes, by rank; those with most I/O time where not all are shown.
pub fn ranks(record: Record, analysis: &Analysis, rows: usize) -> Record {
    let mut active: Vec<&ProcessAnalysis> =
        analysis.processes.iter().filter(|process| process.events > 0).collect();
    let is_cut = active.len() > rows;
    if is_cut {
        active.sort_by(|a, b| b.own.total_seconds().total_cmp(&a.own.total_seconds()));
    }
    let shown = active.iter().take(rows).map(|process| {
        Record::new()
            .text("name", "process", process.label())
            .number(&IO_SECONDS, process.own.total_seconds())
            .number(&IO_SHARE, process.io_share())
            .number(&CALLS, process.events)
            .number(&READ_BYTES, process.own.bytes(Direction::Read))
            .number(&WRITTEN_BYTES, process.own.bytes(Direction::Write))
            .text("state", "ended", process.state.name())
            .text("host", "node", &process.host)
            .text("program", "program", &process.program)
            .number(&LOST, process.lost_events)
    });
    let title = if is_cut { "processes, most time first" } else { "processes" };
    let mut record = record.rows("ranks", title, shown.collect());
    if let Some(more) = active.len().checked_sub(rows).filter(|more| *more > 0) {
        record = record.note(not_shown("processes", more));
    }
    let slow = analysis.stragglers.iter().flat_map(|it| &it.slow).map(|straggler| {
        let process = &analysis.processes[straggler.process];
        Record::new()
            .text("name", "process", process.label())
            .number(&IO_SECONDS, straggler.seconds)
            .number(&SCORE, straggler.score)
    });
    let slow: Vec<Record> = slow.collect();
    if slow.is_empty() { record } else { record.rows("stragglers", "stragglers", slow) }
}

/// Nodes, where there are several.
pub fn nodes(record: Record, analysis: &Analysis) -> Record {
    if analysis.nodes.len() < 2 {
        return record;
    }
    let rows = analysis.nodes.iter().map(|node| {
        Record::new()
            .text("host", "node", &node.host)
            .number(&PROCESSES, node.processes as u64)
            .number(&IO_SECONDS, node.own.total_seconds())
    });
    record.rows("nodes", "nodes", rows.collect())
}

/// Requests by size, and the most common sizes.
pub fn sizes(record: Record, analysis: &Analysis) -> Record {
    let rows = analysis.request_sizes.iter().flat_map(|sizes| {
        sizes.histogram.non_empty().map(|(from, volume)| {
            Record::new()
                .text("layer", "layer", sizes.layer.name())
                .text("direction", "direction", sizes.direction.name())
                .number(&SIZE_FROM, from)
                .number(&CALLS, volume.calls)
                .number(&BYTES, volume.bytes)
                .number(&SECONDS, volume.seconds())
        })
    });
    let record = common_sizes(record, &analysis.request_sizes);
    record.rows("request_sizes", "request sizes", rows.collect())
}

/// Returns the most common sizes of requests, exactly.
pub fn common_sizes(record: Record, request_sizes: &[RequestSizes]) -> Record {
    let rows = request_sizes.iter().flat_map(|sizes| {
        let all = sizes.histogram.total().calls.max(1) as f64;
        sizes.common.sizes.iter().map(move |common| {
            Record::new()
                .text("layer", "layer", sizes.layer.name())
                .text("direction", "direction", sizes.direction.name())
                .number(&SIZE, common.bytes)
                .number(&CALLS, common.calls)
                .number(&SHARE, common.calls as f64 / all)
                .number(&MISSED, sizes.common.missed_at_most)
        })
    });
    record.rows("common_sizes", "most common request sizes", rows.collect())
}

/// Patterns of access.
pub fn access(record: Record, analysis: &Analysis) -> Record {
    let rows = Direction::ALL.into_iter().zip(&analysis.access).zip(&analysis.repeated);
    let rows = rows.filter_map(|((direction, access), repeated)| {
        let shares = access.shares()?;
        Some(
            Record::new()
                .text("direction", "direction", direction.name())
                .number(&SEQUENTIAL, shares.sequential)
                .number(&STRIDED, shares.strided)
                .number(&RANDOM, shares.random)
                .number(&UNALIGNED, access.unaligned_page_share())
                .number(&REPEATED, repeated.share()),
        )
    });
    record.rows("access", "patterns of access", rows.collect())
}

/// Phases, and calls in flight over time.
pub fn time(record: Record, analysis: &Analysis, rows: usize) -> Record {
    let mut record = record.rows("phases", "I/O phases", phases(analysis, rows));
    if let Some(more) = analysis.phases.len().checked_sub(rows).filter(|more| *more > 0) {
        record = record.note(not_shown("phases", more));
    }
    match calls_in_flight(analysis) {
        Some(line) => record.picture(line),
        None => record,
    }
}

/// Stretches of time with data calls; those that moved most where not all are shown.
pub fn phases(analysis: &Analysis, rows: usize) -> Vec<Record> {
    let mut largest: Vec<usize> = (0..analysis.phases.len()).collect();
    let moved = |phase: &Phase| phase.read_bytes.saturating_add(phase.written_bytes);
    largest.sort_by_key(|index| std::cmp::Reverse(moved(&analysis.phases[*index])));
    largest.truncate(rows);
    largest.sort_unstable();
    let phases = largest.into_iter().map(|index| &analysis.phases[index]);
    let row = |phase: &Phase| {
        Record::new()
            .number(&START, phase.start_seconds)
            .number(&END, phase.end_seconds)
            .number(&READ_BYTES, phase.read_bytes)
            .number(&WRITTEN_BYTES, phase.written_bytes)
    };
    phases.map(row).collect()
}

/// Returns a line for each kind of POSIX calls: how many are in flight from the beginning to the end.
fn calls_in_flight(analysis: &Analysis) -> Option<String> {
    // With a name before it and a number behind it, a line fits 80 columns.
    const COLUMNS: usize = 56;
    let mut lines = String::new();
    for series in analysis.in_flight.iter().filter(|it| it.layer == Layer::Posix) {
        let bins = series.mean.len().div_ceil(COLUMNS).max(1);
        let means = series.mean.chunks(bins).map(|it| it.iter().sum::<f64>() / it.len() as f64);
        // Heights are above zero, also where calls are always in flight.
        let heights: Vec<Option<f64>> =
            std::iter::once(0.0).chain(means.clone()).map(Some).collect();
        let greatest = means.fold(0.0, f64::max);
        if greatest > 0.0 {
            let line: String = sparkline(&heights).chars().skip(1).collect();
            lines += &format!("  {:8}  {line}  {greatest:.3}\n", series.kind.name());
        }
    }
    let title = "POSIX calls in flight over time, and the greatest mean of a column";
    (!lines.is_empty()).then(|| format!("{title}\n{lines}"))
}
