//! Containers and logs are their owner's alone until the owner lets others read them; directories are made private by
//! [`plimsoll_guarded::Directory::make_own`].

pub const PRIVATE_FILE: u32 = 0o600;
