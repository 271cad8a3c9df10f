//! Whether the kernel can limit the I/O of block devices, and through which files.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Machine, MachineError, Mount};

/// Limits of cgroup v1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst,
/// "Throttling/Upper limit policy"): bytes and operations, reads and writes.
pub const THROTTLE_FILES: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

/// Controllers that a cgroup v2 needs to limit writes: `io` limits, and `memory`
/// in the same cgroup makes write-back count (Documentation/admin-guide/cgroup-v2.rst,
/// "Writeback").
const V2_CONTROLLERS: [&str; 2] = ["io", "memory"];

/// How the I/O of block devices can be limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockControl {
    /// cgroup v1: limits in the root cgroup hold for every process.
    V1 {
        /// Where the blkio hierarchy is mounted.
        hierarchy: PathBuf,
    },
    /// cgroup v2: limits hold for the processes of a child cgroup only; the root has none.
    V2 {
        /// Where the unified hierarchy is mounted.
        hierarchy: PathBuf,
    },
    /// Not at all.
    Neither {
        /// Everything that was tried, and why it will not do.
        reasons: Vec<NoBlockControl>,
    },
}

/// Why one way to limit I/O is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBlockControl {
    /// No cgroup v1 hierarchy with the blkio controller is mounted.
    V1NotMounted,
    /// A blkio hierarchy is mounted, but only a part of it, as in a container.
    V1NotTheRoot {
        /// Where it is mounted.
        hierarchy: PathBuf,
    },
    /// The kernel was built without CONFIG_BLK_DEV_THROTTLING.
    V1NoThrottling {
        /// Where the hierarchy is mounted.
        hierarchy: PathBuf,
    },
    /// No cgroup v2 hierarchy is mounted.
    V2NotMounted,
    /// The unified hierarchy lacks a controller that is needed.
    V2NoController {
        /// Where it is mounted.
        hierarchy: PathBuf,
        /// The controllers that are missing.
        missing: Vec<&'static str>,
    },
}

impl fmt::Display for NoBlockControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1NotMounted => f.write_str("no cgroup v1 blkio hierarchy is mounted"),
            Self::V1NotTheRoot { hierarchy } => write!(
                f,
                "only a part of the blkio hierarchy is mounted on {} (a container?)",
                hierarchy.display()
            ),
            Self::V1NoThrottling { hierarchy } => write!(
                f,
                "{} has no blkio.throttle files (kernel without CONFIG_BLK_DEV_THROTTLING)",
                hierarchy.display()
            ),
            Self::V2NotMounted => f.write_str("no cgroup v2 hierarchy is mounted"),
            Self::V2NoController { hierarchy, missing } => write!(
                f,
                "the cgroup v2 hierarchy on {} lacks the controllers {}",
                hierarchy.display(),
                missing.join(" and ")
            ),
        }
    }
}

impl Machine {
    /// Returns how the I/O of block devices can be limited here. v1 is preferred where both
    /// would do: its limits hold for every process.
    pub fn block_control(&self) -> Result<BlockControl, MachineError> {
        let mounts = self.mounts()?;
        let no_v1 = match self.v1_control(&mounts) {
            Ok(hierarchy) => return Ok(BlockControl::V1 { hierarchy }),
            Err(reason) => reason,
        };
        match self.v2_control(&mounts) {
            Ok(hierarchy) => Ok(BlockControl::V2 { hierarchy }),
            Err(no_v2) => Ok(BlockControl::Neither { reasons: vec![no_v1, no_v2] }),
        }
    }

    fn v1_control(&self, mounts: &[Mount]) -> Result<PathBuf, NoBlockControl> {
        let mount = mounts
            .iter()
            .find(|mount| mount.fs_type == "cgroup" && mount.has_super_option("blkio"))
            .ok_or(NoBlockControl::V1NotMounted)?;
        let hierarchy = mount.point.clone();
        if mount.root != Path::new("/") {
            return Err(NoBlockControl::V1NotTheRoot { hierarchy });
        }
        let is_present = |file: &&str| self.locate(hierarchy.join(file)).exists();
        if THROTTLE_FILES.iter().all(is_present) {
            Ok(hierarchy)
        } else {
            Err(NoBlockControl::V1NoThrottling { hierarchy })
        }
    }

    fn v2_control(&self, mounts: &[Mount]) -> Result<PathBuf, NoBlockControl> {
        let mount = mounts
            .iter()
            .find(|mount| mount.fs_type == "cgroup2")
            .ok_or(NoBlockControl::V2NotMounted)?;
        let hierarchy = mount.point.clone();
        let present = self.read_line(hierarchy.join("cgroup.controllers")).unwrap_or_default();
        let mut missing = V2_CONTROLLERS.to_vec();
        missing.retain(|wanted| !present.split_whitespace().any(|have| have == *wanted));
        if missing.is_empty() {
            Ok(hierarchy)
        } else {
            Err(NoBlockControl::V2NoController { hierarchy, missing })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const V1: &str = "38 31 0:35 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
    const V1_PART: &str = "38 31 0:35 /docker/ab /cg/blkio rw - cgroup cgroup rw,blkio\n";
    const V2: &str = "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";

    fn control(mountinfo: &str, throttling: bool, controllers: &str) -> BlockControl {
        let root = tempfile::tempdir().unwrap();
        for directory in ["proc/self", "cg/blkio", "cg/unified"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        fs::write(root.path().join("cg/unified/cgroup.controllers"), controllers).unwrap();
        for file in THROTTLE_FILES.iter().filter(|_| throttling) {
            fs::write(root.path().join("cg/blkio").join(file), "").unwrap();
        }
        Machine::at(root.path(), "").block_control().unwrap()
    }

    fn reasons(control: BlockControl) -> String {
        match control {
            BlockControl::Neither { reasons } => {
                reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            found => panic!("{found:?}"),
        }
    }

    #[test]
    fn v1_is_preferred_and_v2_the_alternative() {
        let both = control(&format!("{V1}{V2}"), true, "cpu io memory\n");
        assert_eq!(both, BlockControl::V1 { hierarchy: "/cg/blkio".into() });
        let unified = control(&format!("{V1_PART}{V2}"), true, "cpu io memory\n");
        assert_eq!(unified, BlockControl::V2 { hierarchy: "/cg/unified".into() });
    }

    #[test]
    fn neither_says_why() {
        assert!(reasons(control("", false, "")).contains("no cgroup v1 blkio hierarchy"));
        assert!(reasons(control(V1, false, "")).contains("CONFIG_BLK_DEV_THROTTLING"));
        assert!(reasons(control(V1_PART, true, "")).contains("container"));
        assert!(reasons(control(V2, false, "cpu io")).contains("lacks the controllers memory"));
    }
}
