//! Which targets a race is on, as people name them.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use plimsoll_race::{RaceTarget, Targets};

use crate::targets::{Choice, Known, NamedDirectory, TargetArguments};

/// Where the targets come from. Limits of a test bed's targets are their rates; others are measured first.
#[derive(clap::Args)]
pub struct Source {
    #[command(flatten)]
    named: TargetArguments,
}

impl Source {
    /// Finds the targets, with the rates that their limits tell.
    pub fn find(&self) -> Result<Targets> {
        let bed = self.named.bed.find()?;
        if bed.is_none() && !self.named.are_named() {
            bail!("which targets? hint: --targets DIR…, or --testbed NAME");
        }
        let (bed, known) = match bed {
            Some((bed, targets)) => {
                let targets =
                    targets.into_iter().map(|it| (it.name.to_string(), RaceTarget::of_bed(it)));
                (Some(bed), Some(Known { place: "test bed", targets: targets.collect() }))
            }
            None => (None, None),
        };
        let target = |choice| match choice {
            Choice::Known(target) => target,
            Choice::Directory(directory) => named(directory),
        };
        let list = self.named.choose(known)?.into_iter().map(target).collect();
        let targets = Targets { list, bed };
        let count = targets.list.len();
        ensure!(count > 0, "there are no targets; hint: plimsoll testbed list");
        ensure!(count <= 256, "{count} targets are too many; hint: at most 256");
        let places: Vec<PathBuf> = targets.list.iter().map(|it| real(&it.path)).collect();
        for (at, target) in targets.list.iter().enumerate() {
            if let Some(other) = places[..at].iter().position(|place| *place == places[at]) {
                let (first, second) = (&targets.list[other].name, &target.name);
                bail!("targets {first} and {second} are one directory; hint: name it once");
            }
            let is_other = |other: &RaceTarget| other.name == target.name;
            ensure!(
                !targets.list[..at].iter().any(is_other),
                "target {} is named twice; hint: NAME=DIR gives names",
                target.name
            );
        }
        Ok(targets)
    }
}

fn named(directory: NamedDirectory) -> RaceTarget {
    RaceTarget::directory(directory.name, directory.path)
}

/// Returns where a target really is, whatever links lead there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
