//! The kernel's release, the host's name, and the current user.

use std::path::PathBuf;

use crate::{Machine, MachineError};

const RELEASE: &str = "/proc/sys/kernel/osrelease";
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
const STATUS: &str = "/proc/self/status";
const LOOP_CONTROL: &str = "/dev/loop-control";

impl Machine {
    /// Returns the kernel's release, e.g. "6.12.0-rc1".
    pub fn kernel_release(&self) -> Result<String, MachineError> {
        Ok(self.read("the kernel release", RELEASE)?.trim().to_owned())
    }

    /// Returns the host's name.
    pub fn hostname(&self) -> Result<String, MachineError> {
        Ok(self.read("the host name", HOSTNAME)?.trim().to_owned())
    }

    /// Returns the user that the kernel checks permissions for; 0 is root.
    pub fn effective_uid(&self) -> Result<u32, MachineError> {
        let status = self.read("the effective user", STATUS)?;
        parse_effective_uid(&status).ok_or_else(|| MachineError::Understand {
            what: "the effective user",
            path: PathBuf::from(STATUS),
            reason: "no line \"Uid:\" with four numbers".to_owned(),
        })
    }

    /// Returns true if loop devices can be asked for.
    pub fn has_loop_control(&self) -> bool {
        self.locate(LOOP_CONTROL).exists()
    }
}

/// Returns the effective user in the text of `/proc/self/status`: the second number of
/// "Uid:" (real, effective, saved, file system; Documentation/filesystems/proc.rst).
pub fn parse_effective_uid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_effective_user() {
        assert_eq!(parse_effective_uid("Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t5\n"), Some(0));
        assert_eq!(parse_effective_uid("Name:\tx\n"), None);
        assert_eq!(parse_effective_uid("Uid:\t1000\n"), None);
    }

    #[test]
    fn the_running_machine_has_a_release_and_a_user() {
        let host = Machine::host();
        assert!(!host.kernel_release().unwrap().is_empty());
        assert_eq!(host.effective_uid().unwrap(), rustix::process::geteuid().as_raw());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Uid:|\\s|[0-9]|.){0,60}") {
            parse_effective_uid(&text);
        }
    }
}
