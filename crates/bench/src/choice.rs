//! Draws the clients and targets of an instance, and lays its files over them.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Operation, Sharing};
use plimsoll_guarded::working_file::SHARED;
use plimsoll_stats::Random;

use crate::plan::{Plan, Striping, TargetOrder};
use crate::process_plan::ProcessPlan;
use crate::shape::{Shape, pool};

/// What the draws need to know about an instance.
pub(crate) struct Drawing<'a> {
    pub plan: &'a Plan,
    pub shape: &'a Shape,
    /// Number in the experiment.
    pub instance: u64,
    /// Number in its run.
    pub in_run: u64,
    /// Seed of this instance alone.
    pub seed: u64,
}

impl Drawing<'_> {
    /// Returns what each process does, and who writes before what is read.
    pub fn processes(&self) -> (Vec<ProcessPlan>, Vec<ProcessPlan>) {
        let mut random = Random::for_stream(self.seed, 1);
        let targets = self.targets(&mut random);
        let mut clients: Vec<u32> = (0..self.plan.clients.count).collect();
        random.choose_distinct(&mut clients, self.shape.setting.clients as usize);
        let measured = self.laid_out(&clients, &targets);
        let prepare = match self.shape.setting.operation {
            Operation::Write => Vec::new(),
            Operation::Read => self.writers(&measured, &clients),
        };
        (measured, prepare)
    }

    /// Returns the targets of an instance, from a random start (Xie 3) or from where the last instance's ended.
    fn targets(&self, random: &mut Random) -> Vec<u32> {
        let all: Vec<u32> = pool(self.plan, self.shape.server.as_deref()).collect();
        let length = self.shape.laid_over as usize;
        let start = match self.plan.placement.order {
            TargetOrder::Random => random.index(all.len()),
            TargetOrder::RoundRobin => {
                let passed = u128::from(self.in_run) * length as u128;
                (passed % all.len().max(1) as u128) as usize
            }
        };
        all.iter().cycle().skip(start).take(length.min(all.len())).copied().collect()
    }

    fn laid_out(&self, clients: &[u32], targets: &[u32]) -> Vec<ProcessPlan> {
        let setting = &self.shape.setting;
        let mut seeds = Random::for_stream(self.seed, 2);
        let mut plans = Vec::with_capacity(self.shape.processes() as usize);
        // Processes outside, clients inside: neighbours in rank are different clients, so that
        // few processes spread over many targets spread over clients alike.
        for process in 0..setting.processes {
            for (place, client) in (0..setting.clients).zip(clients) {
                let rank = u64::from(process) * u64::from(setting.clients) + u64::from(place);
                let slot = if self.shape.target_of_client { u64::from(place) } else { rank };
                let (file, offset) = self.file(*client, process, rank, slot);
                plans.push(ProcessPlan {
                    client: *client,
                    process,
                    targets: self.under_file(slot, targets),
                    file,
                    offset,
                    bytes: setting.burst,
                    seed: seeds.bits(),
                });
            }
        }
        plans
    }

    /// Returns the targets of one file, the first stripe's first.
    fn under_file(&self, slot: u64, targets: &[u32]) -> Vec<u32> {
        let length = targets.len().max(1) as u64;
        let stripes = u64::from(self.shape.setting.stripe_count);
        let first = match self.shape.setting.sharing {
            Sharing::Shared => slot % u64::from(self.shape.shared_files()) * stripes,
            // Each lap begins one further: else files that are striped over the same targets
            // would all begin on the same, and wait there together.
            Sharing::Independent => slot * stripes + slot * stripes / length,
        };
        let places = (first..first + stripes).map(|place| (place % length) as usize);
        places.filter_map(|place| targets.get(place).copied()).collect()
    }

    /// Returns the file's name, and where the process's region in it begins.
    fn file(&self, client: u32, process: u32, rank: u64, slot: u64) -> (String, Bytes) {
        let instance = self.instance;
        if self.shape.setting.sharing == Sharing::Independent {
            return (format!("{instance}.{client}.{process}"), Bytes::new(0));
        }
        let files = u64::from(self.shape.shared_files());
        let sharers_before =
            if self.shape.target_of_client { u64::from(process) } else { rank / files };
        let region = match self.shape.striping {
            // Each directory has a file with its own part of each region.
            Striping::Directories => self.shape.bytes_in_one_stripe(),
            Striping::Lustre => self.shape.setting.burst.get(),
        };
        let offset = Bytes::new(sharers_before.saturating_mul(region));
        (format!("{instance}.{SHARED}.{}", slot % files), offset)
    }

    /// Returns the same files and regions, each written by another process than its reader; by another
    /// client where there is one, as a client may cache what it wrote.
    fn writers(&self, readers: &[ProcessPlan], clients: &[u32]) -> Vec<ProcessPlan> {
        let used = self.shape.setting.clients as usize;
        let writer_of = |index: usize, reader: &ProcessPlan| match (used, clients.len()) {
            (1, 1) => (reader.client, (reader.process + 1) % self.plan.processes_most().max(1)),
            (1, _) => (clients[1], reader.process),
            // Readers come in laps over the clients.
            _ => (clients[(index % used + 1) % used], reader.process),
        };
        let numbered = readers.iter().enumerate();
        numbered
            .map(|(index, reader)| {
                let (client, process) = writer_of(index, reader);
                ProcessPlan { client, process, ..reader.clone() }
            })
            .collect()
    }
}
