//! Which targets a container's logs are on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{self, Site, SiteFile};
use plimsoll_stow::Target;
use plimsoll_testbed::TargetInfo;

use crate::found_site;
use crate::targets::{Choice, Known, NamedDirectory, TargetArguments};

/// Where targets come from.
#[derive(clap::Args)]
pub struct LogTargets {
    #[command(flatten)]
    named: TargetArguments,

    /// Targets that have a path in this site file
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl LogTargets {
    /// Returns whether any are named, in whatever way.
    pub fn are_named(&self) -> bool {
        self.named.are_named() || self.named.bed.is_given() || self.site.is_some()
    }

    /// Returns the targets that are named; none if the container's own list is to be used.
    pub fn if_named(&self) -> Result<Vec<Target>> {
        if self.are_named() { self.find() } else { Ok(Vec::new()) }
    }

    /// Returns the targets that are named, or all of the site.
    pub fn find(&self) -> Result<Vec<Target>> {
        let known = match (self.named.bed.find()?, &self.site) {
            (Some((_, targets)), _) => {
                let target = |name: String, path| (name.clone(), Target { name, path });
                let targets = targets.into_iter().map(|it| target(it.name.to_string(), it.path));
                Some(Known { place: "test bed", targets: targets.collect() })
            }
            (None, Some(path)) => Some(of_file(path)?),
            (None, None) if self.named.are_named() => None,
            (None, None) => {
                let site = found_site::path().context(
                    "which targets? hint: --targets DIR,..., --testbed NAME or --site FILE",
                )?;
                Some(of_file(&site)?)
            }
        };
        let target = |choice| match choice {
            Choice::Known(target) => target,
            Choice::Directory(NamedDirectory { name, path }) => Target { name, path },
        };
        let found: Vec<Target> = self.named.choose(known)?.into_iter().map(target).collect();
        ensure!(!found.is_empty(), "there are no targets; hint: the site's targets need a path");
        for (index, target) in found.iter().enumerate() {
            ensure!(
                !found[..index].iter().any(|it| it.name == target.name),
                "two targets are called {:?}; hint: give them names of their own with NAME=DIR",
                target.name
            );
        }
        Ok(found)
    }

    /// Returns what these targets take together, in bytes per second, if that is known of all of them: the limits of a test bed, or the peaks of a site.
    pub fn write_rate(&self, targets: &[Target]) -> Option<f64> {
        let rates: Vec<(String, Option<BytesPerSec>)> =
            match (self.named.bed.find().ok()?, &self.site) {
                (Some((_, known)), _) => {
                    let rate = |it: TargetInfo| (it.name.to_string(), it.limits.write.bytes);
                    known.into_iter().map(rate).collect()
                }
                (None, path) => {
                    let is_of_site = path.is_some() || !self.named.are_named();
                    let path = path
                        .clone()
                        .or_else(|| Some(found_site::find()?.0))
                        .filter(|_| is_of_site)?;
                    let site = SiteFile::load(&path).ok()?;
                    let rate =
                        |it: &site::Target| (it.name.clone(), it.peak.trusted(Operation::Write));
                    site.site().targets.iter().map(rate).collect()
                }
            };
        let rate = |target: &Target| {
            let (_, rate) = rates.iter().find(|(name, _)| *name == target.name)?;
            rate.map(|it| it.get() as f64)
        };
        targets.iter().map(rate).sum()
    }
}

fn of_file(path: &Path) -> Result<Known<Target>> {
    Ok(Known { place: "site", targets: of_site(SiteFile::load(path)?.site()) })
}

fn of_site(site: &Site) -> Vec<(String, Target)> {
    let targets = site.targets.iter().filter_map(|it| {
        let path = site.directory(it)?.to_path_buf();
        Some((it.name.clone(), Target { name: it.name.clone(), path }))
    });
    targets.collect()
}
