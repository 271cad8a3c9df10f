//! Targets and clients with their verdicts.

use plimsoll_domain::burst::Operation;
use plimsoll_report::Record;
use plimsoll_score::Kind;
use plimsoll_score::names::Names;
use plimsoll_score::verdict::{
    Side, VALUES_MOST, Verdicts, Wording, group_sentence, moving_sentence,
};

use super::{View, left_out, table};
use crate::scores::numbers::*;
use crate::scores::rows::{Judged, relative};

/// Stragglers first, each with its evidence; then what is said of all together, and how many are normal or have no
/// verdict.
pub fn sentences(record: Record, view: &View) -> Record {
    let record = record.texts("verdicts", "verdicts", texts(view));
    let record = match view.scores.matched {
        0 => record,
        matched => record.note(format!(
            "targets were measured one after the other: {matched} comparisons are of measures that \
             have equal settings and are next to each other in time; what changed in between counts \
             as noise"
        )),
    };
    match view.scores.not_split.as_slice() {
        [] => record,
        parts => record.note(format!(
            "not asked whether anybody is slow in some settings only by their {}: more than \
             {VALUES_MOST} values",
            parts.join(", ")
        )),
    }
}

fn texts(view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for side in [Side::Target, Side::Client] {
        let all = judged(view, side);
        let of = |kind: Option<Kind>| all.iter().filter(move |it| it.verdict.kind == kind);
        for kind in Kind::ALL.into_iter().filter(|it| it.is_straggler()) {
            let all = of(Some(kind)).count();
            texts.extend(of(Some(kind)).take(view.rows).map(Judged::sentence));
            texts.extend((all > view.rows).then(|| left_out(view.rows, all, kind.name())));
        }
        texts.extend(of_all(view, side));
        texts.extend(count(of(Some(Kind::Normal)).count(), side, "normal"));
        let mut open = of(None).filter(|it| it.verdict.n > 0);
        if let Some(first) = open.next() {
            texts.push(match open.count() {
                0 => first.sentence(),
                1 => format!("{} (and one more)", first.sentence()),
                more => format!("{} (and {more} more)", first.sentence()),
            });
        }
    }
    if texts.is_empty() {
        texts.push(nobody_to_compare_with(view));
    }
    texts
}

/// Returns who straggles, the worst with its evidence; or that nobody does, and what is known instead.
pub fn who_straggles(view: &View) -> String {
    let targets = judged(view, Side::Target);
    let clients = judged(view, Side::Client);
    // A client that was always together with one target is told of with it.
    let clients = clients.iter().filter(|it| it.partner.is_none());
    let mut slow: Vec<&Judged> = targets
        .iter()
        .chain(clients.clone())
        .filter(|it| it.verdict.kind.is_some_and(Kind::is_straggler))
        .collect();
    slow.sort_by_key(|it| std::cmp::Reverse(it.verdict.kind));
    match slow.as_slice() {
        [] if targets.iter().chain(clients).all(|it| it.verdict.kind.is_none()) => {
            format!("Nobody can be judged yet: {}.", texts(view).join("; "))
        }
        [] => format!("No straggler was found: {}.", texts(view).join("; ")),
        [worst] => format!("{}.", worst.sentence()),
        [worst, others @ ..] => {
            let names: Vec<&str> = others.iter().map(|it| it.name).take(NAMED).collect();
            let more = match others.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}. Other stragglers: {}{more}.", worst.sentence(), names.join(", "))
        }
    }
}

/// Stragglers beside the worst that a sentence names.
const NAMED: usize = 5;

/// Two groups, and slowness that moves.
fn of_all(view: &View, side: Side) -> Vec<String> {
    let (verdicts, wording) = (verdicts(view, side), wording(view, side));
    let names = names(view, side);
    let groups = verdicts.groups.iter();
    let groups = groups.map(|it| group_sentence(it, &wording, |number| names.name(number)));
    let moving = verdicts.moving.iter();
    let moving = moving.map(|it| moving_sentence(it, &wording, |number| names.name(number)));
    groups.chain(moving).collect()
}

/// Why the plan cannot tell who is slow.
fn nobody_to_compare_with(view: &View) -> String {
    let columns = view.columns;
    match (columns.targets.iter().count(), columns.clients.iter().count()) {
        (0 | 1, 0 | 1) => "no verdicts: one target and one client have nobody to be compared with; \
                           hint: several targets"
            .into(),
        _ => "no verdicts: no two components were measured in equal settings, beside or next to each \
              other, with unstriped files of their own; hint: plimsoll bench many-pairs"
            .into(),
    }
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
    let mut all = judged(view, side);
    if !view.json {
        all.sort_by(|a, b| {
            let ratio = |it: &Judged| it.verdict.median.unwrap_or(f64::MAX);
            b.verdict.kind.cmp(&a.verdict.kind).then(ratio(a).total_cmp(&ratio(b)))
        });
    }
    let rows = all.iter().map(|it| {
        let row = it.row(view.json);
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

fn names<'a>(view: &View<'a>, side: Side) -> &'a Names {
    match side {
        Side::Target => &view.columns.targets,
        Side::Client => &view.columns.clients,
    }
}

fn wording<'a>(view: &View, side: Side) -> Wording<'a> {
    let (one, many) = match side {
        Side::Target => ("target", "targets"),
        Side::Client => ("client", "clients"),
    };
    let below = verdicts(view, side).test.below;
    Wording { one, many, below, utc_offset: view.utc_offset }
}

/// All components of one side that have a score or a verdict.
pub fn judged<'a>(view: &'a View, side: Side) -> Vec<Judged<'a>> {
    let relative = match side {
        Side::Target => &view.scores.targets,
        Side::Client => &view.scores.clients,
    };
    let (names, partners) = (names(view, side), names(view, side.other()));
    let wording = wording(view, side);
    let judged = |(number, name): (u32, &'a str)| {
        let verdict = &verdicts(view, side).verdicts[number as usize];
        let relative = relative.get(&number);
        let partner = verdict.inseparable.map(|it| partners.name(it));
        let known = relative.is_some() || verdict.n > 0;
        known.then_some(Judged { name, wording, relative, verdict, partner })
    };
    (0..).zip(names.iter()).filter_map(judged).collect()
}
