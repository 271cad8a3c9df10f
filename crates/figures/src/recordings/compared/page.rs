//! Two recordings as one HTML page, with their time lines below each other on one axis.

use plimsoll_explain::{Activity, Analysis, Comparison};
use plimsoll_report::html::{Axis, HeatMap, Hue, Page, Section, StackedBars};
use plimsoll_report::{Record, Unit, words};

use super::super::over_time::{drawn_rows, row_name, seconds_axis};
use super::super::{hues, overview};
use super::{IO_AFTER, IO_BEFORE, IO_SPEEDUP, SPEEDUP, WALL_AFTER, WALL_BEFORE};

/// One of the two recordings.
pub struct Side<'a> {
    /// What to call it: its directory.
    pub name: String,
    /// What came of its analysis.
    pub analysis: &'a Analysis,
}

/// Rows of the table of operations; a browser sorts and searches them.
const ROWS: usize = 500;

/// Returns the comparison as a page that stands alone.
pub fn page(before: &Side, after: &Side, changes: &Comparison) -> String {
    let subtitle = format!(
        "{} before, {} after",
        words::time(before.analysis.span_seconds),
        words::time(after.analysis.span_seconds)
    );
    let (wall, io) = (changes.wall_seconds, changes.io_seconds);
    let verdict = Record::new()
        .text("before", "before", before.name.as_str())
        .text("after", "after", after.name.as_str())
        .number(&WALL_BEFORE, wall.before)
        .number(&WALL_AFTER, wall.after)
        .number(&SPEEDUP, wall.speedup())
        .number(&IO_BEFORE, io.before)
        .number(&IO_AFTER, io.after)
        .number(&IO_SPEEDUP, io.speedup());
    let operations = super::operations(changes, ROWS);
    Page::new(format!("{} against {}", after.name, before.name), subtitle)
        .section(Section::new("Verdict").text(&changes.statement).record(&verdict))
        .section(Section::new("Where the time goes").chart(kinds(before, after)))
        .section(over_time(before, after))
        .section(Section::new("Findings").record(&super::all_findings(Record::new(), changes)))
        .section(Section::new("Bandwidth").record(&Record::new().named_rows(
            "bandwidth",
            "",
            "direction",
            super::bandwidths(changes),
        )))
        .section(
            Section::new("Operations, most time first").record(&super::durations(
                Record::new().rows("operations", "", operations),
                changes,
            )),
        )
        .footer("Made by plimsoll compare. Times count from the beginning of each recording.")
        .to_html()
}

/// Returns the activities that either has.
fn activities(before: &Side, after: &Side) -> Vec<Activity> {
    let seconds = |side: &Side, it: Activity| side.analysis.io_share.by_activity[it as usize];
    let known = |it: &Activity| seconds(before, *it) > 0.0 || seconds(after, *it) > 0.0;
    Activity::ALL.into_iter().filter(known).collect()
}

/// Returns the time of each kind of call in both.
fn kinds(before: &Side, after: &Side) -> StackedBars {
    let activities = activities(before, after);
    let seconds = |side: &Side| -> Vec<f64> {
        activities.iter().map(|it| side.analysis.io_share.by_activity[*it as usize]).collect()
    };
    let (was, is) = (seconds(before), seconds(after));
    let parts = activities.iter().map(|it| hues::said(*it).to_string()).collect();
    let axis = Axis::new("time of processes in calls", Unit::Seconds);
    StackedBars::new(largest_change(&activities, &was, &is), "recording", axis, parts)
        .hues(activities.iter().map(|it| hues::of_activity(*it)).collect())
        .row("before", was)
        .row("after", is)
}

/// Says which kind changed most, if one did.
fn largest_change(activities: &[Activity], was: &[f64], is: &[f64]) -> String {
    let change = |nth: &usize| (is[*nth] - was[*nth]).abs();
    let most = (0..activities.len()).max_by(|a, b| change(a).total_cmp(&change(b)));
    match most.filter(|nth| change(nth) > was[*nth].max(is[*nth]) * SAME_WITHIN) {
        None => "I/O time by kind is about the same".into(),
        Some(nth) => format!(
            "{} changes most: {} instead of {}",
            hues::said(activities[nth]),
            words::time(is[nth]),
            words::time(was[nth])
        ),
    }
}

/// Runs of one program differ by as much.
const SAME_WITHIN: f64 = plimsoll_explain::SAME_WITHIN;

/// Columns of the common time line.
const COLUMNS: usize = 240;

/// Returns what processes of both do, on one axis: equal places are equal times.
fn over_time(before: &Side, after: &Side) -> Section {
    let activities = activities(before, after);
    let sides = [("before", before), ("after", after)];
    let end = sides.iter().map(|(_, side)| reach(side.analysis)).fold(0.0, f64::max);
    let mut names = Vec::new();
    let mut cells = vec![Vec::new(); activities.len()];
    for (when, side) in sides {
        if !names.is_empty() {
            // An empty row between the two.
            names.push(String::new());
            cells.iter_mut().for_each(|cells| cells.extend([0.0; COLUMNS]));
        }
        let bin = side.analysis.timeline.bin_seconds;
        for row in drawn_rows(side.analysis) {
            names.push(format!("{when}, {}", row_name(side.analysis, row)));
            for (nth, activity) in activities.iter().enumerate() {
                let shares: Vec<f64> = row.shares.iter().map(|it| it[*activity as usize]).collect();
                cells[nth].extend(spread(&shares, bin, end / COLUMNS as f64));
            }
        }
    }
    let shares = Axis::new("share of the time of a cell", Unit::Share);
    let title = ends(reach(before.analysis), reach(after.analysis));
    let map = HeatMap::new(title, seconds_axis(), (0.0, end), COLUMNS, "", names, shares);
    let map = activities
        .iter()
        .zip(cells)
        .fold(map, |map, (activity, cells)| map.class(hues::said(*activity), cells))
        .hues(activities.iter().map(|it| hues::of_activity(*it)).collect::<Vec<Hue>>());
    let shares = |side: &Side| overview::io(side.analysis);
    Section::new("Over time")
        .chart(map)
        .folded(Section::new("I/O in the run time, before").record(&shares(before)))
        .folded(Section::new("I/O in the run time, after").record(&shares(after)))
}

fn reach(analysis: &Analysis) -> f64 {
    analysis.timeline.bin_seconds * analysis.timeline.bins as f64
}

fn ends(before: f64, after: f64) -> String {
    let (was, is) = (words::time(before), words::time(after));
    match after / before {
        ratio if ratio < 1.0 - SAME_WITHIN => {
            format!("The second run ends after {is}, the first after {was}")
        }
        ratio if ratio > 1.0 + SAME_WITHIN => {
            format!("The second run ends only after {is}, the first after {was}")
        }
        _ => "What each process does in both runs".into(),
    }
}

/// Returns shares of bins of one width as shares of [`COLUMNS`] bins of another, by the time that they have in common.
fn spread(shares: &[f64], bin: f64, column: f64) -> Vec<f64> {
    let mut cells = vec![0.0; COLUMNS];
    if !(bin > 0.0 && column > 0.0) {
        return cells;
    }
    for (nth, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let (from, to) = (nth as f64 * bin, (nth + 1) as f64 * bin);
        let first = ((from / column) as usize).min(COLUMNS - 1);
        let last = ((to / column) as usize).min(COLUMNS - 1);
        for (at, cell) in cells.iter_mut().enumerate().take(last + 1).skip(first) {
            let (start, end) = (at as f64 * column, (at + 1) as f64 * column);
            *cell += share * (to.min(end) - from.max(start)).max(0.0) / column;
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is lost and nothing is invented when bins become wider or narrower.
    #[test]
    fn shares_keep_their_time_on_another_grid() {
        let shares = [0.0, 1.0, 0.5, 0.25];
        for column in [0.01, 0.015, 0.1, 0.7] {
            let cells = spread(&shares, 0.5, column);
            let reached = column * COLUMNS as f64;
            let known: f64 = shares
                .iter()
                .enumerate()
                .map(|(nth, share)| share * (reached - nth as f64 * 0.5).clamp(0.0, 0.5))
                .sum();
            let time: f64 = cells.iter().sum::<f64>() * column;
            assert!((time - known).abs() < 1e-9, "{column}: {time} of {known}");
            assert!(cells.iter().all(|cell| (0.0..=1.0 + 1e-9).contains(cell)));
        }
        let cells = spread(&shares, 0.5, 0.5);
        assert_eq!(cells[..4], shares);
        assert_eq!(spread(&shares, 0.0, 0.5), vec![0.0; COLUMNS]);
    }

    #[test]
    fn a_heading_states_only_what_changed() {
        let kinds = [Activity::Read, Activity::Write];
        assert_eq!(
            largest_change(&kinds, &[1.0, 2.0], &[1.0, 0.5]),
            "write changes most: 500 ms instead of 2 s"
        );
        assert_eq!(
            largest_change(&kinds, &[1.0, 2.0], &[1.0, 2.02]),
            "I/O time by kind is about the same"
        );
        assert_eq!(ends(1.0, 1.01), "What each process does in both runs");
        assert_eq!(ends(2.0, 1.0), "The second run ends after 1 s, the first after 2 s");
    }
}
