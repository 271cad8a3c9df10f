//! Which mount a file is on, and who serves it.
//!
//! Any user can mount a FUSE file system on a directory of theirs. Its server says of its files what it likes, also
//! that they are root's, and may never answer: who asks it anything waits, and cannot even be killed. So the kernel is
//! asked first, which answers alone, and nothing is looked up in a file system that another user serves.
//!
//! The modules `directory` and `mount` use each other: a directory keeps its mount, and each step from one to the next is
//! checked here.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

pub use plimsoll_trace::VIEW;
use plimsoll_trace::{MountLine, user_outside};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, openat, openat2, statx};
use rustix::io::Errno;

use crate::directory::{HELD, checked};
use crate::{Directory, Refusal, acting_user};

const ROOT: u64 = 0;

static SERVES_VIEW: AtomicBool = AtomicBool::new(false);

/// This program serves a view of a directory (`stow mount`) from now on, and enters none any more, by whatever name: it would wait for itself,
/// or for another one that waits for it, and nobody could end them.
pub fn enter_no_view() {
    SERVES_VIEW.store(true, Ordering::Release);
}

/// The list may change while it is read.
const LOOKS: usize = 3;

/// Returns the number of the mount that an open file is on, without asking its file system; `None` where the kernel
/// does not tell (before Linux 5.8, without /proc).
pub fn mount_of(file: impl AsFd) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    match statx(&file, "", flags, StatxFlags::MNT_ID) {
        Ok(facts) if facts.stx_mask & StatxFlags::MNT_ID.bits() != 0 => Some(facts.stx_mnt_id),
        _ => mount_in_proc(file),
    }
}

/// The same, told by older kernels (proc(5), /proc/self/fdinfo).
fn mount_in_proc(file: impl AsFd) -> Option<u64> {
    let path = format!("/proc/thread-self/fdinfo/{}", file.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Makes sure that no other user serves a mount: it is the kernel's or a server's that root, or this user, mounted.
///
/// # Errors
/// If somebody else does, or if it is in no list of mounts: it was unmounted just now, and its server is still there.
pub fn require_served_by_none_else(mount: u64) -> io::Result<()> {
    let mut verdict = Ok(());
    for _ in 0..LOOKS {
        let Ok(list) = std::fs::read("/proc/thread-self/mountinfo") else { return Ok(()) };
        let mut lines = list.split(|byte| *byte == b'\n').filter_map(MountLine::parse);
        let found = lines.find(|line| line.number == mount);
        verdict = match found.map(|line| (line.server, line.is_view)) {
            Some((Some(user), _)) if !is_trusted(user) => {
                let user = u32::try_from(user).unwrap_or(u32::MAX);
                return Err(Refusal::ServedBy { user }.into());
            }
            Some((_, true)) if SERVES_VIEW.load(Ordering::Acquire) => {
                return Err(Refusal::View.into());
            }
            Some(_) => return Ok(()),
            None => Err(Refusal::Unmounted.into()),
        };
    }
    verdict
}

impl Directory {
    /// Makes sure that what was opened in this directory is on the same mount, or on another one that root or this
    /// user serve: only then may it be asked anything. Returns that mount, if the kernel tells.
    pub(crate) fn require_mount(&self, opened: impl AsFd) -> io::Result<Option<u64>> {
        let mount = mount_of(opened);
        match mount {
            Some(mount) if self.mount != Some(mount) => require_served_by_none_else(mount)?,
            _ => {}
        }
        Ok(mount)
    }

    /// Returns true if both are on one mount.
    pub(crate) fn is_on_mount_of(&self, other: &Self) -> bool {
        self.mount == other.mount
    }

    /// Makes sure that no other user serves it.
    ///
    /// # Errors
    /// If somebody does ([`Refusal::ServedBy`]).
    pub fn require_served_by_none_else(&self) -> io::Result<()> {
        match self.mount.map_or(Ok(()), require_served_by_none_else) {
            // What this process works in, or is shut up in, may be in no list.
            Err(error) if Refusal::of(&error) == Some(Refusal::Unmounted) => Ok(()),
            verdict => verdict,
        }
    }

    /// Returns the directory of that name in this one, if it is of the same file system. What is mounted on it is not
    /// even asked: another user may serve it (FUSE), and never answer.
    ///
    /// # Errors
    /// As [`Directory::child`], or if something is mounted there.
    pub fn child_not_mounted(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        match openat2(self, name, HELD | OFlags::NOFOLLOW, Mode::empty(), resolve) {
            Ok(descriptor) => Ok(Self::opened(descriptor, self.path().join(name))),
            Err(Errno::XDEV) => Err(Refusal::Mounted.into()),
            // Linux before 5.6, and containers that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => {
                let child = self.child(name)?;
                if child.mount == self.mount && child.facts()?.st_dev == self.facts()?.st_dev {
                    Ok(child)
                } else {
                    Err(Refusal::Mounted.into())
                }
            }
            Err(errno) => Err(self.no_child(name, errno)),
        }
    }

    /// Returns the directory that this one is in, if nothing is mounted over that: another user may serve what is (FUSE), and never answer.
    ///
    /// # Errors
    /// If it cannot be held, or if something is mounted there ([`Refusal::Mounted`]).
    pub fn above_not_mounted(&self) -> io::Result<Self> {
        let path = || self.path().join("..");
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        match openat2(self, c"..", HELD, Mode::empty(), resolve) {
            Ok(descriptor) => Ok(Self::opened(descriptor, path())),
            Err(Errno::XDEV) => Err(Refusal::Mounted.into()),
            Err(Errno::NOSYS | Errno::PERM) => {
                let above = openat(self, c"..", HELD, Mode::empty())?;
                match mount_of(&above) == self.mount {
                    true => Ok(Self::opened(above, path())),
                    false => Err(Refusal::Mounted.into()),
                }
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Holds what has that name in this directory, even a link, without opening it, if it is on the same mount: what is mounted there is not asked.
    ///
    /// # Errors
    /// If it is not there, or if something is mounted there.
    pub fn held_not_mounted(&self, name: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
        let held = self.held(checked(name.as_ref())?)?;
        if mount_of(&held) == self.mount { Ok(held) } else { Err(Refusal::Mounted.into()) }
    }
}

/// Returns true for root, and for this user by the number that they have outside of a container: by that inside it, it may be
/// somebody else.
fn is_trusted(user: u64) -> bool {
    let me = u64::from(acting_user());
    let map = std::fs::read("/proc/thread-self/uid_map").unwrap_or_default();
    user == ROOT || user == user_outside(&map, me).unwrap_or(me)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn root_and_oneself_are_trusted_and_nobody_else() {
        assert!(is_trusted(0) && is_trusted(acting_user().into()) && !is_trusted(4_294_967_000));
    }

    #[test]
    fn both_ways_to_ask_for_a_mount_agree() {
        let (root, proc) = (File::open("/").unwrap(), File::open("/proc").unwrap());
        assert_eq!(mount_of(&root), mount_in_proc(&root));
        assert_ne!(mount_of(&root), mount_of(&proc));
        require_served_by_none_else(mount_of(&proc).unwrap()).unwrap();
        let refusal = require_served_by_none_else(u64::MAX).unwrap_err();
        assert_eq!(Refusal::of(&refusal), Some(Refusal::Unmounted));
    }
}
