//! Whether measures can be trusted: runs, changes, first rounds.

use plimsoll_domain::moment::rfc3339;
use plimsoll_report::Record;
use plimsoll_score::condition::{Run, WarmUp};

use super::{View, table};
use crate::scores::numbers::*;
use crate::scores::rows::relative;

pub fn runs(record: Record, view: &View) -> Record {
    let rows: Vec<Record> = view.scores.runs.iter().map(|run| row(view, run)).collect();
    let record = table(record, view, ("runs", "runs"), rows);
    let warm_ups: Vec<Record> = view.scores.warm_ups.iter().map(|it| warm_up(view, it)).collect();
    let record = if view.json || view.scores.warm_ups.iter().any(WarmUp::significant) {
        record.rows("warm_up", "first rounds against the rest", warm_ups)
    } else {
        record
    };
    changed(record, view)
}

fn row(view: &View, run: &Run) -> Record {
    let source = &view.columns.sources[run.source as usize];
    let change = run.change;
    let state = match change {
        None => "too few to tell",
        Some(change) if change.significant() => "changed",
        Some(_) => "steady",
    };
    let start = (run.start > 0).then(|| rfc3339(run.start));
    let row = Record::new()
        .text("results", "results", &source.label)
        .text("experiment", "experiment", &source.experiment)
        .number(&RUN, u64::from(run.run))
        .optional_text("start", "start", start)
        .number(&INSTANCES, run.instances as u64)
        .number(&FAILED, run.failed as u64)
        .text("conditions", "conditions", state)
        .number(&CHANGE_P, change.map(|it| it.p_value))
        .number(&CHANGE_RATIO, change.map(|it| it.ratio))
        .number(&LAG_ONE, run.dependence.map(|it| it.raw))
        .number(&EFFECTIVE, run.dependence.map(|it| it.n as f64 / it.time()));
    if view.json {
        row.number(&CHANGE_AT, change.map(|it| it.at as u64)).optional_text(
            "machine",
            "machine",
            source.machine.clone(),
        )
    } else {
        row
    }
}

fn warm_up(view: &View, it: &WarmUp) -> Record {
    let differs = if it.significant() { "first rounds differ" } else { "no difference shown" };
    Record::new()
        .text("experiment", "experiment", view.columns.experiments.name(it.experiment))
        .number(&FIRST_N, it.first as u64)
        .number(&FIRST_RATIO, it.ratio)
        .number(&FIRST_P, it.p_value)
        .text("finding", "finding", differs)
}

/// Runs that were set apart, and what the scores of targets are with them.
fn changed(record: Record, view: &View) -> Record {
    let found = view.scores.changed.found();
    let Some(with) = &view.scores.targets_with_changed else {
        return match found {
            0 => record,
            _ => record.note(format!(
                "conditions changed in {found} of {} runs; their measures count in all scores",
                view.scores.runs.len()
            )),
        };
    };
    let rows = with.iter().map(|(number, scores)| {
        let row = Record::new().text("name", "name", view.columns.targets.name(*number));
        relative(row, Some(scores), view.json)
    });
    let name = ("targets_with_changed", "targets, with the runs in which conditions changed");
    table(record, view, name, rows.collect()).note(format!(
        "conditions changed in {found} of {} runs: scores leave them out, verdicts do not, as \
         they compare within instances; --include-changed counts them everywhere",
        view.scores.runs.len()
    ))
}
