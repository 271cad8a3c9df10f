//! What runs lost, and what that means for their numbers.

use plimsoll_report::{Record, Value};
use plimsoll_route::PolicyKind;
use plimsoll_simulate::{Point, PolicyOutcomes};

/// Returns true if a run of any policy lost something.
pub fn is_in(points: &[Point]) -> bool {
    points.iter().flat_map(|point| &point.policies).any(|policy| policy.runs_with_loss() > 0)
}

/// Returns the most that a seed lost. Not the median, which would hide what few seeds lose.
pub fn most_bytes(policy: &PolicyOutcomes) -> Value {
    let lost = policy.outcomes.iter().map(|outcome| outcome.lost_bytes);
    lost.max().map_or(Value::Missing, Value::Integer)
}

/// Says which policies lost something and what is therefore missing.
pub fn note(record: Record, points: &[Point]) -> Record {
    let of_policy = |nth: usize| {
        let outcomes = || points.iter().map(move |point| &point.policies[nth]);
        let lossy: usize = outcomes().map(PolicyOutcomes::runs_with_loss).sum();
        let runs: usize = outcomes().map(|policy| policy.outcomes.len()).sum();
        let name = points[0].policies[nth].policy;
        (lossy > 0).then(|| format!("{name} ({lossy} of {runs} runs)"))
    };
    let mut losers: Vec<String> = (0..points[0].policies.len()).filter_map(of_policy).collect();
    let is_shown = points[0].policies.iter().any(|policy| policy.policy.kind == PolicyKind::Static);
    if !is_shown && points.iter().any(|point| point.static_makespans.is_empty()) {
        losers.push("static, which others are compared with".into());
    }
    if losers.is_empty() {
        record
    } else {
        record.note(format!(
            "lost data: {}. Where a seed did not get everything durable, there is no makespan and \
             nothing that follows from it",
            losers.join(", ")
        ))
    }
}
