//! Commands that are given no recording take the newest here, and say which.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::output;

/// Returns the newest recording in the working directory.
pub fn recording() -> Result<PathBuf> {
    let found = all()?;
    let Some(newest) = found.first() else {
        bail!(
            "there is no recording here; hint: make one with `plimsoll record COMMAND`, or name one"
        );
    };
    let others = found.len() - 1;
    let which = if others == 0 { "only" } else { "newest" };
    output::message(&format!("plimsoll: {}, the {which} recording here", newest.display()));
    Ok(newest.clone())
}

/// Returns the two newest recordings in the working directory, the older one first.
pub fn two_recordings() -> Result<[PathBuf; 2]> {
    let found = all()?;
    let [newest, second, ..] = found.as_slice() else {
        bail!(
            "two recordings are needed, and {} here; hint: make them with `plimsoll record COMMAND`, or name them",
            if found.is_empty() { "there is none" } else { "there is only one" }
        );
    };
    let (before, after) = (second.display(), newest.display());
    output::message(&format!("plimsoll: {before} and {after}, the two newest recordings here"));
    Ok([second.clone(), newest.clone()])
}

fn all() -> Result<Vec<PathBuf>> {
    plimsoll_record::newest(Path::new(".")).context("cannot look for recordings here")
}
