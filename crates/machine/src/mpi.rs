//! Which MPI is installed: its launcher and its libraries.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Machine, MpiImplementation, MpiVersion, parse_mpi_version};

/// Launchers, the usual one first. Each tells its version without starting anything.
const LAUNCHERS: [&str; 3] = ["mpirun", "mpiexec", "mpiexec.hydra"];

/// Says which library a launcher of MPICH's family belongs to: the launcher itself only says Hydra.
const TELLER_OF_HYDRA: &str = "mpichversion";

/// A launcher that hangs (it may ask a batch system) is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The capacity of a pipe (pipe(7)), which is more than any version text.
const MOST_TEXT: u64 = 64 << 10;

/// What of MPI is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mpi {
    /// The launcher in PATH: mpirun, or else mpiexec.
    pub launcher: Option<PathBuf>,
    /// Which MPI the launcher belongs to, if it says so.
    pub version: Option<MpiVersion>,
    /// MPI libraries that the dynamic linker finds.
    pub libraries: Vec<PathBuf>,
}

impl Mpi {
    /// Returns true if nothing of MPI was found.
    pub fn is_absent(&self) -> bool {
        self.launcher.is_none() && self.libraries.is_empty()
    }
}

impl Machine {
    /// Returns the MPI in PATH and in the linker's directories. Runs `mpirun --version` or the
    /// like, and waits a few seconds for it at most.
    pub fn find_mpi(&self) -> Mpi {
        self.find_mpi_with(|program| ask_version(&self.locate(program)))
    }

    /// As [`Machine::find_mpi`], with `ask` in place of running a program: it gets
    /// the path of a program of this machine and gives what `--version` prints.
    pub fn find_mpi_with(&self, ask: impl Fn(&Path) -> Option<String>) -> Mpi {
        let launchers: Vec<PathBuf> =
            LAUNCHERS.iter().filter_map(|name| self.find_program(name)).collect();
        let tell = |program: &Path| parse_mpi_version(&ask(program)?);
        // Several MPIs may be installed: another one's program says nothing of this launcher.
        let told = launchers.iter().find_map(|program| Some((program, tell(program)?)));
        let version = told.map(|(program, version)| match version.implementation {
            MpiImplementation::Mpich => self.more_of_hydra(program, tell).unwrap_or(version),
            _ => version,
        });
        Mpi {
            launcher: launchers.into_iter().next(),
            version,
            libraries: self.find_libraries(is_mpi_library),
        }
    }

    /// Returns what stands beside a Hydra launcher and tells whose it is.
    fn more_of_hydra(
        &self,
        launcher: &Path,
        tell: impl Fn(&Path) -> Option<MpiVersion>,
    ) -> Option<MpiVersion> {
        const FAMILY: [MpiImplementation; 4] = [
            MpiImplementation::Mpich,
            MpiImplementation::Mvapich,
            MpiImplementation::Cray,
            MpiImplementation::Intel,
        ];
        let teller = self.find_program(TELLER_OF_HYDRA)?;
        (teller.parent() == launcher.parent()).then_some(())?;
        tell(&teller).filter(|version| FAMILY.contains(&version.implementation))
    }
}

/// libmpi.so.40 (Open MPI), libmpi.so.12 (MPICH, Intel), libmpich.so (MPICH, MVAPICH),
/// libmpi_cray.so and libmpi_gnu_*.so (Cray), libmpi_ibm.so (Spectrum).
fn is_mpi_library(name: &str) -> bool {
    const STEMS: [&str; 6] =
        ["libmpi", "libmpich", "libmpi_cray", "libmpi_intel", "libmpi_ibm", "libmpi_gnu"];
    let Some((stem, _)) = name.split_once(".so") else { return false };
    // Cray appends the compiler's version: libmpi_gnu_123.so.
    let family = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    STEMS.contains(&family)
}

/// Returns what a program prints when asked for its version; `None` when it does not start
/// or does not end in time.
fn ask_version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A version text fits into the pipe, so the program need not be read while it runs.
    if !ended_in_time(&mut child) {
        // Failing to kill means that it ended after all.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let stdout = child.stdout.take()?;
    // A grandchild may hold the pipe open for ever: take what is there and no more.
    rustix::io::ioctl_fionbio(&stdout, true).ok()?;
    let mut text = Vec::new();
    let _ = stdout.take(MOST_TEXT).read_to_end(&mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn ended_in_time(child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn machine_with(programs: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("bin")).unwrap();
        for (name, script) in programs {
            let path = root.path().join("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let machine = Machine::at(root.path(), "/bin");
        (root, machine)
    }

    #[test]
    fn asks_the_launcher() {
        let (_root, machine) =
            machine_with(&[("mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.6'\n")]);
        let mpi = machine.find_mpi();
        assert_eq!(mpi.launcher, Some("/bin/mpirun".into()));
        assert_eq!(mpi.version.unwrap().implementation, MpiImplementation::OpenMpi);
    }

    /// Debian lets mpirun be that of either MPI, and mpichversion is there for both.
    #[test]
    fn another_mpi_beside_the_launchers_own_is_not_taken_for_it() {
        let says = |program: &Path| {
            let text = match program.file_name()?.to_str()? {
                "mpirun" => "mpirun (Open MPI) 4.1.4\n",
                _ => "MPICH Version:    \t4.0.2\n",
            };
            Some(text.to_owned())
        };
        let (_root, machine) = machine_with(&[("mpirun", ""), ("mpichversion", "")]);
        let version = machine.find_mpi_with(says).version.unwrap();
        assert_eq!(version.implementation, MpiImplementation::OpenMpi);
        assert_eq!(version.version.as_deref(), Some("4.1.4"));
    }

    #[test]
    fn hydra_is_told_by_what_stands_beside_it() {
        let says = |program: &Path| {
            let text = match program.file_name()?.to_str()? {
                "mpirun" => "HYDRA build details:\n    Version:   3.2\n",
                _ => "MVAPICH2 Version:     \t2.3.7\n",
            };
            Some(text.to_owned())
        };
        let found = |programs| {
            let (_root, machine) = machine_with(programs);
            machine.find_mpi_with(says).version.unwrap().implementation
        };
        let beside = [("mpirun", ""), ("mpichversion", "")];
        assert_eq!(found(&beside), MpiImplementation::Mvapich);
        assert_eq!(found(&beside[..1]), MpiImplementation::Mpich);
        let (root, _) = machine_with(&beside);
        fs::create_dir(root.path().join("other")).unwrap();
        fs::rename(root.path().join("bin/mpichversion"), root.path().join("other/mpichversion"))
            .unwrap();
        let elsewhere = Machine::at(root.path(), "/bin:/other");
        let version = elsewhere.find_mpi_with(says).version.unwrap();
        assert_eq!(version.implementation, MpiImplementation::Mpich, "in another directory");
    }

    #[test]
    fn a_program_that_says_nothing_useful_is_passed_over() {
        let (_root, machine) = machine_with(&[("mpirun", ""), ("mpiexec.hydra", "")]);
        let say = |program: &Path| {
            program.ends_with("mpiexec.hydra").then(|| "HYDRA\nVersion: 4.0\n".to_owned())
        };
        let version = machine.find_mpi_with(say).version.unwrap();
        assert_eq!(version.implementation, MpiImplementation::Mpich);
        assert_eq!(version.version.as_deref(), Some("4.0"));
    }

    #[test]
    fn knows_the_libraries_of_all_families() {
        for name in ["libmpi.so", "libmpi.so.40.30.6", "libmpich.so.12", "libmpi_gnu_123.so.12"] {
            assert!(is_mpi_library(name), "{name}");
        }
        for name in ["libmpi_cxx.so.40", "libmpi_java.so", "libmpifort.so", "libmpi.a", "libm.so"] {
            assert!(!is_mpi_library(name), "{name}");
        }
        let (_root, machine) = machine_with(&[]);
        assert!(machine.find_mpi().is_absent());
    }
}
