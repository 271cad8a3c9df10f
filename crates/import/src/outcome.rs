//! Importing a file, and what came of it.

use std::fs::File;
use std::path::Path;

use plimsoll_guarded::open_by_own_links;
use plimsoll_history::{Import, Imported};

use crate::hdf5::Hdf5;
use crate::notes::Notes;
use crate::{Format, ImportError, Note, Options, columnar, lmt, pylmt, separated, tokio};

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it was: `TOKIO HDF5`, for example.
    pub format: String,
    /// What became of its samples.
    pub imported: Imported,
    /// What was recognised, repaired and left out.
    pub notes: Vec<Note>,
}

/// Imports one file into a store, which is made if there is none: all of it, or nothing if it cannot be read to its end.
///
/// # Errors
/// If it cannot be read, is damaged or is nothing that is known, or if the store cannot be written.
pub fn import(path: &Path, store: &Path, options: &Options) -> Result<Outcome, ImportError> {
    let file = open_by_own_links(path).map_err(|cause| ImportError::io(path, cause))?;
    let format = Format::of(&file).map_err(|cause| ImportError::io(path, cause))?;
    let format = match format {
        Some(Format::Empty) => return Err(ImportError::content(path, "it is empty")),
        Some(format) => format,
        None => {
            let reason = "it is neither HDF5, SQLite, Parquet nor text; hint: unpack it first if it is compressed";
            return Err(ImportError::content(path, reason));
        }
    };
    let name = path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let mut import = Import::begin(store, &name)?;
    if let Some(until) = options.until {
        import = import.until(until);
    }
    let mut notes = Notes::default();
    let format = decode(path, file, format, options, &mut import, &mut notes)?;
    let imported = import.finish()?;
    Ok(Outcome { format: format.to_owned(), imported, notes: notes.into_vec() })
}

fn decode(
    path: &Path,
    file: File,
    format: Format,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    match format {
        Format::Hdf5 => {
            let file = Hdf5::open(path, file)?;
            if pylmt::is_pylmt(&file) {
                pylmt::take(&file, options, import, notes)
            } else {
                tokio::take(&file, options, import, notes)
            }
        }
        Format::Sqlite => lmt::take(path, file, options, import, notes),
        Format::Parquet => columnar::take(path, file, options, import, notes),
        Format::Text => separated::take(path, file, options, import, notes),
        Format::Empty => Err(ImportError::content(path, "it is empty")),
    }
}
