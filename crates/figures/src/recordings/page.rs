//! A recording as one HTML page.

use plimsoll_explain::{
    Activity, Analysis, Direction, FileAnalysis, Finding, MpiCall, MpiTime, Options, Recording,
    RuntimeFile, call_on_each_rank, conclusion,
};
use plimsoll_report::html::{
    Axis, Bars, Gantt, Hue, Page, Scale, Scatter, Section, Span, StackedBars, Tile,
};
use plimsoll_report::{Record, Unit, html, words};

use super::numbers::*;
use super::over_time::{over_time, seconds_axis};
use super::{hues, overview, sections};

/// Files that get a drawing of their requests.
const DRAWN_FILES: usize = 4;

/// Files whose counters of every operation are on the page.
const COUNTED_FILES: usize = 100;

/// Returns the whole report. The recording is read once more for the slowest call on each rank; a
/// summary has that call on its own rank only.
pub fn page(
    title: &str,
    about: Record,
    recording: &Recording,
    analysis: &Analysis,
    found: &[Finding],
    rows: usize,
) -> String {
    let mut page = Page::new(title, subtitle(recording, analysis))
        .section(Section::new("The run").record(&about))
        .section(cost(analysis, found))
        .section(speed(analysis))
        .section(findings_section(found))
        .section(over_time(analysis))
        .section(calls(analysis));
    if analysis.mpi_time.calls > 0 {
        page = page.section(mpi(recording, analysis));
    }
    page = page
        .section(requests(analysis))
        .section(files(analysis, rows))
        .section(processes(analysis, rows));
    let warnings = analysis.warnings.iter().cloned();
    let facts = warnings
        .chain(recording.first_notes(super::NOTES_READ))
        .fold(Section::new("About this recording"), |section, it| section.note(it));
    page.section(facts.text(super::BLIND_SPOTS))
        .footer("Made by plimsoll report. Times count from the beginning of the recording.")
        .to_html()
}

/// Returns what the report is about, in a line.
fn subtitle(recording: &Recording, analysis: &Analysis) -> String {
    let ranks = recording.processes().iter().filter(|it| it.rank.is_some()).count();
    let (count, noun) = match ranks {
        0 => (analysis.active_processes(), "process"),
        ranks => (ranks, "rank"),
    };
    let plural = match (count, noun) {
        (1, _) => "",
        (_, "rank") => "s",
        _ => "es",
    };
    let share = analysis.io_share.share().map_or(String::new(), |share| {
        format!(", I/O {} of the run time", Unit::Share.show(share))
    });
    format!("{count} {noun}{plural}, {}{share}", Unit::Seconds.show(analysis.span_seconds))
}

/// Returns what part of the run time I/O takes, and of what kind.
fn cost(analysis: &Analysis, found: &[Finding]) -> Section {
    let section = Section::new("I/O in the run time").text(conclusion(analysis, found));
    let section = match shares(analysis) {
        Some(bars) => section.chart(bars),
        None => section,
    };
    section.record(&overview::io(analysis))
}

/// Returns what part of the run time each kind of call takes, on an axis that is the whole run time.
fn shares(analysis: &Analysis) -> Option<StackedBars> {
    let io = &analysis.io_share;
    let known = |it: Activity| Some((it, io.share_of(it).filter(|share| *share > 0.0)?));
    let kinds: Vec<(Activity, f64)> = Activity::ALL.into_iter().filter_map(known).collect();
    let (most, _) = kinds.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let title = format!(
        "I/O takes {} of the run time, most of it for {}",
        words::percent(io.share()?),
        hues::said(*most)
    );
    let axis = Axis::new("share of the run time of processes", Unit::Share).reaching(0.0, 1.0);
    let names = kinds.iter().map(|(it, _)| hues::said(*it).to_string()).collect();
    let bars = StackedBars::new(title, "", axis, names)
        .hues(kinds.iter().map(|(it, _)| hues::of_activity(*it)).collect());
    Some(bars.row("I/O", kinds.into_iter().map(|(_, share)| share).collect()))
}

fn findings_section(found: &[Finding]) -> Section {
    let section = Section::new("Findings, worst first");
    if found.is_empty() {
        return section.text("No finding.");
    }
    let cards: Vec<html::Finding> = found
        .iter()
        .map(|finding| html::Finding {
            id: finding.id.to_string(),
            title: finding.title.to_string(),
            severity: finding.severity,
            cost_seconds: Some(finding.cost_seconds),
            evidence: finding.evidence.clone(),
            advice: finding.advice.clone(),
            change: String::new(),
        })
        .collect();
    section.findings(&cards)
}

/// Returns how fast it reads and how fast it writes, definitions one click away.
fn speed(analysis: &Analysis) -> Section {
    let moved = analysis.headlines.iter().filter_map(|it| Some((it, it.layer?)));
    let tiles = moved.flat_map(|(it, layer)| {
        let note = |what: &str| format!("{what}, {}", layer.name());
        let perceived = Tile::new(&PERCEIVED, it.perceived()).note(note(it.direction.name()));
        // Reads have nothing to make durable.
        let data_only = (it.direction == Direction::Write)
            .then(|| Tile::new(&DATA_ONLY, it.data_only()).note(note("write without sync")));
        std::iter::once(perceived).chain(data_only)
    });
    let tiles: Vec<Tile> = tiles.collect();
    Section::new("Bandwidth").tiles(&tiles).record(&overview::bandwidth(Record::new(), analysis))
}

/// Calls by layer and operation.
fn calls(analysis: &Analysis) -> Section {
    let totals = Record::new().rows("totals", "", sections::totals(&analysis.totals));
    Section::new("Calls").record(&totals)
}

/// Returns where the time of MPI-IO calls goes, in total and in single calls (Wright, figures 4.8 to
/// 4.10).
fn mpi(recording: &Recording, analysis: &Analysis) -> Section {
    let times = sections::parts(&analysis.mpi_time);
    let parts = times.map(|(name, _)| name.to_string());
    let all: u64 = times.iter().map(|(_, nanos)| nanos).sum();
    let title = match times.iter().max_by_key(|(_, nanos)| nanos).filter(|_| all > 0) {
        Some((name, nanos)) => {
            let share = words::percent(*nanos as f64 / all as f64);
            format!("Where the time of MPI-IO calls goes: {share} of it is {name}")
        }
        None => "Where the time of MPI-IO calls goes".into(),
    };
    let mut bars = StackedBars::new(
        title,
        "operation",
        Axis::new("time in calls", Unit::Seconds),
        parts.to_vec(),
    )
    // Locks are taken and given back.
    .hues(vec![Hue::Read, Hue::Write, Hue::Lock, Hue::Lock, Hue::Other, Hue::Waiting]);
    let values = |time: &MpiTime| -> Vec<f64> {
        sections::parts(time).iter().map(|(_, nanos)| *nanos as f64 * 1e-9).collect()
    };
    bars = bars.row("all", values(&analysis.mpi_time));
    for (op, time) in &analysis.mpi_time_by_op {
        bars = bars.row(op.name(), values(time));
    }
    let section = Section::new("Inside MPI-IO").chart(bars);
    match analysis.slow_calls.first() {
        Some(slowest) => section.chart(decomposition(recording, slowest)),
        None => section,
    }
}

/// Returns the slowest MPI call and its companions on other ranks, each with the POSIX calls inside.
fn decomposition(recording: &Recording, slowest: &MpiCall) -> Gantt {
    let mut calls = call_on_each_rank(recording, slowest, Options::default().threads);
    if calls.is_empty() {
        // A summary has this call only.
        calls.push(slowest.clone());
    }
    let rows = calls.iter().map(|call| match call.rank {
        Some(rank) => format!("rank {rank}"),
        None => format!("process {}", call.process),
    });
    let mut kinds = vec![slowest.op.name().to_string()];
    // What is seen of it is neither read nor written by the calls inside.
    let mut colours = vec![Hue::Waiting];
    for nested in calls.iter().flat_map(|call| &call.nested) {
        if !kinds.iter().any(|kind| kind == nested.op.name()) {
            kinds.push(nested.op.name().to_string());
            colours.push(hues::of_operation(nested.op));
        }
    }
    let title =
        format!("The slowest {} (number {}) and what is inside", slowest.op.name(), slowest.number);
    let mut gantt = Gantt::new(title, seconds_axis(), rows.collect(), kinds.clone()).hues(colours);
    for (row, call) in calls.iter().enumerate() {
        let second = |ns: u64| ns as f64 * 1e-9;
        gantt.push(Span {
            row,
            kind: 0,
            start: second(call.start_ns),
            end: second(call.start_ns + call.nanos),
            detail: format!("{} bytes", call.length),
        });
        for nested in &call.nested {
            let kind = kinds.iter().position(|kind| kind == nested.op.name()).unwrap_or(0);
            let place = nested.offset.map_or(String::new(), |offset| format!(" at {offset}"));
            gantt.push(Span {
                row,
                kind,
                start: second(nested.start_ns),
                end: second(nested.start_ns.saturating_add(nested.nanos)),
                detail: format!("{} bytes{place}", nested.length),
            });
        }
    }
    gantt
}

fn requests(analysis: &Analysis) -> Section {
    let common = sections::common_sizes(Record::new(), &analysis.request_sizes);
    let mut section =
        Section::new("Requests").record(&common).record(&sections::access(Record::new(), analysis));
    for sizes in &analysis.request_sizes {
        let classes: Vec<(u64, u64)> =
            sizes.histogram.non_empty().map(|(from, volume)| (from, volume.calls)).collect();
        let title = sizes_title(sizes.direction, sizes.layer.name(), &classes);
        let names = classes.iter().map(|(from, _)| Unit::Bytes.show(*from as f64)).collect();
        let bars = Bars::columns(title, "from", Axis::new("requests", Unit::Count), names)
            .series("requests", classes.iter().map(|(_, calls)| *calls as f64).collect())
            .hues(vec![hues::of_direction(sizes.direction)]);
        section = section.chart(bars);
    }
    section
}

/// Says which class most requests are of, where one is.
fn sizes_title(direction: Direction, layer: &str, classes: &[(u64, u64)]) -> String {
    let title = format!("Sizes of {} requests, {layer}", direction.name());
    let all: u64 = classes.iter().map(|(_, calls)| calls).sum();
    match classes.iter().max_by_key(|(_, calls)| calls) {
        Some((from, calls)) if calls * 2 > all => {
            let share = words::percent(*calls as f64 / all as f64);
            format!("{title}: {share} are in the class from {}", words::bytes(*from))
        }
        _ => title,
    }
}

fn files(analysis: &Analysis, rows: usize) -> Section {
    let record = sections::logs(sections::files(Record::new(), analysis, rows), analysis, rows);
    let mut section = Section::new("Files").record(&record);
    section = section.folded(counters(analysis)).folded(runtime(analysis, rows));
    for file in analysis.files.iter().filter(|it| has_samples(it)).take(DRAWN_FILES) {
        section = section.chart(offsets(file));
    }
    section
}

/// Counters of every operation, file by file, with the most common sizes of requests.
fn counters(analysis: &Analysis) -> Section {
    let shown = analysis.files.iter().take(COUNTED_FILES);
    let mut section = Section::new("Counters of every operation, file by file");
    for file in shown {
        let mut part = Record::new().rows("operations", "", sections::totals(&file.ops));
        if let Some(detail) = file.detail.as_ref().filter(|it| !it.request_sizes.is_empty()) {
            part = sections::common_sizes(part, &detail.request_sizes);
        }
        let by =
            |count: u32| if count == 1 { "1 process".into() } else { format!("{count} processes") };
        let (readers, writers) = (by(file.readers), by(file.writers));
        let roles = format!("{}: read by {readers}, written by {writers}", file.path);
        section = section.section(Section::new(roles).record(&part));
    }
    match analysis.files.len().saturating_sub(COUNTED_FILES) {
        0 => section,
        more => section.note(format!(
            "These are the {COUNTED_FILES} files with most time. Files that are not shown: {more}; \
             plimsoll report --json has all."
        )),
    }
}

/// Files that are not the program's own.
fn runtime(analysis: &Analysis, rows: usize) -> Section {
    let all = analysis.runtime_files.len();
    let known: u64 = analysis.runtime.iter().map(|it| it.files).sum();
    let section = Section::new(format!("Files of the runtime, not added up: {known}"));
    let row = |file: &RuntimeFile| {
        let totals = file.ops.all();
        Record::new()
            .text("path", "file", &file.path)
            .text("kind", "what", file.kind.name())
            .number(&PROCESSES, u64::from(file.processes))
            .number(&CALLS, totals.calls)
            .number(&READ_BYTES, file.ops.bytes(Direction::Read))
            .number(&WRITTEN_BYTES, file.ops.bytes(Direction::Write))
            .number(&SECONDS, totals.seconds())
    };
    let list = analysis.runtime_files.iter().take(rows).map(row).collect();
    let section = section
        .record(&sections::runtime(Record::new(), analysis))
        .record(&Record::new().rows("runtime_files", "files, most time first", list));
    match all.saturating_sub(rows) {
        0 => section,
        more => section.note(format!("Files that are not shown: {more}.")),
    }
}

fn has_samples(file: &FileAnalysis) -> bool {
    file.detail.as_ref().is_some_and(|detail| detail.samples.len() > 1)
}

/// Offset against time.
fn offsets(file: &FileAnalysis) -> Scatter {
    let mut chart = Scatter::new(
        format!("Offsets of requests over time: {}", file.path),
        seconds_axis(),
        Axis::new("offset", Unit::Bytes).scale(Scale::Linear),
    );
    let samples = file.detail.iter().flat_map(|detail| &detail.samples);
    let mut colours = Vec::new();
    for direction in Direction::ALL {
        let points: Vec<(f64, f64)> = samples
            .clone()
            .filter(|it| it.direction == direction)
            .map(|it| (it.start_ns as f64 * 1e-9, it.offset as f64))
            .collect();
        if !points.is_empty() {
            chart = chart.points(direction.name(), points);
            colours.push(hues::of_direction(direction));
        }
    }
    chart.hues(colours)
}

fn processes(analysis: &Analysis, rows: usize) -> Section {
    let record = sections::ranks(Record::new(), analysis, rows);
    Section::new("Processes").record(&sections::nodes(record, analysis))
}
