//! Whether there is something of a name, without asking another user's file system.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::Directory;

/// Returns whether there is anything of that name, also a link that leads nowhere.
///
/// # Errors
/// If that cannot be known: a directory above it cannot be entered, or another user serves what is there (FUSE).
pub fn is_there(path: &Path) -> io::Result<bool> {
    let Some(name) = path.file_name() else { return Ok(true) };
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = Directory::open_by_own_links(above).and_then(|above| above.facts_of(name));
    match found {
        Ok(_) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_there_and_missing_directories_have_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        assert!(is_there(&at("link")).unwrap() && is_there(&at("file")).unwrap());
        assert!(is_there(Path::new("/")).unwrap() && is_there(folder.path()).unwrap());
        assert!(!is_there(&at("none")).unwrap() && !is_there(&at("no/such")).unwrap());
        assert!(is_there(&at("file/below")).is_err());
    }
}
