//! Which targets a race is on, as people name them.

use anyhow::{Result, bail};
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
        Ok(Targets { list, bed })
    }
}

fn named(directory: NamedDirectory) -> RaceTarget {
    RaceTarget::directory(directory.name, directory.path)
}
