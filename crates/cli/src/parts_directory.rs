//! The directory in which tasks leave their parts, and from which they are merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use plimsoll_guarded::{Directory, Readers};
use rustix::fs::OFlags;

use crate::argument::argument;
use crate::new_file::{NewFile, Replacing};
use crate::part::Part;

/// Where parts are written to and merged from.
#[derive(clap::Args)]
pub struct PartsOptions {
    /// Work out only one part, and leave it in this directory for --merge
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Which part: 0/4 to 3/4 for four of them [default: that of this task of Slurm]
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,

    /// Merge the parts that this directory has; fails if one is absent
    #[arg(long, value_name = "DIR", conflicts_with_all = ["into", "part"])]
    merge: Option<PathBuf>,
}

impl PartsOptions {
    /// Returns which part is to be worked out, and where it is left.
    pub fn wanted(&self) -> Result<Option<(Part, &Path)>> {
        match (&self.into, self.part) {
            (Some(into), Some(part)) => Ok(Some((part, into))),
            (Some(into), None) => Ok(Some((Part::of_slurm()?, into))),
            (None, Some(_)) => {
                bail!("--part needs a directory to leave the part in; hint: --into DIR")
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns a part that is left elsewhere.
    pub fn part_elsewhere(&self) -> Option<Part> {
        self.part.filter(|_| self.into.is_none())
    }

    /// Returns the directory whose parts are merged.
    pub fn merged(&self) -> Option<&Path> {
        self.merge.as_deref()
    }
}

/// Opens the file of a part, and makes the directory if need be. A part that is there is replaced only if that is wanted: the directory may be another one
/// than is thought. Tasks that were lost leave none.
pub fn create(
    directory: &Path,
    part: Part,
    readers: Readers,
    replacing: &Replacing,
) -> Result<NewFile> {
    Directory::make_by_own_links(directory, 0o700)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    replacing.create_from(&directory.join(name(part)), readers)
}

/// Opens all parts of a directory, in their order.
pub fn open(directory: &Path) -> Result<Vec<(File, PathBuf)>> {
    let failed = || format!("cannot read {}", directory.display());
    let opened = Directory::open(directory).with_context(failed)?;
    let names = opened.names().with_context(failed)?;
    let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for part in names.iter().filter_map(|it| parse(it.to_str()?)) {
        found.entry(part.parts).or_default().insert(part.number);
    }
    let shown = argument(directory);
    let mut divisions = found.iter();
    let Some((parts, present)) = divisions.next() else {
        bail!("{shown} has no parts; hint: --into {shown} leaves some there");
    };
    if let Some((others, _)) = divisions.next() {
        bail!(
            "{shown} has parts of divisions into {parts} and into {others}; hint: remove those of one of them"
        );
    }
    let absent: Vec<usize> = (0..*parts).filter(|it| !present.contains(it)).take(MANY).collect();
    let count = parts - present.len();
    ensure!(
        absent.is_empty(),
        "{} of {parts} parts in {shown} {} absent: {}{}; hint: --into {shown} --part {}/{parts} makes one",
        count,
        if count == 1 { "is" } else { "are" },
        absent.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        if count > MANY { " and more" } else { "" },
        absent[0],
    );
    let open = |number: usize| {
        let name = name(Part { number, parts: *parts });
        let path = directory.join(&name);
        let file = opened.open_file(&name, OFlags::RDONLY);
        Ok((file.with_context(|| format!("cannot read {}", path.display()))?, path))
    };
    (0..*parts).map(open).collect()
}

/// Absent parts that are named.
const MANY: usize = 20;

fn name(part: Part) -> String {
    format!("part-{}-of-{}", part.number, part.parts)
}

fn parse(text: &str) -> Option<Part> {
    let (number, parts) = text.strip_prefix("part-")?.split_once("-of-")?;
    let part: Part = format!("{number}/{parts}").parse().ok()?;
    (name(part) == text).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_parts() {
        let part = Part { number: 11, parts: 12 };
        assert_eq!(parse(&name(part)), Some(part));
        for other in ["part-01-of-2", "part-2-of-2", ".part-0-of-1.ab.part", "part-0-of-1.old", ""]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
