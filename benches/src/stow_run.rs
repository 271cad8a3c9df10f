//! Programs as they are under `plimsoll stow run`, and the same without it: MPI programs of both libraries, and whatever else is started.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use plimsoll_stow::Target;

/// What is measured: the program `plimsoll` and the library beside it, as `make build` makes them.
pub struct StowRun {
    program: PathBuf,
    library: PathBuf,
}

impl StowRun {
    /// Finds them.
    ///
    /// # Errors
    /// Fails if they were not built.
    pub fn find() -> Result<Self> {
        let folder = root()?.join("target/release");
        let [program, library] = ["plimsoll", "libplimsoll.so"].map(|it| folder.join(it));
        for path in [&program, &library] {
            ensure!(path.exists(), "there is no {}; hint: make build", path.display());
        }
        Ok(StowRun { program, library })
    }

    /// `plimsoll stow run`, to which a program and its arguments are added.
    pub fn command(&self, mount: &Path, targets: &[Target]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["stow", "run", "--quiet", "--mount"]).arg(mount).arg("--targets");
        command.arg(named(targets)).arg("--");
        command
    }

    /// A program whose new files below the mount are containers, by variables alone, so that nothing but the program is measured.
    pub fn by_variables(
        &self,
        program: impl AsRef<OsStr>,
        mount: &Path,
        targets: &[Target],
    ) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", &self.library).env("PLIMSOLL_STOW_MOUNT", mount);
        command.env("PLIMSOLL_STOW_TARGETS", named(targets));
        command
    }
}

/// The root of the repository.
pub fn root() -> Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?)
}

fn named(targets: &[Target]) -> String {
    let named = targets.iter().map(|it| format!("{}={}", it.name, it.path.display()));
    named.collect::<Vec<String>>().join(",")
}

/// A library for MPI, and a program that was compiled for it.
pub struct MpiProgram {
    /// As people call the library.
    pub library: &'static str,
    launcher: &'static str,
    program: PathBuf,
}

impl MpiProgram {
    /// Compiles a program for each library that is there; says which is not.
    ///
    /// # Errors
    /// Fails if it cannot be compiled.
    pub fn for_each_library(source: &Path, folder: &Path) -> Result<Vec<Self>> {
        let mut programs = Vec::new();
        for (library, compiler, launcher) in [
            ("Open MPI", "mpicc.openmpi", "mpirun.openmpi"),
            ("MPICH", "mpicc.mpich", "mpirun.mpich"),
        ] {
            let program = folder.join(compiler);
            let compiled =
                Command::new(compiler).args(["-O2", "-o"]).arg(&program).arg(source).status();
            match compiled {
                Ok(status) => ensure!(status.success(), "{} is not C", source.display()),
                Err(_) => {
                    println!("SKIPPED: {library}, which needs {compiler}");
                    continue;
                }
            }
            programs.push(MpiProgram { library, launcher, program });
        }
        Ok(programs)
    }

    /// Adds so many ranks of the program to a command that starts what follows.
    pub fn started_by(&self, mut command: Command, ranks: usize) -> Command {
        command.arg(self.launcher);
        if self.launcher.ends_with("openmpi") {
            command.arg("--oversubscribe");
        }
        command.args(["-n", &ranks.to_string()]);
        // Ranks of Open MPI share a session, and so their turn on processors with those who wait for the others by looking all the time.
        if std::env::var_os("PLIMSOLL_BENCH_SESSIONS").is_some() {
            command.args(["setsid", "--wait"]);
        }
        command.arg(&self.program);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    /// So many ranks of the program without `stow run`.
    pub fn plain(&self, ranks: usize) -> Command {
        self.started_by(Command::new("env"), ranks)
    }
}

/// Runs a program that says when it has begun, calls `meanwhile` then, and returns the figures of the line that it says at its end.
///
/// # Errors
/// Fails if the program does, or says something else.
pub fn figures_of<const N: usize>(
    mut command: Command,
    meanwhile: impl FnOnce(),
) -> Result<[f64; N]> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no pipe")?).lines();
    let began = lines.next().transpose()?;
    if began.as_deref() == Some("begin") {
        meanwhile();
    }
    let told = lines.next().transpose()?.unwrap_or_default();
    ensure!(child.wait()?.success(), "{command:?} failed");
    let figures: Vec<f64> = told.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    figures.try_into().ok().with_context(|| format!("{command:?} said: {told}"))
}
