//! Having the limits of a test bed hold for what this program does to its targets.
//!
//! With cgroup v1 they hold for everybody; with cgroup v2 only for processes that went into a cgroup.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use plimsoll_domain::burst::Operation;
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_machine::{BlockControl, Machine};
use plimsoll_testbed::{TargetInfo, Testbed, UnderLimits};

/// Enters the limits of the test bed that these targets are on, if there is one, until dropped.
/// Processes that are started later are in them too.
pub fn enter<'a>(targets: impl IntoIterator<Item = &'a PathBuf>) -> Result<Option<UnderLimits>> {
    let mut beds = outside(targets)?.into_iter();
    let entered = beds.next().map(|bed| bed.enter().map_err(super::with_hint)).transpose()?;
    if let Some(other) = beds.next() {
        bail!(
            "limits of one test bed at a time can hold here (cgroup v2), and {} has some too; \
             hint: targets of one test bed",
            other.directory().display()
        );
    }
    Ok(entered)
}

/// Refuses targets whose limits do not hold for the processes of a job, which others started.
pub fn check_job<'a>(targets: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let Some(bed) = outside(targets)?.into_iter().next() else { return Ok(()) };
    bail!(
        "the limits of {} do not hold for this job (cgroup v2); \
         hint: have the test bed start it: plimsoll testbed run -- mpirun …",
        bed.directory().display()
    )
}

/// Limits of targets that are on test beds, each of which is looked at once.
#[derive(Default)]
pub struct Limits {
    beds: Vec<(PathBuf, Vec<TargetInfo>)>,
}

impl Limits {
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
                self.beds.push((bed.directory().to_path_buf(), targets));
                self.beds.len() - 1
            }
        };
        Some(&self.beds[place].1)
    }
}

/// Beds of these targets with limits that do not hold for this process.
fn outside<'a>(targets: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Testbed>> {
    let mut beds: Vec<Testbed> = Vec::new();
    if matches!(Machine::host().block_control(), Ok(BlockControl::V1 { .. })) {
        return Ok(beds);
    }
    for target in targets {
        let target = std::path::absolute(target)?;
        if beds.iter().any(|bed| target.starts_with(bed.directory())) {
            continue;
        }
        let Some(bed) = Testbed::of_target(&target) else { continue };
        if !bed.limits_hold_here().map_err(super::with_hint)? {
            beds.push(bed);
        }
    }
    Ok(beds)
}
