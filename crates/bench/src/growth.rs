//! Bursts that outlast caches, found before an experiment by growing them.
//!
//! What a target takes in at once (a cache of a server, the credit of a throttle) makes small bursts
//! look fast. An instance on one target grows until its rate is the same over two doublings and it takes two
//! seconds, or until there is no room or no time for more.

use std::path::PathBuf;
use std::time::{Duration, Instant as Moment};

use plimsoll_domain::{Bytes, Nanos};
use plimsoll_machine::Machine;
use plimsoll_measures::Outcome;
use plimsoll_stats::{NoPlateau, Sample, plateau};
use serde_json::{Value, json};
use thiserror::Error;

use crate::measuring::{Clients, Setup};
use crate::plan::{
    BurstPlan, Placement, Plan, PlanError, Repeat, SizeOf, TargetsUsed, TransferSize, Vary,
};
use crate::schedule::{Schedule, Step};
use crate::team::{Team, TeamError};

/// What growing may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of an instance.
    pub bytes: Bytes,
    /// Time for one target.
    pub time: Duration,
}

/// How the rate of one target changed with the size of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// The target's name.
    pub target: String,
    /// Bytes of an instance and its rate in bytes per second, from the smallest.
    pub steps: Vec<(Bytes, f64)>,
    /// Why it ended.
    pub ended: Ended,
}

/// Why bursts did not grow any further.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// The rate had stopped changing.
    Flat,
    /// There is no room for more, and this is how the rate still changes.
    NoRoom(NoPlateau),
    /// There is no time for more.
    NoTime(NoPlateau),
}

/// Time for all targets together, if no budget says otherwise.
const TIME: Duration = Duration::from_secs(60);
/// Of a budget, so much is for growing.
const PART_OF_BUDGET: u64 = 10;
/// An instance may have half of a target where that is not more than this.
const SMALL: u64 = 1 << 30;
/// Targets that bursts grow on, evenly over all of them. What differs on others shows in the results.
const TARGETS_MOST: usize = 8;
/// How often an instance that takes no time is repeated, for its median.
const MEASURES: u32 = 15;
/// An instance that takes longer counts as it is.
const QUICK: Duration = Duration::from_secs(1);
/// An instance that takes so long is not made fast by what comes in tenths of a second: the slices of the
/// kernel's throttle (block/blk-throttle.c, DFL_THROTL_SLICE_HD), or a client that is late.
const LONG: Duration = Duration::from_secs(2);

impl Growth {
    /// Returns the bytes of the largest instance.
    pub fn largest(&self) -> Bytes {
        self.steps.last().map_or(Bytes::default(), |(bytes, _)| *bytes)
    }

    /// Returns what was found, for the environment of the results.
    pub fn to_json(&self) -> Value {
        let step = |(bytes, rate): &(Bytes, f64)| json!({ "bytes": bytes.get(), "rate": rate });
        let steps: Vec<Value> = self.steps.iter().map(step).collect();
        let outlasts = self.ended == Ended::Flat;
        json!({ "target": self.target, "steps": steps, "outlasts_caches": outlasts })
    }
}

/// Gives the plan burst sizes of an instance that outlast caches on its targets, as far as room and time allow, and
/// returns how they were found. `None` if the user asked to stop.
///
/// # Errors
/// When the team cannot go on, an instance fails, or the plan makes no sense with these sizes.
pub fn fit(
    plan: &mut Plan,
    directories: &[PathBuf],
    team: &mut dyn Team,
    machine: &Machine,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<Vec<Growth>>, GrowthError> {
    let clients = Clients::of(team.members());
    let chosen = chosen(plan.targets.len());
    let room = Room::of(plan, machine, chosen.len());
    let mut grown = Vec::new();
    for target in chosen {
        let setup = Setup { plan, directories, clients: &clients };
        match grow(&setup, target, &room, team, interrupted) {
            Err(TeamError::Interrupted) => return Ok(None),
            found => grown.push(found?),
        }
        if interrupted() {
            return Ok(None);
        }
    }
    plan.burst.sizes = sizes(plan, &grown);
    plan.check()?;
    Ok(Some(grown))
}

/// Why burst sizes were not found.
#[derive(Debug, Error)]
pub enum GrowthError {
    /// The processes cannot go on, or an instance failed.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// With the sizes that were found the plan makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// So many targets, evenly over all.
fn chosen(targets: usize) -> Vec<u32> {
    let count = targets.min(TARGETS_MOST);
    (0..count).map(|step| (step * targets / count.max(1)) as u32).collect()
}

impl Room {
    /// Returns a tenth of the fullest target, as others may need it, and half of a small one; a share of the time.
    fn of(plan: &Plan, machine: &Machine, targets: usize) -> Self {
        let free = plan.targets.iter().filter_map(|target| machine.space(&target.path).ok());
        let free = free.map(|space| space.available.get()).min().unwrap_or(0);
        let bytes = (free / 10).max(SMALL.min(free / 2));
        let budget = plan.budget.bytes.map_or(u64::MAX, |most| most.get() / PART_OF_BUDGET);
        let part = |most: Nanos| Duration::from_nanos(most.get() / PART_OF_BUDGET);
        let time = plan.budget.time.map_or(TIME, |most| TIME.min(part(most)));
        Room { bytes: Bytes::new(bytes.min(budget)), time: time / targets.max(1) as u32 }
    }
}

/// Returns the smallest instance of all clients: a call of each process.
pub fn smallest(plan: &Plan) -> Bytes {
    let call = match plan.burst.transfer {
        TransferSize::Of(size) => size,
        TransferSize::Burst => TransferSize::default().of_burst(Bytes::default()),
    };
    let processes = u64::from(plan.clients.count) * u64::from(plan.clients.processes);
    Bytes::new(call.get().saturating_mul(processes))
}

/// Burst sizes of an instance that tell whether the rate has stopped changing: the largest that was
/// reached on any target, and a quarter of it.
pub fn sizes(plan: &Plan, grown: &[Growth]) -> Vec<Bytes> {
    let largest = grown.iter().map(Growth::largest).max().unwrap_or_default();
    let quarter = Bytes::new(largest.get() / plateau::SPAN as u64).max(smallest(plan));
    let mut sizes = vec![quarter.min(largest), largest];
    sizes.dedup();
    sizes
}

/// Grows an instance of all clients on one target of the plan, from one call of each process on.
///
/// # Errors
/// When the team cannot go on, or an instance fails.
pub fn grow(
    setup: &Setup,
    target: u32,
    room: &Room,
    team: &mut dyn Team,
    interrupted: &dyn Fn() -> bool,
) -> Result<Growth, TeamError> {
    let began = Moment::now();
    let name = setup.plan.targets[target as usize].name.clone();
    let mut steps: Vec<(Bytes, f64)> = Vec::new();
    let mut bytes = smallest(setup.plan);
    let ended = loop {
        let (rate, each) = rate(setup, target, bytes, team, interrupted)?;
        steps.push((bytes, rate));
        let points: Vec<(f64, f64)> =
            steps.iter().map(|(bytes, rate)| (bytes.get() as f64, *rate)).collect();
        let changes = plateau(&points).err();
        bytes = Bytes::new(bytes.get().saturating_mul(2));
        let lacks_room = bytes > room.bytes;
        let lacks_time = began.elapsed() + 2 * each > room.time;
        match changes {
            None if each >= LONG || lacks_room || lacks_time => break Ended::Flat,
            Some(changes) if lacks_room => break Ended::NoRoom(changes),
            Some(changes) if lacks_time => break Ended::NoTime(changes),
            _ => {}
        }
    };
    Ok(Growth { target: name, steps, ended })
}

/// Returns the median rate of instances of this size, and how long one takes.
fn rate(
    setup: &Setup,
    target: u32,
    bytes: Bytes,
    team: &mut dyn Team,
    interrupted: &dyn Fn() -> bool,
) -> Result<(f64, Duration), TeamError> {
    let plan = plan_of_one(setup.plan, target, bytes);
    let place = target as usize;
    let directories = &setup.directories[place..=place];
    let setup = Setup { plan: &plan, directories, clients: setup.clients };
    let (began, mut rates) = (Moment::now(), Vec::new());
    for step in Schedule::new(&plan) {
        let Step::Instance(planned) = step else { continue };
        let (instance, _) = setup.measure(&planned, team, interrupted)?;
        match (&instance.outcome, instance.aggregate_bandwidth()) {
            (Outcome::Complete, Some(rate)) => rates.push(rate),
            (Outcome::Failed(why), _) => return Err(TeamError::Growth(why.clone())),
            (Outcome::Complete, None) => {}
        }
        if began.elapsed() >= QUICK {
            break;
        }
    }
    let each = began.elapsed() / rates.len().max(1) as u32;
    let median = Sample::new(rates).map(|sample| sample.median());
    Ok((median.unwrap_or(0.0), each))
}

/// Returns a plan for all clients on this target alone, with this many bytes together.
fn plan_of_one(plan: &Plan, target: u32, bytes: Bytes) -> Plan {
    let mut clients = plan.clients.clone();
    clients.used = clients.count;
    Plan {
        targets: vec![plan.targets[target as usize].clone()],
        clients,
        placement: Placement { targets: TargetsUsed::Count(1), ..plan.placement },
        burst: BurstPlan {
            sizes: vec![bytes],
            of: SizeOf::Instance,
            stripe_count: 1,
            verify: false,
            ..plan.burst.clone()
        },
        vary: Vary::default(),
        groups: Vary::default(),
        repeat: Repeat { rounds: MEASURES, ..Repeat::default() },
        ..plan.clone()
    }
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
