//! What must hold for the targets of a plan before anything is written to them.

use std::path::Path;

use plimsoll_domain::burst::Caching;
use plimsoll_machine::{Machine, Need, PreflightError, check_apart};

use crate::estimate::Estimate;
use crate::plan::Plan;

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
