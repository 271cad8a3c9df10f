//! How much of everything there may be.

use plimsoll_route::{Policy, PolicyKind, WindowSettings};

use super::within;
use crate::scenario::{Scenario, ScenarioError};

/// Targets have numbers of 16 bits in the router.
pub const TARGETS_MAX: u32 = 60_000;
/// More processes than any machine has.
pub const PROCESSES_MAX: u32 = 16_000_000;
/// Of one node.
pub const PROCESSES_PER_NODE_MAX: u32 = 65_536;
/// Blocks of a process in a burst, and bursts.
pub const BLOCKS_MAX: u32 = 1_000_000;
/// More would not end on the day on which they begin.
pub const SEEDS_MAX: u32 = 1_000_000;

/// Writes of one run, and views of a target by a node: each takes about 270 bytes, so these are five gigabytes. All runs at
/// one time together have no more, if a single one does not.
pub const PARTS_MAX: u128 = 20_000_000;

/// The least possible time of a program whose processes compute by themselves needs the moment of every block.
const THOUGHTS_MAX: u64 = 10_000_000;

/// Every run keeps a time for each process and each target: more of them are tens of gigabytes.
const KEPT_MAX: u128 = 1_000_000_000;

/// Refuses more runs than can be kept until all are done.
pub(super) fn check_kept<'a>(
    points: impl IntoIterator<Item = &'a Scenario>,
) -> Result<(), ScenarioError> {
    let of_point = |point: &Scenario| {
        let runs = point.policies_to_run().len() as u128 * u128::from(point.seeds);
        runs * u128::from(point.application.processes + point.storage.targets)
    };
    let kept: u128 = points.into_iter().map(of_point).sum();
    if kept > KEPT_MAX {
        let problem = format!("would make all runs keep {kept} times, at most {KEPT_MAX}");
        let hint = "fewer seeds, policies or values of a sweep, or fewer processes";
        return Err(ScenarioError::value("seeds", &problem, hint));
    }
    Ok(())
}

impl Scenario {
    pub(super) fn check_counts(&self) -> Result<(), ScenarioError> {
        let application = &self.application;
        within("storage.targets", self.storage.targets, TARGETS_MAX)?;
        within("application.processes", application.processes, PROCESSES_MAX)?;
        let per_node = application.processes_per_node;
        within("application.processes_per_node", per_node, PROCESSES_PER_NODE_MAX)?;
        within("application.blocks", application.blocks, BLOCKS_MAX)?;
        within("application.bursts", application.bursts, BLOCKS_MAX)?;
        within("application.stripes", application.stripes, self.storage.targets)?;
        within("seeds", self.seeds, SEEDS_MAX)
    }

    /// Refuses a policy, or the static placement that all are compared with, that would have more
    /// to do than a run can hold.
    pub(super) fn check_parts(&self) -> Result<(), ScenarioError> {
        let application = &self.application;
        let of_burst = u64::from(application.processes) * u64::from(application.blocks);
        if application.think.is_some() && of_burst > THOUGHTS_MAX {
            let problem =
                format!("would be before {of_burst} blocks of a burst, at most {THOUGHTS_MAX}");
            let hint = "fewer processes or blocks, or compute instead";
            return Err(ScenarioError::value("application.think", &problem, hint));
        }
        for policy in self.policies_to_run() {
            let parts = self.parts(&policy);
            if parts > PARTS_MAX {
                let problem = format!("would make {parts} writes, at most {PARTS_MAX}");
                let hint = "fewer processes, bursts or stripes, or larger blocks or parts";
                return Err(ScenarioError::value(&format!("policy {policy}"), &problem, hint));
            }
            let nodes = self.nodes();
            let views = self.views(&policy);
            if views > PARTS_MAX {
                let problem =
                    format!("would have {views} lanes of {nodes} nodes, at most {PARTS_MAX}");
                let hint = "fewer lanes, or more processes_per_node";
                return Err(ScenarioError::value(&format!("policy {policy}"), &problem, hint));
            }
        }
        Ok(())
    }

    /// Returns how much a run keeps, in writes and views of a target by a node together.
    pub fn kept_parts(&self, policy: &Policy) -> u128 {
        self.parts(policy) + self.views(policy)
    }

    fn parts(&self, policy: &Policy) -> u128 {
        let application = &self.application;
        u128::from(application.processes)
            * u128::from(application.blocks)
            * u128::from(application.bursts)
            * self.parts_of_a_block(policy)
    }

    fn views(&self, policy: &Policy) -> u128 {
        let lanes = policy.lanes.unwrap_or(0).min(self.storage.targets);
        u128::from(self.nodes()) * u128::from(lanes)
    }

    fn nodes(&self) -> u32 {
        match self.buffer_in_use() {
            Some(buffer) => buffer.nodes,
            None => self.application.processes.div_ceil(self.application.processes_per_node),
        }
    }

    /// Writes that a policy makes at least of each block.
    fn parts_of_a_block(&self, policy: &Policy) -> u128 {
        let of = |part_bytes: u64| u128::from(self.application.block.get().div_ceil(part_bytes));
        match policy.kind {
            PolicyKind::Static => u128::from(self.application.stripes),
            PolicyKind::Striped => u128::from(self.storage.targets),
            PolicyKind::Coordinator => policy.split.map_or(1, |split| of(split.get())),
            PolicyKind::Window => of(WindowSettings::default().lease_bytes_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::embedded;

    #[test]
    fn as_much_as_a_run_can_hold_is_not_refused() {
        let mut scenario = embedded("quiet").unwrap();
        scenario.policies = vec!["static".parse().unwrap()];
        scenario.storage.targets = 20;
        let application = &mut scenario.application;
        application.block = plimsoll_domain::Bytes::new(1);
        (application.processes, application.processes_per_node) = (1000, 1);
        (application.blocks, application.bursts, application.stripes) = (500, 2, 20);
        assert_eq!(scenario.check(), Ok(()), "20 million writes");
        scenario.application.blocks = 501;
        let refused = scenario.check().unwrap_err().to_string();
        assert!(refused.contains("would make 20040000 writes, at most 20000000"), "{refused}");

        (scenario.application.blocks, scenario.application.bursts) = (1, 1);
        scenario.application.stripes = 1;
        scenario.policies.push("window:lanes=20".parse().unwrap());
        scenario.application.processes = 1_000_000;
        assert_eq!(scenario.check(), Ok(()), "20 million lanes");
        scenario.application.processes += 1;
        let refused = scenario.check().unwrap_err().to_string();
        assert!(refused.contains("would have 20000020 lanes of 1000001 nodes"), "{refused}");

        scenario.policies.pop();
        (scenario.application.processes, scenario.seeds) = (999_980, 1000);
        assert_eq!(scenario.check(), Ok(()), "a billion times");
        scenario.seeds = 1001;
        let refused = scenario.check().unwrap_err().to_string();
        assert!(refused.contains("keep 1001000000 times, at most 1000000000"), "{refused}");
    }

    /// Each of these once took all memory, or did not end.
    #[test]
    fn what_a_run_cannot_hold_is_refused() {
        let refusal = |targets, processes, stripes, block: &str, policy: &str| {
            let mut scenario = embedded("quiet").unwrap();
            scenario.storage.targets = targets;
            scenario.application.processes_per_node = 1;
            (scenario.application.processes, scenario.application.stripes) = (processes, stripes);
            scenario.application.block = block.parse().unwrap();
            scenario.policies = vec![policy.parse().unwrap()];
            scenario.check().err().map_or(String::new(), |error| error.to_string())
        };
        for (targets, processes, stripes, block, policy, problem) in [
            (4, 4, 1, "100MiB", "paper:split=1B", "would make 419430400 writes"),
            (60_000, 16_000_000, 60_000, "1B", "window", "policy static would make 960000000000 "),
            (60_000, 16_000, 1, "1B", "striped", "policy striped would make 960000000 writes"),
            (60_000, 16_000, 1, "1B", "window:lanes=60000", "would have 960000000 lanes of 16000"),
            (4, 4, 1, "400TB", "window", "policy window would make 381469728 writes"),
        ] {
            let refused = refusal(targets, processes, stripes, block, policy);
            assert!(refused.contains(problem), "{policy}: {refused}");
        }
        let mut seeds = embedded("stochastic").unwrap();
        seeds.seeds = 1_000_000;
        let refused = seeds.check().unwrap_err().to_string();
        assert!(refused.contains("keep 4212000000 times"), "{refused}");
        assert_eq!(refusal(4, 4, 1, "100MiB", "paper:split=4KiB"), "");
        assert_eq!(refusal(1000, 1_000_000, 1, "64MiB", "window"), "");
    }
}
