//! Containers and logs are their owner's alone until the owner lets others read them; directories are made private by
//! [`plimsoll_guarded::Directory::make_own`].

pub const PRIVATE_FILE: u32 = 0o600;
/// Rights to write of the group, or of a list of users, and of all.
pub const OTHERS_WRITE: u32 = 0o022;
