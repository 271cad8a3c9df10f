//! Which targets to measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use plimsoll_bench::plan::{Plan, TargetPlan};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_testbed::Testbed;

use crate::testbed;

/// Where the targets come from.
#[derive(clap::Args)]
pub struct Targets {
    /// Directories on the targets, as DIR or NAME=DIR
    #[arg(long, num_args = 1.., value_name = "[NAME=]DIR")]
    targets: Vec<String>,

    /// Targets of this test bed
    #[arg(long, value_name = "NAME", conflicts_with = "targets")]
    testbed: Option<String>,

    /// Targets that have a path in this site file; also where their peaks are
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl Targets {
    /// The targets, by the first of the sources that is named.
    pub fn find(&self) -> Result<Vec<TargetPlan>> {
        let found = if !self.targets.is_empty() {
            self.targets.iter().map(|text| named(text)).collect::<Result<_>>()?
        } else if let Some(name) = &self.testbed {
            of_testbed(name)?
        } else if let Some(path) = &self.site {
            of_site(&load(path)?)
        } else {
            bail!("which targets? hint: --targets DIR…, --testbed NAME or --site FILE");
        };
        ensure!(!found.is_empty(), "there are no targets; hint: the site's targets need a path");
        Ok(found)
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

    /// The least of the peaks that the site knows of a plan's targets, to tell how long it takes.
    pub fn slowest_peak(&self, plan: &Plan) -> Result<Option<BytesPerSec>> {
        let Some(path) = &self.site else { return Ok(None) };
        let site = load(path)?;
        let peaks = plan.targets.iter().filter_map(|target| {
            let peak = &site.target(&target.name)?.peak;
            match plan.burst.operation {
                Operation::Write => peak.write,
                Operation::Read => peak.read,
            }
        });
        Ok(peaks.min())
    }
}

fn load(path: &Path) -> Result<Site> {
    Ok(SiteFile::load(path)?.site().clone())
}

fn named(text: &str) -> Result<TargetPlan> {
    let (name, path) = match text.split_once('=') {
        // A directory may have the sign in its own name.
        Some((name, path)) if !Path::new(text).is_dir() => (name.to_string(), PathBuf::from(path)),
        _ => (name_of(Path::new(text))?, PathBuf::from(text)),
    };
    // Workers and ranks may run in another directory.
    let path = std::path::absolute(&path).with_context(|| format!("cannot use {text}"))?;
    Ok(TargetPlan { name, path, server: None, lustre_index: None })
}

fn name_of(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path)?;
    let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    name.with_context(|| format!("{} has no name; hint: NAME={0}", path.display()))
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
