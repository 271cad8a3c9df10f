//! All scores as one record.

mod conditions;
pub mod locality;
mod verdicts;

use std::path::Path;

use plimsoll_domain::burst::Setting;
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_report::Record;
use plimsoll_score::advice::{Found, advice};
use plimsoll_score::bandwidth::Point;
use plimsoll_score::distribution::Distribution;
use plimsoll_score::locality::{Locality, Places};
use plimsoll_score::sequence::{Basis, Sequences};
use plimsoll_score::survival::Survival;
use plimsoll_score::verdict::Side;
use plimsoll_score::{Columns, Kind, Options, Peaks, Score, score};

use super::numbers::*;
use super::rows::{Judged, distribution, relative};
use crate::gathered::{GatherError, gather};

/// What is shown, and to whom.
pub struct View<'a> {
    /// All measures.
    pub columns: &'a Columns,
    /// Peaks of the targets.
    pub peaks: &'a Peaks,
    /// The scores.
    pub scores: &'a Score,
    /// Where nodes are.
    pub places: &'a Places,
    /// What that does to bandwidth.
    pub locality: &'a Locality,
    /// Rows of each table.
    pub rows: usize,
    /// Whether programs read it, which get every key.
    pub json: bool,
    /// Seconds east of UTC that moments are told in.
    pub utc_offset: i32,
}

impl View<'_> {
    /// The worst verdict on any component.
    pub fn worst(&self) -> Option<Kind> {
        let scores = self.scores;
        let all = scores.target_verdicts.verdicts.iter().chain(&scores.client_verdicts.verdicts);
        all.filter_map(|it| it.kind).max()
    }

    /// Whether something is slow now: by a comparison, or by known peaks where targets are of two speeds.
    pub fn is_slow_now(&self) -> bool {
        let by_peaks = self.scores.target_verdicts.groups.as_ref().and_then(|it| it.by_peaks);
        self.worst().is_some_and(Kind::is_slow_now) || by_peaks.is_some_and(|it| !it.explain())
    }
}

/// Returns all scores as one record.
pub fn record(view: &View, warnings: &[String]) -> Record {
    let mut record = with_verdict(overview(view), view);
    record = table(record, view, ("bandwidths", "bandwidths, medians"), points(view));
    record = verdicts::components(record, view, Side::Target);
    record = verdicts::components(record, view, Side::Client);
    record = servers(record, view);
    record = record
        .rows("stragglers", "gain without stragglers (time with over time without)", gains(view))
        .rows("sequences", "how long targets are slow", sequences(view));
    record = sequences_note(record, view);
    record = locality::locality(record, view, view.locality);
    record = calendar(record, view);
    record = conditions::runs(record, view);
    if view.json {
        record = verdicts::pairs(record, view);
    }
    record = warnings.iter().fold(record, |record, warning| record.note(warning));
    record.sentence("conclusion", conclusion(view))
}

/// Who is slow, and what to do about it.
pub fn verdict(view: &View) -> Record {
    with_verdict(Record::new(), view)
}

/// Returns the conclusion of the results in a directory, scored as `plimsoll score` does without options; `None` where
/// nothing was measured.
///
/// # Errors
/// If they cannot be read.
pub fn conclusion_of(directory: &Path) -> Result<Option<String>, GatherError> {
    let gathered = gather(&[directory.to_path_buf()], None)?;
    let columns = &gathered.columns;
    if columns.instances().is_empty() {
        return Ok(None);
    }
    let peaks = Peaks::new(columns, None);
    let scored = score(columns, &peaks, &Options::default());
    let (places, locality) = (Places::default(), Locality::default());
    let view = View {
        columns,
        peaks: &peaks,
        scores: &scored,
        places: &places,
        locality: &locality,
        rows: usize::MAX,
        json: false,
        utc_offset: 0,
    };
    Ok(Some(conclusion(&view)))
}

/// Returns who straggles and what to do about it, in two or three sentences.
pub fn conclusion(view: &View) -> String {
    format!("{} {}", verdicts::who_straggles(view), advice_line(view))
}

fn with_verdict(record: Record, view: &View) -> Record {
    verdicts::sentences(record, view).text("advice", "advice", advice_line(view))
}

fn overview(view: &View) -> Record {
    let instances = view.columns.instances();
    let complete = instances.iter().filter(|it| it.complete).count();
    Record::new()
        .text(
            "experiments",
            "experiments",
            view.columns.experiments.iter().collect::<Vec<_>>().join(", "),
        )
        .number(&RUNS, view.scores.runs.len() as u64)
        .number(&CHANGED, view.scores.changed.left_out() as u64)
        .number(&INSTANCES, complete as u64)
        .number(&FAILED, (instances.len() - complete) as u64)
        .number(&PAIRS, view.columns.all_pairs().len() as u64)
        .number(&BURST, view.scores.burst_seconds())
}

fn advice_line(view: &View) -> String {
    let targets = verdicts::judged(view, Side::Target);
    let clients = verdicts::judged(view, Side::Client);
    let is_slow = |it: &&Judged| it.verdict.kind.is_some_and(Kind::is_slow_now);
    let slow_targets = targets.iter().filter(is_slow).map(|it| match it.partner {
        // Its client has the same verdict: one of them is meant.
        Some(partner) => format!("{} or {partner}, whichever is slow,", it.name),
        None => it.name.to_string(),
    });
    let slow_clients = clients.iter().filter(is_slow).filter(|it| it.partner.is_none());
    let in_settings = |it: &Judged| {
        let settings = it.verdict.settings.as_ref()?;
        Some((it.name.to_string(), settings.name.clone()))
    };
    let groups = &view.scores.target_verdicts.groups;
    let found = Found {
        slow_now: slow_targets.chain(slow_clients.map(|it| it.name.to_string())).collect(),
        in_settings: targets.iter().filter_map(in_settings).collect(),
        worst: targets.iter().filter_map(|it| it.verdict.kind).max(),
        is_moving: view.scores.target_verdicts.moving.is_some(),
        by_peaks: groups.as_ref().and_then(|it| it.by_peaks),
    };
    advice(&view.scores.sequences, view.scores.burst_seconds(), &found)
}

/// Adds a table. What is left out of it is counted in a line below it.
pub fn table(
    record: Record,
    view: &View,
    (key, title): (&'static str, &str),
    mut rows: Vec<Record>,
) -> Record {
    let all = rows.len();
    rows.truncate(view.rows);
    let shown = rows.len();
    let record = record.rows(key, title, rows);
    if shown < all { record.note(left_out(shown, all, title)) } else { record }
}

/// How many are shown, and how to see all.
pub fn left_out(shown: usize, all: usize, what: &str) -> String {
    format!("{shown} of {all} rows of {what:?}; --top {all} shows all of them")
}

fn points(view: &View) -> Vec<Record> {
    let median = |it: &Option<Distribution>| it.as_ref().map(|it| it.median);
    let row = |point: &Point| {
        let row = Record::new()
            .text("experiment", "experiment", view.columns.experiments.name(point.experiment))
            .text("operation", "operation", setting(view, point).operation.name())
            .number(&BURST_BYTES, setting(view, point).burst.get())
            .number(&TRANSFER_BYTES, setting(view, point).transfer.get())
            .text("varied", "varied", varied(view, point))
            .number(&INSTANCES, point.instances as u64)
            .number(&FAILED, point.failed as u64)
            .number(&BANDWIDTH, median(&point.bandwidth))
            .number(&AGGREGATE, median(&point.aggregate))
            .number(&EB, median(&point.effective))
            .number(&EAB, median(&point.effective_aggregate));
        if !view.json {
            return row;
        }
        row.section("bandwidth", "", distribution(point.bandwidth.as_ref()))
            .section("aggregate", "", distribution(point.aggregate.as_ref()))
            .section("eb", "", distribution(point.effective.as_ref()))
            .section("eab", "", distribution(point.effective_aggregate.as_ref()))
            .section("seconds", "", distribution(point.seconds.as_ref()))
    };
    view.scores.points.iter().map(row).collect()
}

fn setting<'a>(view: &View<'a>, point: &Point) -> &'a Setting {
    &view.columns.settings[point.setting as usize]
}

/// What was varied; who takes part where the plan varies nothing.
fn varied(view: &View, point: &Point) -> String {
    let setting = setting(view, point);
    match view.columns.varied.name(point.varied) {
        "" => format!("{} clients, {} targets", setting.clients, setting.targets),
        value => value.to_string(),
    }
}

fn servers(record: Record, view: &View) -> Record {
    let row = |(number, scores): (&u32, &plimsoll_score::relative::Relative)| {
        let row = Record::new().text("name", "name", view.columns.servers.name(*number));
        relative(row, Some(scores), view.json)
    };
    let rows: Vec<Record> = view.scores.servers.iter().map(row).collect();
    if rows.is_empty() && !view.json {
        record
    } else {
        table(record, view, ("servers", "servers"), rows)
    }
}

fn gains(view: &View) -> Vec<Record> {
    let row = |it: &plimsoll_score::gain::Gains| {
        Record::new()
            .text("removed", "without the", it.removed.name())
            .number(&N, it.gains.n() as u64)
            .number(&GAIN_MEDIAN, it.gains.median())
            .number(&GAIN_60, it.exceeded_by(0.6))
            .number(&GAIN_90, it.exceeded_by(0.9))
            .number(&GAIN_1, it.exceeded_by(0.01))
            .number(&GAIN_MAX, it.gains.max())
    };
    view.scores.gains.iter().map(row).collect()
}

fn sequences(view: &View) -> Vec<Record> {
    let count = |it: &Option<Survival>| it.as_ref().map_or(0, |it| it.n as u64);
    let censored = |it: &Option<Survival>| it.as_ref().map_or(0, |it| (it.n - it.ended) as u64);
    let median = |it: &Option<Survival>| it.as_ref().and_then(Survival::median);
    let within = |it: &Option<Survival>, time: f64| it.as_ref().and_then(|it| it.within(time));
    let row = |it: &Sequences| {
        let row = Record::new()
            .number(&THRESHOLD, it.threshold)
            .number(&LOW_SEQUENCES, count(&it.low))
            .number(&LOW_CENSORED, censored(&it.low))
            .number(&LOW_MEDIAN, median(&it.low))
            .number(&LOW_1MIN, within(&it.low, 60.0))
            .number(&LOW_2MIN, within(&it.low, 120.0))
            .number(&NORMAL_SEQUENCES, count(&it.normal))
            .number(&NORMAL_CENSORED, censored(&it.normal))
            .number(&NORMAL_MEDIAN, median(&it.normal))
            .number(&NORMAL_10MIN, within(&it.normal, 600.0));
        if !view.json {
            return row;
        }
        row.text("basis", "", basis(it.basis))
            .number(&MEASURES, it.measures as u64)
            .number(&LOW, it.low_measures as u64)
            .number(&SERIES, it.series as u64)
            .number(&SETTINGS, it.settings as u64)
            .number(&DEPTH, it.depth)
            .number(&INTERVAL, it.interval)
    };
    view.scores.sequences.iter().map(row).collect()
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::EffectiveBandwidth => "EAB",
        Basis::Bandwidth => "bandwidth",
    }
}

fn sequences_note(record: Record, view: &View) -> Record {
    let Some(it) = view.scores.sequences.first() else { return record };
    let by = match it.basis {
        Basis::EffectiveBandwidth => "measures are EAB",
        Basis::Bandwidth => "measures are bandwidths, as a peak is missing",
    };
    let record = match it.settings {
        0 | 1 => record,
        settings => record.note(format!(
            "sequences compare measures of {settings} settings with one quantile, as in the paper, where \
             there is one setting: some are low because of their setting; hint: plimsoll bench sequences"
        )),
    };
    record.note(format!(
        "on Titan 70 % of low sequences ended within 1 min, 82 % within 2 min, 79 % of normal ones \
         within 10 min (Xie, section 5.4); {by}"
    ))
}

fn calendar(record: Record, view: &View) -> Record {
    let calendar = &view.scores.calendar;
    let row = |row: Record, it: &Distribution| {
        if view.json {
            row.section("peb", "", distribution(Some(it)))
        } else {
            row.number(&N, it.n as u64).number(&PEB, it.median).number(&MEAN, it.mean)
        }
    };
    let hours = (0u64..).zip(&calendar.hours).filter_map(|(hour, it)| Some((hour, it.as_ref()?)));
    let hours = hours.map(|(hour, it)| row(Record::new().number(&HOUR, hour), it)).collect();
    let days = WEEKDAYS.iter().zip(&calendar.weekdays);
    let days = days.filter_map(|(day, it)| {
        Some(row(Record::new().text("weekday", "weekday", *day), it.as_ref()?))
    });
    record.rows("hours", "PEB by hour of the day", hours).rows(
        "weekdays",
        "PEB by weekday",
        days.collect(),
    )
}
