//! Where events are buffered while the program runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use plimsoll_machine::Machine;

/// File systems on other machines: a mapping there is slow, and the load would disturb what is
/// measured.
const REMOTE: [&str; 12] = [
    "lustre",
    "nfs",
    "nfs4",
    "gpfs",
    "beegfs",
    "cifs",
    "smb3",
    "ceph",
    "fuse.sshfs",
    "afs",
    "orangefs",
    "glusterfs",
];

/// What a spool should hold at least; /dev/shm in a container is often 64 MiB.
const BYTES_MIN: u64 = 1 << 30;

/// The directory to buffer in: the one said; the recording itself where it is local; else a
/// place on this node with room, on a disk rather than in memory.
pub fn choose(directory: &Path, said: Option<&Path>, machine: &Machine) -> Result<PathBuf> {
    if let Some(said) = said {
        std::fs::create_dir_all(said)
            .with_context(|| format!("cannot create the spool {}", said.display()))?;
        return Ok(std::fs::canonicalize(said)?);
    }
    // A `record` around this one has chosen already.
    if let Some(inherited) = std::env::var_os("PLIMSOLL_SPOOL").filter(|it| !it.is_empty()) {
        return Ok(PathBuf::from(inherited));
    }
    let is_remote = machine.space(directory).is_ok_and(|it| REMOTE.contains(&it.fs_type.as_str()));
    if !is_remote {
        return Ok(directory.to_path_buf());
    }
    let place = candidates().into_iter().find(|place| has_room(machine, place));
    let Some(place) = place else { return Ok(directory.to_path_buf()) };
    let spool = place.join(spool_name(directory));
    std::fs::create_dir_all(&spool)
        .with_context(|| format!("cannot create the spool {}", spool.display()))?;
    Ok(spool)
}

/// Where spools of this recording may be on this node.
pub fn possible(directory: &Path) -> Vec<PathBuf> {
    candidates().into_iter().map(|place| place.join(spool_name(directory))).collect()
}

/// Disks first: what is in memory is taken from the program that is measured.
fn candidates() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        std::env::var_os("TMPDIR").map(PathBuf::from).into_iter().collect();
    places.extend(["/var/tmp", "/tmp", "/dev/shm"].map(PathBuf::from));
    places
}

fn has_room(machine: &Machine, place: &Path) -> bool {
    machine.space(place).is_ok_and(|space| {
        let is_local = !REMOTE.contains(&space.fs_type.as_str());
        is_local && space.available.get() >= BYTES_MIN
    })
}

/// One name for one recording on every node: the user and a number made from the path.
fn spool_name(directory: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    // FNV-1a, 64 bits: stable over versions, which the standard library's hash is not.
    let number =
        directory.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("plimsoll-spool-{}-{number:016x}", rustix::process::getuid().as_raw())
}
