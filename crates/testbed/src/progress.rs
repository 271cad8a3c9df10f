//! What `up` is doing, for the caller to show.

use plimsoll_domain::Bytes;

use crate::TargetName;

/// One step of [`crate::Testbed::up`], told before the step begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The target that is being made.
    pub target: TargetName,
    /// How many targets there will be.
    pub targets: u32,
    /// What is done with it.
    pub step: Step,
}

/// What is done with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The backing file is being written; told again and again.
    Writing {
        /// How much is written.
        written: Bytes,
        /// How much will be.
        total: Bytes,
    },
    /// A loop device is being put on the backing file.
    Attaching,
    /// The file system is being made.
    Formatting,
    /// The file system is being mounted.
    Mounting,
    /// The target is ready.
    Ready,
}
