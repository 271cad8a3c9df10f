//! Whose files: the program's own, or those of what it runs on.
//!
//! An MPI library keeps shared memory and session files, launchers leave notes, interpreters read
//! their modules, the C library its locale. None of that is what a report is about, and all of it
//! looks like files of the program. One table says which files they are, with a reason for each,
//! and one which programs are launchers, whose files are all the runtime's. Three things keep the program's data out of it:
//! - a file that a process changes is that process's data (a compiler writes libraries), but for
//!   files that only the runtime writes;
//! - so is one that it reads, where the runtime only looks up and maps (a linker reads libraries);
//! - so is what the process's own command line names (`tar cf etc.tar /etc`).

use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Class, Event, Op};

use crate::named::{is_below, normal};
use crate::process::Process;

/// What the files are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuntimeKind {
    /// Shared memory, session files and settings of MPI, its transports and launchers.
    Mpi,
    /// Byte code and modules of interpreters.
    Language,
    /// Libraries and programs that are looked up or mapped.
    Libraries,
    /// Locale, time zones, settings and other files of the system.
    System,
}

impl RuntimeKind {
    /// All, in the order of a report.
    pub const ALL: [RuntimeKind; 4] =
        [RuntimeKind::Mpi, RuntimeKind::Language, RuntimeKind::Libraries, RuntimeKind::System];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            RuntimeKind::Mpi => "MPI and launcher",
            RuntimeKind::Language => "interpreter's modules",
            RuntimeKind::Libraries => "libraries and programs, looked up",
            RuntimeKind::System => "system's settings and locale",
        }
    }
}

/// How long a file is the runtime's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Always: nobody else has files of this name.
    Never,
    /// Until the process changes it, if its command line does not name it.
    Changed,
    /// Until the process reads or changes it, if its command line does not name it.
    Moved,
}

/// Where a file lies.
#[derive(Debug, Clone, Copy)]
enum At {
    /// This directory, and everything below it.
    Below(&'static str),
    /// A name in /dev/shm that begins so.
    SharedMemory(&'static str),
    /// A name anywhere that begins so and ends with a number, and everything below it.
    Numbered(&'static str),
    /// A name anywhere that begins so, and everything below it.
    Begins(&'static str),
    /// A directory of this name anywhere, and everything below it.
    Part(&'static str),
    /// A name that ends so.
    Ends(&'static str),
    /// A directory `lib/NAME` or `lib64/NAME` anywhere, also with a version behind the name, and
    /// everything below it.
    LibraryOf(&'static str),
    /// `name.so` and `name.so.1.2`.
    SharedLibrary,
}

impl At {
    /// `path` is absolute and without `.` and `..`.
    fn is(self, path: &str) -> bool {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        match self {
            At::Below(directory) => is_below(path, directory),
            At::SharedMemory(begin) => {
                path.strip_prefix("/dev/shm/").is_some_and(|name| name.starts_with(begin))
            }
            At::Numbered(begin) => parts.any(|part| {
                part.starts_with(begin) && part.ends_with(|last: char| last.is_ascii_digit())
            }),
            At::Begins(begin) => parts.any(|part| part.starts_with(begin)),
            At::Part(name) => parts.any(|part| part == name),
            At::Ends(end) => path.ends_with(end),
            At::LibraryOf(name) => {
                let after = parts.clone().skip(1);
                let is_it = |next: &str| {
                    next.strip_prefix(name).is_some_and(|version| {
                        version.is_empty() || version.starts_with(|it: char| it.is_ascii_digit())
                    })
                };
                let mut pairs = parts.zip(after);
                pairs.any(|(part, next)| matches!(part, "lib" | "lib64") && is_it(next))
            }
            At::SharedLibrary => {
                let name = parts.next_back().unwrap_or("");
                let versioned = |rest: &str| {
                    rest.is_empty()
                        || rest.starts_with('.')
                            && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                };
                name.rsplit_once(".so")
                    .is_some_and(|(stem, rest)| !stem.is_empty() && versioned(rest))
            }
        }
    }
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Rule {
    at: At,
    until: Until,
    /// What such files are for.
    pub kind: RuntimeKind,
}

impl Rule {
    /// True when the file stays the runtime's after this call of a process whose command line
    /// does not name it.
    #[inline]
    pub fn covers(&self, event: &Event) -> bool {
        match self.until {
            Until::Never => true,
            Until::Changed => !changes(event),
            Until::Moved => !changes(event) && event.bytes() == 0,
        }
    }

    /// True when the command line may name the file and so make it the program's.
    pub fn may_be_named(&self) -> bool {
        self.until != Until::Never
    }
}

const fn rule(at: At, until: Until, kind: RuntimeKind) -> Rule {
    Rule { at, until, kind }
}

/// The table. The first line that fits a path counts.
static RULES: &[Rule] = &[
    // Shared memory between the ranks of a node.
    rule(At::SharedMemory("ucx_shm_"), Until::Never, RuntimeKind::Mpi), // UCX, below MPICH and Open MPI
    rule(At::SharedMemory("vader_segment."), Until::Never, RuntimeKind::Mpi), // Open MPI 2 to 4
    rule(At::SharedMemory("sm_segment."), Until::Never, RuntimeKind::Mpi), // Open MPI 5
    rule(At::SharedMemory("osc_rdma."), Until::Never, RuntimeKind::Mpi), // Open MPI, one-sided
    rule(At::SharedMemory("mpich_shar_tmp"), Until::Never, RuntimeKind::Mpi), // MPICH
    rule(At::SharedMemory("mpich_"), Until::Never, RuntimeKind::Mpi),   // MPICH
    rule(At::SharedMemory("Intel_MPI_"), Until::Never, RuntimeKind::Mpi), // Intel MPI
    rule(At::SharedMemory("ib_shmem"), Until::Never, RuntimeKind::Mpi), // MVAPICH2
    rule(At::SharedMemory("ib_pool"), Until::Never, RuntimeKind::Mpi),  // MVAPICH2
    rule(At::SharedMemory("psm2_shm"), Until::Never, RuntimeKind::Mpi), // Omni-Path
    rule(At::SharedMemory("psm3_shm"), Until::Never, RuntimeKind::Mpi), // Intel Ethernet
    rule(At::SharedMemory("nccl-"), Until::Never, RuntimeKind::Mpi),    // NCCL
    rule(At::SharedMemory("__KMP_REGISTERED_LIB_"), Until::Never, RuntimeKind::Mpi), // LLVM's OpenMP
    rule(At::SharedMemory("sem."), Until::Never, RuntimeKind::System), // named semaphores: no data
    // Session files: below TMPDIR, wherever that is.
    rule(At::Numbered("ompi."), Until::Never, RuntimeKind::Mpi), // Open MPI 2 to 4: ompi.HOST.USER
    rule(At::Begins("openmpi-sessions-"), Until::Never, RuntimeKind::Mpi), // Open MPI 1
    rule(At::Numbered("prte."), Until::Never, RuntimeKind::Mpi), // Open MPI 5: prte.HOST.PID.USER
    rule(At::Numbered("prterun."), Until::Never, RuntimeKind::Mpi), // Open MPI 5
    rule(At::Begins("pmix_dstor_"), Until::Never, RuntimeKind::Mpi), // PMIx's data store
    rule(At::Begins("pmix.sys."), Until::Never, RuntimeKind::Mpi), // PMIx's rendezvous
    rule(At::Numbered("pmix-"), Until::Never, RuntimeKind::Mpi), // PMIx's rendezvous: pmix-HOST.PID
    rule(At::Begins("ucx_shm_"), Until::Never, RuntimeKind::Mpi), // UCX, where /dev/shm is small
    rule(At::Begins("hsperfdata_"), Until::Never, RuntimeKind::Language), // counters of a JVM
    // Settings of MPI and its transports, wherever they are installed.
    rule(At::Ends("-mca-params.conf"), Until::Changed, RuntimeKind::Mpi),
    rule(At::Ends("/mca-params.conf"), Until::Changed, RuntimeKind::Mpi),
    rule(At::Ends("-mca-params-override.conf"), Until::Changed, RuntimeKind::Mpi),
    rule(At::Ends("/ucx.conf"), Until::Changed, RuntimeKind::Mpi),
    rule(At::Part(".openmpi"), Until::Changed, RuntimeKind::Mpi),
    rule(At::Part(".pmix"), Until::Changed, RuntimeKind::Mpi),
    // Modules of interpreters. Python writes its byte code itself.
    rule(At::Ends(".pyc"), Until::Never, RuntimeKind::Language),
    rule(At::Part("__pycache__"), Until::Never, RuntimeKind::Language),
    rule(At::LibraryOf("python"), Until::Changed, RuntimeKind::Language),
    rule(At::LibraryOf("pypy"), Until::Changed, RuntimeKind::Language),
    rule(At::Part("site-packages"), Until::Changed, RuntimeKind::Language),
    rule(At::Part("dist-packages"), Until::Changed, RuntimeKind::Language),
    rule(At::Ends("/pyvenv.cfg"), Until::Changed, RuntimeKind::Language),
    rule(At::LibraryOf("jvm"), Until::Changed, RuntimeKind::Language),
    rule(At::Ends("/lib/modules"), Until::Changed, RuntimeKind::Language), // all classes of a JDK
    rule(At::Ends(".jsa"), Until::Changed, RuntimeKind::Language), // shared classes of a JVM
    rule(At::Below("/usr/lib/R"), Until::Changed, RuntimeKind::Language),
    rule(At::Below("/usr/local/lib/R"), Until::Changed, RuntimeKind::Language),
    rule(At::LibraryOf("ruby"), Until::Changed, RuntimeKind::Language),
    rule(At::LibraryOf("node_modules"), Until::Changed, RuntimeKind::Language),
    rule(At::Part("perl-base"), Until::Changed, RuntimeKind::Language),
    rule(At::Part("perl5"), Until::Changed, RuntimeKind::Language),
    // The dynamic linker reads libraries out of our sight. What is seen are searches.
    rule(At::SharedLibrary, Until::Moved, RuntimeKind::Libraries),
    // The C library's own.
    rule(At::Below("/usr/lib/locale"), Until::Changed, RuntimeKind::System),
    rule(At::Part("gconv"), Until::Changed, RuntimeKind::System), // character sets
    rule(At::Below("/lib/terminfo"), Until::Changed, RuntimeKind::System),
    // Directories that hold no user's data (Filesystem Hierarchy Standard 3.0).
    rule(At::Below("/usr/share"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/usr/local/share"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/etc"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/run"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/var/run"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/proc"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/sys"), Until::Changed, RuntimeKind::System),
    rule(At::Below("/var/cache/nscd"), Until::Changed, RuntimeKind::System), // names of users
    rule(At::Below("/var/lib/sss"), Until::Changed, RuntimeKind::System),    // names of users
    rule(At::Below("/var/cache/fontconfig"), Until::Changed, RuntimeKind::System),
    // Plug-ins of MPI.
    rule(At::Part("openmpi"), Until::Moved, RuntimeKind::Mpi),
    rule(At::Begins("pmix2"), Until::Moved, RuntimeKind::Mpi),
    rule(At::Part("hwloc"), Until::Moved, RuntimeKind::Mpi),
    // Searches along PATH and the linker's path. What is read there is somebody's input.
    rule(At::Below("/usr/lib"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/lib32"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/lib64"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/libexec"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/local/lib"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/bin"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/sbin"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/local/bin"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/usr/local/sbin"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/lib"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/lib32"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/lib64"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/bin"), Until::Moved, RuntimeKind::Libraries),
    rule(At::Below("/sbin"), Until::Moved, RuntimeKind::Libraries),
];

/// Returns the line of the table that fits a path; `None` for files that are the program's.
pub(crate) fn rule_of(path: &str) -> Option<&'static Rule> {
    if !path.starts_with('/') {
        return None;
    }
    let path = normal(path);
    RULES.iter().find(|rule| rule.at.is(&path))
}

/// Programs that start ranks, hand their output on and wait: of Open MPI, MPICH and its relatives, Slurm,
/// ALPS, PALS and LSF. Also with an ending, as in `mpiexec.hydra`.
const LAUNCHERS: [&str; 18] = [
    "mpirun",
    "mpiexec",
    "orterun",
    "orted",
    "prterun",
    "prte",
    "prted",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "hydra_persist",
    "hydra_nameserver",
    "mpispawn",
    "srun",
    "slurmstepd",
    "aprun",
    "palsd",
    "jsrun",
    "jsm_proxy",
];

/// What a launcher does with any file. The output of ranks that it writes into the user's file came
/// to it through pipes, and is none of their files.
static OF_LAUNCHER: Rule = rule(At::Below("/"), Until::Never, RuntimeKind::Mpi);

/// What makes every file of a process the runtime's; `None` for programs.
pub(crate) fn rule_of_process(process: &Process) -> Option<&'static Rule> {
    (process.rank.is_none() && is_launcher(&process.program)).then_some(&OF_LAUNCHER)
}

fn is_launcher(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or("");
    let stem = name.split('.').next().unwrap_or(name);
    LAUNCHERS.contains(&stem)
}

/// Linux's bits of `open` that change a file or make one (asm-generic/fcntl.h).
const O_CREAT: u64 = 0o100;
const O_TRUNC: u64 = 0o1000;

/// True for calls that changed the file or its name.
fn changes(event: &Event) -> bool {
    let is_change = match event.op {
        Op::Open => event.argument & (O_CREAT | O_TRUNC) != 0,
        Op::Ftruncate | Op::Truncate | Op::Fallocate | Op::Unlink | Op::Rename => true,
        Op::Mkdir | Op::Rmdir | Op::Link | Op::Symlink | Op::Chmod => true,
        op => op.class() == Class::Write && event.bytes() > 0,
    };
    is_change && matches!(event.outcome, Outcome::Value(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> Option<RuntimeKind> {
        rule_of(path).map(|rule| rule.kind)
    }

    #[test]
    fn launchers_are_known_by_their_names() {
        for launcher in ["/usr/bin/orterun", "mpiexec.hydra", "/opt/x/hydra_pmi_proxy", "srun"] {
            assert!(is_launcher(launcher), "{launcher}");
        }
        for program in ["/usr/bin/ior", "", "/home/anna/mpirun/app", "mpirunner", "/bin/sh"] {
            assert!(!is_launcher(program), "{program}");
        }
    }

    #[test]
    fn files_of_the_runtime_as_they_were_seen() {
        for (path, expected) in [
            ("/dev/shm/ucx_shm_posix_265e592a", RuntimeKind::Mpi),
            ("/dev/shm/vader_segment.vm.0.7d210001.1", RuntimeKind::Mpi),
            ("/tmp/ompi.vm.0/pid.4575/pmix_dstor_ds21_4575/smseg-2099314689-0", RuntimeKind::Mpi),
            ("/scratch/tmp/ompi.n7.1000", RuntimeKind::Mpi),
            ("/lib/x86_64-linux-gnu/../etc/ucx.conf", RuntimeKind::Mpi),
            ("/etc/openmpi/openmpi-mca-params.conf", RuntimeKind::Mpi),
            ("/usr/lib/x86_64-linux-gnu/pmix2/share/pmix-mca-params.conf", RuntimeKind::Mpi),
            ("/home/anna/.openmpi/mca-params.conf", RuntimeKind::Mpi),
            ("/opt/env/lib/python3.11/site-packages/numpy", RuntimeKind::Language),
            ("/home/anna/model/__pycache__/grid.cpython-311.pyc", RuntimeKind::Language),
            ("/usr/lib/jvm/java-17-openjdk-amd64/lib/modules", RuntimeKind::Language),
            ("/opt/app/lib/libsolver.so.1.2", RuntimeKind::Libraries),
            ("/usr/bin/mpirun", RuntimeKind::Libraries),
            ("/usr/share/zoneinfo/Europe/Berlin", RuntimeKind::System),
            ("/etc/ld.so.cache", RuntimeKind::System),
            ("/run/udev/data/b254:0", RuntimeKind::System),
        ] {
            assert_eq!(kind(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn data_of_the_program_is_not_swallowed() {
        for path in [
            "(no known file)",
            "/dev/shm/checkpoint",
            "/dev/shm/psm_1a2b3c4d", // Python's shared memory has names of this kind
            "/tmp/ior.00000000",
            "/tmp/ompi.results/out.dat",
            "/data/etc/x",
            "/etcetera",
            "/home/anna/openmpi-runs/out",
            "/home/anna/my.so.txt",
            "/home/anna/.so",
            "/scratch/lib/pressure.dat",
            "/scratch/lib/pythonic/results.csv",
            "/home/anna/script.py",
            "/usr",
            "/tmp",
        ] {
            assert_eq!(kind(path), None, "{path}");
        }
    }

    fn event(op: Op, bytes: u64, argument: u64) -> Event {
        let outcome = Outcome::Value(bytes);
        let (file, offset, length, start, end, depth) = (1, None, bytes, 0, 1, 0);
        Event { op, file, offset, length, outcome, argument, start, end, depth }
    }

    #[test]
    fn what_a_process_does_makes_a_file_its_own() {
        let library = rule_of("/opt/app/libsolver.so").unwrap();
        assert!(library.covers(&event(Op::Stat, 0, 0)) && library.covers(&event(Op::Mmap, 0, 0)));
        assert!(!library.covers(&event(Op::Read, 832, 0)), "a linker reads it");
        assert!(!library.covers(&event(Op::Open, 3, O_CREAT | O_TRUNC | 1)), "a linker makes it");
        let settings = rule_of("/etc/hosts").unwrap();
        assert!(settings.covers(&event(Op::Fread, 100, 0)));
        assert!(settings.covers(&event(Op::Open, 3, 2)), "open for writing is no change");
        assert!(!settings.covers(&event(Op::Pwrite, 1, 0)));
        let failed = Event { outcome: Outcome::Error(2), ..event(Op::Unlink, 0, 0) };
        assert!(settings.covers(&failed) && !settings.covers(&event(Op::Unlink, 0, 0)));
        let memory = rule_of("/dev/shm/ucx_shm_posix_1").unwrap();
        assert!(memory.covers(&event(Op::Write, 1 << 20, 0)) && !memory.may_be_named());
    }
}
