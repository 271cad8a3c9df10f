//! Which targets to measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use plimsoll_bench::plan::{ONE_CALL_MOST, Plan, TargetPlan};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_guarded::Readers;
use plimsoll_testbed::{KnownLimits, TargetInfo};

use crate::found_site;
use crate::targets::{Choice, Known, NamedDirectory, TargetArguments};

/// Where the targets come from.
#[derive(clap::Args)]
pub struct Targets {
    #[command(flatten)]
    named: TargetArguments,

    /// Targets that have a path in this site file; also where their peaks are [default, if no target is named: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl Targets {
    /// Returns the targets that are named, or all of the site or the test bed, and who may read where they are named.
    pub fn find(&self) -> Result<(Vec<TargetPlan>, Readers)> {
        let mut readers = Readers::Everyone;
        let mut of_file = |path: &Path| -> Result<_> {
            let file = SiteFile::load(path)?;
            readers = file.readers();
            Ok(Known { place: "site", targets: of_site(file.site()) })
        };
        let known = match (self.named.bed.find()?, &self.site) {
            (Some((_, targets)), _) => Some(Known { place: "test bed", targets: of_bed(targets) }),
            (None, Some(path)) => Some(of_file(path)?),
            (None, None) if self.named.are_named() => None,
            (None, None) => {
                let site = found_site::path().with_context(
                    || "which targets? hint: --targets DIR…, --testbed NAME or --site FILE",
                )?;
                Some(of_file(&site)?)
            }
        };
        let target = |choice| match choice {
            Choice::Known(target) => target,
            Choice::Directory(NamedDirectory { name, path }) => {
                TargetPlan { name, path, server: None, lustre_index: None }
            }
        };
        let found: Vec<TargetPlan> = self.named.choose(known)?.into_iter().map(target).collect();
        ensure!(!found.is_empty(), "there are no targets; hint: the site's targets need a path");
        Ok((found, readers))
    }

    /// Returns which of these options were given; a site file is welcome beside a plan for its peaks.
    pub fn given_beside_site(&self) -> Option<&'static str> {
        let flags = [("targets", self.named.are_named()), ("testbed", self.named.bed.is_given())];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Returns whether a site file was named.
    pub fn has_site(&self) -> bool {
        self.site.is_some()
    }

    /// Returns what each of a plan's targets can do, as far as that is known: the peak of the site file where it
    /// can be relied on, and the limit of a test bed.
    pub fn rates(&self, plan: &Plan) -> Result<Vec<Option<BytesPerSec>>> {
        let site = self.site.as_deref().map(load).transpose()?;
        let mut limits = KnownLimits::default();
        let rate = |target: &TargetPlan| {
            let known = site.as_ref().and_then(|site| site.target(&target.name));
            let peak = known.and_then(|known| known.peak.trusted(plan.burst.operation));
            let transfer = plan.burst.transfer.of_burst(ONE_CALL_MOST);
            let limit = limits.rate(&target.path, plan.burst.operation, transfer);
            peak.into_iter().chain(limit).min()
        };
        Ok(plan.targets.iter().map(rate).collect())
    }
}

fn load(path: &Path) -> Result<Site> {
    Ok(SiteFile::load(path)?.site().clone())
}

fn of_bed(targets: Vec<TargetInfo>) -> Vec<(String, TargetPlan)> {
    let target = |it: TargetInfo| TargetPlan {
        name: it.name.to_string(),
        path: it.path,
        server: None,
        lustre_index: None,
    };
    targets.into_iter().map(target).map(|it| (it.name.clone(), it)).collect()
}

fn of_site(site: &Site) -> Vec<(String, TargetPlan)> {
    let targets = site.targets.iter().filter_map(|target| {
        Some(TargetPlan {
            name: target.name.clone(),
            path: site.directory(target)?.to_path_buf(),
            server: target.server.clone(),
            lustre_index: target.lustre_index,
        })
    });
    targets.map(|it| (it.name.clone(), it)).collect()
}
