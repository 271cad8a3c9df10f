//! Containers and logs are their owner's alone: whoever can read a file can lock it, and so keep its writers waiting.

pub const PRIVATE_DIRECTORY: u32 = 0o700;
pub const PRIVATE_FILE: u32 = 0o600;
