//! Unmounting, patiently at first.

use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_machine::Machine;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use crate::TestbedError;
use crate::error::file_error;
use crate::holders::holders_of;

/// Indexers, udev and the like look at file systems for moments only.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// Unmounts what is mounted on `point`. When it stays in use: names the processes,
/// or with `force` takes it out of sight and lets the kernel finish when the last
/// user is gone.
pub(crate) fn unmount_from(
    machine: &Machine,
    point: &Path,
    force: bool,
) -> Result<(), TestbedError> {
    let started = Instant::now();
    loop {
        match unmount(point, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            // Not mounted (any more).
            Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if force => return unmount_lazily(point),
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
pub(crate) fn unmount_lazily(point: &Path) -> Result<(), TestbedError> {
    unmount(point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
        .map_err(file_error("lazily unmount", point))
}
