//! The site file of a command that is given none.

use std::path::PathBuf;
use std::sync::Once;

use anyhow::{Context, Result};
use plimsoll_domain::site::{FILE_NAME, FoundFile, Origin, PassedOver, SearchPath, SiteFile};

use crate::output;

/// Names the site file, in place of what would be found; nothing: none.
const VARIABLE: &str = "PLIMSOLL_SITE";

/// Returns the site file that applies here, and says which it is.
pub fn path() -> Option<PathBuf> {
    let (path, origin) = find()?;
    if let Some(origin) = origin {
        output::message(&format!("plimsoll: site file {}, {}", path.display(), origin.words()));
    }
    Some(path)
}

/// Returns the site file that applies here if it has a target of that name, and says which it is.
pub fn path_with(target: &str) -> Option<PathBuf> {
    let (path, _) = find()?;
    let site = SiteFile::load(&path).ok()?;
    site.site().target(target).and_then(|_| self::path())
}

/// Returns the site file that is named, or else the one that applies here and whose that is.
pub fn named_or_found(named: Option<PathBuf>) -> Result<(PathBuf, Option<Origin>)> {
    named.map(|path| (path, None)).or_else(find).context(
        "there is no site.toml in this directory or one above it, nor one of the user or the system, \
         that others could not change; hint: make one with `plimsoll site init`, or name it",
    )
}

/// Whether it was told which file is not used: once is enough.
static TOLD: Once = Once::new();

/// Returns the site file, if there is one, and where it was found unless it was named.
pub fn find() -> Option<(PathBuf, Option<Origin>)> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some((PathBuf::from(named), None)).filter(|(path, _)| !path.as_os_str().is_empty());
    }
    let search = SearchPath::of_process();
    if let Some(PassedOver { path, cause }) = search.passed_over(FILE_NAME) {
        TOLD.call_once(|| {
            output::message(&format!("plimsoll: {} is not used: {cause}", path.display()));
        });
    }
    search.find().map(|FoundFile { path, origin }| (path, Some(origin)))
}
