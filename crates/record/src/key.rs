//! What processes of one run have in common, from the launcher's variables.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_trace::{StatLine, variables};

/// Returns the launcher's run, or else the batch system's job, with the step within it where that is counted.
pub fn job() -> Option<String> {
    job_of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn job_of(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(run) = variables::LAUNCHER_RUNS.into_iter().find_map(&variable) {
        return Some(clean(&run));
    }
    let job = variables::BATCH_JOBS.into_iter().find_map(&variable)?;
    let step = variable(variables::SLURM_STEP).filter(|_| variable(SLURM_JOB).is_some());
    Some(clean(&step.map_or(job.clone(), |step| format!("{job}.{step}"))))
}

const SLURM_JOB: &str = variables::BATCH_JOBS[0];

/// Returns the recording that this process is part of itself, as whoever began it named it. An empty name is none: the library
/// leaves it to the programs of one that could not be recorded.
pub fn recording_around() -> Option<PathBuf> {
    let named = std::env::var_os(variables::RECORD_DIR)?;
    (!named.is_empty()).then(|| PathBuf::from(named))
}

/// This process's rank, when a launcher started it.
pub fn rank() -> Option<u32> {
    variables::RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// What the key of a launcher's run begins with.
const LAUNCHER: &str = "launcher";

/// Returns what all processes of this run know it by: the job, or else their launcher on this node (MPICH's names no job). Where the launcher is in none of its ranks' containers, its numbers come again,
/// and runs of as many ranks may have the same. Nothing for a process that nobody launched with others.
pub fn of_this_run() -> Option<String> {
    let known = if is_of_unseen_launcher() { None } else { job().or_else(of_seen_launcher) };
    known.or_else(|| rank().map(|_| of_ranks()))
}

fn of_seen_launcher() -> Option<String> {
    rank().and_then(|_| of_launcher(launcher()?))
}

fn of_ranks() -> String {
    let of = job().unwrap_or_else(|| LAUNCHER.into());
    ranks().map_or_else(|| of.clone(), |ranks| format!("{of}-of-{ranks}"))
}

/// Returns whether nothing tells this run of a launcher from others: not a number of the batch system's, nor the launcher, which is in none of its ranks' containers.
pub fn is_of_unseen_launcher() -> bool {
    let is_batch = variables::BATCH_JOBS.iter().any(|it| is_set(it));
    rank().is_some() && !is_batch && launcher().and_then(of_launcher).is_none()
}

/// Returns who launched this rank, if that can be told for sure. Launchers number their runs by their own number and the node's name, both of which come again in containers.
pub fn launcher_of_numbered_run() -> Option<String> {
    rank().filter(|_| variables::LAUNCHER_RUNS.iter().any(|it| is_set(it)))?;
    let launcher = launcher()?;
    // Of other users' processes, as one that makes a container, nobody knows whether they are ranks.
    let is_known = fs::read(format!("/proc/{launcher}/environ")).is_ok_and(|it| !it.is_empty());
    of_launcher(launcher).filter(|_| is_known)
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|it| !it.is_empty())
}

/// Returns how many ranks this run has, if its launcher says so.
pub fn ranks() -> Option<u32> {
    variables::SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Returns a name for what a process records that nobody launched with others. In containers others may have the same.
pub fn of_this_process() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    format!("{now}-{}", std::process::id())
}

/// Numbers of processes come again, in containers soon: a launcher is known by when it began, and where it has its number, too.
fn of_launcher(process: u32) -> Option<String> {
    let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    let found = StatLine::parse(&stat)?;
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |it| it.ino());
    Some(format!("{LAUNCHER}{process}-{}-{namespace}", found.start_ticks))
}

/// How many scripts may stand between a launcher and its rank.
const SCRIPTS_MAX: usize = 32;

/// Returns the launcher of this rank: the nearest process above it that is no rank itself. Scripts in between are; one whose parent is not in this container has its launcher elsewhere.
fn launcher() -> Option<u32> {
    let mut process = parent_id();
    for _ in 0..SCRIPTS_MAX {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut set = environment.split(|byte| *byte == 0);
        if !set.any(|it| variables::RANKS.iter().any(|name| names(it, name))) {
            break;
        }
        process = parent_of(process)?;
    }
    Some(process)
}

/// Whether this is a variable of that name, with a value.
fn names(variable: &[u8], name: &str) -> bool {
    let rest = variable.strip_prefix(name.as_bytes());
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with(b"="))
}

fn parent_of(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    parent.trim().parse().ok().filter(|it| *it > 0)
}

/// Cleans a name: names of jobs and programs go into file names.
pub fn clean(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().map(keep).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launchers_run_goes_before_the_job_and_only_slurm_counts_steps() {
        let job = |set: &[(&str, &str)]| {
            job_of(|name| set.iter().find(|it| it.0 == name).map(|it| it.1.to_string()))
        };
        assert_eq!(job(&[]), None);
        assert_eq!(job(&[("FLUX_JOB_ID", "f1")]).as_deref(), Some("f1"));
        assert_eq!(job(&[("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "2")]).as_deref(), Some("7.2"));
        assert_eq!(job(&[("PBS_JOBID", "7"), ("SLURM_STEP_ID", "2")]).as_deref(), Some("7"));
        assert_eq!(job(&[("SLURM_JOB_ID", "7"), ("PALS_APID", "a")]).as_deref(), Some("a"));
    }

    #[test]
    fn names_fit_a_file_system() {
        assert_eq!(clean("prterun-node/1@1"), "prterun-node_1_1");
        assert_eq!(clean(&"x".repeat(500)).len(), 100);
    }
}
