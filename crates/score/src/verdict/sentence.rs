//! Verdicts with their evidence, as a person would say them.

use super::groups::{Groups, Moving};
use super::{Kind, Stretch, Verdict};
use plimsoll_domain::moment::clock;

/// How to speak of the components of one side.
#[derive(Debug, Clone, Copy)]
pub struct Wording<'a> {
    /// What one is called: "target" or "client".
    pub one: &'a str,
    /// What several are called.
    pub many: &'a str,
    /// A measure is low when it is slower than the others by more than this share.
    pub below: f64,
    /// Seconds east of UTC that moments are told in.
    pub utc_offset: i32,
}

impl Wording<'_> {
    fn limit(&self) -> String {
        percent(1.0 - self.below)
    }

    fn of_others(&self) -> String {
        format!("of the median of other {}", self.many)
    }
}

/// One sentence on a component. `partner` is the name of what it cannot be told apart from.
pub fn sentence(name: &str, verdict: &Verdict, wording: &Wording, partner: Option<&str>) -> String {
    let Some(kind) = verdict.kind else { return not_enough(name, verdict) };
    let (is, evidence) = match kind {
        Kind::Normal => ("is normal", normal(verdict, wording)),
        Kind::Undecided => ("is in one of two groups", normal(verdict, wording)),
        Kind::Noisier => ("is noisier than others", noisier(verdict, wording)),
        Kind::Transient => ("is a transient straggler", transient(verdict, wording)),
        Kind::SomeSettings => ("is slow in some settings", some_settings(verdict, wording)),
        Kind::Recovered => ("has recovered", in_a_stretch(verdict, wording)),
        Kind::Drifting => ("is drifting", in_a_stretch(verdict, wording)),
        Kind::Persistent => ("is a persistent straggler", persistent(verdict, wording)),
    };
    let doubt = match partner.filter(|_| kind.is_straggler()) {
        Some(partner) => format!("; it was always together with {partner}, so either may be slow"),
        None => String::new(),
    };
    let few = match verdict.others {
        1 if kind.is_straggler() => "; compared with one other only",
        _ => "",
    };
    format!("{name} {is}: {evidence}{few}{doubt}")
}

/// One sentence on two groups; `name` gives the name of a number.
pub fn group_sentence<'a>(
    groups: &Groups,
    wording: &Wording,
    name: impl Fn(u32) -> &'a str,
) -> String {
    let list = |numbers: &[u32]| listed(numbers.iter().map(|it| name(*it).to_string()).collect());
    let (fast, slow) = (list(&groups.fast), list(&groups.slow));
    let has = if groups.fast.len() == 1 { "has" } else { "have" };
    let facts = format!("{fast} {has} {} of the bandwidth of {slow}", percent(groups.ratio));
    let which = "which is right cannot be told by comparison";
    match (groups.by_peaks, groups.are_undecided()) {
        (Some(peaks), _) => {
            let what = if peaks.explain() {
                "the two differ as their known peaks do"
            } else {
                "by their known peaks the slower ones are slow"
            };
            format!(
                "two groups of {}: {facts}; {what}: the faster reach {} of them, the slower {}",
                wording.many,
                percent(peaks.fast),
                percent(peaks.slow)
            )
        }
        (None, true) => format!(
            "two groups of {}: {facts}; {which}, known peaks in a site file could tell",
            wording.many
        ),
        (None, false) => format!(
            "{facts}: unusually fast, or all others are slow; {which}, known peaks in a site file could tell"
        ),
    }
}

/// One sentence on slowness that moves.
pub fn moving_sentence<'a>(
    moving: &Moving,
    wording: &Wording,
    name: impl Fn(u32) -> &'a str,
) -> String {
    let count =
        |(number, low, n): &(u32, usize, usize)| format!("{} in {low} of {n}", name(*number));
    format!(
        "slowness moves: in {} of {} comparisons some {} was under {} {}, down to {}, no {} more than \
         others: {}",
        moving.low_sets,
        moving.sets,
        wording.one,
        wording.limit(),
        wording.of_others(),
        percent(moving.lowest),
        wording.one,
        listed(moving.components.iter().map(count).collect())
    )
}

/// Names that are listed; of more, the first ones and how many there are.
const LISTED: usize = 8;

fn listed(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn not_enough(name: &str, verdict: &Verdict) -> String {
    let have = match verdict.n {
        0 => "no instance compares it with others".to_string(),
        n if verdict.needed > n && n >= super::LEAST_MEASURES => {
            format!(
                "{n} measures, {} of them low, which repeat each other so much that they cannot be \
                 told from noise",
                verdict.low
            )
        }
        n => format!("{n} measures"),
    };
    format!("{name} has no verdict: {have}; {} are needed", verdict.needed)
}

fn normal(verdict: &Verdict, wording: &Wording) -> String {
    format!("{} {}{}", middle(verdict), wording.of_others(), interval(verdict))
}

fn persistent(verdict: &Verdict, wording: &Wording) -> String {
    format!(
        "{} {}{}, under {} in {} of {} measures and in every third of the {} watched ({})",
        middle(verdict),
        wording.of_others(),
        interval(verdict),
        wording.limit(),
        verdict.low,
        verdict.n,
        span(verdict.span),
        p(smallest([verdict.p.persistent, verdict.p.transient])),
    )
}

fn transient(verdict: &Verdict, wording: &Wording) -> String {
    if verdict.stretch.is_some() {
        return in_a_stretch(verdict, wording);
    }
    let usual = match verdict.usual_low {
        Some(share) => format!(", where the typical other is in {} of its own", percent(share)),
        None => String::new(),
    };
    format!(
        "under {} {} in {} of {} measures, down to {}{usual}; {} in the middle ({})",
        wording.limit(),
        wording.of_others(),
        verdict.low,
        verdict.n,
        verdict.lowest.map_or("-".to_string(), percent),
        middle(verdict),
        p(verdict.p.transient),
    )
}

fn in_a_stretch(verdict: &Verdict, wording: &Wording) -> String {
    let Some(it) = &verdict.stretch else { return normal(verdict, wording) };
    let when = |nanos: u64| clock(nanos, wording.utc_offset, verdict.span);
    let (time, rest) = match (it.first, it.until) {
        (_, None) => (format!("since {}", when(it.since)), "before"),
        (0, Some(until)) => (format!("until {}", when(until)), "afterwards"),
        (_, Some(until)) => (format!("from {} to {}", when(it.since), when(until)), "otherwise"),
    };
    let slow = match (it.is_gradual, it.until) {
        (true, None) => "slower and slower, low",
        (true, Some(_)) => "faster and faster, low",
        (false, _) => "slow",
    };
    let Stretch { inside, outside, first, end, .. } = *it;
    format!(
        "{slow} {time}, {} of {rest} ({} {} in {} measures, {} in {} {rest}; {})",
        percent(inside / outside),
        percent(inside),
        wording.of_others(),
        end - first,
        percent(outside),
        verdict.n - (end - first),
        p(verdict.p.drifting),
    )
}

fn some_settings(verdict: &Verdict, wording: &Wording) -> String {
    let Some(it) = &verdict.settings else { return normal(verdict, wording) };
    format!(
        "slow at {} only, {} {} there and {} otherwise (under {} in {} of {} measures there, in {} of {} \
         otherwise; {})",
        it.name,
        percent(it.inside),
        wording.of_others(),
        percent(it.outside),
        wording.limit(),
        it.low_inside.0,
        it.low_inside.1,
        it.low_outside.0,
        it.low_outside.1,
        p(smallest([verdict.p.persistent, verdict.p.transient.or(verdict.p.drifting)])),
    )
}

fn noisier(verdict: &Verdict, wording: &Wording) -> String {
    let Some(it) = &verdict.spread else { return normal(verdict, wording) };
    format!(
        "its measures scatter by {}, those of other {} by {} ({}); {} {}",
        percent(it.own),
        wording.many,
        percent(it.usual),
        p(verdict.p.noisier),
        middle(verdict),
        wording.of_others(),
    )
}

fn middle(verdict: &Verdict) -> String {
    verdict.median.map_or("-".to_string(), percent)
}

fn interval(verdict: &Verdict) -> String {
    match verdict.interval {
        Some((low, high)) => {
            format!(" (95 % interval {:.1} to {})", low * 100.0, percent(high))
        }
        None => String::new(),
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

fn smallest(p_values: [Option<f64>; 2]) -> Option<f64> {
    p_values.into_iter().flatten().reduce(f64::min)
}

fn p(value: Option<f64>) -> String {
    match value {
        Some(value) if value < 1e-3 => format!("p = {value:.0e}"),
        Some(value) => format!("p = {value:.3}"),
        None => "p = -".into(),
    }
}

/// Seconds in the largest unit that leaves two digits.
pub(crate) fn span(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0 s".into(),
        s if s < 1e-3 => format!("{:.1} \u{b5}s", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.1} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests;
