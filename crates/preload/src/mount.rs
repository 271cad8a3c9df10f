//! Whose file system a directory is on. One that another user serves (FUSE) may never answer: the program would wait
//! for it in our place, and could not even be killed. The kernel is asked, which answers alone.

use core::sync::atomic::{AtomicU64, Ordering};

use plimsoll_trace::{MountLine, user_outside};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::open_file::{self, OwnFile};
use crate::sys;

/// Lines are longer where paths are; of one that is cut off before it says who serves, nobody can tell.
const LINE_BYTES: usize = 2048;
const ROOT: u64 = 0;

/// The last mount that was found good. What is recorded there keeps it from going away, so that no other gets its number.
static GOOD: AtomicU64 = AtomicU64::new(0);

/// Returns the number of the mount that a directory is on; `None` where the kernel does not tell, and for disks, which no
/// user serves.
pub fn number(directory: &OwnFile) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let facts = rustix::fs::statx(directory, c"", flags, StatxFlags::MNT_ID).ok()?;
    let is_told = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    (is_told && facts.stx_dev_major == 0).then_some(facts.stx_mnt_id)
}

/// Makes sure that no other user serves a mount. Fails if somebody does, or if it is in no list of mounts any more.
pub fn require_served_by_none_else(mount: u64) -> Result<(), Errno> {
    if GOOD.load(Ordering::Relaxed) == mount {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let list = open_file::openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty());
    // Nobody else can take it away from this process.
    let Ok(list) = list else { return Ok(()) };
    let (mut line, mut length, mut room) = ([0; LINE_BYTES], 0, [0; 1024]);
    loop {
        let read = rustix::io::read(&list, &mut room)?;
        if read == 0 {
            return Err(Errno::STALE);
        }
        for byte in room.get(..read).unwrap_or(&[]) {
            if *byte != b'\n' {
                if let Some(place) = line.get_mut(length) {
                    *place = *byte;
                    length += 1;
                }
                continue;
            }
            let whole = line.get(..length).unwrap_or(&[]);
            length = 0;
            let Some(found) = MountLine::parse(whole).filter(|it| it.number == mount) else {
                continue;
            };
            if found.server.is_some_and(|user| !is_trusted(user)) {
                return Err(Errno::STALE);
            }
            GOOD.store(mount, Ordering::Relaxed);
            return Ok(());
        }
    }
}

/// Returns true for root, and for this user by the number that they have outside of a container: by that inside it, it may be
/// somebody else.
fn is_trusted(user: u64) -> bool {
    let me = u64::from(rustix::process::geteuid().as_raw());
    let mut room = [0; 1024];
    let map = sys::read_file(c"/proc/self/uid_map", &mut room);
    user == ROOT || user == user_outside(map, me).unwrap_or(me)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_serves_is_good_and_what_is_gone_is_not() {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let proc = open_file::openat(CWD, c"/proc", flags, Mode::empty()).unwrap();
        require_served_by_none_else(number(&proc).unwrap()).unwrap();
        assert!(is_trusted(0) && !is_trusted(u64::MAX));
        assert_eq!(require_served_by_none_else(u64::MAX), Err(Errno::STALE));
    }
}
