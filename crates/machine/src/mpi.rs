//! Which MPI is installed: its launcher and its libraries.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Machine, MpiVersion, parse_mpi_version};

/// Programs that tell their version without starting anything, the most telling first.
const TELLERS: [&str; 4] = ["mpichversion", "mpirun", "mpiexec", "mpiexec.hydra"];

/// A launcher that hangs (it may ask a batch system) is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The capacity of a pipe (pipe(7)), which is more than any version text.
const MOST_TEXT: u64 = 64 << 10;

/// What of MPI is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mpi {
    /// The launcher in PATH: mpirun, or else mpiexec.
    pub launcher: Option<PathBuf>,
    /// Which MPI the installed programs belong to, if they say so.
    pub version: Option<MpiVersion>,
    /// MPI libraries that the dynamic linker finds.
    pub libraries: Vec<PathBuf>,
}

impl Mpi {
    /// True when nothing of MPI was found.
    pub fn is_absent(&self) -> bool {
        self.launcher.is_none() && self.libraries.is_empty()
    }
}

impl Machine {
    /// The MPI in PATH and in the linker's directories. Runs `mpirun --version` or the
    /// like, and waits a few seconds for it at most.
    pub fn find_mpi(&self) -> Mpi {
        self.find_mpi_with(|program| ask_version(&self.locate(program)))
    }

    /// As [`Machine::find_mpi`], with `ask` in place of running a program: it gets
    /// the path of a program of this machine and gives what `--version` prints.
    pub fn find_mpi_with(&self, ask: impl Fn(&Path) -> Option<String>) -> Mpi {
        let launcher = ["mpirun", "mpiexec"].iter().find_map(|name| self.find_program(name));
        let version = TELLERS
            .iter()
            .filter_map(|name| self.find_program(name))
            .find_map(|program| parse_mpi_version(&ask(&program)?));
        Mpi { launcher, version, libraries: self.find_libraries(is_mpi_library) }
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

/// What a program prints when asked for its version; `None` when it does not start
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
    use crate::MpiImplementation;
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
