//! The user with whose rights this thread works on files.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups};

/// Returns the user to whom new files belong and whose rights decide what may be opened. That is the effective
/// user, unless this thread took another one's place for files only ([`act_as`]).
///
/// Where the kernel gives the number of this user to others' files as well, it is `NOBODY`, so that no file counts as one's own: in a user namespace, all
/// users that are not known there have one number, and this one may be among them.
pub fn acting_user() -> u32 {
    let user = user_in_force();
    if user == number_of_unknown_users() && !knows_all_users() { NOBODY } else { user }
}

/// The number that no user has.
pub(crate) const NOBODY: u32 = u32::MAX;

fn user_in_force() -> u32 {
    // SAFETY: no user has this number, so nothing changes, and the call only returns the one in force.
    // By its number: `fakeroot` stands in for the function, and tells another user.
    let user = unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
    user as u32
}

/// Returns the number that users have who are not known in a namespace. The kernel has one for all.
fn number_of_unknown_users() -> u32 {
    /// include/linux/highuid.h, DEFAULT_OVERFLOWUID
    const USUAL: u32 = 65534;
    static NUMBER: AtomicU32 = AtomicU32::new(NOBODY);
    let known = NUMBER.load(Ordering::Relaxed);
    if known != NOBODY {
        return known;
    }
    let mut room = [0; 64];
    let told = start_of(c"/proc/sys/kernel/overflowuid", &mut room);
    let number = told.and_then(|it| it.trim().parse().ok()).unwrap_or(USUAL);
    NUMBER.store(number, Ordering::Relaxed);
    number
}

/// Returns whether every user has a number of their own here, as outside of all namespaces.
fn knows_all_users() -> bool {
    let mut room = [0; 64];
    start_of(c"/proc/self/uid_map", &mut room).is_some_and(maps_all)
}

/// user_namespaces(7): first number inside, first outside, how many.
fn maps_all(map: &str) -> bool {
    map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// Returns the beginning of a file of the kernel's. Without the C library, as this is also asked inside of its calls.
fn start_of<'a>(path: &CStr, room: &'a mut [u8]) -> Option<&'a str> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let length = rustix::io::read(&file, &mut *room).ok()?;
    str::from_utf8(room.get(..length)?).ok()
}

/// Works on files as that user and group from now on, in this thread only and with no other rights. To everybody
/// else the thread stays what it was: a user whose rights are taken like this can neither stop nor end it, as
/// with setresuid(2). Programs that it starts would be the effective user's again: it must start none.
///
/// # Errors
/// If this thread may not do that.
pub fn act_as(user: u32, group: u32) -> io::Result<()> {
    set_thread_groups(&[])?;
    // SAFETY: both take numbers, and change what the kernel keeps for this thread.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
    // Those that were not about files are left, and would mount, unmount and write everywhere.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // The calls themselves tell no failure. Without rights, asking for a group changes nothing either.
    // SAFETY: as above.
    let acting_group = unsafe { libc::setfsgid(u32::MAX) }.cast_unsigned();
    if (user_in_force(), acting_group) == (user, group) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_changes_nothing() {
        let expected = rustix::process::geteuid().as_raw();
        assert_eq!((acting_user(), acting_user()), (expected, expected));
    }

    #[test]
    fn only_the_first_namespace_knows_all_users() {
        assert!(maps_all("         0          0 4294967295\n"));
        for map in ["", "0 1000 1\n", "0 0 65536\n", "0 0 4294967295\n1 1 1\n"] {
            assert!(!maps_all(map), "{map}");
        }
    }
}
