//! Small files of a bed: written so that a crash leaves the old one or the new one.

use std::io::Write;

use plimsoll_guarded::{Directory, Draft};
use serde::Deserialize;

use crate::TestbedError;
use crate::error::file_error;

/// Others may look at a bed.
const MODE: u32 = 0o644;

/// Writes a file of the bed to the disk by way of a new one, so that the old or the new one is there.
pub(crate) fn replace_synced(
    bed: &Directory,
    name: &str,
    new_name: &str,
    text: &str,
) -> Result<(), TestbedError> {
    let write = || {
        let mut draft = Draft::create_as(bed, new_name, name, MODE)?;
        draft.write_all(text.as_bytes())?;
        draft.sync().map(|()| draft)
    };
    let draft = write().map_err(file_error("write", bed.path().join(new_name)))?;
    draft.publish().map_err(file_error("replace", bed.path().join(name)))?;
    bed.sync().map_err(file_error("sync", bed.path()))
}

/// Returns the version that a file says it has. It is read before all else, because a newer file may be different in
/// everything else.
pub(crate) fn version_of(text: &str) -> Result<u32, String> {
    #[derive(Deserialize)]
    struct Header {
        version: u32,
    }
    toml::from_str(text).map(|Header { version }| version).map_err(|error| one_line(&error))
}

/// Returns what is wrong with a file, in one line.
pub(crate) fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}
