//! What is said of bursts that grew until they outlast caches.

use plimsoll_bench::growth::{Ended, Growth};
use plimsoll_domain::Bytes;
use plimsoll_report::Unit;
use plimsoll_stats::NoPlateau;

use crate::output;

/// Says how the rate of each target changed, and which sizes follow.
pub fn tell(grown: &[Growth], sizes: &[Bytes]) {
    grown.iter().for_each(|growth| output::message(&format!("  {}", sentence(growth))));
    let shown: Vec<String> = sizes.iter().map(Bytes::to_string).collect();
    output::message(&format!("  instances of {} together", shown.join(" and ")));
}

fn sentence(growth: &Growth) -> String {
    let step = |(bytes, rate): &(Bytes, f64)| {
        format!("{} {}", Unit::Bytes.show(bytes.get() as f64), Unit::BytesPerSec.show(*rate))
    };
    let steps: Vec<String> = growth.steps.iter().map(step).collect();
    let (changes, lacking) = match &growth.ended {
        Ended::Flat => return format!("{}: {}: the same", growth.target, steps.join(", ")),
        Ended::NoRoom(changes) => (changes, "room"),
        Ended::NoTime(changes) => (changes, "time"),
    };
    let what = match changes {
        NoPlateau::Falls { .. } => "the rate still falls: the bursts fit a cache in part",
        NoPlateau::Rises { .. } => "the rate still rises",
        NoPlateau::Narrow | NoPlateau::Scattered { .. } => "whether they fit a cache is not known",
    };
    format!(
        "{}: {}: {what}, and there is no {lacking} for more, so that its peak may not be known; \
         hint: --burst SIZE,SIZE, one four times the other",
        growth.target,
        steps.join(", ")
    )
}
