//! What happens when: bytes and activities of processes, calls in flight.

use plimsoll_explain::{Activity, Analysis, Direction, TimelineRow};
use plimsoll_report::html::{Axis, HeatMap, Lines, Section};
use plimsoll_report::{Record, Unit};

use super::sections;

/// Returns the part of a page that has time on its axes.
pub fn over_time(analysis: &Analysis) -> Section {
    let mut in_flight = Lines::new(
        "Calls in flight",
        seconds_axis(),
        Axis::new("calls in flight, mean of a bin", Unit::Count),
    )
    .steps();
    for series in &analysis.in_flight {
        let name = format!("{} {}", series.layer.name(), series.kind.name());
        let at = |index: usize| index as f64 * series.bin_seconds;
        let points = series.mean.iter().enumerate().map(|(index, mean)| (at(index), *mean));
        in_flight = in_flight.line(name, points.collect());
    }
    let phases = Record::new().rows("phases", "I/O phases", sections::phases(analysis, 50));
    let mut section = Section::new("Over time");
    for direction in Direction::ALL.into_iter().rev() {
        section = match bytes_by_process(analysis, direction) {
            Some(map) => section.chart(map),
            None => section,
        };
    }
    section
        .note(fold_note(analysis))
        .chart(timeline(analysis))
        .text(
            "Steps that go down one by one at the end of a phase betray processes that are \
             served one after the other.",
        )
        .chart(in_flight)
        .record(&phases)
}

/// Rows of processes that take part; all rows where several processes share one.
fn drawn_rows(analysis: &Analysis) -> Vec<&TimelineRow> {
    let takes_part = |row: &&TimelineRow| {
        row.processes > 1
            || analysis.processes.get(row.first_process).is_none_or(|process| process.takes_part)
    };
    analysis.timeline.rows.iter().filter(takes_part).collect()
}

fn row_name(analysis: &Analysis, row: &TimelineRow) -> String {
    let first = analysis.processes.get(row.first_process).map(|it| it.label());
    let first = first.unwrap_or_default();
    if row.processes > 1 { format!("{first} and {} more", row.processes - 1) } else { first }
}

/// Returns which processes are in the rows of the maps.
fn fold_note(analysis: &Analysis) -> String {
    let (rows, all) = (drawn_rows(analysis), analysis.timeline.rows.len());
    let processes = analysis.active_processes();
    if rows.iter().any(|row| row.processes > 1) {
        format!(
            "{processes} processes are drawn in {all} rows: a row adds up the bytes of neighbours, \
             and has the mean of what they do."
        )
    } else if rows.len() < all {
        format!(
            "Drawn are the {} of {processes} processes that take part in I/O; a launcher's helpers \
             and their like are not.",
            rows.len()
        )
    } else {
        "Every process has a row.".to_string()
    }
}

/// Returns the bytes of each process over time.
fn bytes_by_process(analysis: &Analysis, direction: Direction) -> Option<HeatMap> {
    let rows = drawn_rows(analysis);
    let cells = rows.iter().flat_map(|row| row.bytes.iter());
    let cells: Vec<f64> = cells.map(|bytes| bytes[direction as usize] as f64).collect();
    let (title, class) = match direction {
        Direction::Read => ("Bytes read, by process and time", "read"),
        Direction::Write => ("Bytes written, by process and time", "written"),
    };
    let timeline = &analysis.timeline;
    cells.iter().any(|bytes| *bytes > 0.0).then(|| {
        HeatMap::new(
            title,
            seconds_axis(),
            (0.0, timeline.bin_seconds * timeline.bins as f64),
            timeline.bins,
            "process",
            rows.iter().map(|row| row_name(analysis, row)).collect(),
            Axis::new("bytes in a cell", Unit::Bytes),
        )
        .logarithmic()
        .class(class, cells)
    })
}

/// Returns what each process does over time.
fn timeline(analysis: &Analysis) -> HeatMap {
    let (timeline, rows) = (&analysis.timeline, drawn_rows(analysis));
    let names = rows.iter().map(|row| row_name(analysis, row));
    let reach = (0.0, timeline.bin_seconds * timeline.bins as f64);
    let mut map = HeatMap::new(
        "What each process does",
        seconds_axis(),
        reach,
        timeline.bins,
        "process",
        names.collect(),
        Axis::new("share of the time of a cell", Unit::Share),
    );
    for (index, activity) in Activity::ALL.into_iter().enumerate() {
        let cells = rows.iter().flat_map(|row| row.shares.iter().map(move |it| it[index]));
        let cells: Vec<f64> = cells.collect();
        if cells.iter().any(|share| *share > 0.0) {
            map = map.class(activity.name(), cells);
        }
    }
    map
}

/// Returns the axis of time that charts of a recording share.
pub fn seconds_axis() -> Axis {
    Axis::new("time since the beginning", Unit::Seconds)
}
