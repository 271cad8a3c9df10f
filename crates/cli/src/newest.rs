//! Commands that are given no recording take the newest here, and say which.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plimsoll_guarded::Directory;
use plimsoll_record::marker;

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

/// Returns the newest recording in the working directory, and before it the next one of the same program, or else the next one.
pub fn two_recordings() -> Result<[PathBuf; 2]> {
    let found = all()?;
    let [newest, second, ..] = found.as_slice() else {
        bail!(
            "two recordings are needed, and {} here; hint: make them with `plimsoll record COMMAND`, or name them",
            if found.is_empty() { "there is none" } else { "there is only one" }
        );
    };
    let program = program_of(newest);
    let same = |it: &&PathBuf| program.is_some() && program_of(it) == program;
    let (before, whose) = match (found.iter().skip(1).find(same), &program) {
        (Some(same), Some(program)) => (same, format!(" of {program}")),
        _ => (second, String::new()),
    };
    let (first, last) = (before.display(), newest.display());
    output::message(&format!(
        "plimsoll: {first} and {last}, the two newest recordings{whose} here"
    ));
    Ok([before.clone(), newest.clone()])
}

/// Returns the program of a recording: what is changed between two runs is often an argument.
fn program_of(recording: &Path) -> Option<String> {
    let command = marker::command(&Directory::open(recording).ok()?)?;
    command.split_whitespace().next().map(str::to_string)
}

fn all() -> Result<Vec<PathBuf>> {
    plimsoll_record::newest(Path::new(".")).context("cannot look for recordings here")
}
