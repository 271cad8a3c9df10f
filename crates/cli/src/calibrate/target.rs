//! Which target is meant: by its name in the site file, by its directory, or by both.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use plimsoll_domain::site::{Site, SiteFile, Target};

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
    /// Reads `TARGET`, `DIR` or `NAME=DIR`.
    pub fn find(text: &str, site: Option<&Path>) -> Result<Self> {
        let site = site.map(SiteFile::load).transpose()?;
        let (name, directory) = split(text);
        let Some(mut site) = site else {
            if directory.is_none() && !Path::new(text).exists() && !text.contains('/') {
                bail!(
                    "there is no directory {text:?}; hint: for a target's name give its --site FILE"
                );
            }
            let named = directory.is_some().then(|| name.to_owned());
            let directory = directory.unwrap_or(text);
            return Ok(Chosen { name: named, directory: directory.into(), ost: None, site: None });
        };
        let target = match directory {
            Some(directory) => named(&mut site, name, Path::new(directory))?,
            None => known(site.site(), text)?,
        };
        let directory =
            directory.map(PathBuf::from).or(target.path.clone()).with_context(|| {
                format!("target {:?} has no path; hint: --target {0}=DIR", target.name)
            })?;
        let ost = target.lustre_index.map(u16::try_from).transpose()?;
        Ok(Chosen { name: Some(target.name), directory, ost, site: Some(site) })
    }

    /// What people call it.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.directory.display().to_string())
    }
}

/// "NAME=DIR"; an equals sign behind a slash belongs to a directory.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, directory)) if !name.is_empty() && !name.contains('/') => {
            (name, Some(directory))
        }
        _ => (text, None),
    }
}

/// The target of that name; a new one gets its place in the site file.
fn named(site: &mut SiteFile, name: &str, directory: &Path) -> Result<Target> {
    if let Some(target) = site.site().target(name) {
        return Ok(target.clone());
    }
    let real = fs::canonicalize(directory)
        .with_context(|| format!("cannot calibrate {}", directory.display()))?;
    let mut target = Target::named(name);
    target.path = Some(real);
    let mut found = Site::empty();
    found.targets = vec![target.clone()];
    site.add_new(&found)?;
    Ok(target)
}

/// The target of that name or of that directory.
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
    let real = fs::canonicalize(text).map_err(|_| unknown())?;
    let is_there = |target: &&Target| {
        let path = target.path.as_deref().and_then(|path| fs::canonicalize(path).ok());
        path.is_some_and(|path| path == real)
    };
    site.targets.iter().find(is_there).cloned().ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_directories_are_told_apart() {
        assert_eq!(split("OST0003"), ("OST0003", None));
        assert_eq!(split("fast=/nvme"), ("fast", Some("/nvme")));
        assert_eq!(split("/data/a=b"), ("/data/a=b", None));
        assert_eq!(split("=x"), ("=x", None));
    }
}
