//! Which numbers the descriptors of this process get.
//!
//! A library inside of other people's programs must not take the low numbers, which programs count on. So its host may say once what
//! becomes of each descriptor that is opened here to be kept.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

static MOVE: OnceLock<fn(OwnedFd) -> OwnedFd> = OnceLock::new();

/// Has every directory and file that is opened here from now on pass through a function, which may return a copy with another number. The
/// first one that is given counts.
pub fn move_descriptors(by: fn(OwnedFd) -> OwnedFd) {
    let _ = MOVE.set(by);
}

/// Returns a new descriptor as the host wants it.
pub(crate) fn moved(descriptor: OwnedFd) -> OwnedFd {
    match MOVE.get() {
        Some(by) => by(descriptor),
        None => descriptor,
    }
}
