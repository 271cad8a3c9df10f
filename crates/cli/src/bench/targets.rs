//! Which targets to measure.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use plimsoll_bench::plan::{ONE_CALL_MOST, Plan, TargetPlan};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_testbed::Testbed;

use crate::named_directory::{NamedDirectory, parts};
use crate::testbed::{self, limited};

/// Where the targets come from.
#[derive(clap::Args)]
pub struct Targets {
    /// Directories on the targets, as DIR or NAME=DIR; with --site or --testbed also names of its
    /// targets, like t0,t2, to take only these
    #[arg(long, num_args = 1.., value_name = "[NAME=]DIR|NAME,...")]
    targets: Vec<String>,

    /// Targets of this test bed
    #[arg(long, value_name = "NAME")]
    testbed: Option<String>,

    /// Targets that have a path in this site file; also where their peaks are
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl Targets {
    /// The targets that are named, or all of the site or the test bed.
    pub fn find(&self) -> Result<Vec<TargetPlan>> {
        let known = match (&self.testbed, &self.site) {
            (Some(name), _) => Some(of_testbed(name)?),
            (None, Some(path)) => Some(of_site(&load(path)?)),
            (None, None) => None,
        };
        let found = match (self.targets.is_empty(), known) {
            (false, known) => self.chosen(&known.unwrap_or_default())?,
            (true, Some(all)) => all,
            (true, None) => {
                bail!("which targets? hint: --targets DIR…, --testbed NAME or --site FILE")
            }
        };
        ensure!(!found.is_empty(), "there are no targets; hint: the site's targets need a path");
        Ok(found)
    }

    /// What `--targets` names: targets that are known by their name, and directories.
    fn chosen(&self, known: &[TargetPlan]) -> Result<Vec<TargetPlan>> {
        let is_directory = |text: &str| text.contains(['/', '=']) || Path::new(text).is_dir();
        let choose = |text: &str| match known.iter().find(|target| target.name == text) {
            Some(target) => Ok(target.clone()),
            None if self.is_without_names() || is_directory(text) => directory(text),
            None => {
                let names: Vec<&str> = known.iter().map(|target| target.name.as_str()).collect();
                let place = if self.testbed.is_some() { "test bed" } else { "site" };
                bail!(
                    "the {place} has no target {text:?} with a path, and there is no such directory; hint: {}",
                    if names.is_empty() { "NAME=DIR".to_string() } else { names.join(", ") }
                )
            }
        };
        parts(&self.targets).into_iter().map(choose).collect()
    }

    fn is_without_names(&self) -> bool {
        self.testbed.is_none() && self.site.is_none()
    }

    /// Which of these options were given; a site file is welcome beside a plan for its peaks.
    pub fn given_beside_site(&self) -> Option<&'static str> {
        let flags = [("targets", !self.targets.is_empty()), ("testbed", self.testbed.is_some())];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Whether a site file was named.
    pub fn has_site(&self) -> bool {
        self.site.is_some()
    }

    /// What each of a plan's targets can do, as far as that is known: the peak of the site file where it
    /// can be relied on, and the limit of a test bed.
    pub fn rates(&self, plan: &Plan) -> Result<Vec<Option<BytesPerSec>>> {
        let site = self.site.as_deref().map(load).transpose()?;
        let mut limits = limited::Limits::default();
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

fn directory(text: &str) -> Result<TargetPlan> {
    let NamedDirectory { name, path } = NamedDirectory::parse(text)?;
    Ok(TargetPlan { name, path, server: None, lustre_index: None })
}

fn of_testbed(name: &str) -> Result<Vec<TargetPlan>> {
    let listing = Testbed::new(name)?.list()?;
    ensure!(listing.exists, "there is no test bed {name}; hint: {}", testbed::how_to_make(name));
    let usable = listing.targets.into_iter().filter(|target| target.state.is_usable());
    let targets = usable.map(|target| TargetPlan {
        name: target.name.to_string(),
        path: target.path,
        server: None,
        lustre_index: None,
    });
    Ok(targets.collect())
}

fn of_site(site: &Site) -> Vec<TargetPlan> {
    let mount = |target: &plimsoll_domain::site::Target| {
        let file_system = target.file_system.as_ref()?;
        let known = site.file_systems.iter().find(|known| known.name == *file_system)?;
        target.lustre_index.map(|_| known.mount.clone())
    };
    let targets = site.targets.iter().filter_map(|target| {
        Some(TargetPlan {
            name: target.name.clone(),
            path: target.path.clone().or_else(|| mount(target))?,
            server: target.server.clone(),
            lustre_index: target.lustre_index,
        })
    });
    targets.collect()
}
