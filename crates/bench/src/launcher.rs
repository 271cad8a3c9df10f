//! Whether a launcher (mpirun, srun) started this process as one of several.

use std::env;

/// What a launcher says of the job that this process is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// What to call it.
    pub name: &'static str,
    /// Processes of the job.
    pub processes: u32,
    /// Libraries that belong to it, the likeliest first.
    pub libraries: &'static [&'static str],
    /// What one of them says when asked for its version.
    pub says: &'static [&'static str],
}

const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so.80", "libmpi.so"];
const MPICH: &[&str] = &["libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi.so"];
const ANY: &[&str] =
    &["libmpi.so", "libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.0"];

/// A variable that tells the number of processes, and whose it is. Slurm sets its own also around
/// mpirun, and PMI's with some of its plug-ins, so the most telling comes first.
const TELLING: [(&str, Launcher); 4] = [
    ("OMPI_COMM_WORLD_SIZE", launcher("mpirun of Open MPI", OPEN_MPI, &["Open MPI"])),
    ("MPI_LOCALNRANKS", launcher("mpirun of MPICH", MPICH, &["MPICH", "Intel", "MVAPICH"])),
    (
        "PMI_SIZE",
        launcher("mpirun or srun with PMI", MPICH, &["MPICH", "Intel", "MVAPICH", "CRAY"]),
    ),
    ("SLURM_STEP_NUM_TASKS", launcher("srun", ANY, &[])),
];

const fn launcher(
    name: &'static str,
    libraries: &'static [&'static str],
    says: &'static [&'static str],
) -> Launcher {
    Launcher { name, processes: 0, libraries, says }
}

impl Launcher {
    /// Returns the launcher of this process, if there is one.
    pub fn of_this_process() -> Option<Self> {
        Self::of(|name| env::var(name).ok())
    }

    /// Returns the launcher that an environment shows, if there is one.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        TELLING.iter().find_map(|(name, launcher)| {
            let size = if *name == "MPI_LOCALNRANKS" { "PMI_SIZE" } else { name };
            variable(name)?;
            let processes = variable(size)?.parse().ok().filter(|count| *count > 0)?;
            Some(Self { processes, ..launcher.clone() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under(variables: &[(&str, &str)]) -> Option<(&'static str, u32)> {
        let look = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Launcher::of(look).map(|launcher| (launcher.name, launcher.processes))
    }

    #[test]
    fn launchers_are_told_apart() {
        assert_eq!(under(&[]), None);
        assert_eq!(under(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(("mpirun of Open MPI", 4)));
        let hydra = [("MPI_LOCALNRANKS", "2"), ("PMI_SIZE", "4")];
        assert_eq!(under(&hydra), Some(("mpirun of MPICH", 4)));
        assert_eq!(under(&[("SLURM_STEP_NUM_TASKS", "64")]), Some(("srun", 64)));
        assert_eq!(under(&[("PMI_SIZE", "many")]), None);
    }
}
