//! A scenario's storage taken from a site file.

use std::path::Path;

use anyhow::{Result, bail};
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Site, SiteFile, Target};
use plimsoll_simulate::Scenario;

/// Replaces the storage of a scenario by that of a site, as far as a site describes it.
pub fn of_site(path: &Path, scenario: &mut Scenario) -> Result<()> {
    let file = SiteFile::load(path)?;
    let site = file.site();
    if site.targets.is_empty() {
        bail!("site file {} has no targets; hint: plimsoll site init finds them", path.display());
    }
    let servers = by_server(site);
    let mut rates = Vec::with_capacity(site.targets.len());
    for target in servers.iter().flatten() {
        let Some(peak) = target.peak.trusted(Operation::Write) else {
            bail!(
                "site file {} has no peak write rate for target {} that can be relied on; \
                 hint: plimsoll bench target, then score --write-back",
                path.display(),
                target.name
            );
        };
        rates.push(peak);
    }
    let storage = &mut scenario.storage;
    storage.targets = u32::try_from(rates.len()).unwrap_or(u32::MAX);
    storage.rates = rates;
    storage.targets_per_server = None;
    storage.server_limit = site.limits.server;
    storage.server_targets = match storage.server_limit {
        Some(_) => servers.iter().map(|own| own.len() as u32).collect(),
        None => Vec::new(),
    };
    storage.network_limit = site.limits.network;
    Ok(())
}

/// Returns the targets of each server, in the order in which servers come first. A target without a server has
/// one of its own: that is the least that is known of it.
fn by_server(site: &Site) -> Vec<Vec<&Target>> {
    let mut servers: Vec<Vec<&Target>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for target in &site.targets {
        let Some(server) = &target.server else {
            servers.push(vec![target]);
            continue;
        };
        let place = *places.entry(server).or_insert(servers.len());
        match servers.get_mut(place) {
            Some(own) => own.push(target),
            None => servers.push(vec![target]),
        }
    }
    servers
}
