//! What happens when: bytes and activities of processes, calls in flight.

use plimsoll_explain::{Activity, Analysis, Direction, TimelineRow};
use plimsoll_report::html::{Axis, HeatMap, Lines, Section};
use plimsoll_report::{Record, Unit, words};

use super::{hues, sections};

/// Returns the part of a page that has time on its axes.
pub fn over_time(analysis: &Analysis) -> Section {
    let most = analysis.in_flight.iter().flat_map(|it| it.mean.iter().copied()).reduce(f64::max);
    let title = match most.filter(|most| *most >= 1.0) {
        Some(most) => format!("Calls in flight: up to {} at a time", words::short(most)),
        None => "Calls in flight".into(),
    };
    let mut in_flight =
        Lines::new(title, seconds_axis(), Axis::new("calls in flight, mean of a bin", Unit::Count))
            .steps();
    in_flight =
        in_flight.hues(analysis.in_flight.iter().map(|it| hues::of_kind(it.kind)).collect());
    for series in &analysis.in_flight {
        let name = format!("{} {}", series.layer.name(), series.kind.name());
        let at = |index: usize| index as f64 * series.bin_seconds;
        let points = series.mean.iter().enumerate().map(|(index, mean)| (at(index), *mean));
        in_flight = in_flight.line(name, points.collect());
    }
    let phases = Record::new().rows("phases", "I/O phases", sections::phases(analysis, 50));
    let mut section = Section::new("Over time")
        .note(fold_note(analysis))
        .chart(timeline(analysis))
        .chart(in_flight);
    for direction in Direction::ALL.into_iter().rev() {
        section = match bytes_by_process(analysis, direction) {
            Some(map) => section.chart(map),
            None => section,
        };
    }
    let section = section.note(
        "Calls in flight that go down one by one at the end of a phase betray processes that are served one after the \
         other.",
    );
    section.record(&phases)
}

/// Rows of processes that take part; all rows where several processes share one.
pub fn drawn_rows(analysis: &Analysis) -> Vec<&TimelineRow> {
    let takes_part = |row: &&TimelineRow| {
        row.processes > 1
            || analysis.processes.get(row.first_process).is_none_or(|process| process.takes_part)
    };
    analysis.timeline.rows.iter().filter(takes_part).collect()
}

pub fn row_name(analysis: &Analysis, row: &TimelineRow) -> String {
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
    let class = match direction {
        Direction::Read => "read",
        Direction::Write => "written",
    };
    let of_row = |row: &&TimelineRow| -> u64 {
        row.bytes.iter().map(|bytes| bytes[direction as usize]).sum()
    };
    let sums: Vec<u64> = rows.iter().map(of_row).collect();
    let title = format!("Bytes {class}, by process and time{}", evenness(&sums));
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
        .hues(vec![hues::of_direction(direction)])
    })
}

/// Says whether all have about as much, or one has most of it; nothing where neither is so.
fn evenness(sums: &[u64]) -> &'static str {
    let most = sums.iter().max().copied().unwrap_or(0) as f64;
    let (least, all) = (sums.iter().min().copied().unwrap_or(0) as f64, sums.iter().sum::<u64>());
    match sums.len() {
        0 | 1 => "",
        _ if least > 0.95 * most => ": all have about as much",
        n if n > 2 && most > 0.9 * all as f64 => ": one has nearly all of it",
        _ => "",
    }
}

/// Says what processes spend most of their I/O time on.
fn timeline_title(analysis: &Analysis) -> String {
    let io = &analysis.io_share;
    let seconds = |it: &Activity| io.by_activity[*it as usize];
    let most = Activity::ALL.into_iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let stated = most.and_then(|it| Some((it, io.share_of(it)?)));
    match stated.filter(|(_, share)| *share > 0.0) {
        Some((it, share)) => {
            let (what, share) = (hues::said(it), words::percent(share));
            format!(
                "What each process does: {what} takes most of the I/O time, {share} of the run time"
            )
        }
        None => "What each process does".into(),
    }
}

/// Returns what each process does over time.
fn timeline(analysis: &Analysis) -> HeatMap {
    let (timeline, rows) = (&analysis.timeline, drawn_rows(analysis));
    let names = rows.iter().map(|row| row_name(analysis, row));
    let reach = (0.0, timeline.bin_seconds * timeline.bins as f64);
    let mut map = HeatMap::new(
        timeline_title(analysis),
        seconds_axis(),
        reach,
        timeline.bins,
        "process",
        names.collect(),
        Axis::new("share of the time of a cell", Unit::Share),
    );
    let mut drawn = Vec::new();
    for (index, activity) in Activity::ALL.into_iter().enumerate() {
        let cells = rows.iter().flat_map(|row| row.shares.iter().map(move |it| it[index]));
        let cells: Vec<f64> = cells.collect();
        if cells.iter().any(|share| *share > 0.0) {
            map = map.class(hues::said(activity), cells);
            drawn.push(hues::of_activity(activity));
        }
    }
    map.hues(drawn)
}

/// Returns the axis of time that charts of a recording share.
pub fn seconds_axis() -> Axis {
    Axis::new("time since the beginning", Unit::Seconds)
}
