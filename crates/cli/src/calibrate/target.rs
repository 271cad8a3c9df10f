//! Which target is meant: by its name in the site file, by its directory, or by both.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use plimsoll_domain::site::{Site, SiteFile, Target};
use plimsoll_guarded::Directory;
use plimsoll_testbed::TargetInfo;

use crate::found_site;
use crate::targets::{BedArguments, Choice, Known, split};

/// The target to calibrate.
#[derive(Debug)]
pub struct Chosen {
    /// Its name in the site file, if there is one.
    pub name: Option<String>,
    /// Where its file goes.
    pub directory: PathBuf,
    /// Index of its Lustre target.
    pub ost: Option<u16>,
    /// The site file, with the target in it.
    pub site: Option<SiteFile>,
}

impl Chosen {
    /// Reads the name of a target that the test bed or the site file knows, `DIR` or `NAME=DIR`.
    pub fn find(text: &str, bed: &BedArguments, site: Option<&Path>) -> Result<Self> {
        let in_bed = match bed.find()? {
            Some((_, targets)) => in_bed(text, targets)?,
            None => None,
        };
        let (name, directory) = match &in_bed {
            Some(path) => (Some(text), path.as_path()),
            None => split(text).map(|(name, path)| (name, Path::new(path)))?,
        };
        let is_word = name.is_none() && !text.contains('/');
        // A target's name goes before a directory of the same name: anybody may have made that here.
        let found = if is_word && site.is_none() { found_site::path_with(text) } else { None };
        let is_a_name =
            is_word && (found.is_some() || Directory::hold_unserved(directory).is_err());
        let site = site.or(found.as_deref()).map(SiteFile::load).transpose()?;
        let Some(mut site) = site else {
            if is_a_name {
                bail!(
                    "there is no directory {text:?}; hint: for a target's name give its --site FILE or --testbed NAME"
                );
            }
            let name = name.map(str::to_owned);
            return Ok(Chosen { name, directory: directory.into(), ost: None, site: None });
        };
        let target = match name {
            Some(name) => named(&mut site, name, directory)?,
            None => known(site.site(), text)?,
        };
        let directory = name.map(|_| directory.to_owned()).or(target.path.clone());
        let directory = directory.with_context(|| {
            format!("target {:?} has no path; hint: --target {0}=DIR", target.name)
        })?;
        let ost = target.lustre_index.map(u16::try_from).transpose()?;
        Ok(Chosen { name: Some(target.name), directory, ost, site: Some(site) })
    }

    /// Returns what people call it.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.directory.display().to_string())
    }
}

/// Returns the path of a test bed's target that is called by its name.
fn in_bed(text: &str, targets: Vec<TargetInfo>) -> Result<Option<PathBuf>> {
    let targets = targets.into_iter().map(|it| (it.name.to_string(), it.path)).collect();
    match (Known { place: "test bed", targets }).choose(text)? {
        Choice::Known(path) => Ok(Some(path)),
        Choice::Directory(_) => Ok(None),
    }
}

/// Returns the target of that name; a new one gets its place in the site file.
fn named(site: &mut SiteFile, name: &str, directory: &Path) -> Result<Target> {
    if let Some(target) = site.site().target(name) {
        return Ok(target.clone());
    }
    // Not where somebody else's link leads: the path stays in the site file.
    let real = Directory::open_by_own_links(directory).and_then(Directory::with_whole_path);
    let real = real.with_context(|| format!("cannot calibrate {}", directory.display()))?;
    let mut target = Target::named(name);
    target.path = Some(real.path().to_path_buf());
    let mut found = Site::empty();
    found.targets = vec![target.clone()];
    site.add_new(&found)?;
    Ok(target)
}

/// Returns the target of that name or of that directory.
fn known(site: &Site, text: &str) -> Result<Target> {
    if let Some(target) = site.target(text) {
        return Ok(target.clone());
    }
    let unknown = || {
        anyhow!(
            "the site file has no target {text:?} and none with that path; \
             hint: --target NAME=DIR, or `plimsoll site show` for the names"
        )
    };
    let real = |path: &Path| Directory::hold_unserved_with_path(path).ok().map(|(_, real)| real);
    let named = real(Path::new(text)).ok_or_else(unknown)?;
    let is_there = |target: &&Target| {
        let path = target.path.as_deref().and_then(real);
        path.is_some_and(|path| path == named)
    };
    site.targets.iter().find(is_there).cloned().ok_or_else(unknown)
}
