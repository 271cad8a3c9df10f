//! Where the library is that a program preloads.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{acting_user, open_trusted_file};
use thiserror::Error;

/// The library's file name.
pub const PRELOAD_LIBRARY: &str = "libplimsoll.so";

/// The environment variable that names the library, and then alone decides.
pub const PRELOAD_VARIABLE: &str = "PLIMSOLL_LIBRARY";

/// The library is in none of the places searched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot find {PRELOAD_LIBRARY}: not at {}{}", list(searched), left_out(untrusted))]
pub struct PreloadMissing {
    /// All paths that were tried, in order.
    pub searched: Vec<PathBuf>,
    /// Those at which there is one that somebody else could have put there.
    pub untrusted: Vec<PathBuf>,
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

fn left_out(paths: &[PathBuf]) -> String {
    match paths {
        [] => String::new(),
        some => format!("; others could have put something at {}, which is not loaded", list(some)),
    }
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
/// another library would measure something else than was asked for. Otherwise, it must be one that nobody could have put there
/// but who made the executable, this user and root: it becomes a part of every program that is run.
pub fn preload_library_near(
    executable: &Path,
    variable: Option<OsString>,
) -> Result<PathBuf, PreloadMissing> {
    if let Some(named) = variable.filter(|value| !value.is_empty()).map(PathBuf::from) {
        let missing = || PreloadMissing { searched: vec![named.clone()], untrusted: Vec::new() };
        return if named.is_file() { Ok(named) } else { Err(missing()) };
    }
    let searched = candidates_near(executable);
    let is_there = |it: &&PathBuf| it.is_file();
    let is_safe = |it: &PathBuf| open_trusted_file(it).is_ok() || is_of_maker(it, executable);
    let (safe, untrusted): (Vec<PathBuf>, Vec<PathBuf>) =
        searched.iter().filter(is_there).cloned().partition(is_safe);
    safe.into_iter().next().ok_or(PreloadMissing { searched, untrusted })
}

/// Returns whether a library, and each directory from the one above the executable's to it, belongs to the executable's owner or root, so that nobody
/// put it there who could not exchange the executable as well.
fn is_of_maker(library: &Path, executable: &Path) -> bool {
    let maker = fs::metadata(executable).map_or_else(|_| acting_user(), |it| it.uid());
    let prefix = executable.parent().and_then(Path::parent);
    let is_theirs = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|it| {
            (it.uid() == maker || it.uid() == 0) && it.mode() & 0o002 == 0 && !it.is_symlink()
        })
    };
    let Some(prefix) = prefix.filter(|it| library.starts_with(it)) else { return false };
    library.ancestors().take_while(|it| it.starts_with(prefix)).all(is_theirs)
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

    /// The attack: a library of another user's beside the directory of the victim's program, or in the same one.
    #[test]
    fn what_others_could_have_put_there_is_not_loaded() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        for (planted, mode) in
            [("lib", 0o777), ("lib/plimsoll", 0o1777), ("lib/plimsoll/libplimsoll.so", 0o666)]
        {
            let (prefix, executable) = installed(&["lib/plimsoll"]);
            fs::create_dir(prefix.path().join("bin")).unwrap();
            fs::write(&executable, "").unwrap();
            let library = prefix.path().join("lib/plimsoll/libplimsoll.so");
            assert_eq!(preload_library_near(&executable, None), Ok(library.clone()));
            let planted = prefix.path().join(planted);
            fs::set_permissions(planted, fs::Permissions::from_mode(mode)).unwrap();
            let missing = preload_library_near(&executable, None).unwrap_err();
            assert_eq!(missing.untrusted, [library]);
            assert!(missing.to_string().contains("others could have put something at"));
        }
        let (prefix, executable) = installed(&["bin", "lib/plimsoll"]);
        let [beside, library] =
            ["bin", "lib/plimsoll"].map(|it| prefix.path().join(it).join(PRELOAD_LIBRARY));
        fs::write(&executable, "").unwrap();
        fs::remove_file(&beside).unwrap();
        symlink(&library, &beside).unwrap();
        assert_eq!(preload_library_near(&executable, None), Ok(library.clone()), "no link");
        if chown(&library, Some(12345), None).is_err() {
            eprintln!("SKIPPED: only root can give files to another user");
            return;
        }
        assert_eq!(preload_library_near(&executable, None).unwrap_err().untrusted.len(), 2);
        chown(&executable, Some(12345), None).unwrap();
        assert_eq!(preload_library_near(&executable, None), Ok(library), "who made the program");
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
