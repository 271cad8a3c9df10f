//! A recording as one HTML page.

use plimsoll_explain::{
    Activity, Analysis, Direction, FileAnalysis, Finding, MpiCall, MpiTime, Options, Recording,
    Severity, call_on_each_rank,
};
use plimsoll_report::html::{
    Axis, Bars, Gantt, HeatMap, Lines, Page, Scale, Scatter, Section, Span, StackedBars, Tile,
};
use plimsoll_report::{Record, Unit, html};
use plimsoll_trace::Layer;

use super::numbers::*;
use super::sections;

/// Files that get a drawing of their requests.
const DRAWN_FILES: usize = 4;

/// The whole report. The recording is read once more for single calls.
pub fn page(
    title: &str,
    recording: &Recording,
    analysis: &Analysis,
    found: &[Finding],
    rows: usize,
) -> String {
    let subtitle = format!(
        "{} processes, {} calls, {:.3} s",
        analysis.active_processes(),
        analysis.events,
        analysis.span_seconds
    );
    let mut page = Page::new(title, subtitle)
        .section(findings_section(found))
        .section(speed(analysis))
        .section(over_time(analysis));
    if analysis.mpi_time.calls > 0 {
        page = page.section(mpi(recording, analysis));
    }
    page = page
        .section(requests(analysis))
        .section(files(analysis, rows))
        .section(processes(analysis, rows));
    let warnings = analysis.warnings.iter().map(String::as_str);
    let facts = warnings
        .chain(recording.notes())
        .fold(Section::new("About this recording"), |section, it| section.note(it));
    page.section(facts.record(&sections::overview(analysis)).text(super::BLIND_SPOTS))
        .footer("Made by plimsoll report. Times count from the beginning of the recording.")
        .to_html()
}

fn findings_section(found: &[Finding]) -> Section {
    let section = Section::new("Findings, worst first");
    if found.is_empty() {
        return section.text("Nothing costs this program much: no finding.");
    }
    let cards: Vec<html::Finding> = found
        .iter()
        .map(|finding| html::Finding {
            id: finding.id.to_string(),
            title: finding.title.to_string(),
            severity: match finding.severity {
                Severity::Low => html::Severity::Low,
                Severity::Medium => html::Severity::Medium,
                Severity::High => html::Severity::High,
            },
            cost_seconds: Some(finding.cost_seconds),
            evidence: finding.evidence.clone(),
            advice: finding.advice.clone(),
            change: String::new(),
        })
        .collect();
    section.findings(&cards)
}

/// Three answers to "how fast", definitions one click away.
fn speed(analysis: &Analysis) -> Section {
    let of = |layer| analysis.bandwidth(layer, None);
    let top = Layer::ALL.into_iter().find_map(of);
    let mut tiles = vec![
        Tile::new(&PERCEIVED, top.and_then(|it| it.perceived())),
        Tile::new(&FIRST_TO_LAST, top.and_then(|it| it.first_to_last())),
    ];
    if let Some(mpi) = of(Layer::Mpi) {
        tiles.push(Tile::new(&EFFECTIVE_MPI, mpi.effective()));
    }
    tiles.push(Tile::new(&EFFECTIVE_POSIX, of(Layer::Posix).and_then(|it| it.effective())));
    let totals = Record::new().rows("totals", "", sections::totals(&analysis.totals));
    Section::new("Bandwidth and calls").tiles(&tiles).record(&totals)
}

fn seconds_axis() -> Axis {
    Axis::new("time since the beginning", Unit::Seconds)
}

fn over_time(analysis: &Analysis) -> Section {
    let mut in_flight = Lines::new(
        "Calls in flight",
        seconds_axis(),
        Axis::new("calls in flight, mean of a bin", Unit::Count),
    )
    .steps();
    for series in &analysis.in_flight {
        let name = format!("{} {}", series.layer.name(), series.direction.name());
        let at = |index: usize| index as f64 * series.bin_seconds;
        let points = series.mean.iter().enumerate().map(|(index, mean)| (at(index), *mean));
        in_flight = in_flight.line(name, points.collect());
    }
    let phases = Record::new().rows("phases", "I/O phases", sections::phases(analysis, 50));
    Section::new("Over time")
        .text(
            "Steps that go down one by one at the end of a phase betray processes that are \
             served one after the other.",
        )
        .chart(in_flight)
        .chart(timeline(analysis))
        .record(&phases)
}

/// What each process does over time.
fn timeline(analysis: &Analysis) -> HeatMap {
    let timeline = &analysis.timeline;
    let names = timeline.rows.iter().map(|row| {
        let first = analysis.processes.get(row.first_process).map(|it| it.label());
        let first = first.unwrap_or_default();
        if row.processes > 1 { format!("{first} and {} more", row.processes - 1) } else { first }
    });
    let reach = (0.0, timeline.bin_seconds * timeline.bins as f64);
    let mut map = HeatMap::new(
        "What each process does",
        seconds_axis(),
        reach,
        timeline.bins,
        "process",
        names.collect(),
        Axis::new("share of the bin", Unit::Ratio),
    );
    for (index, activity) in Activity::ALL.into_iter().enumerate() {
        let cells = timeline.rows.iter().flat_map(|row| row.shares.iter().map(move |it| it[index]));
        let cells: Vec<f64> = cells.collect();
        if cells.iter().any(|share| *share > 0.0) {
            map = map.class(activity.name(), cells);
        }
    }
    map
}

/// Where the time of MPI-IO calls goes, in total and in single calls (Wright, figures 4.8 to
/// 4.10).
fn mpi(recording: &Recording, analysis: &Analysis) -> Section {
    let parts = sections::parts(&analysis.mpi_time).map(|(name, _)| name.to_string());
    let mut bars = StackedBars::new(
        "Where the time of MPI-IO calls goes",
        "operation",
        Axis::new("time in calls", Unit::Seconds),
        parts.to_vec(),
    );
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

/// The slowest MPI call and its companions on other ranks, each with the POSIX calls inside.
fn decomposition(recording: &Recording, slowest: &MpiCall) -> Gantt {
    let calls = call_on_each_rank(recording, slowest, Options::default().threads);
    let rows = calls.iter().map(|call| match call.rank {
        Some(rank) => format!("rank {rank}"),
        None => format!("process {}", call.process),
    });
    let mut kinds = vec![slowest.op.name().to_string()];
    for nested in calls.iter().flat_map(|call| &call.nested) {
        if !kinds.iter().any(|kind| kind == nested.op.name()) {
            kinds.push(nested.op.name().to_string());
        }
    }
    let title =
        format!("The slowest {} (number {}) and what is inside", slowest.op.name(), slowest.number);
    let mut gantt = Gantt::new(title, seconds_axis(), rows.collect(), kinds.clone());
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
    let mut section = Section::new("Requests").record(&sections::access(Record::new(), analysis));
    for sizes in &analysis.request_sizes {
        let classes: Vec<(u64, u64)> =
            sizes.histogram.non_empty().map(|(from, volume)| (from, volume.calls)).collect();
        let title = format!("Sizes of {} requests, {}", sizes.direction.name(), sizes.layer.name());
        let names = classes.iter().map(|(from, _)| Unit::Bytes.show(*from as f64)).collect();
        let bars = Bars::columns(title, "from", Axis::new("requests", Unit::Count), names)
            .series("requests", classes.iter().map(|(_, calls)| *calls as f64).collect());
        section = section.chart(bars);
    }
    section
}

fn files(analysis: &Analysis, rows: usize) -> Section {
    let mut section = Section::new("Files").record(&sections::files(Record::new(), analysis, rows));
    for file in analysis.files.iter().filter(|it| has_samples(it)).take(DRAWN_FILES) {
        section = section.chart(offsets(file));
    }
    section
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
    for direction in Direction::ALL {
        let points: Vec<(f64, f64)> = samples
            .clone()
            .filter(|it| it.direction == direction)
            .map(|it| (it.start_ns as f64 * 1e-9, it.offset as f64))
            .collect();
        if !points.is_empty() {
            chart = chart.points(direction.name(), points);
        }
    }
    chart
}

fn processes(analysis: &Analysis, rows: usize) -> Section {
    let record = sections::ranks(Record::new(), analysis, rows);
    Section::new("Processes").record(&sections::nodes(record, analysis))
}
