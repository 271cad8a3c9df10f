//! Targets and clients with their verdicts.

use plimsoll_domain::burst::Operation;
use plimsoll_report::Record;
use plimsoll_score::Kind;
use plimsoll_score::verdict::{Side, Verdicts};

use super::super::numbers::*;
use super::super::rows::{Judged, relative};
use super::{View, left_out, table};

/// Stragglers first, each with its evidence; then how many are normal or have no verdict.
pub fn sentences(record: Record, view: &View) -> Record {
    let mut texts = Vec::new();
    for side in [Side::Target, Side::Client] {
        let all = judged(view, side);
        let verdicts = verdicts(view, side);
        let of = |kind: Option<Kind>| all.iter().filter(move |it| it.verdict.kind == kind);
        for kind in [Kind::Persistent, Kind::Transient] {
            let all = of(Some(kind)).count();
            texts.extend(of(Some(kind)).take(view.rows).map(|it| it.sentence(verdicts)));
            texts.extend((all > view.rows).then(|| left_out(view.rows, all, kind.name())));
        }
        texts.extend(count(of(Some(Kind::Normal)).count(), side, "normal"));
        let mut open = of(None).filter(|it| it.verdict.n > 0);
        if let Some(first) = open.next() {
            texts.push(match open.count() {
                0 => first.sentence(verdicts),
                more => format!("{} (and {more} others)", first.sentence(verdicts)),
            });
        }
    }
    if texts.is_empty() {
        texts.push("no verdicts: no instance has two pairs that could be compared".into());
    }
    record.texts("verdicts", "verdicts", texts)
}

fn count(count: usize, side: Side, what: &str) -> Option<String> {
    let word = match (side, count) {
        (_, 0) => return None,
        (Side::Target, 1) => "target is",
        (Side::Target, _) => "targets are",
        (Side::Client, 1) => "client is",
        (Side::Client, _) => "clients are",
    };
    Some(format!("{count} {word} {what}"))
}

/// The table of one side, the worst first.
pub fn components(record: Record, view: &View, side: Side) -> Record {
    let verdicts = verdicts(view, side);
    let mut all = judged(view, side);
    if !view.json {
        all.sort_by(|a, b| {
            let ratio = |it: &Judged| it.verdict.median.unwrap_or(f64::MAX);
            b.verdict.kind.cmp(&a.verdict.kind).then(ratio(a).total_cmp(&ratio(b)))
        });
    }
    let rows = all.iter().map(|it| {
        let row = it.row(verdicts, view.json);
        match side {
            Side::Target if view.json => peak(row, view, it.name),
            _ => row,
        }
    });
    let name = match side {
        Side::Target => ("targets", "targets"),
        Side::Client => ("clients", "clients"),
    };
    table(record, view, name, rows.collect())
}

fn peak(row: Record, view: &View, name: &str) -> Record {
    let number = view.columns.targets.find(name);
    let peak = number.and_then(|it| {
        let peak = |operation| view.peaks.get(it, operation);
        peak(Operation::Write).or_else(|| peak(Operation::Read))
    });
    row.number(&PEAK, peak.map(|it| it.rate))
}

/// Scores of every pair of a client and a target, for programs.
pub fn pairs(record: Record, view: &View) -> Record {
    let rows =
        view.scores.pairs.iter().map(|((client, target), scores)| {
            let row = Record::new()
                .text("client", "client", view.columns.clients.name(*client))
                .text("target", "target", view.columns.targets.name(*target));
            relative(row, Some(scores), view.json)
        });
    record.rows("pair_scores", "pairs", rows.collect())
}

fn verdicts<'a>(view: &'a View, side: Side) -> &'a Verdicts {
    match side {
        Side::Target => &view.scores.target_verdicts,
        Side::Client => &view.scores.client_verdicts,
    }
}

/// All components of one side that have a score or a verdict.
pub fn judged<'a>(view: &'a View, side: Side) -> Vec<Judged<'a>> {
    let columns = view.columns;
    let (names, partners, relative, others) = match side {
        Side::Target => (&columns.targets, &columns.clients, &view.scores.targets, "targets"),
        Side::Client => (&columns.clients, &columns.targets, &view.scores.clients, "clients"),
    };
    let judged = |(number, name): (u32, &'a str)| {
        let verdict = &verdicts(view, side).verdicts[number as usize];
        let relative = relative.get(&number);
        let partner = verdict.inseparable.map(|it| partners.name(it));
        let known = relative.is_some() || verdict.n > 0;
        known.then_some(Judged { name, others, relative, verdict, partner })
    };
    (0..).zip(names.iter()).filter_map(judged).collect()
}
