//! What a plan must satisfy to be run.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;

use super::{PLAN_VERSION, Parameter, Plan, PlanError, Striping, TargetPlan, Value, Vary, limits};
use crate::shape::Shape;

impl Plan {
    /// Fails if something in the plan cannot be run on the targets and clients that it names.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.version == 0 || self.version > PLAN_VERSION {
            let found = i64::from(self.version);
            return Err(PlanError::Version { found, known: PLAN_VERSION });
        }
        check_name("name", &self.name)?;
        check_file_name("name", &self.name)?;
        if i64::try_from(self.seed).is_err() {
            return Err(PlanError::value("seed", format!("allowed: 0 to {}", i64::MAX)));
        }
        self.check_targets()?;
        self.check_clients()?;
        self.check_dimensions()?;
        self.check_repeat()?;
        self.check_shapes()
    }

    fn check_targets(&self) -> Result<(), PlanError> {
        if self.targets.is_empty() {
            let hint = "hint: add [[target]] with name and path";
            return Err(PlanError::value("target", format!("no targets; {hint}")));
        }
        let mut names = HashSet::new();
        let mut places: HashMap<&Path, Vec<&TargetPlan>> = HashMap::new();
        for (index, target) in self.targets.iter().enumerate() {
            check_name(&format!("target[{index}].name"), &target.name)?;
            if !names.insert(&target.name) {
                let problem = format!("two targets have the name {:?}", target.name);
                return Err(PlanError::value(format!("target[{index}].name"), problem));
            }
            check_place(index, target, places.entry(&target.path).or_default())?;
            if let Some(server) = &target.server {
                check_name(&format!("target[{index}].server"), server)?;
            }
            if self.burst.striping == Striping::Lustre && target.lustre_index.is_none() {
                let problem = "Lustre cannot place files on a target without lustre_index";
                return Err(PlanError::value("burst.striping", problem));
            }
            if self.burst.striping == Striping::Directories
                && target.lustre_index.is_some()
                && self.stripe_counts().any(|count| count > 1)
            {
                let problem = "a file in turns over directories cannot be placed on OSTs by lustre_index; \
                               hint: striping = \"lustre\"";
                return Err(PlanError::value("burst.striping", problem));
            }
            places.entry(&target.path).or_default().push(target);
        }
        Ok(())
    }

    /// Returns every number of targets that a file lies on in some instance.
    fn stripe_counts(&self) -> impl Iterator<Item = u32> {
        let varied = [&self.vary, &self.groups].into_iter();
        let varied = varied.filter(|vary| vary.parameter == Parameter::StripeCount);
        let counts = varied.flat_map(|vary| &vary.values).filter_map(|value| match value {
            Value::Count(count) => Some(*count),
            _ => None,
        });
        counts.chain([self.burst.stripe_count])
    }

    fn check_clients(&self) -> Result<(), PlanError> {
        let clients = &self.clients;
        let most = limits::PROCESSES_MAX;
        if clients.count == 0 || u64::from(clients.count) > most {
            let problem = format!("{} clients; allowed: 1 to {most}", clients.count);
            return Err(PlanError::value("clients.count", problem));
        }
        if clients.processes == 0 {
            return Err(PlanError::value("clients.processes", "no processes; allowed: 1 and more"));
        }
        if clients.used == 0 || clients.used > clients.count {
            let problem = format!("{} of {} clients", clients.used, clients.count);
            let range = format!("allowed: 1 to {}", clients.count);
            return Err(PlanError::value("clients.used", format!("{problem}; {range}")));
        }
        if !clients.names.is_empty() && clients.names.len() as u64 != u64::from(clients.count) {
            let problem = format!("{} names for {} clients", clients.names.len(), clients.count);
            return Err(PlanError::value("clients.names", problem));
        }
        let mut names = HashSet::new();
        for name in &clients.names {
            check_name("clients.names", name)?;
            if !names.insert(name) {
                let problem = format!("two clients have the name {name:?}");
                return Err(PlanError::value("clients.names", problem));
            }
        }
        let writers = u64::from(clients.count) * u64::from(self.processes_most());
        if self.burst.operation == Operation::Read && writers < 2 {
            let problem = "a file must be read by another process than its writer, \
                           and there is one process; hint: clients.count = 2";
            return Err(PlanError::value("burst.operation", problem));
        }
        Ok(())
    }

    fn varies(&self, parameter: Parameter) -> bool {
        self.vary.parameter == parameter || self.groups.parameter == parameter
    }

    fn check_dimensions(&self) -> Result<(), PlanError> {
        check_vary("vary", &self.vary)?;
        check_vary("groups", &self.groups)?;
        if self.vary.parameter == Parameter::Server {
            let problem = "servers are of groups; hint: [groups] parameter = \"server\"";
            return Err(PlanError::value("vary.parameter", problem));
        }
        let (rounds, groups) = (self.vary.parameter, self.groups.parameter);
        let pairs_and = |other| matches!(other, Parameter::Clients | Parameter::Targets);
        let clash = rounds != Parameter::None && rounds == groups
            || rounds == Parameter::Pairs && pairs_and(groups)
            || groups == Parameter::Pairs && pairs_and(rounds);
        if clash {
            let (rounds, groups) = (rounds.as_str(), groups.as_str());
            let problem = format!("groups vary {groups} while rounds vary {rounds}");
            return Err(PlanError::value("groups.parameter", problem));
        }
        match (self.varies(Parameter::Burst), self.burst.sizes.is_empty()) {
            (true, false) => {
                let problem = "bursts are varied already; hint: leave one of the two out";
                Err(PlanError::value("burst.sizes", problem))
            }
            (false, true) => Err(PlanError::value("burst.sizes", "no sizes, like [\"16MiB\"]")),
            _ => check_distinct("burst.sizes", &self.burst.sizes),
        }
    }

    fn check_repeat(&self) -> Result<(), PlanError> {
        let repeat = &self.repeat;
        if repeat.runs == 0 {
            return Err(PlanError::value("repeat.runs", "no runs; allowed: 1 and more"));
        }
        if repeat.rounds == 0 {
            return Err(PlanError::value("repeat.rounds", "no rounds; allowed: 1 and more"));
        }
        let inside = |share: f64| share > 0.0 && share < 1.0;
        if let Some(precision) = repeat.precision.filter(|precision| !inside(*precision)) {
            let problem = format!("{precision} is not between 0 and 1; 0.05 is 5 %");
            return Err(PlanError::value("repeat.precision", problem));
        }
        if !inside(repeat.confidence) {
            let problem = format!("{} is not between 0 and 1; 0.95 is usual", repeat.confidence);
            return Err(PlanError::value("repeat.confidence", problem));
        }
        let Some(most) = repeat.rounds_max else { return Ok(()) };
        if most < repeat.rounds {
            let problem = format!("{most} is less than rounds = {}", repeat.rounds);
            return Err(PlanError::value("repeat.rounds_max", problem));
        }
        let bounded = self.budget.bytes.is_some() || self.budget.time.is_some();
        if most > repeat.rounds && repeat.precision.is_none() && !bounded {
            let problem = "nothing ends the rounds before; hint: precision, a budget, or rounds";
            return Err(PlanError::value("repeat.rounds_max", problem));
        }
        Ok(())
    }

    fn check_shapes(&self) -> Result<(), PlanError> {
        let settings = self.vary.len() as u128
            * self.groups.len() as u128
            * self.burst.sizes.len().max(1) as u128;
        if settings > limits::SETTINGS_MAX as u128 {
            let most = limits::SETTINGS_MAX;
            let problem = format!("{settings} settings in all; allowed: 1 to {most}");
            return Err(PlanError::value("vary.values", problem));
        }
        let mut one_round: u128 = 0;
        for shape in Shape::all(self) {
            one_round += u128::from(shape?.bytes_moved());
        }
        let runs = u128::from(self.repeat.runs);
        let most = runs * u128::from(self.repeat.rounds_most());
        if most * settings > u128::from(i64::MAX as u64) {
            return Err(PlanError::value("repeat.runs", "more instances than can be counted"));
        }
        match self.budget.bytes {
            Some(budget) if u128::from(budget.get()) / runs < one_round => {
                let needed = Bytes::new(u64::try_from(one_round * runs).unwrap_or(u64::MAX));
                let problem =
                    format!("{budget} is too little for one round of every run: {needed}");
                Err(PlanError::value("budget.bytes", problem))
            }
            None if most * one_round > u128::from(u64::MAX) => {
                let problem = "more bytes in all than can be counted; hint: budget.bytes";
                Err(PlanError::value("repeat", problem))
            }
            _ if self.budget.time.is_some_and(|time| time.get() == 0) => {
                Err(PlanError::value("budget.time", "no time; allowed: 1ns and more"))
            }
            _ => Ok(()),
        }
    }
}

fn check_vary(table: &str, vary: &Vary) -> Result<(), PlanError> {
    let key = format!("{table}.values");
    let name = vary.parameter.as_str();
    if vary.parameter == Parameter::None && !vary.values.is_empty() {
        let problem = "values without a parameter; hint: name it, or leave the values out";
        return Err(PlanError::value(key, problem));
    }
    if vary.parameter != Parameter::None && vary.values.is_empty() {
        return Err(PlanError::value(key, format!("no values of {name}")));
    }
    if let Some(value) = vary.values.iter().find(|value| !vary.parameter.takes(value)) {
        return Err(PlanError::value(key, format!("{value} is not a value of {name}")));
    }
    check_distinct(&key, &vary.values)
}

fn check_distinct<T: std::hash::Hash + Eq + std::fmt::Display>(
    key: &str,
    values: &[T],
) -> Result<(), PlanError> {
    let mut seen = HashSet::new();
    match values.iter().find(|value| !seen.insert(*value)) {
        Some(twice) => {
            let hint = "hint: repeat.rounds repeats all";
            Err(PlanError::value(key, format!("{twice} is there twice; {hint}")))
        }
        None => Ok(()),
    }
}

/// Checks a name: names reach terminals and file names, so they are short and have no control characters.
fn check_name(key: &str, name: &str) -> Result<(), PlanError> {
    let problem = if name.is_empty() {
        "an empty name"
    } else if name.chars().any(char::is_control) {
        "control characters in a name"
    } else if name.chars().count() > limits::NAME_CHARS_MAX {
        "a name of more than 200 characters"
    } else {
        return Ok(());
    };
    Err(PlanError::value(key, problem))
}

/// Results are kept in a directory of this name, which must not be elsewhere.
fn check_file_name(key: &str, name: &str) -> Result<(), PlanError> {
    if name == "." || name == ".." || name.contains('/') {
        Err(PlanError::value(key, format!("{name:?} cannot be the name of a directory")))
    } else {
        Ok(())
    }
}

/// `here` are the targets before it with the same path.
fn check_place(index: usize, target: &TargetPlan, here: &[&TargetPlan]) -> Result<(), PlanError> {
    let key = format!("target[{index}].path");
    let path = &target.path;
    let Some(text) = path.to_str() else {
        return Err(PlanError::value(key, format!("{path:?} is not UTF-8 text")));
    };
    if !path.is_absolute() {
        return Err(PlanError::value(key, format!("{text:?} is not an absolute path")));
    }
    if text.chars().any(char::is_control) {
        return Err(PlanError::value(key, format!("control characters in {text:?}")));
    }
    if let Some(index) = target.lustre_index.filter(|index| *index > limits::LUSTRE_INDEX_MAX) {
        let most = limits::LUSTRE_INDEX_MAX;
        let problem = format!("lustre_index {index}; allowed: 0 to {most}");
        return Err(PlanError::value(key, problem));
    }
    let alike = |other: &&&TargetPlan| match (target.lustre_index, other.lustre_index) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => true,
    };
    match here.iter().find(alike) {
        Some(other) => {
            let problem = format!("{text} is the place of target {:?} already", other.name);
            Err(PlanError::value(key, problem))
        }
        None => Ok(()),
    }
}
