//! Loop devices: attaching them to backing files and detaching them.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_machine::{BlockDevice, Machine};

use crate::TestbedError;
use crate::lock::Lock;
use crate::tool::run_tool;

/// The kernel lets go of a device when its last user closes it; udev and the like
/// look at devices for moments only.
const DETACH_PATIENCE: Duration = Duration::from_secs(10);
const FORCED_PATIENCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);

/// Puts a loop device on the backing file, with direct I/O where the file system
/// below can do it; whether it does is in the result.
pub(crate) fn attach(
    machine: &Machine,
    lock: &Lock,
    image: &Path,
) -> Result<BlockDevice, TestbedError> {
    let losetup = |direct: &[&str]| {
        let mut arguments: Vec<&OsStr> = ["--find", "--show"].map(OsStr::new).to_vec();
        arguments.extend(direct.iter().map(OsStr::new));
        arguments.push(image.as_os_str());
        run_tool(machine, Some(lock), "losetup", &arguments, image)
    };
    // Kernels that cannot do direct I/O on the file either refuse or ignore the wish.
    if let Err(refused) = losetup(&["--direct-io=on"]) {
        // losetup may fail after it attached: a second device would be too many.
        detach_all(machine, lock, image)?;
        losetup(&[]).map_err(|_| refused)?;
    }
    devices_on(machine, image)?.pop().ok_or_else(|| TestbedError::Tool {
        program: "losetup".to_owned(),
        path: image.to_path_buf(),
        reason: "it reported success, but no loop device has this file".to_owned(),
    })
}

fn detach_all(machine: &Machine, lock: &Lock, image: &Path) -> Result<(), TestbedError> {
    for device in devices_on(machine, image)? {
        detach(machine, Some(lock), &device)?;
        wait_until_released(machine, &device, false)?;
    }
    Ok(())
}

fn devices_on(machine: &Machine, image: &Path) -> Result<Vec<BlockDevice>, TestbedError> {
    let mut devices = machine.block_devices()?;
    devices.retain(|device| {
        device.backing.as_ref().is_some_and(|backing| backing.file == image && !backing.deleted)
    });
    Ok(devices)
}

/// Asks the kernel to release the device. It does so at once, or when the last user
/// closes it (loop_clr_fd in drivers/block/loop.c); see [`wait_until_released`].
pub(crate) fn detach(
    machine: &Machine,
    lock: Option<&Lock>,
    device: &BlockDevice,
) -> Result<(), TestbedError> {
    if !is_attached(machine, device)? {
        return Ok(());
    }
    let path = device.path();
    let outcome =
        run_tool(machine, lock, "losetup", &[OsStr::new("--detach"), path.as_os_str()], &path);
    match outcome {
        // It was released in between.
        Err(_) if !is_attached(machine, device)? => Ok(()),
        other => other.map(drop),
    }
}

/// Waits until the device has let go of its file; with `force` for a moment only, as
/// then it is expected to stay in use.
pub(crate) fn wait_until_released(
    machine: &Machine,
    device: &BlockDevice,
    force: bool,
) -> Result<(), TestbedError> {
    let patience = if force { FORCED_PATIENCE } else { DETACH_PATIENCE };
    let started = Instant::now();
    while is_attached(machine, device)? {
        if started.elapsed() > patience {
            return Err(still_in_use(machine, device));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Returns true while the device has the file that it had when it was looked at first.
pub(crate) fn is_attached(machine: &Machine, device: &BlockDevice) -> Result<bool, TestbedError> {
    let file = |device: &BlockDevice| device.backing.as_ref().map(|backing| backing.file.clone());
    let now = machine.block_devices()?.into_iter().find(|now| now.number == device.number);
    Ok(now.is_some_and(|now| now.backing.is_some() && file(&now) == file(device)))
}

fn still_in_use(machine: &Machine, device: &BlockDevice) -> TestbedError {
    let mounted_at = machine
        .block_devices()
        .ok()
        .and_then(|devices| devices.into_iter().find(|now| now.number == device.number))
        .map(|now| now.mounted_at)
        .unwrap_or_default();
    let reason = if mounted_at.is_empty() {
        "something still has it open".to_owned()
    } else {
        format!("it is mounted on {}", crate::place::listed(&mounted_at))
    };
    TestbedError::Detach { device: device.path(), reason }
}
