use std::io;

use ::parquet::errors::ParquetError;
use thiserror::Error;

/// Why an export ended early. Damage of a recording is no reason: see
/// [`Exported::warnings`](crate::Exported::warnings).
#[derive(Debug, Error)]
pub enum ExportError {
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The Parquet library refused.
    #[error("cannot encode Parquet: {0}")]
    Parquet(ParquetError),
}

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        match error {
            // What the system said is inside, and the caller wants to know its kind.
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(cause) => ExportError::Write(*cause),
                Err(cause) => ExportError::Parquet(ParquetError::External(cause)),
            },
            other => ExportError::Parquet(other),
        }
    }
}
