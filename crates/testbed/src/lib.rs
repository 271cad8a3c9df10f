//! Several real storage targets on one machine, to try Plimsoll on a laptop and to
//! test it on real block devices.
//!
//! A [`Testbed`] is a directory. Each of its targets `t0`, `t1`, … is a file
//! `t0.img`, a loop device on it, and a file system mounted on `t0/`. The file is
//! written in full before use, so that a target never allocates space in the file
//! system below and targets do not share that file system's journal. Where loop
//! devices are not available, targets are plain directories, and [`Bed::lacking`] says
//! what is missing and what would provide it.
//!
//! The kernel is asked what exists; the state file only adds what the kernel cannot
//! know. So [`Testbed::down`] cleans up after a process that was killed at any
//! moment, with the state file missing, damaged or written by a newer version. A
//! marker, written first and removed last, says that a directory is a bed, which one
//! and how large; `down` removes what it covers and nothing else.
//!
//! Deliberately not here: printing and parsing of commands (the program does), and
//! anything that measures. Facts about the host come from the `machine` crate.

mod backing_file;
mod base_directory;
mod bed_directory;
mod direction;
mod down;
mod error;
mod file_system;
mod holders;
mod io_max;
mod limited;
mod limits;
mod list;
mod lock;
mod loop_device;
mod marker;
mod options;
mod owner;
mod place;
mod progress;
mod run;
mod scan;
mod shown;
mod state_file;
mod support;
mod synced_file;
mod target_name;
mod testbed;
mod throttle;
mod tool;
mod unmount;
mod up;

pub use direction::{Direction, Limits};
pub use down::{DownOptions, Removed};
pub use error::TestbedError;
pub use holders::Holder;
pub use limited::{KnownLimits, check_limits_of_job, enter_limits};
pub use limits::{Effect, LimitOutcome};
pub use list::{Listing, TargetDevice, TargetInfo, TargetState};
pub use lock::Waiting;
pub use options::{FileSystem, Kind, KindChoice, MAX_TARGETS, UpOptions};
pub use progress::{Progress, Step};
pub use run::{TARGETS_VARIABLE, TESTBED_VARIABLE, UnderLimits};
pub use state_file::FileCondition;
pub use support::{Feature, Lacking};
pub use target_name::TargetName;
pub use testbed::{DEFAULT_NAME, Testbed};
pub use up::Bed;
