//! A scenario's storage taken from a site.

use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Site, Target};
use thiserror::Error;

use super::Storage;

/// Why a site does not describe storage that can be simulated. As text, it follows "site file … has".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SiteLacks {
    /// There is nothing to write to.
    #[error("no targets; hint: plimsoll site init finds them")]
    Targets,
    /// How fast a target takes data is not known.
    #[error(
        "no peak write rate for target {target} that can be relied on; \
         hint: plimsoll bench target, then score --write-back"
    )]
    Peak {
        /// The target's name.
        target: String,
    },
}

impl Storage {
    /// Replaces targets, servers and limits by those of a site, as far as a site describes them. Targets are
    /// numbered server by server.
    ///
    /// # Errors
    /// When the site has no targets, or does not know the peak of each.
    pub fn take_site(&mut self, site: &Site) -> Result<(), SiteLacks> {
        if site.targets.is_empty() {
            return Err(SiteLacks::Targets);
        }
        let servers = by_server(site);
        let rate = |target: &&Target| {
            let peak = target.peak.trusted(Operation::Write);
            peak.ok_or_else(|| SiteLacks::Peak { target: target.name.clone() })
        };
        self.rates = servers.iter().flatten().map(rate).collect::<Result<_, _>>()?;
        self.targets = u32::try_from(self.rates.len()).unwrap_or(u32::MAX);
        self.targets_per_server = None;
        self.server_limit = site.limits.server;
        self.server_targets = match self.server_limit {
            Some(_) => servers.iter().map(|own| own.len() as u32).collect(),
            None => Vec::new(),
        };
        self.network_limit = site.limits.network;
        self.client_limit = site.limits.client;
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::embedded;
    use plimsoll_domain::BytesPerSec;

    fn target(name: &str, server: Option<&str>, peak: Option<u64>) -> Target {
        let mut target = Target::named(name);
        target.server = server.map(str::to_string);
        target.peak.write = peak.map(BytesPerSec::new);
        target
    }

    #[test]
    fn targets_are_numbered_server_by_server() {
        let mut site = Site::empty();
        site.targets = vec![
            target("a", Some("one"), Some(1)),
            target("b", None, Some(2)),
            target("c", Some("one"), Some(3)),
        ];
        site.limits.server = Some(BytesPerSec::new(9));
        let mut storage = embedded("heavy-noise").unwrap().storage;
        storage.take_site(&site).unwrap();
        assert_eq!(storage.rates, [1, 3, 2].map(BytesPerSec::new));
        assert_eq!((storage.targets, &storage.server_targets[..]), (3, &[2, 1][..]));
        assert_eq!((storage.targets_per_server, storage.network_limit), (None, None));
        site.limits.client = Some(BytesPerSec::new(7));
        storage.take_site(&site).unwrap();
        assert_eq!(storage.client_limit, site.limits.client);
    }

    #[test]
    fn what_a_site_lacks_is_said_and_nothing_is_changed() {
        let before = embedded("heavy-noise").unwrap().storage;
        let mut storage = before.clone();
        let mut site = Site::empty();
        assert_eq!(storage.take_site(&site), Err(SiteLacks::Targets));
        site.targets = vec![target("a", None, Some(1)), target("b", None, None)];
        let lacks = SiteLacks::Peak { target: "b".into() };
        assert_eq!(storage.take_site(&site), Err(lacks));
        assert_eq!(storage, before);
    }
}
