//! What was found, for the site file.

use plimsoll_domain::burst::Operation;
use plimsoll_domain::moment::rfc3339;
use plimsoll_domain::site::{
    ComponentKind, MeasuredPeak, Peak, Persistence, SiteError, SiteFile, Slowness, Straggler,
};
use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_score::peak::{Evidence, PEAK_INSTANCES, Peak as Found, PeakOrigin};
use plimsoll_score::sequence::Sequences;
use plimsoll_score::survival::Survival;
use plimsoll_score::verdict::Verdict;
use plimsoll_score::{Columns, Kind, Peaks};

use super::{View, why};

/// Enters peaks, durations of slowness and stragglers into a site file, which is not saved yet. Returns a line about
/// each kind of entry.
///
/// # Errors
/// When the file does not take an entry.
pub fn write_back(site: &mut SiteFile, view: &View) -> Result<Vec<String>, SiteError> {
    let measured = view.columns.instances().iter().map(|it| it.start).max().map(rfc3339);
    let mut lines = vec![peaks(site, view, measured.as_deref())?];
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
        verdict.and_then(|it| it.kind).is_some_and(|it| persistence(it).is_none())
    };
    site.set_stragglers(&stragglers, is_normal)?;
    lines.push(format!("{} stragglers", stragglers.len()));
    Ok(lines)
}

/// Measured peaks of targets that the file knows. Those that a person gave stay; those that were
/// measured before are measured again. Says what was not written, and why.
fn peaks(site: &mut SiteFile, view: &View, measured: Option<&str>) -> Result<String, SiteError> {
    let found = Peaks::measured(view.columns);
    let (mut written, mut given, mut unknown, mut few) = (0, 0, 0, Vec::new());
    for (target, operation, peak) in found.iter() {
        let PeakOrigin::Measured(evidence) = peak.origin else { continue };
        let name = view.columns.targets.name(target);
        match site.site().target(name) {
            None => unknown += 1,
            Some(target) if target.peak.given(operation).is_some() => given += 1,
            Some(_) if !peak.is_kept() => few.push(format!("{name} has {}", evidence.instances)),
            Some(_) => {
                site.set_peak(name, &to_keep(operation, &peak, evidence, measured))?;
                written += 1;
            }
        }
    }
    let refused: Vec<_> = found.refused().collect();
    if found.iter().next().is_none() && refused.is_empty() {
        let hint = "no results have one target an instance; hint: plimsoll bench target";
        return Ok(format!("no measured peaks: {hint}"));
    }
    let mut parts = vec![format!("{written} measured peaks")];
    if !few.is_empty() {
        let more = if few.len() > NAMED { ", \u{2026}" } else { "" };
        few.truncate(NAMED);
        parts.push(format!(
            "a peak needs {PEAK_INSTANCES} instances at saturation, {}{more}",
            few.join(", ")
        ));
    }
    if let Some((target, _, reason)) = refused.first() {
        let name = view.columns.targets.name(*target);
        let more = if refused.len() > 1 {
            format!(" and {} more", refused.len() - 1)
        } else {
            String::new()
        };
        parts.push(format!("none of {name}{more}: {}", why(reason)));
    }
    parts.extend((given > 0).then(|| format!("{given} are given and stay")));
    parts.extend((unknown > 0).then(|| format!("{unknown} are of targets that it does not have")));
    Ok(parts.join("; "))
}

/// Targets that a message names.
const NAMED: usize = 5;

fn to_keep(operation: Operation, peak: &Found, it: Evidence, measured: Option<&str>) -> Peak {
    let rate = BytesPerSec::new(peak.rate.round().max(1.0) as u64);
    let measured = measured.map(str::to_string);
    let (instances, bytes) = (it.instances as u64, Some(Bytes::new(it.bytes)));
    let rests_on = Some(MeasuredPeak { rate, instances, bytes, measured });
    match operation {
        Operation::Read => Peak { read: Some(rate), read_measured: rests_on, ..Peak::default() },
        Operation::Write => Peak { write: Some(rate), write_measured: rests_on, ..Peak::default() },
    }
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
            let Some(persistence) = verdict.kind.and_then(persistence) else { continue };
            found.push(Straggler {
                component,
                name: name.to_string(),
                verdict: persistence,
                // Four digits are more than such a median is sure of.
                ratio: (verdict.slow_ratio().unwrap_or(0.0) * 1e4).round() / 1e4,
                measures: verdict.n as u64,
                measured: measured.map(str::to_string),
            });
        }
    }
    found
}

/// Returns what the file says of a verdict; `None` for one that says of nothing that it is slow.
fn persistence(kind: Kind) -> Option<Persistence> {
    match kind {
        Kind::Persistent => Some(Persistence::Persistent),
        Kind::Drifting => Some(Persistence::Drifting),
        Kind::SomeSettings => Some(Persistence::Partial),
        Kind::Transient => Some(Persistence::Transient),
        Kind::Normal | Kind::Undecided | Kind::Noisier | Kind::Recovered => None,
    }
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
