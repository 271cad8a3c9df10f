//! Writing what was found into the site file.

use anyhow::Result;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{ComponentKind, Peak, Persistence, SiteFile, Slowness, Straggler};
use plimsoll_domain::{BytesPerSec, Nanos};
use plimsoll_score::calendar::rfc3339;
use plimsoll_score::peak::PeakOrigin;
use plimsoll_score::sequence::Sequences;
use plimsoll_score::survival::Survival;
use plimsoll_score::verdict::Verdict;
use plimsoll_score::{Columns, Kind};

use super::record::View;

/// Changes and saves the file; gives a line about each kind of entry.
pub fn write(site: &mut SiteFile, view: &View) -> Result<Vec<String>> {
    let measured = view.columns.instances().iter().map(|it| it.start).max().map(rfc3339);
    let mut lines = vec![peaks(site, view)?];
    let slowness: Vec<Slowness> =
        view.scores.sequences.iter().filter_map(|it| slowness(it, measured.clone())).collect();
    site.set_slowness(&slowness)?;
    lines.push(match slowness.len() {
        0 => "no durations of slowness: too few sequences ended while watched".into(),
        count => format!("durations of slowness for {count} thresholds"),
    });
    let stragglers = stragglers(view, measured.as_deref());
    let is_normal = |it: &Straggler| {
        let verdict = verdict(view, it.component, &it.name);
        verdict.is_some_and(|it| it.kind == Some(Kind::Normal))
    };
    site.set_stragglers(&stragglers, is_normal)?;
    lines.push(format!("{} stragglers", stragglers.len()));
    site.save()?;
    Ok(lines.into_iter().map(|line| format!("site file: {line}")).collect())
}

/// Measured peaks of targets that the file knows; those that it gives were used and stay.
fn peaks(site: &mut SiteFile, view: &View) -> Result<String> {
    let mut written = 0;
    let mut unknown = 0;
    for (target, operation, peak) in view.peaks.iter() {
        let PeakOrigin::Measured(_) = peak.origin else { continue };
        let name = view.columns.targets.name(target);
        if site.site().target(name).is_none() {
            unknown += 1;
            continue;
        }
        let rate = Some(BytesPerSec::new(peak.rate.round().max(1.0) as u64));
        let peak = match operation {
            Operation::Read => Peak { read: rate, write: None },
            Operation::Write => Peak { read: None, write: rate },
        };
        site.set_peak(name, &peak)?;
        written += 1;
    }
    Ok(match unknown {
        0 => format!("{written} measured peaks"),
        _ => format!("{written} measured peaks; {unknown} are of targets that it does not have"),
    })
}

fn slowness(it: &Sequences, measured: Option<String>) -> Option<Slowness> {
    let median = |it: &Option<Survival>| {
        let seconds = it.as_ref()?.median()?;
        Some(Nanos::new((seconds * 1e9) as u64))
    };
    let count = |it: &Option<Survival>| it.as_ref().map_or(0, |it| it.n as u64);
    Some(Slowness {
        quantile: it.threshold,
        low_median: median(&it.low)?,
        normal_median: median(&it.normal)?,
        sequences: count(&it.low) + count(&it.normal),
        measured,
    })
}

fn stragglers(view: &View, measured: Option<&str>) -> Vec<Straggler> {
    let mut found = Vec::new();
    for component in [ComponentKind::Target, ComponentKind::Client] {
        for name in names(view.columns, component).iter() {
            let Some(verdict) = verdict(view, component, name) else { continue };
            let persistence = match verdict.kind {
                Some(Kind::Persistent) => Persistence::Persistent,
                Some(Kind::Transient) => Persistence::Transient,
                Some(Kind::Normal) | None => continue,
            };
            found.push(Straggler {
                component,
                name: name.to_string(),
                verdict: persistence,
                // Four digits are more than such a median is sure of.
                ratio: (verdict.median.unwrap_or(0.0) * 1e4).round() / 1e4,
                measures: verdict.n as u64,
                measured: measured.map(str::to_string),
            });
        }
    }
    found
}

fn names(columns: &Columns, component: ComponentKind) -> &plimsoll_score::names::Names {
    match component {
        ComponentKind::Target => &columns.targets,
        ComponentKind::Client => &columns.clients,
    }
}

fn verdict<'a>(view: &'a View, component: ComponentKind, name: &str) -> Option<&'a Verdict> {
    let number = names(view.columns, component).find(name)? as usize;
    let verdicts = match component {
        ComponentKind::Target => &view.scores.target_verdicts,
        ComponentKind::Client => &view.scores.client_verdicts,
    };
    verdicts.verdicts.get(number)
}
