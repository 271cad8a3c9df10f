//! Files of a directory of results: their names, how they are replaced and checked.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use plimsoll_guarded::{Directory, Draft, Readers, open_by_own_links, read_at_most};
use rustix::fs::OFlags;

use crate::MeasuresError;

/// What was asked for.
pub const PLAN: &str = "plan.toml";
/// The machine and the program.
pub const ENVIRONMENT: &str = "environment.json";
/// One line for each instance.
pub const JOURNAL: &str = "journal.ndjson";
/// One row for each pair.
pub const PAIRS: &str = "pairs.parquet";
/// One row for each instance.
pub const INSTANCES: &str = "instances.parquet";
/// What came of it.
pub const SUMMARY: &str = "summary.json";

/// All of them.
pub const FILES: [&str; 6] = [PLAN, ENVIRONMENT, JOURNAL, PAIRS, INSTANCES, SUMMARY];

/// No text file of a directory is larger: a plan or an environment has kilobytes.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Nobody else may write to what is kept, whatever the umask.
const DIRECTORY_MODE: u32 = 0o755;
const PRIVATE_DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o644;
const PRIVATE_FILE_MODE: u32 = 0o600;

/// Makes a directory to keep results in, unless it is there, and opens it. If not everyone may read what goes into it, a new one
/// is private.
pub(crate) fn make_own_directory(
    path: &Path,
    readers: Readers,
) -> Result<Directory, MeasuresError> {
    let is_private = readers != Readers::Everyone;
    let mode = if is_private { PRIVATE_DIRECTORY_MODE } else { DIRECTORY_MODE };
    let made = Directory::make_by_own_links(path, mode);
    require_own(made.map_err(|error| MeasuresError::io("create", path, error))?)
}

/// Opens a directory to keep results in. It must be one that nobody else can put something into: what
/// is written would go elsewhere by links of theirs.
pub(crate) fn open_own_directory(path: &Path) -> Result<Directory, MeasuresError> {
    let opened = Directory::open_by_own_links(path);
    require_own(opened.map_err(|it| MeasuresError::io("open", path, it))?)
}

fn require_own(directory: Directory) -> Result<Directory, MeasuresError> {
    match directory.require_own() {
        Ok(()) => Ok(directory),
        Err(cause) => Err(MeasuresError::NotOwn { directory: directory.path().to_owned(), cause }),
    }
}

/// Returns the mode of files for these readers: a directory that was there may be everybody's to read.
pub(crate) fn mode_for(readers: Readers) -> u32 {
    if readers == Readers::Everyone { FILE_MODE } else { PRIVATE_FILE_MODE }
}

/// Returns the mode of files that are written beside the plan, which tells names and paths as they do: nobody may read them who
/// may not read the plan.
pub(crate) fn mode_beside_plan(directory: &Directory) -> u32 {
    let plan = directory.open_file(PLAN, OFlags::RDONLY);
    mode_for(plan.map_or(Readers::OwnerAlone, Readers::of))
}

/// Writes a file that must not be there yet.
pub(crate) fn create(
    directory: &Directory,
    name: &str,
    mode: u32,
    text: &[u8],
) -> Result<(), MeasuresError> {
    let result = directory.create(name, OFlags::WRONLY, mode).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    result.map_err(|error| MeasuresError::io("create", &directory.path().join(name), error))
}

/// Replaces a file, so that readers find either the old or the new one.
pub(crate) fn replace(directory: &Directory, name: &str, text: &[u8]) -> Result<(), MeasuresError> {
    let draft = Draft::create(directory, name, mode_beside_plan(directory));
    let mut draft =
        draft.map_err(|error| MeasuresError::io("create", &directory.path().join(name), error))?;
    let written = draft.write_all(text).and_then(|()| draft.sync());
    written.map_err(|error| MeasuresError::io("write", &draft.path(), error))?;
    publish(draft)
}

/// Gives a whole file its name.
pub(crate) fn publish(draft: Draft<&Directory>) -> Result<(), MeasuresError> {
    let path = draft.path();
    draft.publish().map_err(|error| MeasuresError::io("rename", &path, error))
}

/// Makes names durable. Some file systems cannot, and lose nothing by it but the guarantee.
pub(crate) fn sync_directory(directory: &Directory) {
    let _ = directory.sync();
}

/// What holds two writers of one directory apart, until the experiment is brought to an end.
const LOCK: &str = ".lock";
const LOCK_MODE: u32 = 0o600;

/// Opens the file to lock, which only its owner can open.
pub(crate) fn open_lock(directory: &Directory) -> Result<File, MeasuresError> {
    let created = directory.create(LOCK, OFlags::WRONLY, LOCK_MODE);
    let lock = created.or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => directory.open_own_file(LOCK, OFlags::WRONLY),
        _ => Err(error),
    });
    lock.map_err(|error| MeasuresError::io("open", &directory.path().join(LOCK), error))
}

/// Removes the lock of an experiment that is brought to an end. One that stays holds nobody up.
pub(crate) fn remove_lock(directory: &Directory) {
    let _ = directory.remove_file_if_there(LOCK);
}

/// Opens a file of a directory that is written to, by the open directory: its path may lead elsewhere by now.
pub(crate) fn open_in(directory: &Directory, name: &str) -> Result<File, MeasuresError> {
    let file = directory.open_file(name, OFlags::RDONLY);
    file.map_err(|error| MeasuresError::io("open", &directory.path().join(name), error))
}

/// Returns a text file of a directory that is written to; nothing when it is not there.
pub(crate) fn read_text_in(
    directory: &Directory,
    name: &str,
) -> Result<Option<String>, MeasuresError> {
    text_of(directory.open_file(name, OFlags::RDONLY), &directory.path().join(name))
}

/// Returns a text file; nothing when it is not there.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, MeasuresError> {
    text_of(open_by_own_links(path), path)
}

fn text_of(file: io::Result<File>, path: &Path) -> Result<Option<String>, MeasuresError> {
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(MeasuresError::io("open", path, error)),
    };
    let read = read_at_most(TEXT_BYTES_MAX, file);
    let bytes = read
        .map_err(|error| MeasuresError::io("read", path, error))?
        .ok_or_else(|| MeasuresError::format(path, format!("more than {TEXT_BYTES_MAX} bytes")))?;
    let text = String::from_utf8(bytes);
    Ok(Some(text.map_err(|error| MeasuresError::format(path, error.to_string()))?))
}

/// Returns length and CRC32C of a file.
pub(crate) fn checksum(mut file: File, path: &Path) -> Result<(u64, u32), MeasuresError> {
    let failed = |error| MeasuresError::io("read", path, error);
    let (mut bytes, mut sum, mut buffer) = (0, 0, vec![0; 1 << 18]);
    loop {
        let read = match file.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        if read == 0 {
            return Ok((bytes, sum));
        }
        bytes += read as u64;
        sum = crc32c::crc32c_append(sum, &buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_large_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PLAN);
        assert!(matches!(read_text(&path), Ok(None)), "not there");
        let file = File::create(&path).unwrap();
        file.set_len(TEXT_BYTES_MAX).unwrap();
        let text = read_text(&path).unwrap().unwrap();
        assert_eq!(text.len() as u64, TEXT_BYTES_MAX);
        for more in [1, 2, TEXT_BYTES_MAX] {
            file.set_len(TEXT_BYTES_MAX + more).unwrap();
            let said = read_text(&path).unwrap_err().to_string();
            assert!(said.contains("more than 16777216 bytes"), "{said}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_has_no_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let said = checksum(File::open(folder.path()).unwrap(), folder.path()).unwrap_err();
        assert!(matches!(said, MeasuresError::Io { .. }), "{said}");
    }
}
