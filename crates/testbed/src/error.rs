//! Why a command on a test bed failed.

use std::io;
use std::path::PathBuf;

use plimsoll_domain::Bytes;
use plimsoll_guarded::{Refusal, Untrusted};
use plimsoll_machine::{DeviceNumber, MachineError};
use thiserror::Error;

use crate::{FileSystem, Holder, MAX_TARGETS, TargetName, shown};

/// Why a command on a test bed failed. The text names operation, object and cause;
/// [`TestbedError::hint`] says what to do.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message names its fields")]
pub enum TestbedError {
    /// The bed's name would not make a good file name.
    #[error("bed name {} is not made of letters, digits, '_', '-' and '.'", shown::name(name))]
    BedName { name: String },
    /// The base directory cannot be used.
    #[error("cannot use {} as base directory: {reason}", shown::path(base))]
    Base { base: PathBuf, reason: String },
    /// Somebody else could replace the base directory.
    #[error("cannot use {} as base directory: {reason}", shown::path(base))]
    Untrusted { base: PathBuf, reason: Untrusted },
    /// The directory is another user's.
    #[error("{} belongs to user {owner} and not to user {me}", directory.display())]
    NotYours { directory: PathBuf, owner: u32, me: u32 },
    /// The text does not name a target.
    #[error("{} is not a target; targets are t0, t1, … or 0, 1, …", shown::name(text))]
    NotATarget { text: String },
    /// The bed has no such target.
    #[error("the bed in {} has no target {target}", directory.display())]
    NoSuchTarget { target: TargetName, directory: PathBuf },
    /// More or fewer targets than a bed can have.
    #[error("cannot make {count} targets: a bed has 1 to {MAX_TARGETS}")]
    Count { count: u64 },
    /// The file system does not fit into a target.
    #[error("a target of {size} is too small: {file_system} needs {smallest}")]
    TooSmall { size: Bytes, smallest: Bytes, file_system: FileSystem },
    /// Not enough free space for the backing files.
    #[error(
        "{} has {} free, but the targets need {} and {} stay in reserve",
        base.display(), shown::size(*available), shown::size(*needed), shown::size(*reserve)
    )]
    Space { base: PathBuf, available: Bytes, needed: Bytes, reserve: Bytes },
    /// Loop devices were requested and are not available.
    #[error("cannot make loop devices: {}", lacking.why)]
    NoLoop { lacking: Box<crate::Lacking> },
    /// There is a bed already, or the remains of one.
    #[error("a bed exists in {}", directory.display())]
    Exists { directory: PathBuf },
    /// There is no bed.
    #[error("no bed in {}", directory.display())]
    NoBed { directory: PathBuf },
    /// The directory holds things that are no bed's, so that none can be made in it.
    #[error(
        "cannot make a bed in {}: it holds {}, which is not part of a bed",
        directory.display(), entry.display()
    )]
    Foreign { directory: PathBuf, entry: PathBuf },
    /// The directory looks like a bed but is not marked as that one.
    #[error("cannot clean up {}: it is not a test bed: {reason}", directory.display())]
    NotABed { directory: PathBuf, reason: String },
    /// Somebody else mounted something inside of the bed.
    #[error("cannot clean up: {} is a mount of {fs_type} that is not the bed's", point.display())]
    ForeignMount { point: PathBuf, fs_type: String },
    /// Whoever locked another user's bed keeps it locked.
    #[error("cannot lock {}: it is held by {}", path.display(), named(*pid))]
    Locked { path: PathBuf, pid: Option<u32> },
    /// A system call on a file failed.
    #[error("cannot {operation} {}: {cause}", path.display())]
    File { operation: &'static str, path: PathBuf, cause: io::Error },
    /// A program could not be run or reported failure.
    #[error("{program} on {} failed: {reason}", path.display())]
    Tool { program: String, path: PathBuf, reason: String },
    /// The file system could not be mounted.
    #[error("cannot mount {} on {}: {cause}", device.display(), point.display())]
    Mount { device: PathBuf, point: PathBuf, cause: io::Error },
    /// The file system is in use.
    #[error("cannot unmount {}: in use by {}", point.display(), crate::holders::named(holders))]
    Busy { point: PathBuf, holders: Vec<Holder> },
    /// The loop device is in use.
    #[error("cannot detach {}: {reason}", device.display())]
    Detach { device: PathBuf, reason: String },
    /// Something of the bed is still there after all was removed.
    #[error("still there after clean-up: {}", crate::place::listed(remains))]
    LeftOver { remains: Vec<PathBuf> },
    /// A limit of zero would stop all I/O forever.
    #[error("cannot limit {target} to nothing")]
    ZeroLimit { target: TargetName },
    /// The kernel keeps operations per second in 32 bits and would cut the number.
    #[error(
        "cannot limit {target} to {operations} operations per second: the most is {}",
        u32::MAX
    )]
    LimitTooLarge { target: TargetName, operations: u64 },
    /// The target cannot be limited.
    #[error("cannot limit {target}: {reason}")]
    NoLimit { target: TargetName, reason: String },
    /// The kernel has a different limit from the one that was set.
    #[error("limit of device {device} in {}: set {wanted}, read back {found}", file.display())]
    LimitNotTaken { device: DeviceNumber, file: PathBuf, wanted: String, found: String },
    /// The bed has limits that cannot be made to hold.
    #[error("cannot run a command under the bed's limits: {reason}")]
    NoLimitedRun { reason: String },
    /// Limits of one bed at a time can hold in a cgroup.
    #[error(
        "limits of one test bed at a time can hold here (cgroup v2), and {} has some too",
        directory.display()
    )]
    SecondBed { directory: PathBuf },
    /// Limits do not hold for the processes of a job.
    #[error("the limits of {} do not hold for this job (cgroup v2)", directory.display())]
    NotForJob { directory: PathBuf },
    /// The state file does not say what is needed.
    #[error("cannot use {}: {reason}", path.display())]
    State { path: PathBuf, reason: String },
    /// The command did not start.
    #[error("cannot start {}: {cause}", shown::name(&program.to_string_lossy()))]
    Start { program: std::ffi::OsString, cause: io::Error },
    /// A bed could not be made, and what was made could not be removed either.
    #[error("{first}; and then cleaning up failed: {second}")]
    CleanUp { first: Box<TestbedError>, second: Box<TestbedError> },
    /// A fact about the host could not be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl TestbedError {
    /// Returns what to do about it, in one line; `None` when the message says it all.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::BedName { .. } => "choose a name like \"default\" or \"bench-2\"",
            Self::Base { .. } => "choose another directory on a disk that you own",
            Self::Untrusted { .. } => {
                "leave out --base, or choose a directory that, as all above it, only you and root can \
                 write to, such as /var/lib/plimsoll"
            }
            Self::NotATarget { .. } | Self::ZeroLimit { .. } | Self::LimitNotTaken { .. } => {
                return None;
            }
            Self::NoSuchTarget { .. } => "list the targets with: plimsoll testbed list",
            Self::Count { .. } | Self::TooSmall { .. } => "choose another number or size",
            Self::Space { .. } => "make fewer or smaller targets, or choose another base directory",
            Self::NoLoop { lacking } => return Some(lacking.remedy.clone()),
            Self::Exists { .. } => "remove it first with: plimsoll testbed down",
            Self::NoBed { .. } => "make one with: plimsoll testbed up",
            Self::NotYours { me: 0, .. } => {
                "remove the bed, if it is one, with plimsoll testbed down, or choose another --base"
            }
            Self::NotYours { owner, .. } => {
                return Some(format!("choose another --base; user {owner} or root can remove it"));
            }
            Self::Foreign { .. } => "move it elsewhere, or choose another --testbed or --base",
            Self::NotABed { .. } => {
                "if it is a copy or the rest of one: umount, losetup -d, and remove it by hand"
            }
            Self::ForeignMount { point, .. } => {
                let point = point.display();
                return Some(format!(
                    "umount {point}, or unmount it lazily with: plimsoll testbed down --force"
                ));
            }
            Self::Locked { pid, .. } => {
                let command = pid.map_or("fuser -v on it".to_owned(), |pid| format!("ps -p {pid}"));
                return Some(format!("see what it is with {command}, end it, and repeat"));
            }
            Self::File { cause, .. } if Refusal::of(cause).is_some() => {
                "see who made it, and choose another --testbed or --base"
            }
            Self::File { cause, .. } | Self::Mount { cause, .. } => return hint_for(cause),
            Self::Tool { .. } => "run as root and check that the program works by hand",
            Self::Busy { .. } => {
                "end these processes, or unmount lazily with: plimsoll testbed down --force"
            }
            Self::Detach { .. } => "see who uses it with: losetup -l and fuser -v, then repeat",
            Self::LeftOver { .. } => "repeat: plimsoll testbed down",
            Self::LimitTooLarge { .. } => "leave the operations unlimited",
            Self::NoLimit { .. } | Self::NoLimitedRun { .. } => {
                "see what limits need with: plimsoll doctor"
            }
            Self::SecondBed { .. } => "targets of one test bed",
            Self::NotForJob { .. } => {
                "have the test bed start it: plimsoll testbed run -- mpirun …"
            }
            Self::State { .. } => "remove the bed with plimsoll testbed down and make it again",
            Self::Start { .. } => "check the command's name and that it is executable",
            Self::CleanUp { .. } => "repeat the clean-up with: plimsoll testbed down",
            Self::Machine(error) => error.hint(),
        };
        Some(text.to_owned())
    }

    /// Returns true if the bed, or what is above it, is somebody else's or could be exchanged by somebody else.
    pub fn is_of_others(&self) -> bool {
        matches!(self, Self::NotYours { .. } | Self::Untrusted { .. })
    }
}

fn named(pid: Option<u32>) -> String {
    pid.map_or("a process that the kernel does not name".to_owned(), |pid| format!("process {pid}"))
}

fn hint_for(cause: &io::Error) -> Option<String> {
    let text = match cause.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or choose a directory of your own",
        io::ErrorKind::StorageFull => "free some space or make smaller targets",
        io::ErrorKind::ReadOnlyFilesystem => "choose a base directory that can be written",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Turns the error of a system call on `path` into one that names the operation.
pub(crate) fn file_error<E: Into<io::Error>>(
    operation: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> TestbedError {
    let path = path.into();
    move |cause| TestbedError::File { operation, path, cause: cause.into() }
}
