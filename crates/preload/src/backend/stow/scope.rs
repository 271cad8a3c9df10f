//! What is served in a program.

use core::ffi::c_int;

/// What is served in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Descriptors and names.
    All,
    /// Standard input, output and error: a program of ours works with the files of containers, but a shell may have redirected what it prints.
    StandardStreams,
}

impl Scope {
    /// Returns whether a descriptor may be served.
    pub fn has(self, fd: c_int) -> bool {
        self == Scope::All || STANDARD.contains(&fd)
    }

    /// Returns whether names are served.
    pub fn has_names(self) -> bool {
        self == Scope::All
    }
}

/// Their descriptors.
pub const STANDARD: [c_int; 3] = [0, 1, 2];
