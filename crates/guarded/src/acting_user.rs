//! The user with whose rights this thread works on files.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups};

/// Returns the user to whom new files belong and whose rights decide what may be opened. That is the effective
/// user, unless this thread took another one's place for files only ([`act_as`]).
pub fn acting_user() -> u32 {
    // SAFETY: no user has this number, so nothing changes, and the call only returns the one in force.
    let user = unsafe { libc::setfsuid(u32::MAX) };
    user.cast_unsigned()
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
    if (acting_user(), acting_group) == (user, group) {
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
}
