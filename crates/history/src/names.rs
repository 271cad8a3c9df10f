//! What is in a store's directory, by name.
//!
//! - `_plimsoll-history`: says what this is, and in which version; programs that read whole directories pass over such names;
//! - `day=2026-11-17/*.parquet`: everything that is finished, and the one pattern that other programs need;
//! - `.log-N`: write-ahead files; `.new-day=…` and `.old-day=…`: days that are being replaced; `.importing`: an import that goes on;
//! - `.lock`, `.days-lock` and `.import-lock`: empty, and held by who writes.

/// The file that says what the directory is.
pub(crate) const MARKER: &str = "_plimsoll-history";
/// Held by the process that writes.
pub(crate) const LOCK: &str = ".lock";
/// Held while files of days come, go or are exchanged.
pub(crate) const DAYS_LOCK: &str = ".days-lock";
/// Held by the process that imports.
pub(crate) const IMPORT_LOCK: &str = ".import-lock";
/// Where an import makes its files.
pub(crate) const IMPORTING: &str = ".importing";
/// What the name of a day that is being made begins with, and that of one that was replaced.
pub(crate) const NEW: &str = ".new-";
pub(crate) const OLD: &str = ".old-";

const LOG: &str = ".log-";
const DAMAGED_LOG: &str = ".damaged-log-";
const EXTENSION: &str = ".parquet";

/// The version of a store's layout.
pub(crate) const VERSION: u64 = 1;

/// Returns the text of the marker.
pub(crate) fn marker_text() -> String {
    format!(
        "plimsoll history {VERSION}\n\
         Samples of storage over time, a directory a day: read day=*/*.parquet (docs/history.md).\n"
    )
}

/// Returns the version that a marker tells; nothing if it is none.
pub(crate) fn marker_version(text: &str) -> Option<u64> {
    text.lines().next()?.strip_prefix("plimsoll history ")?.parse().ok()
}

/// Returns the name of a write-ahead file.
pub(crate) fn log(sequence: u64) -> String {
    format!("{LOG}{sequence}")
}

/// Returns the name that a write-ahead file gets which cannot be read.
pub(crate) fn damaged_log(sequence: u64) -> String {
    format!("{DAMAGED_LOG}{sequence}")
}

/// Returns the sequence number of a write-ahead file that could not be read.
pub(crate) fn damaged_log_sequence(name: &str) -> Option<u64> {
    name.strip_prefix(DAMAGED_LOG)?.parse().ok()
}

/// Returns the sequence number of a write-ahead file.
pub(crate) fn log_sequence(name: &str) -> Option<u64> {
    let sequence = name.strip_prefix(LOG)?.parse().ok()?;
    (log(sequence) == name).then_some(sequence)
}

/// The name of a file of a day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartName {
    /// Samples of old days, in windows and minutes, of these write-ahead files.
    Aged { first: u64, last: u64 },
    /// Samples of these write-ahead files.
    Fresh { first: u64, last: u64 },
    /// Samples that came from elsewhere, and stay as they are.
    Import(String),
}

impl PartName {
    /// Returns what the name of a file says.
    pub fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(EXTENSION)?;
        let (kind, rest) = stem.split_once('-')?;
        let range = || {
            let (first, last) = rest.split_once('-')?;
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some((first, last))
        };
        let found = match kind {
            "part" => range().map(|(first, last)| PartName::Fresh { first, last }),
            "aged" => range().map(|(first, last)| PartName::Aged { first, last }),
            "import" => is_import_name(rest).then(|| PartName::Import(rest.into())),
            _ => None,
        };
        found.filter(|found| found.file() == name)
    }

    /// Returns the name of its file. Numbers have as many digits as they need: order is not taken from names.
    pub fn file(&self) -> String {
        match self {
            PartName::Fresh { first, last } => format!("part-{first}-{last}{EXTENSION}"),
            PartName::Aged { first, last } => format!("aged-{first}-{last}{EXTENSION}"),
            PartName::Import(name) => format!("import-{name}{EXTENSION}"),
        }
    }

    /// Returns the write-ahead files whose samples are in it.
    pub fn logs(&self) -> Option<(u64, u64)> {
        match self {
            PartName::Fresh { first, last } | PartName::Aged { first, last } => {
                Some((*first, *last))
            }
            PartName::Import(_) => None,
        }
    }

    /// Returns whether samples of a write-ahead file are in it.
    pub fn has_log(&self, sequence: u64) -> bool {
        self.logs().is_some_and(|(first, last)| (first..=last).contains(&sequence))
    }
}

/// Returns whether something that came from elsewhere can be called so.
pub(crate) fn is_import_name(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_in_a_file() {
        let parse = PartName::parse;
        assert_eq!(parse("part-3-18.parquet"), Some(PartName::Fresh { first: 3, last: 18 }));
        assert_eq!(parse("aged-0-0.parquet"), Some(PartName::Aged { first: 0, last: 0 }));
        assert_eq!(parse("import-a-b_9.parquet"), Some(PartName::Import("a-b_9".into())));
        for other in [
            "part-3.parquet",
            "part-03-4.parquet",
            "part-4-3.parquet",
            ".part-3-3.parquet.tmp",
            "import-.parquet",
            "import-a.b.parquet",
            "other.parquet",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert!(PartName::Fresh { first: 3, last: 5 }.has_log(4));
        assert!(!PartName::Fresh { first: 3, last: 5 }.has_log(6));
        assert_eq!(log_sequence(".log-12"), Some(12));
        assert_eq!((log_sequence(".log-012"), log_sequence("log-1")), (None, None));
        assert_eq!(marker_version(&marker_text()), Some(VERSION));
        assert_eq!(marker_version("plimsoll\n"), None);
    }
}
