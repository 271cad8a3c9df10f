//! Names of the files that measurements keep in their working directories.
//!
//! Only such files are removed with a working directory: who may write beside it can swap it for a directory that this
//! user puts other files into.

use std::ffi::OsStr;

/// The scratch file of a calibration.
pub const CALIBRATION: &str = "calibration";
/// Files of a race: of its writers, and of noise; a number follows.
pub const WRITER: &str = "writer";
/// See [`WRITER`].
pub const NOISE: &str = "noise";
/// Files of a benchmark that processes share; numbers stand before and behind it, with dots between.
pub const SHARED: &str = "shared";
/// What the writers of a race share in memory.
pub const NODE: &str = "node";
/// The copy of a database that others could have changed.
pub const DATABASE: &str = "database";

/// Returns whether a file of that name is one of a measurement.
pub fn is_working_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    [CALIBRATION, NODE, DATABASE].contains(&name)
        || [WRITER, NOISE].iter().any(|it| name.strip_prefix(it).is_some_and(is_number))
        || name.contains('.') && name.split('.').all(|part| part == SHARED || is_number(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_measurements_are_known_by_their_names() {
        for name in
            ["calibration", "node", "database", "writer0", "noise12", "0.1.2", "17.shared.3"]
        {
            assert!(is_working_file(OsStr::new(name)), "{name}");
        }
        for name in ["thesis", "writer", "writers1", "noise1a", "2026", ".1", "a.0.1", "shared"] {
            assert!(!is_working_file(OsStr::new(name)), "{name}");
        }
    }
}
