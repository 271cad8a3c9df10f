//! How much memory a command may take for itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plimsoll_domain::Bytes;
use plimsoll_process::limit_memory;
use rustix::process::{Resource, getrlimit};

use crate::failure;

/// Allows more, or less.
const VARIABLE: &str = "PLIMSOLL_MEMORY";

/// As much as the largest simulations take that are not refused; on small machines, and where limits are set, half of what there is.
const USUAL_BYTES_MAX: u64 = 8 << 30;

/// Sets the limit.
///
/// # Errors
/// With the failure if the environment says something that is no size.
pub fn limit() -> Result<(), ExitCode> {
    let most = match std::env::var_os(VARIABLE) {
        None => Bytes::new(USUAL_BYTES_MAX.min(there_are_bytes() / 2)),
        Some(text) => {
            let most = text.to_str().and_then(|it| it.parse::<Bytes>().ok());
            let problem = || format!("{VARIABLE} is not a size; hint: {VARIABLE}=16GiB");
            most.ok_or_else(|| failure::of_command(&anyhow::anyhow!(problem())))?
        }
    };
    let last_words = format!(
        "error: this takes more than {most} of memory; hint: if the input is yours, {VARIABLE}=SIZE allows more"
    );
    limit_memory(usize::try_from(most.get()).unwrap_or(usize::MAX), last_words);
    Ok(())
}

/// Returns how much memory this process can have: that of the machine, or what a limit of the process or of its cgroups leaves of it.
fn there_are_bytes() -> u64 {
    let facts = rustix::system::sysinfo();
    let machine = u64::from(facts.mem_unit) * facts.totalram as u64;
    let of_process = [Resource::As, Resource::Data].map(|it| getrlimit(it).current);
    let limits = of_process.into_iter().chain([cgroup_bytes()]).flatten();
    limits.fold(machine, u64::min)
}

/// Returns the least limit of the process's cgroup and of those above it (cgroups(7); both versions).
fn cgroup_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    // "max" is no number, and no limit.
    let limit = |path: PathBuf| std::fs::read_to_string(path).ok()?.trim().parse().ok();
    groups.lines().flat_map(limits_of).filter_map(limit).min()
}

/// Returns where the limits are of a group that /proc/PID/cgroup tells of in this line. All that are above count, down to the root, which is the group itself where a container sees no other.
fn limits_of(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, name) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|it| it == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let below = Path::new(path.trim_start_matches('/'));
    below.ancestors().map(|group| Path::new(root).join(group).join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_all_groups_above_count() {
        let limits = |line: &str| -> Vec<String> {
            limits_of(line).iter().map(|it| it.display().to_string()).collect()
        };
        assert_eq!(
            limits("0::/job/step"),
            ["job/step/", "job/", ""].map(|it| format!("/sys/fs/cgroup/{it}memory.max"))
        );
        assert_eq!(
            limits("9:cpu,memory:/docker/1"),
            ["docker/1/", "docker/", ""]
                .map(|it| format!("/sys/fs/cgroup/memory/{it}memory.limit_in_bytes"))
        );
        assert_eq!(limits("0::/"), ["/sys/fs/cgroup/memory.max"]);
        assert_eq!(limits("3:cpuset:/a"), Vec::<String>::new());
        assert_eq!(limits("nonsense"), Vec::<String>::new());
    }
}
