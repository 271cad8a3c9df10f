//! `plimsoll stow mount`: a directory whose containers look like the files that they hold.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use plimsoll_mount::{Caching, MountError, mount, unmount, unmount_if_dead, whole_point};
use plimsoll_process::memory_limit;

use super::targets::LogTargets;
use crate::interruption::Interruption;
use crate::output;

/// How long programs that have files of the mount open may go on with them after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks whether it was unmounted or a signal came.
const PAUSE: Duration = Duration::from_millis(50);

/// More than any number has.
const NUMBER_BYTES_MAX: u64 = 64;

/// Show a directory elsewhere, read-only, with its containers as files
///
/// For programs that read containers as ordinary files, and to look around. Everything below the directory is at the mount point:
/// ordinary files and directories as they are, and each container as the file that it holds, with its size. What changes is seen
/// by whoever opens a file afterwards. Bytes that cannot be read give an error (EIO), and so do those that differ from their
/// checksums when a file is read in order.
///
/// The command serves the mount until Ctrl-C, SIGTERM or `umount MOUNTPOINT` (`fusermount3 -u MOUNTPOINT` without root). Should it be
/// killed, a second process takes the mount away.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow mount results /mnt/results\n  \
    plimsoll stow mount results view & sleep 1; grep -c error view/log; umount view")]
pub struct Arguments {
    /// The directory to show; links of other users do not lead there
    directory: PathBuf,

    /// An empty directory of yours, outside of the first, that nobody else can exchange
    mountpoint: PathBuf,

    /// Read containers always past the kernel's cache, and not only the first time: quicker by large parts (1 MiB each), slower by small ones
    #[arg(long)]
    direct: bool,

    /// Read containers always through the kernel's cache, also the first time: quicker by small parts (less than 32 KiB), slower by large ones
    #[arg(long, conflicts_with = "direct")]
    cached: bool,

    #[command(flatten)]
    targets: LogTargets,
}

/// What the keeper of a mount is told; the number of the mount follows on its standard input.
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow mount starts its keeper itself")]
pub struct KeeperArguments {
    /// The mount point
    mountpoint: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    allow_many_files();
    let interruption = Interruption::watch()?;
    // Before there is a mount, so that none stays whenever this program is killed.
    let mut keeper = start_keeper(&arguments.mountpoint);
    let caching = match (arguments.direct, arguments.cached) {
        (true, _) => Caching::Never,
        (_, true) => Caching::Always,
        _ => Caching::Again,
    };
    let mounted =
        mount(&arguments.directory, &arguments.mountpoint, targets, caching, memory_limit());
    let mounted = mounted.map_err(with_hint)?;
    if let Err(problem) = &keeper {
        output::message(&format!("warning: if this program is killed, the mount stays: {problem}"));
    }
    if let Some(pipe) = keeper.as_mut().ok().and_then(|it| it.stdin.as_mut()) {
        let _ = write!(pipe, "{}", mounted.number());
    }
    let point = mounted.point().to_path_buf();
    output::message(&format!(
        "mounted {} on {}; Ctrl-C or {} ends it",
        mounted.shown().display(),
        point.display(),
        by_hand(&point)
    ));
    while !mounted.has_ended() && !interruption.is_asked() {
        std::thread::sleep(PAUSE);
        mounted.close_unused();
    }
    let ended = mounted.end(PATIENCE);
    ended.with_context(|| format!("cannot unmount; hint: {}", by_hand(&point)))?;
    if let Ok(mut keeper) = keeper {
        drop(keeper.stdin.take());
        let _ = keeper.wait();
    }
    Ok(if interruption.is_asked() { interruption.exit_code() } else { ExitCode::SUCCESS })
}

/// Waits until the program that serves a mount is gone, and takes the mount away.
pub fn keep(arguments: &KeeperArguments) -> Result<ExitCode> {
    let mut number = String::new();
    // The end of its input is that of the other program, however that came.
    let _ = std::io::stdin().take(NUMBER_BYTES_MAX).read_to_string(&mut number);
    // Already gone when all went well.
    let _ = match number.parse() {
        Ok(number) => unmount(&arguments.mountpoint, number),
        Err(_) => unmount_if_dead(&arguments.mountpoint),
    };
    Ok(ExitCode::SUCCESS)
}

/// Starts a process that outlives this one, should it be killed. It is not in the group of processes that Ctrl-C goes to.
fn start_keeper(point: &Path) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stow", "mount-keeper"]).arg(whole_point(point)?);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // It must not keep the directory busy that it was started in.
    command.current_dir("/").process_group(0);
    Ok(command.spawn()?)
}

fn by_hand(point: &Path) -> String {
    let command = if plimsoll_guarded::acting_user() == 0 { "umount" } else { "fusermount3 -u" };
    format!("`{command} {}`", shlex::try_quote(&point.to_string_lossy()).unwrap_or_default())
}

/// Each container that is read has its logs open.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

fn with_hint(error: MountError) -> anyhow::Error {
    let hint = match &error {
        MountError::Refused { cause, .. } => match cause.kind() {
            std::io::ErrorKind::NotFound if !Path::new("/dev/fuse").exists() => {
                "this needs FUSE: modprobe fuse"
            }
            std::io::ErrorKind::NotFound if plimsoll_guarded::acting_user() != 0 => {
                "this needs fusermount3: install fuse3"
            }
            _ => return error.into(),
        },
        MountError::Untrusted { .. } => {
            "mount on a directory that nobody else can exchange, as one in your home"
        }
        _ => return error.into(),
    };
    anyhow!("{error}; hint: {hint}")
}
