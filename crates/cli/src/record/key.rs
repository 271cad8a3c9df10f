//! What processes of one run have in common, from the launcher's variables.

use std::time::{SystemTime, UNIX_EPOCH};

/// Variables that name a job or a step, the most telling first. Each launcher gives the same
/// value to all its processes on all nodes, and another to the next run.
const JOB_VARIABLES: [&str; 7] = [
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "PALS_APID",
    "COBALT_JOBID",
];

/// Variables that tell a process its rank.
const RANK_VARIABLES: [&str; 6] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "PALS_RANKID",
    "MPI_LOCALRANKID",
];

/// The launcher's job, with the step within it where the batch system counts steps.
pub fn job() -> Option<String> {
    let (name, job) = JOB_VARIABLES.iter().find_map(|name| {
        std::env::var(name).ok().filter(|it| !it.is_empty()).map(|it| (name, it))
    })?;
    let step = std::env::var("SLURM_STEP_ID").ok().filter(|_| *name == "SLURM_JOB_ID");
    Some(clean(&step.map_or(job.clone(), |step| format!("{job}.{step}"))))
}

/// This process's rank, when a launcher started it.
pub fn rank() -> Option<u32> {
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// A name for the run: the job, or else the time and the process. Ranks of a launcher that
/// names no job (MPICH's) share their launcher on this node, which is their parent.
pub fn of_this_run() -> String {
    if let Some(job) = job() {
        return job;
    }
    if rank().is_some() {
        return format!("launcher{}", std::os::unix::process::parent_id());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    format!("{now}-{}", std::process::id())
}

/// Names of jobs and programs go into file names.
pub fn clean(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().map(keep).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_file_system() {
        assert_eq!(clean("prterun-node/1@1"), "prterun-node_1_1");
        assert_eq!(clean(&"x".repeat(500)).len(), 100);
    }
}
