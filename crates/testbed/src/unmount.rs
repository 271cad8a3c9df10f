//! Unmounts, patiently at first, and never what a link leads to.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_guarded::Directory;
use plimsoll_machine::Machine;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::TestbedError;
use crate::error::file_error;
use crate::holders::holders_of;

/// Indexers, udev and the like look at file systems for moments only.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// Unmounts what is mounted on `point`, somewhere below the bed. When it stays in use: names the
/// processes, or with `force` takes it out of sight and lets the kernel finish when the last
/// user is gone.
pub(crate) fn unmount_from(
    machine: &Machine,
    bed: &Directory,
    point: &Path,
    force: bool,
) -> Result<(), TestbedError> {
    let started = Instant::now();
    loop {
        match unmount_below(bed, point, UnmountFlags::empty()) {
            Ok(()) => return Ok(()),
            // Not mounted (any more).
            Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if force => return unmount_lazily(bed, point),
            Err(Errno::BUSY) if started.elapsed() < PATIENCE => std::thread::sleep(POLL),
            Err(Errno::BUSY) => {
                let holders = holders_of(machine, point);
                return Err(TestbedError::Busy { point: point.to_path_buf(), holders });
            }
            Err(errno) => return Err(file_error("unmount", point)(errno)),
        }
    }
}

/// Takes what is mounted on `point` out of sight; the kernel releases it when its last
/// user is gone.
pub(crate) fn unmount_lazily(bed: &Directory, point: &Path) -> Result<(), TestbedError> {
    unmount_below(bed, point, UnmountFlags::DETACH).map_err(file_error("lazily unmount", point))
}

/// Goes to the point step by step: anyone who may write to a target can replace directories above
/// what is mounted there.
fn unmount_below(bed: &Directory, point: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    let steps = point.strip_prefix(bed.path()).map_err(|_| Errno::INVAL)?;
    let name = steps.file_name().ok_or(Errno::INVAL)?;
    let mut parent = None;
    for step in steps.parent().into_iter().flat_map(Path::iter) {
        parent = Some(parent.as_ref().unwrap_or(bed).child(step).map_err(errno)?);
    }
    let directory: PathBuf = parent.as_ref().unwrap_or(bed).path_by_descriptor();
    unmount(directory.join(name), flags | UnmountFlags::NOFOLLOW)
}

/// What is no directory any more has nothing mounted on it.
fn errno(cause: io::Error) -> Errno {
    Errno::from_io_error(&cause).unwrap_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{MountFlags, mount};
    use std::fs;

    fn is_mounted(point: &Path) -> bool {
        Machine::host().mounts().unwrap().iter().any(|mount| mount.point == point)
    }

    /// Whoever may write to a target exchanges a directory above a mount for a link to another.
    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let real = folder.path().canonicalize().unwrap();
        let (elsewhere, inside) = (real.join("elsewhere/inner"), real.join("bed/t0/inner"));
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(&inside).unwrap();
        std::os::unix::fs::symlink(real.join("elsewhere"), real.join("bed/t0/link")).unwrap();
        for point in [&elsewhere, &inside] {
            if mount("plimsoll-test", point, "tmpfs", MountFlags::empty(), c"size=64k").is_err() {
                println!("SKIPPED: needs root to mount");
                return;
            }
        }
        let bed = Directory::open(&real.join("bed")).unwrap();
        let by_link = unmount_lazily(&bed, &real.join("bed/t0/link/inner"));
        let outside = unmount_lazily(&bed, &elsewhere);
        let stayed = is_mounted(&elsewhere);
        unmount(&elsewhere, UnmountFlags::DETACH).unwrap();
        let found = unmount_from(&Machine::host(), &bed, &inside, false);
        let left = is_mounted(&inside);
        let _ = unmount(&inside, UnmountFlags::DETACH);
        assert!(stayed && by_link.is_err() && outside.is_err(), "{by_link:?} {outside:?}");
        assert!(found.is_ok() && !left, "{found:?}");
    }
}
