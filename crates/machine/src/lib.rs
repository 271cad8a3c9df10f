//! Facts about the host: what is mounted, which block devices there are, whether
//! the kernel can limit them, which clock it trusts, which MPI is installed; and what
//! follows for targets: which there are ([`Machine::discover`]), whether one can be written to
//! ([`Machine::check_target`]), whether two are one ([`one_directory`], [`Machine::shared_storage`]).
//!
//! A [`Machine`] is a root directory and a program search path. Every fact is read
//! below that root, so a test (or a bug report) can bring a captured tree of
//! `/proc`, `/sys` and `/etc` and get the same answers as on the machine it came
//! from. Parsers take text and never fail on lines they do not know: kernels add
//! fields and lines, and a fact that is missing is better than a program that stops.
//!
//! Deliberately not here: anything that changes the machine (the `testbed` crate
//! does), advice about a command's options (the caller knows them), and printing. Those that do more than read
//! files are [`Machine::find_mpi`], which runs a launcher with `--version`, and those that ask the kernel about a
//! directory: [`Machine::space`], [`Machine::check_target`] and [`differences`].

mod block_control;
mod block_device;
mod brw_sizes;
mod clock;
mod counters;
mod device_below;
mod device_number;
mod disks;
mod error;
mod fuse;
mod kernel;
mod libraries;
mod lustre_client;
mod lustre_counters;
mod lustre_layout;
mod machine;
mod memory;
mod mounts;
mod mpi;
mod mpi_version;
mod network_mounts;
mod one_storage;
mod preflight;
mod preload;
mod pressure;
mod processors;
mod programs;
mod site;
mod space;

pub use block_control::{BlockControl, NoBlockControl, THROTTLE_FILES};
pub use block_device::{BlockDevice, LoopBacking};
pub use brw_sizes::{BrwSizes, parse_brw_sizes};
pub use clock::{ClockSource, TscTrust};
pub use counters::{DiskChange, DiskCounters, parse_block_stat, parse_diskstats};
pub use device_number::{DeviceNumber, DeviceNumberError};
pub use error::MachineError;
pub use fuse::Fuse;
pub use kernel::parse_effective_uid;
pub use libraries::parse_ld_cache;
pub use lustre_client::{LustreFileSystem, LustreTarget};
pub use lustre_counters::LustreCounterFile;
pub use lustre_layout::LustreFiles;
pub use machine::Machine;
pub use memory::{Memory, parse_meminfo};
pub use mounts::{Mount, parse_mountinfo};
pub use mpi::Mpi;
pub use mpi_version::{MpiImplementation, MpiVersion, parse_mpi_version};
pub use one_storage::{OneStorage, one_directory};
pub use plimsoll_lustre::LayoutHead;
pub use preflight::{Need, PreflightError, check_apart, check_place, takes_direct_io};
pub use preload::{
    PRELOAD_LIBRARY, PRELOAD_VARIABLE, PreloadMissing, preload_library, preload_library_near,
};
pub use pressure::{Pressure, parse_pressure};
pub use processors::{ProcessorTime, parse_processor_time};
pub use site::{Difference, Discovered, differences};
pub use space::Space;
