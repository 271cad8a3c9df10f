//! Bursts and places to try them.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern};
use plimsoll_engine::{Burst, EngineError, Finished, Prepared, Source};

/// A directory on a disk as a rule, in contrast to `/tmp`.
pub const DISK: &str = "/var/tmp";
pub const MEMORY: &str = "/dev/shm";

pub fn directory_in(place: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix("plimsoll-test-").tempdir_in(place).unwrap()
}

/// 1 MiB in transfers of 16 KiB through the cache, verified.
pub fn burst(paths: &[PathBuf]) -> Burst {
    Burst {
        operation: Operation::Write,
        paths: paths.to_vec(),
        chunk: Bytes::new(64 << 10),
        offset: Bytes::new(0),
        bytes: Bytes::new(1 << 20),
        span: None,
        transfer: Bytes::new(16 << 10),
        pattern: Pattern::Sequential,
        caching: Caching::Synced,
        engine: Engine::Synchronous,
        depth: 1,
        seed: 11,
        verify: true,
        stripe: None,
    }
}

/// The same burst with a queue.
pub fn queued(burst: &Burst, depth: u32) -> Burst {
    Burst { engine: Engine::Uring, depth, ..burst.clone() }
}

pub fn reading(burst: &Burst) -> Burst {
    Burst { operation: Operation::Read, ..burst.clone() }
}

pub fn run(burst: &Burst) -> Result<Finished, EngineError> {
    let mut prepared = Prepared::open(burst, Source::Paths)?;
    prepared.transfer()?;
    prepared.finish()
}

/// The error, and its hint.
#[track_caller]
pub fn failure(burst: &Burst) -> (String, String) {
    let error = run(burst).expect_err("it worked");
    (error.to_string(), error.hint().unwrap_or_default())
}

/// False, and says so, where there is no io_uring.
pub fn has_uring(directory: &Path) -> bool {
    let opened = Prepared::open(&queued(&burst(&[directory.join("try")]), 1), Source::Paths);
    let can = !matches!(opened, Err(EngineError::NoUring { .. }));
    if !can {
        println!("SKIPPED: needs io_uring");
    }
    let _ = fs::remove_file(directory.join("try"));
    can
}

/// Overwrites some bytes.
pub fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    File::options().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}
