//! What is watched: this machine or a captured tree, and what the site file says of it.

mod device_names;

use std::path::Path;

use anyhow::{Context, Result};
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_machine::Machine;
use plimsoll_monitor::Settings;

use crate::found_site;
use crate::output::message;

/// What a monitor reads.
pub struct Watched<'a> {
    /// A captured tree of /proc and /sys in place of this machine.
    pub root: Option<&'a Path>,
    /// The cluster that the machine belongs to.
    pub cluster: &'a str,
    /// Jobs of a target that are read at most.
    pub jobs: u64,
}

impl Watched<'_> {
    /// Returns the settings of its monitor.
    pub fn settings(&self, site: Option<&Site>) -> Result<Settings> {
        let machine = match self.root {
            Some(root) => Machine::at(root, ""),
            None => Machine::host(),
        };
        let server = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // A captured tree says nothing of where this machine's targets lie, and none of its programs is run.
        let (names, lctl) = match (self.root, site) {
            (Some(_), _) => Default::default(),
            (None, None) => (Default::default(), machine.find_system_program("lctl")),
            (None, Some(site)) => {
                (device_names::find(&machine, site), machine.find_system_program("lctl"))
            }
        };
        let jobs_most = usize::try_from(self.jobs).context("--jobs is too large")?;
        let cluster = self.cluster.to_owned();
        Ok(Settings { machine, server, cluster, names, jobs_most, lctl })
    }
}

/// Returns the site file that is named, or the one that applies here if it can be read: watching goes on without.
pub fn site(named: Option<&Path>) -> Result<Option<Site>> {
    if let Some(path) = named {
        return Ok(Some(SiteFile::load(path)?.site().clone()));
    }
    let Some(path) = found_site::path() else { return Ok(None) };
    match SiteFile::load(&path) {
        Ok(file) => Ok(Some(file.site().clone())),
        Err(error) => {
            message(&format!("warning: {error}"));
            Ok(None)
        }
    }
}
