//! The first screen: whose run it was, what I/O cost it, how fast it was, and what to change.

use std::collections::BTreeSet;

use plimsoll_domain::moment::rfc3339;
use plimsoll_explain::{
    Activity, Analysis, Direction, FileAnalysis, FileId, Finding, Headline, Process, Recording,
};
use plimsoll_report::Record;
use plimsoll_trace::Op;

use super::numbers::*;

/// Returns who ran what, when and where.
pub fn about(recording: &Recording, analysis: &Analysis) -> Record {
    let began = u64::try_from(analysis.start_realtime_ns).ok().filter(|ns| *ns > 0);
    let processes = recording.processes();
    let ranks = processes.iter().filter(|process| process.rank.is_some()).count();
    let jobs = processes.iter().map(|process| process.job.as_str()).filter(|job| !job.is_empty());
    let users = processes.iter().filter_map(|process| process.circumstances.user.as_deref());
    let hosts = processes.iter().map(|process| process.host.as_str());
    Record::new()
        .optional_text("command", "command", command(recording))
        .optional_text("began", "began", began.map(rfc3339))
        .optional_text("job", "job", few(jobs))
        .optional_text("user", "user", few(users))
        .optional_text("nodes", "nodes", few(hosts))
        .number(&RANKS, (ranks > 0).then_some(ranks as u64))
        .number(&PROCESSES, analysis.active_processes() as u64)
        .number(&SPAN, analysis.span_seconds)
        .number(&EVENTS, analysis.events)
        .number(&LOST, analysis.lost_events)
        .number(&CLOCK_ERROR, analysis.clock_error_seconds)
}

/// Returns what was run: the command that `record` was given, or that of the process that started the
/// others.
fn command(recording: &Recording) -> Option<String> {
    let processes = recording.processes();
    let is_root =
        |process: &&Process| !processes.iter().any(|other| other.pid == process.parent_pid);
    let first = || processes.iter().filter(is_root).find(|process| !process.arguments.is_empty());
    let given = recording.command().map(str::to_string);
    given.or_else(|| Some(first()?.arguments.join(" ")))
}

/// Different names, a few of them: "n1, n2, n3 and 61 more".
fn few<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    const NAMED: usize = 3;
    let names: BTreeSet<&str> = names.collect();
    let named = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        n if n <= NAMED => Some(named),
        n => Some(format!("{named} and {} more", n - NAMED)),
    }
}

/// Returns what part of their run time processes spent on I/O, and on which kind.
pub fn io(analysis: &Analysis) -> Record {
    let io = &analysis.io_share;
    let slowest = io.slowest.map(|index| &analysis.processes[index]);
    let kinds = Activity::ALL.into_iter().filter(|it| io.by_activity[*it as usize] > 0.0);
    let rows = kinds.map(|activity| {
        Record::new()
            .text("kind", "kind", activity.name())
            .number(&IO_SECONDS, io.by_activity[activity as usize])
            .number(&IO_SHARE, io.share_of(activity))
    });
    Record::new()
        .number(&IO_SHARE, io.share())
        .number(&MEDIAN_SHARE, io.median_share)
        .optional_text("slowest", "slowest process", slowest.map(|it| it.label()))
        .number(&SLOWEST_SHARE, slowest.and_then(|it| it.io_share()))
        .number(&IO_SECONDS, io.busy_seconds)
        .number(&IO_PROCESSES, io.processes as u64)
        .rows("by_kind", "", rows.collect())
}

/// Returns how fast it read and how fast it wrote.
pub fn bandwidth(record: Record, analysis: &Analysis) -> Record {
    let row = |headline: &Headline| {
        Record::new()
            .optional_text("layer", "layer", headline.layer.map(|it| it.name().to_string()))
            .number(&MOVED, headline.layer.map(|_| headline.bytes))
            .number(&PERCEIVED, headline.perceived())
            .number(&DATA_ONLY, headline.data_only())
            .number(&FIRST_TO_LAST, headline.first_to_last())
            .number(&EFFECTIVE_MPI, headline.effective_mpi)
            .number(&EFFECTIVE_POSIX, headline.effective_posix)
    };
    let rows = Direction::ALL.map(|it| (it.name(), row(analysis.headline(it))));
    let record = record.named_rows("bandwidth", "bandwidth", "direction", rows.to_vec());
    let notes = analysis.headlines.iter().filter_map(other_layers).chain(mapped(analysis));
    notes.fold(record, |it, note| it.note(note))
}

/// Returns a note on mapped files: what is read and written through mapped memory is in no call.
fn mapped(analysis: &Analysis) -> Option<String> {
    let is_mapped = |file: &&FileAnalysis| {
        let maps = file.ops.sum(|op| op == Op::Mmap);
        maps.calls > maps.errors && file.id != FileId::UNKNOWN
    };
    let first = analysis.files.iter().find(is_mapped)?;
    let what = match analysis.files.iter().filter(is_mapped).count() {
        1 => format!("{} is", first.path),
        n => format!("{} and {} more are", first.path, n - 1),
    };
    Some(format!(
        "{what} mapped into memory: what is read and written there is in no call and not counted"
    ))
}

/// Returns the bytes that the headline leaves out because another layer moved them, where they are many.
fn other_layers(headline: &Headline) -> Option<String> {
    const NOTABLE: f64 = 0.01;
    let others = headline.all_bytes.saturating_sub(headline.bytes);
    let share = others as f64 / headline.all_bytes.max(1) as f64;
    (share >= NOTABLE).then(|| {
        format!(
            "{} of the bytes that were {} went through other layers than {}: see the calls by \
             layer and operation",
            plimsoll_report::Unit::Share.show(share),
            if headline.direction == Direction::Read { "read" } else { "written" },
            headline.layer.map_or("-", |layer| layer.name())
        )
    })
}

/// Conclusions, worst first.
pub fn findings(record: Record, found: &[Finding]) -> Record {
    let rows = found.iter().map(|finding| {
        Record::new()
            .text("id", "finding", finding.id)
            .judgement("severity", "severity", finding.severity.name(), finding.severity.emphasis())
            .number(&COST, finding.cost_seconds)
            .text("title", "what", finding.title)
            .texts("evidence", "evidence", finding.evidence.clone())
            .texts("advice", "advice", finding.advice.clone())
    });
    record.cards("findings", "findings, worst first", rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_are_all_told_and_many_are_counted() {
        let told = |names: &[&str]| few(names.iter().copied());
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["n1", "n1"]).as_deref(), Some("n1"));
        assert_eq!(told(&["n3", "n2", "n1"]).as_deref(), Some("n1, n2, n3"));
        assert_eq!(told(&["a", "b", "c", "d", "e"]).as_deref(), Some("a, b, c and 2 more"));
    }
}
