//! What is to be recorded, from the environment, decided once per program.

use core::cell::UnsafeCell;
use core::iter;
use core::sync::atomic::{AtomicU32, Ordering};

use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Layer, variables};

use crate::hot::{ANY_LAYER, bit};
use crate::text::{PATH_BYTES, Text};
use crate::{by_hand, sys};

/// What does not change while the program runs. Copied: the program may change its environment.
pub struct Config {
    /// Where recordings are collected, absolute.
    pub directory: Text<PATH_BYTES>,
    /// Where the file grows, absolute; the same directory when no spool is used.
    pub spool: Text<PATH_BYTES>,
    /// By which the recording is known; empty when nobody said.
    pub id: Text<64>,
    /// Only files that match one of these globs; empty: all.
    pub include: Text<4096>,
    /// No files that match one of these globs.
    pub exclude: Text<4096>,
    /// The scheduler's job.
    pub job: Text<128>,
    /// Others may read what is recorded.
    pub is_shared: bool,
    /// The user's name.
    pub user: Text<64>,
    /// When the program, or the one that forked it, was loaded: before any recorded call.
    pub loaded: Anchor,
}

struct ConfigCell(UnsafeCell<Config>);

// SAFETY: written once, by the thread that decides, before the mode says that it was.
unsafe impl Sync for ConfigCell {}

static CONFIG: ConfigCell = ConfigCell(UnsafeCell::new(Config {
    directory: Text::new(),
    spool: Text::new(),
    id: Text::new(),
    include: Text::new(),
    exclude: Text::new(),
    job: Text::new(),
    is_shared: false,
    user: Text::new(),
    loaded: Anchor { ticks: 0, monotonic_ns: 0, realtime_ns: 0 },
}));

/// The program restricts the system calls that it may make, for itself and for what it forks.
static SANDBOXED: AtomicU32 = AtomicU32::new(0);

/// Notes that from now on a system call that the program does not expect may end it.
pub fn enter_sandbox() {
    SANDBOXED.store(1, Ordering::Relaxed);
}

/// Returns true when what can be left undone should be.
pub fn is_sandboxed() -> bool {
    SANDBOXED.load(Ordering::Relaxed) != 0
}

/// Returns the configuration. Only meaningful when something is recorded.
pub fn get() -> &'static Config {
    // SAFETY: not written any more once the mode has a layer.
    unsafe { &*CONFIG.0.get() }
}

/// Reads the environment. Returns the bits of the layers that are to be recorded; 0 without a directory, and in a program that has rights
/// which whoever made the environment may not have (set-user-ID): the linker loads the library there only if the
/// system's administrator says so.
///
/// # Safety
/// Only the one that decides calls it, once, and nobody reads the configuration before that.
pub unsafe fn read() -> u32 {
    match sys::variable(variables::RECORD_DIR) {
        Some(directory) if !directory.is_empty() && !sys::is_secure() => {
            // SAFETY: as the caller says.
            read_into(unsafe { &mut *CONFIG.0.get() }, directory)
        }
        _ => 0,
    }
}

/// Keeps when the program was loaded.
///
/// # Safety
/// As [`read`].
pub unsafe fn set_loaded(now: Anchor) {
    // SAFETY: as the caller says.
    unsafe { (*CONFIG.0.get()).loaded = now };
}

fn read_into(config: &mut Config, directory: &[u8]) -> u32 {
    config.directory.set_absolute(directory);
    match sys::variable(variables::SPOOL) {
        Some(spool) if !spool.is_empty() => config.spool.set_absolute(spool),
        _ => config.spool.set_absolute(directory),
    }
    config.id.set(sys::variable(variables::RECORDING_ID).unwrap_or(b""));
    config.include.set(sys::variable(variables::INCLUDE).unwrap_or(b""));
    config.exclude.set(sys::variable(variables::EXCLUDE).unwrap_or(b""));
    let mut jobs = iter::once(variables::JOB).chain(variables::BATCH_JOBS);
    let job = jobs.find_map(sys::variable);
    config.job.set(job.unwrap_or(b""));
    config.is_shared = variables::is_on(sys::variable(variables::SHARE));
    // SAFETY: we are the one that decides.
    let can_record = || unsafe { by_hand::prepare(&config.directory, config.is_shared) };
    if config.id.as_bytes().is_empty() && !can_record() {
        return 0;
    }
    // Asking the system's database would call into libraries that the program has not asked for.
    let user = variables::USERS.into_iter().find_map(sys::variable);
    config.user.set(user.unwrap_or(b""));
    match sys::variable(variables::LAYERS) {
        Some(list) if !list.is_empty() => layers_of(list),
        _ => ANY_LAYER,
    }
}

fn layers_of(list: &[u8]) -> u32 {
    list.split(|byte| *byte == b',').fold(0, |layers, name| {
        let named = Layer::ALL.into_iter().filter(|layer| layer.name().as_bytes() == name);
        layers | named.fold(0, |bits, layer| bits | bit(layer))
    })
}
