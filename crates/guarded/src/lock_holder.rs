//! Who holds a lock.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{major, minor};

/// The kernel hands out its list in pieces; what is locked and unlocked meanwhile moves the rest, so that a line may be
/// missed once.
const LOOKS: u32 = 3;

/// Returns the process that locked the file, by the kernel's word. What is written in the file may be a lie that
/// makes root end a process of somebody else.
///
/// Its number is that of this process's own namespace; `None` where the kernel does not tell.
pub fn lock_holder(file: &File) -> Option<u32> {
    let facts = file.metadata().ok()?;
    let look = || holder_in(&fs::read_to_string("/proc/locks").ok()?, facts.dev(), facts.ino());
    (0..LOOKS).find_map(|_| look())
}

/// Lines of a number, FLOCK, ADVISORY, WRITE, a process, MAJOR:MINOR:INODE, a range (proc_locks(5)).
///
/// Some file systems (Btrfs, overlays) tell programs another device than the kernel's list has. Where no line has the
/// file's device, a number that only one process has locked is believed.
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let held = || {
        locks.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, "FLOCK", _, _, pid, place, ..] = words[..] else { return None };
            let (of_device, of_inode) = place.rsplit_once(':')?;
            let is_it = of_inode.parse() == Ok(inode);
            Some((of_device, pid.parse().ok().filter(|_| is_it)?))
        })
    };
    let here = format!("{:02x}:{:02x}", major(device), minor(device));
    if let Some((_, pid)) = held().find(|(device, _)| *device == here) {
        return Some(pid);
    }
    // The same number in two file systems tells nothing.
    let (_, pid) = held().next()?;
    held().all(|(_, other)| other == pid).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_who_holds_a_lock() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fe:00:12 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 8 fe:00:12 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 fe:00:12 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 10 fe:00:13 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 11 fe:01:13 0 EOF\n";
        let elsewhere = rustix::fs::makedev(0, 47);
        let in_list = |device, inode| holder_in(locks, device, inode);
        assert_eq!(in_list(elsewhere, 12), Some(8), "only one has this number");
        assert_eq!((in_list(elsewhere, 13), in_list(elsewhere, 14)), (None, None));
        assert_eq!(in_list(rustix::fs::makedev(0xfe, 0), 13), Some(10));
        assert_eq!(in_list(rustix::fs::makedev(0xfe, 1), 13), Some(11));
        let file = tempfile::tempfile().unwrap();
        file.lock().unwrap();
        assert_eq!(lock_holder(&file), Some(std::process::id()));
    }
}
