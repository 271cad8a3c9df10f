//! A plan in words, for people who check it before they run it.

use plimsoll_domain::burst::{Operation, Sharing};

use crate::plan::Plan;
use crate::schedule::{InstancePlan, Schedule, Step};

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
    let action = match setting.operation {
        Operation::Write => "writes",
        Operation::Read => "reads",
    };
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
