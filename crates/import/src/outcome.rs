//! Importing a file, and what came of it.

use std::path::Path;

use plimsoll_guarded::open_by_own_links;
use plimsoll_history::{Import, Imported};

use crate::hdf5::Hdf5;
use crate::lmt_copy::LmtCopy;
use crate::notes::Notes;
use crate::opened::Opened;
use crate::sqlite::Sqlite;
use crate::{
    Format, ImportError, Note, Options, columnar, lmt, prometheus, pylmt, separated, sql_dump,
    tokio,
};

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
    let opened = Opened::new(file).map_err(|cause| ImportError::io(path, cause))?;
    let format = match opened.format() {
        Some(Format::Empty) => return Err(ImportError::content(path, "it is empty")),
        Some(format) => format,
        None => {
            let reason = "it is neither HDF5, SQLite, Parquet nor text; hint: unpack it first if it is compressed (only texts are read from gzip)";
            return Err(ImportError::content(path, reason));
        }
    };
    let name = path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let mut import = Import::begin(store, &name)?;
    if let Some(until) = options.until {
        import = import.until(until);
    }
    let mut notes = Notes::default();
    let format = decode(path, opened, format, options, &mut import, &mut notes)?;
    let imported = import.finish()?;
    Ok(Outcome { format: format.to_owned(), imported, notes: notes.into_vec() })
}

fn decode(
    path: &Path,
    opened: Opened,
    format: Format,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    match format {
        Format::Hdf5 => {
            let file = Hdf5::open(path, opened.into_file())?;
            if pylmt::is_pylmt(&file) {
                pylmt::take(&file, options, import, notes)
            } else {
                tokio::take(&file, options, import, notes)
            }
        }
        Format::Sqlite => {
            let database = Sqlite::open(path, opened.into_file())?;
            lmt::take(&database, options, import, notes)?;
            Ok("LMT database")
        }
        Format::SqlDump => {
            // Before all of it is read for nothing.
            lmt::zone(path, options)?;
            let mut copy = LmtCopy::new(path)?;
            sql_dump::copy(path, opened.stream(), &mut copy)?;
            lmt::take(&copy.finish()?, options, import, notes)?;
            Ok("LMT dump")
        }
        Format::Json => prometheus::take(path, &opened, options, import, notes),
        Format::Parquet => columnar::take(path, opened.into_file(), options, import, notes),
        Format::Text => separated::take(path, &opened, options, import, notes),
        Format::Empty => Err(ImportError::content(path, "it is empty")),
    }
}
