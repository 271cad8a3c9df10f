//! How much memory a command may take for itself.

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

/// Returns how much memory this process can have: that of the machine, or what a limit of the process or of its cgroup leaves of it.
fn there_are_bytes() -> u64 {
    let facts = rustix::system::sysinfo();
    let machine = u64::from(facts.mem_unit) * facts.totalram as u64;
    let of_process = [Resource::As, Resource::Data].map(|it| getrlimit(it).current);
    let limits = of_process.into_iter().chain([cgroup_bytes()]).flatten();
    limits.fold(machine, u64::min)
}

/// Returns the limit of the process's own cgroup, if it has one (cgroups(7); version 2 first).
fn cgroup_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let place = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let is_of_memory = controllers.split(',').any(|it| it == "memory");
        match (controllers, is_of_memory) {
            ("", _) => Some(format!("/sys/fs/cgroup{path}/memory.max")),
            (_, true) => Some(format!("/sys/fs/cgroup/memory{path}/memory.limit_in_bytes")),
            _ => None,
        }
    };
    // "max" is no number, and no limit.
    let limit = |path: String| std::fs::read_to_string(path).ok()?.trim().parse().ok();
    groups.lines().filter_map(place).filter_map(limit).min()
}
