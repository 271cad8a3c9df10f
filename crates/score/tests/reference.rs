//! Scores of synthetic results against those that Python computes from the definitions
//! (reference/make_tables.py).

use plimsoll_measures::Instance;
use plimsoll_score::distribution::Distribution;
use plimsoll_score::relative::Relative;
use plimsoll_score::survival::Survival;
use plimsoll_score::{Columns, Options, Peaks, Score, Source, score};
use serde_json::Value;

const TABLE: &str = include_str!("reference/scores.json");

struct Scored {
    table: Value,
    columns: Columns,
    peaks: Peaks,
    scores: Score,
}

fn scored() -> Scored {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let mut columns = Columns::default();
    for entry in table["instances"].as_array().unwrap() {
        let name = entry[0].as_str().unwrap();
        let known = columns.sources.iter().position(|it| it.experiment == name);
        let source = known.map(|it| it as u32).unwrap_or_else(|| {
            let experiment = name.to_string();
            columns.source(Source { label: experiment.clone(), experiment, machine: None })
        });
        let instance: Instance = serde_json::from_value(entry[1].clone()).unwrap();
        columns.add(source, &instance);
    }
    let peaks = Peaks::new(&columns, None);
    let options = Options { include_changed: true, ..Options::default() };
    let scores = score(&columns, &peaks, &options);
    Scored { table, columns, peaks, scores }
}

#[track_caller]
fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0), "{what}: {ours} {theirs}");
}

#[track_caller]
fn same(ours: Option<&Distribution>, theirs: &Value, what: &str) {
    let Some(ours) = ours else { return assert!(theirs.is_null(), "{what}") };
    assert_eq!(ours.n as u64, theirs["n"].as_u64().unwrap(), "{what}");
    let values = [
        ("min", ours.min),
        ("q1", ours.q1),
        ("median", ours.median),
        ("mean", ours.mean),
        ("q3", ours.q3),
        ("max", ours.max),
        ("outliers_low", ours.outliers_low as f64),
        ("outliers_high", ours.outliers_high as f64),
    ];
    values.iter().for_each(|(key, value)| close(*value, &theirs[key], &format!("{what}: {key}")));
}

#[test]
fn relative_scores_of_every_component() {
    let it = scored();
    let check = |name: &str, scores: &Relative| {
        let theirs = &it.table["components"][name];
        assert!(theirs.is_object(), "{name}");
        same(scores.leb.as_ref(), &theirs["leb"], &format!("{name} LEB"));
        same(scores.peb.as_ref(), &theirs["peb"], &format!("{name} PEB"));
    };
    let (columns, scores) = (&it.columns, &it.scores);
    scores.targets.iter().for_each(|(it, value)| check(columns.targets.name(*it), value));
    scores.clients.iter().for_each(|(it, value)| check(columns.clients.name(*it), value));
    scores.servers.iter().for_each(|(it, value)| check(columns.servers.name(*it), value));
    for ((client, target), value) in &scores.pairs {
        check(
            &format!("{}-{}", columns.clients.name(*client), columns.targets.name(*target)),
            value,
        );
    }
    let all = scores.targets.len() + scores.clients.len() + scores.servers.len();
    assert_eq!(all + scores.pairs.len(), it.table["components"].as_object().unwrap().len());
}

#[test]
fn hours_and_weekdays() {
    let it = scored();
    for (key, ours) in
        [("hours", &it.scores.calendar.hours), ("weekdays", &it.scores.calendar.weekdays)]
    {
        for (number, ours) in ours.iter().enumerate() {
            same(ours.as_ref(), &it.table[key][number.to_string()], &format!("{key} {number}"));
        }
    }
}

#[test]
fn gains_without_stragglers() {
    let it = scored();
    assert_eq!(it.scores.gains.len(), 3);
    for gains in &it.scores.gains {
        let name = gains.removed.name();
        let theirs = &it.table["gains"][name];
        assert_eq!(gains.gains.n() as u64, theirs["n"].as_u64().unwrap());
        close(gains.gains.median(), &theirs["median"], name);
        close(gains.exceeded_by(0.6).unwrap(), &theirs["exceeded_by_60"], name);
        close(gains.exceeded_by(0.01).unwrap(), &theirs["exceeded_by_1"], name);
        close(gains.gains.max(), &theirs["max"], name);
    }
}

#[test]
fn peaks_and_effective_bandwidths() {
    let it = scored();
    let peaks = it.table["peaks"].as_object().unwrap();
    assert_eq!(it.peaks.iter().count(), peaks.len());
    for (target, _, peak) in it.peaks.iter() {
        let name = it.columns.targets.name(target);
        assert!((peak.rate / peaks[name].as_f64().unwrap() - 1.0).abs() < 1e-12, "{name}");
    }
    let mut compared = 0;
    for point in &it.scores.points {
        let setting = &it.columns.settings[point.setting as usize];
        if !setting.has_pairs() || point.instances == 0 {
            continue;
        }
        let experiment = it.columns.experiments.name(point.experiment);
        let varied = it.columns.varied.name(point.varied);
        let key = format!("{experiment} {varied} {}", setting.clients);
        let theirs = &it.table["points"][&key];
        same(point.effective.as_ref(), &theirs["eb"], &key);
        same(point.effective_aggregate.as_ref(), &theirs["eab"], &key);
        let ratio = point.aggregate.as_ref().unwrap().median
            / theirs["aggregate"]["median"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 1e-12, "{key}");
        compared += 1;
    }
    assert_eq!(compared, it.table["points"].as_object().unwrap().len());
}

#[test]
fn sequences_and_their_censored_durations() {
    let it = scored();
    let check = |ours: &Option<Survival>, theirs: &Value, what: &str| {
        let ours = ours.as_ref().unwrap();
        assert_eq!(ours.n as u64, theirs["n"].as_u64().unwrap(), "{what}");
        assert_eq!(ours.ended as u64, theirs["ended"].as_u64().unwrap(), "{what}");
        close(ours.median().unwrap(), &theirs["median"], what);
        if let Some(within) = ours.within(60.0) {
            close(within, &theirs["within_60"], what);
        }
    };
    for (ours, theirs) in it.scores.sequences.iter().zip(it.table["sequences"].as_array().unwrap())
    {
        close(ours.threshold, &theirs["threshold"], "threshold");
        assert_eq!(ours.low_measures as u64, theirs["low_measures"].as_u64().unwrap());
        assert_eq!(ours.series as u64, theirs["series"].as_u64().unwrap());
        check(&ours.low, &theirs["low"], "low");
        check(&ours.normal, &theirs["normal"], "normal");
    }
}
