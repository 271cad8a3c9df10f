//! A directory that a person names on the command line, as DIR or NAME=DIR.

use std::path::{Component, PathBuf};

use anyhow::{Context, Result, ensure};
use plimsoll_guarded::Directory;

use super::is_own_directory;

/// A directory and what to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDirectory {
    /// The given name, or the last part of the path.
    pub name: String,
    /// An absolute path: workers and ranks may run in another directory.
    pub path: PathBuf,
}

impl NamedDirectory {
    /// Reads DIR or NAME=DIR. Does not look whether it is there.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, path) = split(text)?;
        let path = std::path::absolute(path).with_context(|| format!("cannot use {text}"))?;
        let path = without_parents(path);
        ensure!(
            path.to_str().is_some(),
            "{} is not UTF-8 text; hint: a link with a plain name",
            path.display()
        );
        let last = || path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.map(str::to_string).or_else(last);
        let name = name.with_context(|| format!("{text} has no name; hint: NAME={text}"))?;
        Ok(Self { name, path })
    }
}

/// Returns a path without `..`, if it is there: only the kernel can tell what that is behind a link.
fn without_parents(path: PathBuf) -> PathBuf {
    if !path.components().any(|it| it == Component::ParentDir) {
        return path;
    }
    let found = Directory::open_by_own_links(&path).and_then(Directory::with_whole_path);
    found.map_or(path, |it| it.path().to_path_buf())
}

/// Splits NAME=DIR into both; DIR has no name. A directory may have the sign in its own name, and a name has no
/// slash.
pub fn split(text: &str) -> Result<(Option<&str>, &str)> {
    match text.split_once('=') {
        Some((name, path))
            if !name.contains('/') && (path.starts_with('/') || !is_own_directory(text)) =>
        {
            ensure!(!name.is_empty(), "{text}: a target without a name; hint: NAME=DIR");
            Ok((Some(name), path))
        }
        _ => Ok((None, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_or_taken_from_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a=b,c");
        std::fs::create_dir(&odd).unwrap();
        let odd = odd.to_str().unwrap();
        let read = |text: &str| NamedDirectory::parse(text).map(|it| (it.name, it.path));
        assert_eq!(read("/mnt/t0").unwrap(), ("t0".into(), "/mnt/t0".into()));
        assert_eq!(read("fast=/mnt/t0").unwrap(), ("fast".into(), "/mnt/t0".into()));
        assert_eq!(read(odd).unwrap(), ("a=b,c".into(), odd.into()));
        assert!(read("=/mnt/t0").unwrap_err().to_string().contains("without a name"));
        assert!(read("/").unwrap_err().to_string().contains("hint: NAME=/"));
        assert_eq!(read("/no/such=dir").unwrap(), ("such=dir".into(), "/no/such=dir".into()));
        let real = std::fs::canonicalize(odd).unwrap();
        assert_eq!(read(&format!("{odd}/../a=b,c")).unwrap(), ("a=b,c".into(), real));
        assert_eq!(read("/no/../such").unwrap(), ("such".into(), "/no/../such".into()));
    }
}
