//! Why site files are refused.

use std::path::PathBuf;

use thiserror::Error;

/// Why a site file cannot be used. Each is one line that says what to do.
#[derive(Debug, Error)]
pub enum SiteError {
    /// The file cannot be read.
    #[error("cannot read site file {}: {cause}{}", path.display(), missing_hint(cause))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write site file {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file is larger than any site.
    #[error("site file {} is larger than {limit} bytes; hint: is it a site file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes that are read at most.
        limit: u64,
    },
    /// The text is not TOML, or not the keys and values of a site file.
    #[error("site file {}, line {line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong, on one line.
        message: String,
    },
    /// The file is of a version that this program does not know.
    #[error(
        "site file {} has version {found}, this program reads 1 to {known}{}",
        path.display(),
        if *found > i64::from(*known) { "; hint: update plimsoll" } else { "" }
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Newest version that is understood.
        known: u32,
    },
    /// Keys and values are well formed but contradict each other.
    #[error("site file {}: {problem}", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        problem: String,
    },
}

fn missing_hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "; hint: `plimsoll site init` writes one",
        _ => "",
    }
}
