//! Makes the limits of a test bed hold for what this program does to its targets.
//!
//! With cgroup v1 they hold for everybody; with cgroup v2 only for processes that went into a cgroup.

use std::path::{Path, PathBuf};

use plimsoll_domain::burst::Operation;
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_machine::{BlockControl, Machine};

use crate::{TargetInfo, Testbed, TestbedError, UnderLimits};

/// Enters the limits of the test bed that these targets are on, if there is one, until dropped.
/// Processes that are started later are in them too.
///
/// # Errors
/// Fails if the targets are on several beds whose limits do not hold here.
pub fn enter_limits<'a>(
    targets: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Option<UnderLimits>, TestbedError> {
    let mut beds = outside(targets)?.into_iter();
    let entered = beds.next().map(|bed| bed.enter()).transpose()?;
    match beds.next() {
        Some(other) => Err(TestbedError::SecondBed { directory: other.directory() }),
        None => Ok(entered),
    }
}

/// Refuses targets whose limits do not hold for the processes of a job, which others started.
///
/// # Errors
/// Fails if there is one.
pub fn check_limits_of_job<'a>(
    targets: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), TestbedError> {
    match outside(targets)?.into_iter().next() {
        Some(bed) => Err(TestbedError::NotForJob { directory: bed.directory() }),
        None => Ok(()),
    }
}

/// Limits of targets that are on test beds, each of which is looked at once.
#[derive(Default)]
pub struct KnownLimits {
    beds: Vec<(PathBuf, Vec<TargetInfo>)>,
}

impl KnownLimits {
    /// The most bytes per second that a target's limit lets through in calls of this size; `None`
    /// where there is none, or where that cannot be found out.
    pub fn rate(
        &mut self,
        target: &Path,
        operation: Operation,
        transfer: Bytes,
    ) -> Option<BytesPerSec> {
        let path = std::path::absolute(target).ok()?;
        let limits = self.targets(&path)?.iter().find(|it| it.path == path)?.limits;
        let limit = match operation {
            Operation::Write => limits.write,
            Operation::Read => limits.read,
        };
        let by_operations = limit
            .operations
            .map(|most| BytesPerSec::new(most.get().saturating_mul(transfer.get())));
        limit.bytes.into_iter().chain(by_operations).min()
    }

    /// The targets of the bed that this one is on.
    fn targets(&mut self, path: &Path) -> Option<&[TargetInfo]> {
        let known = self.beds.iter().position(|(bed, _)| path.starts_with(bed));
        let place = match known {
            Some(place) => place,
            None => {
                let bed = Testbed::of_target(path)?;
                let targets = bed.list().map(|listing| listing.targets).unwrap_or_default();
                self.beds.push((bed.directory(), targets));
                self.beds.len() - 1
            }
        };
        Some(&self.beds[place].1)
    }
}

/// Beds of these targets with limits that do not hold for this process.
fn outside<'a>(
    targets: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Vec<Testbed>, TestbedError> {
    let mut beds: Vec<Testbed> = Vec::new();
    if matches!(Machine::host().block_control(), Ok(BlockControl::V1 { .. })) {
        return Ok(beds);
    }
    for target in targets {
        let file = |cause| TestbedError::File { operation: "find", path: target.clone(), cause };
        let target = std::path::absolute(target).map_err(file)?;
        if beds.iter().any(|bed| target.starts_with(bed.directory())) {
            continue;
        }
        let Some(bed) = Testbed::of_target(&target) else { continue };
        if !bed.limits_hold_here()? {
            beds.push(bed);
        }
    }
    Ok(beds)
}
