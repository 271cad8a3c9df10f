//! Who holds a lock.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// Returns the process that locked the file, by the kernel's word. What is written in the file may be a lie that
/// makes root end a process of somebody else.
pub(crate) fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino();
    holder_in(&fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Lines of a number, FLOCK, ADVISORY, WRITE, a process, MAJOR:MINOR:INODE, a range (proc_locks(5)).
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    let mut pids = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words[..] else { return None };
        let is_it = place.rsplit(':').next()?.parse() == Ok(inode);
        pid.parse().ok().filter(|_| is_it)
    });
    // The same number in two file systems tells nothing.
    let pid = pids.next()?;
    pids.all(|other| other == pid).then_some(pid)
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
        assert_eq!(holder_in(locks, 12), Some(8));
        assert_eq!((holder_in(locks, 13), holder_in(locks, 14)), (None, None));
        let file = tempfile::tempfile().unwrap();
        file.lock().unwrap();
        assert_eq!(holder(&file), Some(std::process::id()));
    }
}
