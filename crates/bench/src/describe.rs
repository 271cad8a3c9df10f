//! A plan in words, for people who check it before they run it, and how it ended.

use plimsoll_domain::burst::Sharing;

use crate::plan::Plan;
use crate::runner::Ending;
use crate::schedule::{InstancePlan, Schedule, Step};
use crate::stopping::Shortfall;

/// Returns the instances of the first round, without running anything.
pub fn first_round(plan: &Plan) -> impl Iterator<Item = InstancePlan> + use<> {
    let steps = Schedule::new(plan).take_while(|step| !matches!(step, Step::EndOfRound { .. }));
    steps.filter_map(|step| match step {
        Step::Instance(instance) => Some(instance),
        _ => None,
    })
}

/// One line about an instance: what is done, and by whom on which target.
pub fn describe(plan: &Plan, instance: &InstancePlan) -> String {
    const SHOWN: usize = 6;
    let setting = &instance.setting;
    let action = setting.operation.plural();
    let whose = match setting.sharing {
        Sharing::Independent => "of its own file",
        Sharing::Shared => "of a shared file",
    };
    let value = match instance.varied.as_str() {
        "" => String::new(),
        value => format!("{} = {value}: ", plan.vary.parameter.as_str()),
    };
    let pairs = instance.processes.iter().take(SHOWN).map(|process| {
        let targets = process.targets.iter().take(SHOWN).map(|target| {
            plan.targets.get(*target as usize).map_or("?", |target| target.name.as_str())
        });
        let more = if process.targets.len() > SHOWN { "+…" } else { "" };
        let targets = targets.collect::<Vec<_>>().join("+");
        format!("{}.{} -> {targets}{more}", plan.clients.name(process.client), process.process)
    });
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    let more = match instance.processes.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{value}each process {action} {} {whose}: {pairs}{more}", setting.burst)
}

/// Returns how an experiment ended, and how far the precision was missed.
pub fn ending(ending: &Ending, plan: &Plan) -> String {
    match ending {
        Ending::Complete => "complete".to_string(),
        Ending::Precise => "complete: as precise as asked".to_string(),
        Ending::Imprecise(missing) => format!("complete, but {}", imprecise(missing, plan)),
        Ending::BudgetSpent(None) => "complete: the budget is spent".to_string(),
        Ending::BudgetSpent(Some(missing)) => {
            format!("complete: the budget is spent, and {}", imprecise(missing, plan))
        }
        Ending::Interrupted => "interrupted; what was measured is kept".to_string(),
        Ending::Failed(why) => format!("failed: {why}"),
    }
}

/// Returns how far the precision was missed, and what would be enough.
fn imprecise(missing: &Shortfall, plan: &Plan) -> String {
    let percent = |share: f64| format!("{} %", (share * 10_000.0).round() / 100.0);
    let asked = percent(plan.repeat.precision.unwrap_or(0.0));
    let known = match (missing.half_width, missing.of) {
        (None, _) => format!("a median of fewer than {} rounds has no interval", missing.rounds),
        (Some(width), 1) => format!("the median is known to {} only", percent(width)),
        (Some(width), of) => {
            format!(
                "of {} of {of} settings the median is known to {} only",
                missing.settings,
                percent(width)
            )
        }
    };
    format!(
        "the precision of {asked} was not reached: {known}; about {} rounds might be enough",
        missing.rounds
    )
}
