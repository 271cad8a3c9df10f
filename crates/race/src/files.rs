//! The files of a writer: made before the race, durable at its end.

use std::fs::File;
use std::io;
use std::path::Path;

use plimsoll_guarded::WorkingDirectory;
use plimsoll_wire::clock::monotonic;
use rustix::fs::OFlags;

use crate::order::Preparation;
use crate::stamp::padded;

/// Nobody else has to do with the files.
pub(crate) const MODE: u32 = 0o600;

/// A sparse file as long as it can get: writes that make a file longer come one at a time.
pub(crate) fn create(
    working: &WorkingDirectory,
    preparation: &Preparation,
    flags: OFlags,
) -> io::Result<File> {
    let failed = |error| about("create", &working.path().join(&preparation.file), error);
    let flags = OFlags::WRONLY | flags;
    let file = working.directory().create(&preparation.file, flags, MODE).map_err(failed)?;
    let whole = padded(preparation.block_bytes).saturating_mul(u64::from(preparation.blocks));
    // Twice, as every write may be tried a second time.
    file.set_len(whole.saturating_mul(2)).map_err(failed)?;
    Ok(file)
}

/// All files at once: a slow target must not keep the others from being made durable.
pub(crate) fn make_durable(files: &[&File]) -> io::Result<Vec<u64>> {
    std::thread::scope(|scope| {
        let sync = |file: &'_ File| {
            file.sync_data()?;
            Ok(monotonic())
        };
        let begin = |file| scope.spawn(move || sync(file));
        let threads: Vec<_> = files.iter().copied().map(begin).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|it| it.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))).collect()
    })
}

/// Says what could not be done to what.
pub(crate) fn about(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}
