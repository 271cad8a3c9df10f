//! What a program gets to know when something fails.

use std::io;

use fuser::Errno;
use plimsoll_guarded::Refusal;
use plimsoll_stow::StowError;

/// Returns the number for what the system or a check of ours refused.
pub fn of_system(error: &io::Error) -> Errno {
    if let Some(number) = error.raw_os_error() {
        return Errno::from_i32(number);
    }
    match Refusal::of(error) {
        Some(Refusal::NotADirectory) => Errno::ENOTDIR,
        Some(Refusal::Symlink | Refusal::View) => Errno::ELOOP,
        Some(Refusal::ServedBy { .. } | Refusal::Owner { .. }) => Errno::EACCES,
        _ => Errno::EIO,
    }
}

/// Returns the number for a container that cannot be used.
pub fn of_container(error: &StowError) -> Errno {
    match error {
        // It looks like a container and is none: its bytes cannot be told.
        StowError::NotAContainer { .. } => Errno::EIO,
        error => Errno::from_i32(error.errno().raw_os_error()),
    }
}
