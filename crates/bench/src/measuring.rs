//! Measures one instance: gives a team of processes the bursts that the plan wants, and makes of what each process did
//! one measure for every pair of client and target.

use std::collections::BTreeSet;
use std::path::PathBuf;

use plimsoll_domain::burst::Operation;
use plimsoll_engine::{Burst, Stripe};
use plimsoll_measures::{Instance, Outcome, Pair};

use crate::message::Done;
use crate::plan::{Plan, Striping};
use crate::process_plan::ProcessPlan;
use crate::schedule::InstancePlan;
use crate::team::{Member, NotDone, Part, Team, TeamError};

/// The processes of a team by the client that they belong to, in the order in which clients appear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clients {
    names: Vec<String>,
    members: Vec<Vec<usize>>,
}

impl Clients {
    /// Sorts a team's members.
    pub fn of(members: &[Member]) -> Self {
        let mut clients = Self { names: Vec::new(), members: Vec::new() };
        for (place, member) in members.iter().enumerate() {
            let known = clients.names.iter().position(|name| *name == member.client);
            let client = known.unwrap_or_else(|| {
                clients.names.push(member.client.clone());
                clients.members.push(Vec::new());
                clients.names.len() - 1
            });
            clients.members[client].push(place);
        }
        clients
    }

    /// Returns the clients' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of processes that every client has.
    pub fn processes_least(&self) -> u32 {
        self.members.iter().map(|members| members.len() as u32).min().unwrap_or(0)
    }

    fn member(&self, process: &ProcessPlan) -> usize {
        self.members[process.client as usize][process.process as usize]
    }
}

/// How many bursts the page cache had a part in, although it was kept out as the plan says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Bursts that were done.
    pub bursts: u64,
    /// Those in which cached pages were found, or that went to memory (tmpfs).
    pub cached: u64,
    /// Those for which the kernel does not tell.
    pub unknown: u64,
}

impl CacheUse {
    fn of(parts: &[Part]) -> Self {
        let mut cache = Self::default();
        for done in parts.iter().flatten() {
            cache.bursts += 1;
            match done.page_cache.was_used() {
                Some(true) => cache.cached += 1,
                Some(false) => {}
                None => cache.unknown += 1,
            }
        }
        cache
    }

    /// Counts others too.
    pub fn add(&mut self, other: Self) {
        self.bursts += other.bursts;
        self.cached += other.cached;
        self.unknown += other.unknown;
    }
}

/// What an experiment is done with: its plan, where it works and who does it.
pub struct Setup<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    /// The working directory of each of the plan's targets.
    pub directories: &'a [PathBuf],
    /// The team's processes.
    pub clients: &'a Clients,
}

impl Setup<'_> {
    /// Does one instance and removes its files.
    ///
    /// # Errors
    /// When the team cannot go on. A burst that failed is part of the instance.
    pub fn measure(
        &self,
        instance: &InstancePlan,
        team: &mut dyn Team,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(Instance, CacheUse), TeamError> {
        let files: BTreeSet<PathBuf> =
            instance.processes.iter().flat_map(|process| self.paths(process)).collect();
        let files: Vec<PathBuf> = files.into_iter().collect();
        let mut parts = Vec::new();
        if !instance.prepare.is_empty() {
            let bursts = self.bursts(instance, &instance.prepare, Operation::Write);
            parts = team.burst(bursts, interrupted)?;
        }
        if parts.iter().all(Result::is_ok) {
            let operation = instance.setting.operation;
            let bursts = self.bursts(instance, &instance.processes, operation);
            parts = team.burst(bursts, interrupted)?;
        }
        team.remove_files(&files)?;
        Ok((self.instance(instance, &parts), CacheUse::of(&parts)))
    }

    fn bursts(
        &self,
        instance: &InstancePlan,
        processes: &[ProcessPlan],
        operation: Operation,
    ) -> Vec<(usize, Burst)> {
        let bursts = processes.iter().map(|process| {
            (self.clients.member(process), self.burst(instance, process, operation))
        });
        bursts.collect()
    }

    fn burst(&self, instance: &InstancePlan, process: &ProcessPlan, operation: Operation) -> Burst {
        let setting = &instance.setting;
        Burst {
            operation,
            paths: self.paths(process),
            chunk: setting.stripe_size,
            offset: process.offset,
            bytes: process.bytes,
            transfer: setting.transfer,
            pattern: setting.pattern,
            caching: setting.caching,
            engine: setting.engine,
            depth: setting.depth,
            seed: process.seed,
            verify: self.plan.burst.verify,
            stripe: self.stripe(instance, process),
            span: None,
        }
    }

    /// One file in the directory of each target, or one that Lustre spreads over them.
    fn paths(&self, process: &ProcessPlan) -> Vec<PathBuf> {
        let by_lustre = self.plan.burst.striping == Striping::Lustre;
        let holding = if by_lustre { 1 } else { process.targets.len() };
        let targets = process.targets.iter().take(holding);
        targets.map(|target| self.directories[*target as usize].join(&process.file)).collect()
    }

    fn stripe(&self, instance: &InstancePlan, process: &ProcessPlan) -> Option<Stripe> {
        let first = self.plan.targets[*process.targets.first()? as usize].lustre_index?;
        let by_lustre = self.plan.burst.striping == Striping::Lustre;
        let count = if by_lustre { process.targets.len() as u16 } else { 1 };
        Some(Stripe { first: first as u16, count, size: instance.setting.stripe_size })
    }

    fn instance(&self, instance: &InstancePlan, parts: &[Part]) -> Instance {
        let mut pairs: Vec<Pair> = Vec::new();
        for (process, part) in instance.processes.iter().zip(parts) {
            if let Ok(done) = part {
                self.add(&mut pairs, process, done);
            }
        }
        Instance {
            run: instance.run,
            group: instance.group,
            round: instance.round,
            instance: instance.instance,
            setting: instance.setting.clone(),
            varied: instance.varied.clone(),
            outcome: outcome(parts),
            pairs,
        }
    }

    /// Returns the targets that a process really wrote. Lustre chooses all but the first of a striped file
    /// itself, and says which.
    fn target_names(&self, process: &ProcessPlan, done: &Done) -> Vec<String> {
        let by_lustre = self.plan.burst.striping == Striping::Lustre && process.targets.len() > 1;
        if by_lustre && !done.lustre_targets.is_empty() {
            let name = |index: &u32| {
                let known = self.plan.targets.iter().find(|it| it.lustre_index == Some(*index));
                known.map_or_else(|| format!("OST{index}"), |target| target.name.clone())
            };
            return done.lustre_targets.iter().map(name).collect();
        }
        let planned = process.targets.iter();
        planned.map(|target| self.plan.targets[*target as usize].name.clone()).collect()
    }

    /// Counts one process's part in the pair that it belongs to.
    fn add(&self, pairs: &mut Vec<Pair>, process: &ProcessPlan, done: &Done) {
        let client = &self.clients.names[process.client as usize];
        let targets = process.targets.iter().map(|target| &self.plan.targets[*target as usize]);
        let target = self.target_names(process, done).join("+");
        let servers: BTreeSet<_> = targets.map(|target| target.server.clone()).collect();
        let pair = pairs.iter_mut().find(|pair| pair.client == *client && pair.target == target);
        if let Some(pair) = pair {
            pair.processes += 1;
            pair.bytes += done.bytes;
            pair.start = pair.start.min(done.start);
            pair.end = pair.end.max(done.end);
            return;
        }
        pairs.push(Pair {
            client: client.clone(),
            target,
            // Targets of several servers have none in common.
            server: if servers.len() == 1 { servers.into_iter().next().flatten() } else { None },
            processes: 1,
            bytes: done.bytes,
            start: done.start,
            end: done.end,
        });
    }
}

/// Returns the first reason that is not another's.
fn outcome(parts: &[Part]) -> Outcome {
    let reasons = || parts.iter().filter_map(|part| part.as_ref().err());
    match reasons().find(|why| **why != NotDone::CalledOff).or_else(|| reasons().next()) {
        Some(why) => Outcome::Failed(why.to_string()),
        None => Outcome::Complete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_by_client() {
        let members = ["a", "b", "a"].map(|client| Member { client: client.into() });
        let clients = Clients::of(&members);
        assert_eq!(clients.names(), ["a", "b"]);
        assert_eq!(clients.members, [vec![0, 2], vec![1]]);
        assert_eq!(clients.processes_least(), 1);
    }

    #[test]
    fn an_instance_fails_for_its_own_reason() {
        let parts = [Err(NotDone::CalledOff), Err(NotDone::Failed("disk full".to_string()))];
        assert_eq!(outcome(&parts), Outcome::Failed("disk full".into()));
    }
}
