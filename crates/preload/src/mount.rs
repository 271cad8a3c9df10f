//! Whose file system a directory is on. One that another user serves (FUSE) may never answer: the program would wait
//! for it in our place, and could not even be killed. The kernel is asked, which answers alone.

use core::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::sys;

/// Lines are longer where paths are; what follows is left out.
const LINE_BYTES: usize = 2048;
const ROOT: u64 = 0;

/// The last mount that was found good. What is recorded there keeps it from going away, so that no other gets its number.
static GOOD: AtomicU64 = AtomicU64::new(0);

/// Returns the number of the mount that a directory is on; `None` where the kernel does not tell, and for disks, which no
/// user serves.
pub fn number(directory: &OwnedFd) -> Option<u64> {
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
    let list = rustix::fs::openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty());
    // Nobody else can take it away from this process.
    let Ok(list) = list else { return Ok(()) };
    let me = u64::from(rustix::process::geteuid().as_raw());
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
            if first_number(whole) != Some(mount) {
                continue;
            }
            return match server(whole) {
                Some(user) if user != ROOT && user != me && outside(me) != Some(user) => {
                    Err(Errno::STALE)
                }
                _ => {
                    GOOD.store(mount, Ordering::Relaxed);
                    Ok(())
                }
            };
        }
    }
}

/// Returns the number that a user has outside of a container: lines have the first inside, the same outside, and how
/// many (user_namespaces(7)).
fn outside(user: u64) -> Option<u64> {
    let mut room = [0; 1024];
    sys::read_file(c"/proc/self/uid_map", &mut room).split(|byte| *byte == b'\n').find_map(|line| {
        let fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let mut numbers = fields.map(first_number);
        let (inside, outside, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let distance = user.checked_sub(inside).filter(|distance| *distance < count)?;
        outside.checked_add(distance)
    })
}

/// Returns the user who serves the mount of a line of /proc/self/mountinfo (proc(5)); `None` for the kernel's.
fn server(line: &[u8]) -> Option<u64> {
    // Blanks in names are spelled out there, so this is not part of one.
    let at = line.windows(3).position(|it| it == b" - ")?;
    let mut fields = line.get(at + 3..)?.split(|byte| *byte == b' ');
    let (kind, options) = (fields.next()?, fields.nth(1)?);
    let is_fuse = matches!(kind.split(|byte| *byte == b'.').next(), Some(b"fuse" | b"fuseblk"));
    let user = |option: &[u8]| first_number(option.strip_prefix(b"user_id=")?);
    options.split(|byte| *byte == b',').find_map(user).filter(|_| is_fuse)
}

fn first_number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let number = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(*digit - b'0'));
    text.first()?.is_ascii_digit().then_some(())?;
    digits.into_iter().try_fold(0, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_by_the_list_of_mounts() {
        let of = |line: &str| server(line.as_bytes());
        assert_eq!(of("22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw"), None);
        assert_eq!(
            of("30 22 0:40 / /a\\040-\\040b rw - fuse x,user_id=0 rw,user_id=65533"),
            Some(65533)
        );
        assert_eq!(of("31 22 0:41 / /a rw - fuse.sshfs me@far: rw,user_id=0,group_id=0"), Some(0));
        assert_eq!(of("33 22 0:42 / /a rw - fusectl fusectl rw"), None);
        assert_eq!((first_number(b"30 22"), first_number(b"x")), (Some(30), None));
    }

    #[test]
    fn what_the_kernel_serves_is_good_and_what_is_gone_is_not() {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let proc = rustix::fs::openat(CWD, c"/proc", flags, Mode::empty()).unwrap();
        require_served_by_none_else(number(&proc).unwrap()).unwrap();
        assert!(outside(u64::from(rustix::process::geteuid().as_raw())).is_some());
        assert_eq!(require_served_by_none_else(u64::MAX), Err(Errno::STALE));
    }
}
