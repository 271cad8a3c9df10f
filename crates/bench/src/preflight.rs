//! What must hold for the targets of a plan, and for the machine's memory, before anything is written.

use std::path::Path;

use plimsoll_domain::burst::Caching;
use plimsoll_machine::{Machine, Need, PreflightError, check_apart};

use plimsoll_domain::Bytes;
use thiserror::Error;

use crate::estimate::Estimate;
use crate::job::Job;
use crate::plan::Plan;

/// So many processes are started on one machine, at most: more belong on several, under MPI.
const PROCESSES_ON_ONE_MACHINE_MAX: u64 = 1000;

/// What a process takes beside its transfers.
const BESIDE_BYTES: u64 = 1 << 20;

/// A plan would take a machine from everybody else on it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TooMuch {
    /// Their transfers, which are all there before the first one begins.
    #[error(
        "{processes} process(es) on one machine need {needed} of memory for their transfers, and half of it, {usable}, \
         is usable; hint: smaller transfers, less depth, or fewer processes"
    )]
    Memory {
        /// Processes on one machine.
        processes: u64,
        /// What they need together.
        needed: Bytes,
        /// What they may have.
        usable: Bytes,
    },
    /// Their number.
    #[error(
        "{processes} processes would be started on this machine, at most {PROCESSES_ON_ONE_MACHINE_MAX}; hint: fewer \
         clients, also of those that are not used, or an MPI job on several machines"
    )]
    Processes {
        /// How many.
        processes: u64,
    },
}

/// Checks that the processes for a plan find room on one machine. Where nobody knows how much memory there is, each of them looks
/// for itself.
///
/// # Errors
/// If they do not.
pub fn check_machine(
    plan: &Plan,
    cost: &Estimate,
    job: &Job,
    machine: &Machine,
) -> Result<(), TooMuch> {
    let processes = job.processes_on_one_machine(plan);
    if matches!(job, Job::Alone) && processes > PROCESSES_ON_ONE_MACHINE_MAX {
        return Err(TooMuch::Processes { processes });
    }
    let each = cost.memory_of_process.get().saturating_add(BESIDE_BYTES);
    let needed = Bytes::new(each.saturating_mul(processes));
    match machine.memory() {
        Ok(memory) if needed.get() > memory.total.get() / 2 => {
            let usable = Bytes::new(memory.total.get() / 2);
            Err(TooMuch::Memory { processes, needed, usable })
        }
        _ => Ok(()),
    }
}

/// Checks the targets of a plan. Writes nothing.
///
/// # Errors
/// With what does not hold.
pub fn check_targets(
    plan: &Plan,
    cost: &Estimate,
    machine: &Machine,
) -> Result<(), PreflightError> {
    let need = Need {
        whose: "the largest instance",
        bytes: cost.bytes_at_once_per_target,
        direct_io: plan.burst.caching == Caching::Direct,
    };
    for target in &plan.targets {
        machine.check_target(&target.name, &target.path, need)?;
    }
    check_apart(own_directories(plan))
}

/// Returns the targets that are directories of their own, by name. Lustre places files on targets that share a
/// directory.
pub fn own_directories(plan: &Plan) -> impl Iterator<Item = (&str, &Path)> {
    let directories = plan.targets.iter().filter(|target| target.lustre_index.is_none());
    directories.map(|target| (target.name.as_str(), target.path.as_path()))
}
