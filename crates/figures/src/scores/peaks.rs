//! What is to be said about peaks of targets: which are not known, and why.

use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::Site;
use plimsoll_report::Unit;
use plimsoll_score::peak::Refused;
use plimsoll_score::{Columns, Peaks};
use plimsoll_stats::NoPlateau;

/// Why measures give no peak, and what to do about it.
pub fn why(refused: &Refused) -> String {
    let bytes = |it: f64| Unit::Bytes.show(it);
    let rate = |it: f64| Unit::BytesPerSec.show(it);
    let (largest, at_largest) = (bytes(refused.bytes as f64), rate(refused.rate));
    let from = |size: f64, at: f64| {
        format!("from {} at {} an instance to {at_largest} at {largest}", rate(at), bytes(size))
    };
    match refused.why {
        NoPlateau::Falls { size, rate } => format!(
            "the rate still falls at the largest bursts, {}: they fit a cache in part; \
             hint: larger ones, plimsoll bench target --burst",
            from(size, rate)
        ),
        NoPlateau::Rises { size, rate } => format!(
            "the rate still rises at the largest bursts, {}; \
             hint: larger ones, plimsoll bench target --burst",
            from(size, rate)
        ),
        NoPlateau::Scattered { size, rate } => format!(
            "rates scatter too much to tell whether they still change with the burst, {}; \
             hint: more rounds",
            from(size, rate)
        ),
        NoPlateau::Narrow => format!(
            "all bursts move about {largest} an instance, so it is not known whether they fit a cache; \
             hint: plimsoll bench target, or bursts of a quarter of it as well"
        ),
    }
}

/// One sentence for all targets whose measures give no peak for one kind of reason, and one for peaks of
/// the site file that cannot be relied on.
pub fn notes(columns: &Columns, peaks: &Peaks, site: Option<&Site>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let refused: Vec<(u32, Operation, Refused)> = peaks.refused().collect();
    if let Some((target, _, first)) = refused.first() {
        let name = columns.targets.name(*target);
        let more = match refused.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more targets)"),
        };
        notes.push(format!("no peak of {name}{more}: {}", why(first)));
    }
    let unproven = site.iter().flat_map(|site| &site.targets).filter(|target| {
        let is_unproven = |(operation, rate): (Operation, Option<_>)| {
            rate.is_some() && target.peak.trusted(operation).is_none()
        };
        let directions =
            [(Operation::Read, target.peak.read), (Operation::Write, target.peak.write)];
        columns.targets.find(&target.name).is_some() && directions.into_iter().any(is_unproven)
    });
    let names: Vec<&str> = unproven.map(|target| target.name.as_str()).collect();
    if !names.is_empty() {
        notes.push(format!(
            "the site file's measured peaks of {} are not used: they were measured before bursts were held \
             against caches; hint: plimsoll bench target, then score --write-back",
            names.join(", ")
        ));
    }
    notes
}
