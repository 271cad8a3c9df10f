//! Variables of the environment by which `plimsoll record` and `plimsoll stow run` tell the library what to do, and those of others that both
//! read: one list for both. Variables that only one program reads are named where it reads them.

/// All that the library reads of ours. It hands them on to the programs that a recorded program executes.
pub const OF_THE_LIBRARY: [&str; 17] = [
    RECORD_DIR,
    RECORDING_ID,
    SPOOL,
    LAYERS,
    INCLUDE,
    EXCLUDE,
    SHARE,
    JOB,
    MPI_BARRIER,
    STOW_MOUNT,
    STOW_TARGETS,
    STOW_POLICY,
    STOW_BUFFER,
    STOW_SMALL,
    STOW_TALLY,
    STOW_ONLY,
    STOW_EXCEPT,
];

/// The directory of the recording. Without it, nothing is recorded.
pub const RECORD_DIR: &str = "PLIMSOLL_RECORD_DIR";
/// The id of the recording, as its marker has it; nothing is written elsewhere. Not asked for when it is not set.
pub const RECORDING_ID: &str = "PLIMSOLL_RECORDING_ID";
/// Where files grow until their processes end; the recording itself when it is not set.
pub const SPOOL: &str = "PLIMSOLL_SPOOL";
/// Names of the layers that are recorded, with commas between; all when it is not set.
pub const LAYERS: &str = "PLIMSOLL_LAYERS";
/// Globs of the files that are recorded, with colons between; all when it is not set.
pub const INCLUDE: &str = "PLIMSOLL_INCLUDE";
/// Globs of the files that are not recorded, with colons between.
pub const EXCLUDE: &str = "PLIMSOLL_EXCLUDE";
/// Others may read the recording, unless it is empty or 0.
pub const SHARE: &str = "PLIMSOLL_SHARE";
/// What the user calls the job; it goes before what the batch system calls it.
pub const JOB: &str = "PLIMSOLL_JOB";
/// All ranks of the program have the library, so that they may wait for each other.
pub const MPI_BARRIER: &str = "PLIMSOLL_MPI_BARRIER";

/// The directory below which new files are containers. Without it, there are none.
pub const STOW_MOUNT: &str = "PLIMSOLL_STOW_MOUNT";
/// Where their logs are, as DIR or NAME=DIR with commas between; without it, no new file is a container.
pub const STOW_TARGETS: &str = "PLIMSOLL_STOW_TARGETS";
/// How their segments are spread: `window`, which it is when it is not set, `striped` or `static`.
pub const STOW_POLICY: &str = "PLIMSOLL_STOW_POLICY";
/// How much each writer may write beyond what the targets take now before it waits.
pub const STOW_BUFFER: &str = "PLIMSOLL_STOW_BUFFER";
/// What that is when it is not set: 16 MiB.
pub const STOW_BUFFER_BYTES: u64 = 16 << 20;
/// How many bytes a new file has at most that is kept beside its name, and not on targets.
pub const STOW_SMALL: &str = "PLIMSOLL_STOW_SMALL";
/// What that is when it is not set: 16 KiB.
pub const STOW_SMALL_BYTES: u64 = 16 << 10;
/// What it is at most: 32 KiB.
pub const STOW_SMALL_BYTES_MAX: u64 = 32 << 10;
/// Where what was written is counted, for one line after the run.
pub const STOW_TALLY: &str = "PLIMSOLL_STOW_TALLY";
/// Globs of the paths that become containers, with colons between; all when it is not set.
pub const STOW_ONLY: &str = "PLIMSOLL_STOW_ONLY";
/// Globs of the paths that do not become containers, with colons between.
pub const STOW_EXCEPT: &str = "PLIMSOLL_STOW_EXCEPT";

/// Where batch systems name the job, as people know it.
pub const BATCH_JOBS: [&str; 6] =
    ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "OAR_JOB_ID"];

/// Where launchers number the runs within a job. All processes of a run have the same number on
/// all nodes, and the next run has another, on the same machine (in containers they come again); it says nothing to people.
pub const LAUNCHER_RUNS: [&str; 3] = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID"];

/// Where Slurm numbers the steps within a job.
pub const SLURM_STEP: &str = "SLURM_STEP_ID";

/// Where launchers tell a process its rank.
pub const RANKS: [&str; 6] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "PALS_RANKID",
    "MPI_LOCALRANKID",
];

/// Where launchers that no batch system stands behind tell the number of ranks: Open MPI's, and those of PMI (MPICH, Intel MPI).
pub const SIZES: [&str; 2] = [OPEN_MPI_SIZE, "PMI_SIZE"];

/// Where mpirun of Open MPI tells the number of processes of the job.
pub const OPEN_MPI_SIZE: &str = "OMPI_COMM_WORLD_SIZE";
/// Where it tells the number of those on this node.
pub const OPEN_MPI_LOCAL_SIZE: &str = "OMPI_COMM_WORLD_LOCAL_SIZE";
/// Where it tells the number of programs that share MPI_COMM_WORLD.
pub const OPEN_MPI_PROGRAMS: &str = "OMPI_NUM_APP_CTX";

/// Where login programs leave the user's name (POSIX, then what most systems have).
pub const USERS: [&str; 2] = ["LOGNAME", "USER"];

/// Returns whether a variable that is a switch is on.
pub fn is_on(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| !matches!(value, b"" | b"0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_have_one_beginning_and_switches_have_two_ways_to_be_off() {
        assert!(OF_THE_LIBRARY.iter().all(|name| name.starts_with("PLIMSOLL_")));
        assert!(is_on(Some(b"1")) && is_on(Some(b"yes")));
        assert!(!is_on(None) && !is_on(Some(b"")) && !is_on(Some(b"0")));
    }
}
