//! Files of a directory of results: their names, how they are replaced and checked.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::{Mode, OFlags};

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

/// No text file of a directory is larger: a plan or an environment has kilobytes.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Nobody else may write to what is kept, whatever the umask.
const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// Makes a directory to keep results in, unless it is there, and opens it.
pub(crate) fn make_own_directory(path: &Path) -> Result<Directory, MeasuresError> {
    let made = DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path);
    made.map_err(|error| MeasuresError::io("create", path, error))?;
    open_own_directory(path)
}

/// Opens a directory to keep results in. It must be one that nobody else can put something into: what
/// is written would go elsewhere by links of theirs.
pub(crate) fn open_own_directory(path: &Path) -> Result<Directory, MeasuresError> {
    let opened = Directory::open(path).map_err(|it| MeasuresError::io("open", path, it))?;
    match opened.require_own() {
        Ok(()) => Ok(opened),
        Err(cause) => Err(MeasuresError::NotOwn { directory: path.to_owned(), cause }),
    }
}

/// Writes a file that must not be there yet.
pub(crate) fn create(directory: &Directory, name: &str, text: &[u8]) -> Result<(), MeasuresError> {
    let result = directory.create(name, OFlags::WRONLY, FILE_MODE).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    result.map_err(|error| MeasuresError::io("create", &directory.path().join(name), error))
}

/// Replaces a file, so that readers find either the old or the new one.
pub(crate) fn replace(directory: &Directory, name: &str, text: &[u8]) -> Result<(), MeasuresError> {
    let (mut file, temporary) = create_temporary(directory, name)?;
    if let Err(error) = file.write_all(text).and_then(|()| file.sync_all()) {
        remove_temporary(directory, name);
        return Err(MeasuresError::io("write", &temporary, error));
    }
    rename(directory, name)
}

/// Creates the file that gets this name once it is whole. What a killed process left of it, or
/// somebody planted there, goes first, and is not followed if it is a link.
pub(crate) fn create_temporary(
    directory: &Directory,
    name: &str,
) -> Result<(File, PathBuf), MeasuresError> {
    let temporary = temporary_name(name);
    let path = directory.path().join(&temporary);
    let removed = directory.remove_file_if_there(&temporary);
    match removed.and_then(|()| directory.create(&temporary, OFlags::WRONLY, FILE_MODE)) {
        Ok(file) => Ok((file, path)),
        Err(error) => Err(MeasuresError::io("create", &path, error)),
    }
}

/// Gives up a file that did not become whole.
pub(crate) fn remove_temporary(directory: &Directory, name: &str) {
    let _ = directory.remove_file_if_there(temporary_name(name));
}

/// The name that a file has until it is whole.
fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Gives a whole file its name.
pub(crate) fn rename(directory: &Directory, name: &str) -> Result<(), MeasuresError> {
    let renamed = directory.rename(temporary_name(name), name);
    renamed.map_err(|it| MeasuresError::io("rename to", &directory.path().join(name), it))
}

/// Makes names durable. Some file systems cannot, and lose nothing by it but the guarantee.
pub(crate) fn sync_directory(directory: &Directory) {
    let _ = directory.sync();
}

/// Opens a regular file to read it, wherever links lead, and waits for nobody: a pipe would wait for
/// somebody at its other end.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let require_file = |facts: Metadata| match facts.is_file() {
        true => Ok(()),
        false => Err(io::Error::from(Refusal::NotAFile)),
    };
    // Some devices do something when they are opened.
    require_file(fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    require_file(file.metadata()?)?;
    Ok(file)
}

/// A text file of the directory; nothing when it is not there.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, MeasuresError> {
    let file = match open_to_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(MeasuresError::io("open", path, error)),
    };
    let mut text = String::new();
    let read = file.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text);
    let read = read.map_err(|error| MeasuresError::io("read", path, error))?;
    if read as u64 > TEXT_BYTES_MAX {
        return Err(MeasuresError::format(path, format!("more than {TEXT_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
}

/// Length and CRC32C of the first bytes of a file, at most `most`.
pub(crate) fn checksum(path: &Path, most: u64) -> Result<(u64, u32), MeasuresError> {
    let failed = |error| MeasuresError::io("read", path, error);
    let mut file = open_to_read(path).map_err(failed)?.take(most);
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
