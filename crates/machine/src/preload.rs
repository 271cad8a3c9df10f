//! Where the library is that a program preloads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The library's file name.
pub const PRELOAD_LIBRARY: &str = "libplimsoll.so";

/// The environment variable that names the library, and then alone decides.
pub const PRELOAD_VARIABLE: &str = "PLIMSOLL_LIBRARY";

/// The library is in none of the places searched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot find {PRELOAD_LIBRARY}: not at {}", list(searched))]
pub struct PreloadMissing {
    /// All paths that were tried, in order.
    pub searched: Vec<PathBuf>,
}

impl PreloadMissing {
    /// Returns what to do about it, in one line.
    pub fn hint(&self) -> String {
        format!(
            "install {PRELOAD_LIBRARY} beside the program or set {PRELOAD_VARIABLE} to its path"
        )
    }
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// Returns the library for the running program: named by PLIMSOLL_LIBRARY, or else beside
/// the executable, or else in `../lib/plimsoll` next to the executable's directory.
pub fn preload_library() -> Result<PathBuf, PreloadMissing> {
    let executable = std::env::current_exe().unwrap_or_default();
    preload_library_near(&executable, std::env::var_os(PRELOAD_VARIABLE))
}

/// As [`preload_library`], for any executable and any value of the variable.
///
/// When the variable is set, only the file that it names will do: quietly taking
/// another library would measure something else than was asked for.
pub fn preload_library_near(
    executable: &Path,
    variable: Option<OsString>,
) -> Result<PathBuf, PreloadMissing> {
    let searched = match variable.filter(|value| !value.is_empty()) {
        Some(named) => vec![PathBuf::from(named)],
        None => candidates_near(executable),
    };
    match searched.iter().find(|candidate| candidate.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(PreloadMissing { searched }),
    }
}

fn candidates_near(executable: &Path) -> Vec<PathBuf> {
    let Some(directory) = executable.parent() else { return Vec::new() };
    let mut candidates = vec![directory.join(PRELOAD_LIBRARY)];
    if let Some(prefix) = directory.parent() {
        candidates.push(prefix.join("lib/plimsoll").join(PRELOAD_LIBRARY));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn installed(places: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let prefix = tempfile::tempdir().unwrap();
        for place in places {
            let directory = prefix.path().join(place);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(PRELOAD_LIBRARY), "").unwrap();
        }
        let executable = prefix.path().join("bin/plimsoll");
        (prefix, executable)
    }

    #[test]
    fn searches_beside_the_executable_then_the_library_directory() {
        let (prefix, executable) = installed(&["bin", "lib/plimsoll"]);
        let found = preload_library_near(&executable, None).unwrap();
        assert_eq!(found, prefix.path().join("bin/libplimsoll.so"));
        let (prefix, executable) = installed(&["lib/plimsoll"]);
        let found = preload_library_near(&executable, Some(OsString::new())).unwrap();
        assert_eq!(found, prefix.path().join("lib/plimsoll/libplimsoll.so"));
    }

    #[test]
    fn the_variable_alone_decides() {
        let (prefix, executable) = installed(&["bin", "other"]);
        let other = prefix.path().join("other/libplimsoll.so");
        let found = preload_library_near(&executable, Some(other.clone().into()));
        assert_eq!(found, Ok(other));
        let missing = preload_library_near(&executable, Some("/no/lib.so".into())).unwrap_err();
        assert_eq!(missing.searched, [PathBuf::from("/no/lib.so")]);
    }

    #[test]
    fn names_all_places_searched() {
        let missing = preload_library_near(Path::new("/opt/p/bin/plimsoll"), None).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "cannot find libplimsoll.so: not at /opt/p/bin/libplimsoll.so, \
             /opt/p/lib/plimsoll/libplimsoll.so"
        );
        assert!(missing.hint().contains("PLIMSOLL_LIBRARY"));
    }
}
