//! Finding bursts that outlast caches, before an experiment whose sizes nobody named.

use std::time::Duration;

use anyhow::Result;
use plimsoll_bench::growth::{Ended, Growth, Room, grow, sizes};
use plimsoll_bench::measuring::{Clients, Setup};
use plimsoll_bench::plan::Plan;
use plimsoll_bench::{Team, TeamError};
use plimsoll_domain::Bytes;
use plimsoll_machine::Machine;
use plimsoll_report::Unit;
use plimsoll_stats::NoPlateau;
use serde_json::{Value, json};

use crate::interruption::Interruption;
use crate::output;

/// Time for all targets together, if no budget says otherwise.
const TIME: Duration = Duration::from_secs(60);
/// Of a budget, so much is for growing.
const PART_OF_BUDGET: u64 = 10;
/// An instance may have half of a target where that is not more than this.
const SMALL: u64 = 1 << 30;
/// Targets that bursts grow on, evenly over all of them. What differs on others shows in the results.
const TARGETS_MOST: usize = 8;

/// Gives the plan the burst sizes of an instance that outlast caches on its targets, as far as room and
/// time allow, and says what was found. `None` if the user asked to stop.
pub fn fit(
    plan: &mut Plan,
    directories: &[std::path::PathBuf],
    team: &mut dyn Team,
    machine: &Machine,
    interruption: &Interruption,
) -> Result<Option<Vec<Growth>>> {
    let clients = Clients::of(team.members());
    let chosen = chosen(plan.targets.len());
    let room = room(plan, machine, chosen.len());
    output::message("finding bursts that outlast caches, by growing them");
    let mut grown = Vec::new();
    for target in chosen {
        let setup = Setup { plan, directories, clients: &clients };
        match grow(&setup, target, &room, team, &|| interruption.is_asked()) {
            Err(TeamError::Interrupted) => return Ok(None),
            found => grown.push(found?),
        }
        if interruption.is_asked() {
            return Ok(None);
        }
    }
    plan.burst.sizes = sizes(plan, &grown);
    plan.check()?;
    grown.iter().for_each(|growth| output::message(&format!("  {}", sentence(growth))));
    let shown: Vec<String> = plan.burst.sizes.iter().map(Bytes::to_string).collect();
    output::message(&format!("  instances of {} together", shown.join(" and ")));
    Ok(Some(grown))
}

/// So many targets, evenly over all.
fn chosen(targets: usize) -> Vec<u32> {
    let count = targets.min(TARGETS_MOST);
    (0..count).map(|step| (step * targets / count.max(1)) as u32).collect()
}

/// Returns a tenth of the fullest target, as others may need it, and half of a small one; a share of the time.
fn room(plan: &Plan, machine: &Machine, targets: usize) -> Room {
    let free = plan.targets.iter().filter_map(|target| machine.space(&target.path).ok());
    let free = free.map(|space| space.available.get()).min().unwrap_or(0);
    let bytes = (free / 10).max(SMALL.min(free / 2));
    let budget = plan.budget.bytes.map_or(u64::MAX, |most| most.get() / PART_OF_BUDGET);
    let part = |most: plimsoll_domain::Nanos| Duration::from_nanos(most.get() / PART_OF_BUDGET);
    let time = plan.budget.time.map_or(TIME, |most| TIME.min(part(most)));
    Room { bytes: Bytes::new(bytes.min(budget)), time: time / targets.max(1) as u32 }
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

/// Returns what was found, for the environment of the results.
pub fn described(grown: &[Growth]) -> Value {
    let of_target = |growth: &Growth| {
        let step = |(bytes, rate): &(Bytes, f64)| json!({ "bytes": bytes.get(), "rate": rate });
        let steps: Vec<Value> = growth.steps.iter().map(step).collect();
        let outlasts = growth.ended == Ended::Flat;
        json!({ "target": growth.target, "steps": steps, "outlasts_caches": outlasts })
    };
    Value::Array(grown.iter().map(of_target).collect())
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn targets_are_chosen_evenly() {
        assert_eq!(chosen(3), [0, 1, 2]);
        assert_eq!(chosen(1008), [0, 126, 252, 378, 504, 630, 756, 882]);
        assert!(chosen(0).is_empty());
    }
}
