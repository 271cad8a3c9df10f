//! Files of a directory of results: their names, how they are replaced and checked.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

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

/// Writes a file that must not be there yet.
pub(crate) fn create(path: &Path, text: &[u8]) -> Result<(), MeasuresError> {
    let result = File::create_new(path).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    result.map_err(|error| MeasuresError::io("create", path, error))
}

/// Replaces a file, so that readers find either the old or the new one.
pub(crate) fn replace(directory: &Path, name: &str, text: &[u8]) -> Result<(), MeasuresError> {
    let temporary = directory.join(temporary_name(name));
    let result = File::create(&temporary).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    if let Err(error) = result {
        let _ = fs::remove_file(&temporary);
        return Err(MeasuresError::io("write", &temporary, error));
    }
    rename(directory, name)
}

/// The name that a file has until it is whole.
pub(crate) fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Gives a whole file its name.
pub(crate) fn rename(directory: &Path, name: &str) -> Result<(), MeasuresError> {
    let path = directory.join(name);
    fs::rename(directory.join(temporary_name(name)), &path)
        .map_err(|error| MeasuresError::io("rename to", &path, error))
}

/// Makes names durable. Some file systems cannot, and lose nothing by it but the guarantee.
pub(crate) fn sync_directory(directory: &Path) {
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
}

/// A text file of the directory; nothing when it is not there.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, MeasuresError> {
    let file = match File::open(path) {
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
    let mut file = File::open(path).map_err(failed)?.take(most);
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
