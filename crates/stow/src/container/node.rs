//! What a node is known by.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_guarded::{Directory, read_small};

use super::halves::halves_of;
use crate::Id;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Returns what this node is known by: processes with the same one share the memory of files in this directory. It changes when
/// the machine is started again, and between two mounts of one network file system.
pub(crate) fn node_of(directory: &Directory) -> io::Result<Id> {
    node_on(directory.facts()?.st_dev)
}

pub(super) fn node_on(device: u64) -> io::Result<Id> {
    let boot = u128::from_be_bytes(boot_id()?.bytes());
    Ok(Id::from_bytes((boot ^ u128::from(device)).to_be_bytes()))
}

/// Returns what the kernel is known by since it was started: asked once, as it stays.
pub(crate) fn boot_id() -> io::Result<Id> {
    static KNOWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    // Two threads store the same.
    let known = KNOWN.each_ref().map(|it| it.load(Ordering::Acquire));
    if known.iter().all(|it| *it != 0) {
        return Ok(Id::from_bytes(
            (u128::from(known[0]) << 64 | u128::from(known[1])).to_be_bytes(),
        ));
    }
    let text = read_small(Path::new(BOOT_ID))?;
    let digits: String = text.trim().chars().filter(|it| *it != '-').collect();
    let boot = Id::parse(&digits).ok_or_else(|| io::Error::other("the kernel has no boot id"))?;
    for (known, half) in KNOWN.iter().zip(halves_of(boot)) {
        known.store(half.into_inner(), Ordering::Release);
    }
    Ok(boot)
}
