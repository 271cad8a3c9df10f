//! A verdict with its evidence, as a person would say it.

use super::{Kind, Test, Verdict};

/// One sentence. `name` is the component's, `partner` that of what it cannot be told apart from.
pub fn sentence(
    name: &str,
    others: &str,
    verdict: &Verdict,
    test: &Test,
    partner: Option<&str>,
) -> String {
    let Some(kind) = verdict.kind else { return not_enough(name, verdict) };
    let evidence = match kind {
        Kind::Normal => normal(verdict, others),
        Kind::Transient => transient(verdict, others, test),
        Kind::Persistent => persistent(verdict, others, test),
    };
    let doubt = match partner {
        Some(partner) if kind != Kind::Normal => {
            format!("; it was always together with {partner}, so either may be slow")
        }
        _ => String::new(),
    };
    let few = match (kind, verdict.others) {
        (Kind::Transient | Kind::Persistent, 1) => "; compared with one other only",
        _ => "",
    };
    format!("{name} is {}: {evidence}{few}{doubt}", phrase(kind))
}

fn phrase(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "normal",
        Kind::Transient => "a transient straggler",
        Kind::Persistent => "a persistent straggler",
    }
}

fn not_enough(name: &str, verdict: &Verdict) -> String {
    let have = match verdict.n {
        0 => "no instance compares it with others".to_string(),
        n if verdict.effective_n < n as f64 - 0.5 => {
            format!("{n} measures, worth {:.0} as they repeat each other", verdict.effective_n)
        }
        n => format!("{n} measures"),
    };
    format!("{name} has no verdict: {have}; {} are needed", verdict.needed)
}

fn normal(verdict: &Verdict, others: &str) -> String {
    let median = verdict.median.map_or("-".to_string(), percent);
    format!("{median} of the median of other {others}{}", interval(verdict))
}

fn persistent(verdict: &Verdict, others: &str, test: &Test) -> String {
    let median = verdict.median.map_or("-".to_string(), percent);
    format!(
        "{median} of the median of other {others}{}, under {} in {} of {} measures and in every \
         third of the {} watched (p = {})",
        interval(verdict),
        percent(1.0 - test.below),
        verdict.low,
        verdict.n,
        span(verdict.span),
        p(verdict.p_persistent),
    )
}

fn transient(verdict: &Verdict, others: &str, test: &Test) -> String {
    let usual = verdict.median.map_or("-".to_string(), percent);
    let lowest = verdict.lowest.map_or("-".to_string(), percent);
    let noise = match (verdict.expected, verdict.p_transient) {
        (Some(_), Some(p_value)) => {
            format!(", more than noise explains (p = {})", p(Some(p_value)))
        }
        _ => format!(", but not in every third of the {} watched", span(verdict.span)),
    };
    format!(
        "under {} of the median of other {others} in {} of {} measures, down to {lowest}, {usual} \
         in the middle{noise}",
        percent(1.0 - test.below),
        verdict.low,
        verdict.n,
    )
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

fn p(value: Option<f64>) -> String {
    match value {
        Some(value) if value < 1e-3 => format!("{value:.0e}"),
        Some(value) => format!("{value:.3}"),
        None => "-".into(),
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
