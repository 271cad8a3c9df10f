//! The working directories of one command on all its targets.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::{Claim, WorkingDirectory};

/// A target on which no working directory can be made.
#[derive(Debug, Error)]
#[error("cannot make a directory in {}: {cause}", target.display())]
pub struct NoWorkingDirectory {
    /// The target.
    pub target: PathBuf,
    /// Why.
    pub cause: io::Error,
}

/// Working directories on several targets, removed when dropped.
#[derive(Debug)]
pub struct WorkingDirectories {
    /// One for each different path.
    made: Vec<Arc<WorkingDirectory>>,
    /// Which of them each target has.
    of_target: Vec<usize>,
}

impl WorkingDirectories {
    /// Makes one on each of these targets; those with one path share theirs.
    ///
    /// # Errors
    /// With the target that failed. What was made before is removed.
    pub fn make(targets: &[PathBuf]) -> Result<Self, NoWorkingDirectory> {
        let mut all = Self { made: Vec::new(), of_target: Vec::new() };
        for (at, target) in targets.iter().enumerate() {
            let of_target = match targets[..at].iter().position(|earlier| earlier == target) {
                Some(earlier) => all.of_target[earlier],
                None => {
                    let made = WorkingDirectory::make(target);
                    let made =
                        made.map_err(|cause| NoWorkingDirectory { target: target.clone(), cause });
                    all.made.push(Arc::new(made?));
                    all.made.len() - 1
                }
            };
            all.of_target.push(of_target);
        }
        Ok(all)
    }

    /// That of each target, in their order.
    pub fn of_targets(&self) -> Vec<Arc<WorkingDirectory>> {
        self.of_target.iter().map(|made| self.made[*made].clone()).collect()
    }

    /// Returns the path of each target's directory.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.of_target.iter().map(|made| self.made[*made].path().to_path_buf()).collect()
    }

    /// Returns each directory once.
    pub fn all(&self) -> &[Arc<WorkingDirectory>] {
        &self.made
    }

    /// Returns what other processes have to know to work in them.
    pub fn claims(&self) -> Vec<Claim> {
        self.made.iter().map(|made| made.claim()).collect()
    }
}

impl Drop for WorkingDirectories {
    fn drop(&mut self) {
        for made in &self.made {
            // A target that vanished took it along.
            let _ = made.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn targets_with_one_path_share_and_a_failure_leaves_nothing() {
        let target = tempfile::tempdir().unwrap();
        let path = target.path().to_path_buf();
        let shared = WorkingDirectories::make(&[path.clone(), path.clone()]).unwrap();
        assert_eq!(shared.all().len(), 1);
        assert_eq!(shared.of_targets()[0].path(), shared.of_targets()[1].path());
        let facts = shared.all()[0].path().metadata().unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o700);
        drop(shared);
        let missing = path.join("missing");
        let result = WorkingDirectories::make(&[path, missing.clone()]);
        assert!(result.is_err_and(|error| error.target == missing));
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }
}
