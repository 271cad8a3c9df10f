//! Distributions and components as rows.

use plimsoll_report::{Emphasis, Record};
use plimsoll_score::distribution::Distribution;
use plimsoll_score::relative::Relative;
use plimsoll_score::verdict::{Kind, Verdict, Wording, sentence};

use super::numbers::*;

/// A distribution in full; all numbers are missing without one.
pub fn distribution(it: Option<&Distribution>) -> Record {
    let interval = it.and_then(|it| it.median_interval);
    brief(it)
        .number(&Q1, it.map(|it| it.q1))
        .number(&Q3, it.map(|it| it.q3))
        .number(&SD, it.and_then(|it| it.sd))
        .number(&MEDIAN_LOW, interval.map(|it| it.0))
        .number(&MEDIAN_HIGH, interval.map(|it| it.1))
        .number(&OUTLIERS_LOW, it.map(|it| it.outliers_low as u64))
        .number(&OUTLIERS_HIGH, it.map(|it| it.outliers_high as u64))
        .number(&OUTLIERS_Z, it.and_then(|it| it.outliers_z).map(|it| it as u64))
}

fn brief(it: Option<&Distribution>) -> Record {
    Record::new()
        .number(&N, it.map_or(0, |it| it.n as u64))
        .number(&MAX, it.map(|it| it.max))
        .number(&MEDIAN, it.map(|it| it.median))
        .number(&MEAN, it.map(|it| it.mean))
        .number(&MIN, it.map(|it| it.min))
}

/// LEB and PEB of a component: objects for programs, the medians for people.
pub fn relative(row: Record, it: Option<&Relative>, json: bool) -> Record {
    let leb = it.and_then(|it| it.leb.as_ref());
    let peb = it.and_then(|it| it.peb.as_ref());
    if json {
        return row.section("leb", "LEB", distribution(leb)).section(
            "peb",
            "PEB",
            distribution(peb),
        );
    }
    row.number(&LEB, leb.map(|it| it.median))
        .number(&LEB_MIN, leb.map(|it| it.min))
        .number(&PEB, peb.map(|it| it.median))
}

/// One component with its verdict.
pub struct Judged<'a> {
    pub name: &'a str,
    /// How to speak of its kind.
    pub wording: Wording<'a>,
    pub relative: Option<&'a Relative>,
    pub verdict: &'a Verdict,
    pub partner: Option<&'a str>,
}

impl Judged<'_> {
    pub fn row(&self, json: bool) -> Record {
        let verdict = self.verdict;
        let row = Record::new().text("name", "name", self.name);
        let row = match verdict.kind {
            Some(kind) => row.judgement("verdict", "verdict", kind.name(), emphasis(kind)),
            None => row.optional_text("verdict", "verdict", None),
        };
        let row = relative(row, self.relative, json)
            .number(&RATIO, verdict.median)
            .number(&RATIO_LOW, verdict.interval.map(|it| it.0))
            .number(&RATIO_HIGH, verdict.interval.map(|it| it.1))
            .number(&LOW, verdict.low as u64)
            .number(&MEASURES, verdict.n as u64);
        if !json {
            return row;
        }
        row.text("evidence", "evidence", self.sentence())
            .number(&LOWEST, verdict.lowest)
            .number(&EFFECTIVE, verdict.effective_n)
            .number(&NEEDED, verdict.needed as u64)
            .number(&P_PERSISTENT, verdict.p.persistent)
            .number(&P_DRIFTING, verdict.p.drifting)
            .number(&P_TRANSIENT, verdict.p.transient)
            .number(&P_NOISIER, verdict.p.noisier)
            .optional_text("inseparable_from", "", self.partner.map(str::to_string))
    }

    pub fn sentence(&self) -> String {
        sentence(self.name, self.verdict, &self.wording, self.partner)
    }
}

fn emphasis(kind: Kind) -> Emphasis {
    match kind {
        Kind::Normal => Emphasis::None,
        kind if kind.is_slow_now() => Emphasis::Bad,
        _ => Emphasis::Warning,
    }
}
