//! What containers did to their logs, target by target. It was done within calls of the program, and is in nothing else.

use std::collections::BTreeMap;

use plimsoll_trace::Op;

use crate::agreed::Agreed;
use crate::analysis::LogsOfTarget;
use crate::sums::Sums;
use crate::totals::OpTable;

/// What the names of directories with logs begin with, and those of logs (crate `stow`).
const DIRECTORY_PREFIX: &str = "plimsoll-stow-";
const LOG_PREFIX: &str = "log-";

/// Stands for the containers' own directories: what small files hold lies there, and what is read ahead of any log.
const NO_TARGET: &str = "(in the containers themselves)";

/// Adds the logs up by their targets, in the order of their paths.
pub(crate) fn logs_of_targets(agreed: &Agreed, sums: &mut Sums) -> Vec<LogsOfTarget> {
    let mut targets: BTreeMap<String, (u64, OpTable)> = BTreeMap::new();
    for (id, ops) in std::mem::take(&mut sums.logs) {
        let path = agreed.path(id);
        // Who waits does so for a target.
        let waited = ops.iter().any(|it| it.op == Op::LogWait).then_some(path);
        let target = target_of_log(path).or(waited).unwrap_or(NO_TARGET);
        let (logs, all) = targets.entry(target.to_string()).or_default();
        *logs += u64::from(target_of_log(path).is_some());
        all.merge(&ops);
    }
    let described = targets.into_iter().map(|(target, (logs, mut ops))| {
        ops.sort();
        LogsOfTarget { target, logs, ops }
    });
    described.collect()
}

/// Returns the target that a log lies on; `None` for a path that is no log's.
fn target_of_log(path: &str) -> Option<&str> {
    let (directory, _) = path.rsplit_once('/').filter(|(_, it)| it.starts_with(LOG_PREFIX))?;
    let (target, _) =
        directory.rsplit_once('/').filter(|(_, it)| it.starts_with(DIRECTORY_PREFIX))?;
    Some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_of_the_target_that_its_directory_is_on() {
        assert_eq!(target_of_log("/ost0/me/plimsoll-stow-0af1/log-0002"), Some("/ost0/me"));
        for other in ["/ost0/me", "/ost0/plimsoll-stow-0af1", "/ost0/log-0001", "log-1", ""] {
            assert_eq!(target_of_log(other), None);
        }
    }
}
