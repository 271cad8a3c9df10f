//! Four loop devices that take so much each second, for benchmarks of what writes to several targets. They need root, loop devices and
//! cgroup v1.
//!
//! They lie in `PLIMSOLL_BENCH_DIR`: in /dev/shm, what others write to the disk of the machine does not hold them up.

use std::path::{Path, PathBuf};

use anyhow::Result;
use plimsoll_domain::Bytes;
use plimsoll_stow::Target;
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};
use tempfile::TempDir;

use crate::has_limits;

/// How many there are.
pub const TARGETS: usize = 4;

/// Bytes that each takes in a second.
pub const LIMIT: f64 = 20.0 * 1024.0 * 1024.0;

/// Bytes that a slow one takes in a second.
pub const SLOW: f64 = LIMIT / 17.0;

/// The devices, each with a file system, and a directory beside them.
pub struct Devices {
    bed: Testbed,
    base: TempDir,
}

impl Devices {
    /// Makes them, with room for what they take in so many seconds, lets `work` use them, and takes them away also when it fails; says
    /// so where there can be none.
    ///
    /// # Errors
    /// Fails if the work does, or if they cannot be made or taken away.
    pub fn lend(seconds: f64, work: impl FnOnce(&Devices) -> Result<()>) -> Result<()> {
        let folder =
            std::env::var_os("PLIMSOLL_BENCH_DIR").map_or("/var/tmp".into(), PathBuf::from);
        let base = tempfile::tempdir_in(folder)?;
        let bed = Testbed::in_base(base.path(), "devices")?;
        let size = Bytes::new((1.5 * seconds * LIMIT) as u64 + (128 << 20));
        let made = bed.up(&UpOptions::new(TARGETS as u64, size), &mut |_| {})?;
        let devices = Devices { bed, base };
        let result = if has_limits(&made.lacking) {
            work(&devices)
        } else {
            println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
            Ok(())
        };
        devices.bed.down(DownOptions::default())?;
        result
    }

    /// A directory that is on none of them.
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    /// Where their file systems are.
    pub fn targets(&self) -> Result<Vec<Target>> {
        let targets = self.bed.list()?.targets.into_iter();
        Ok(targets.map(|it| Target { name: it.name.to_string(), path: it.path }).collect())
    }

    /// Limits all to [`LIMIT`], and the last one to so many bytes a second.
    pub fn limit(&self, last: f64) -> Result<()> {
        for index in 0..TARGETS {
            let limit = if index + 1 == TARGETS { last } else { LIMIT };
            self.limit_one(index, &format!("{}B/s", limit as u64))?;
        }
        Ok(())
    }

    /// Limits all to so many operations a second, however large.
    pub fn limit_operations(&self, operations: u64) -> Result<()> {
        (0..TARGETS).try_for_each(|index| self.limit_one(index, &format!("{operations}op/s")))
    }

    fn limit_one(&self, index: usize, limit: &str) -> Result<()> {
        self.bed.slow(format!("t{index}").parse()?, limit.parse()?, Direction::Write)?;
        Ok(())
    }
}
