//! The site file of a command that is given none.

use std::path::PathBuf;

use anyhow::{Context, Result};
use plimsoll_domain::site::{FoundSite, Origin, SearchPath};

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

/// Returns the site file that is named, or else the one that applies here and whose that is.
pub fn named_or_found(named: Option<PathBuf>) -> Result<(PathBuf, Option<Origin>)> {
    named.map(|path| (path, None)).or_else(find).context(
        "there is no site.toml in this directory or one above it, nor one of the user or the system; \
         hint: make one with `plimsoll site init`, or name it",
    )
}

fn find() -> Option<(PathBuf, Option<Origin>)> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some((PathBuf::from(named), None)).filter(|(path, _)| !path.as_os_str().is_empty());
    }
    SearchPath::of_process().find().map(|FoundSite { path, origin }| (path, Some(origin)))
}
