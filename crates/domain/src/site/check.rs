//! Checks of a site beyond being well-formed: names are unique and printable,
//! references lead somewhere, quantities are possible.

use std::collections::HashSet;
use std::path::Path;

use super::{Cost, Site, Target};

/// Longest name; it must fit a table.
const NAME_CHARS_MAX: usize = 100;

impl Site {
    /// Returns the first contradiction found, in words.
    pub fn check(&self) -> Result<(), String> {
        check_names("file_system", self.file_systems.iter().map(|it| it.name.as_str()))?;
        check_names("server", self.servers.iter().map(|it| it.name.as_str()))?;
        check_names("target", self.targets.iter().map(|it| it.name.as_str()))?;
        check_names("client", self.clients.iter().map(|it| it.name.as_str()))?;
        let labels = self.name.iter();
        let labels = labels.chain(self.servers.iter().filter_map(|it| it.group.as_ref()));
        let labels = labels.chain(self.clients.iter().filter_map(|it| it.router.as_ref()));
        let labels = labels.chain(self.file_systems.iter().map(|it| &it.kind));
        let costs = self.targets.iter().flat_map(|it| [&it.cost.read, &it.cost.write]);
        let labels = labels.chain(costs.flatten().filter_map(|it| it.measured.as_ref()));
        let mut labels = labels.chain(self.slowness.iter().filter_map(|it| it.measured.as_ref()));
        labels.try_for_each(|it| printable(it))?;
        for file_system in &self.file_systems {
            absolute(&format!("file_system {:?}", file_system.name), "mount", &file_system.mount)?;
        }
        self.check_targets()?;
        self.check_limits()?;
        self.check_torus()?;
        self.check_stragglers()?;
        self.slowness.iter().try_for_each(|it| match it.quantile {
            quantile if quantile > 0.0 && quantile < 1.0 => Ok(()),
            quantile => Err(format!("slowness: quantile {quantile} is not between 0 and 1")),
        })
    }

    fn check_targets(&self) -> Result<(), String> {
        let file_systems: HashSet<_> = self.file_systems.iter().map(|it| &it.name).collect();
        let servers: HashSet<_> = self.servers.iter().map(|it| &it.name).collect();
        let mut indexes = HashSet::new();
        for target in &self.targets {
            let who = format!("target {:?}", target.name);
            if let Some(name) = target.file_system.as_ref().filter(|it| !file_systems.contains(it))
            {
                return Err(format!("{who} names the unknown file_system {name:?}"));
            }
            if let Some(name) = target.server.as_ref().filter(|it| !servers.contains(it)) {
                return Err(format!("{who} names the unknown server {name:?}"));
            }
            if target.lustre_index.is_some()
                && !indexes.insert((&target.file_system, target.lustre_index))
            {
                return Err(format!("{who} has the lustre_index of another target"));
            }
            check_place(&who, target)?;
            check_speed(&who, target)?;
        }
        Ok(())
    }

    fn check_stragglers(&self) -> Result<(), String> {
        for straggler in &self.stragglers {
            let texts = [Some(&straggler.name), straggler.measured.as_ref()];
            texts.into_iter().flatten().try_for_each(|it| printable(it))?;
            let ratio = straggler.ratio;
            if !(ratio.is_finite() && ratio >= 0.0) {
                return Err(format!("straggler {:?}: impossible ratio {ratio}", straggler.name));
            }
        }
        Ok(())
    }

    /// Coordinates must lie on the torus.
    fn check_torus(&self) -> Result<(), String> {
        let torus = &self.topology.torus;
        if torus.contains(&0) {
            return Err("topology: a torus with no nodes along a dimension".into());
        }
        let is_on = |place: &i64, nodes: &u64| u64::try_from(*place).is_ok_and(|it| it < *nodes);
        let placed = self.clients.iter().filter(|it| !it.coordinates.is_empty());
        for client in placed.filter(|_| !torus.is_empty()) {
            let coordinates = &client.coordinates;
            let on_torus = coordinates.len() == torus.len()
                && coordinates.iter().zip(torus).all(|(place, nodes)| is_on(place, nodes));
            if !on_torus {
                return Err(format!(
                    "client {:?}: coordinates {coordinates:?} are not on the torus {torus:?}",
                    client.name
                ));
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), String> {
        let limits = &self.limits;
        let rates = [limits.client, limits.router, limits.server, limits.network];
        if rates.iter().flatten().any(|rate| rate.get() == 0) {
            Err("limits: a rate of zero; hint: leave out what is not known".into())
        } else {
            Ok(())
        }
    }
}

fn check_names<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for name in names {
        printable(name).map_err(|problem| format!("{kind}: {problem}"))?;
        if name.is_empty() {
            return Err(format!("a {kind} has an empty name"));
        }
        if !seen.insert(name) {
            return Err(format!("two entries of {kind} have the name {name:?}"));
        }
    }
    Ok(())
}

/// Names reach terminals and file names, so they are short and have no control characters.
fn printable(text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err(format!("{text:?} contains control characters"));
    }
    if text.chars().count() > NAME_CHARS_MAX {
        return Err(format!("a name is longer than {NAME_CHARS_MAX} characters"));
    }
    Ok(())
}

fn check_place(who: &str, target: &Target) -> Result<(), String> {
    let places = [("path", &target.path), ("device", &target.device)];
    for (key, path) in places.iter().filter_map(|(key, path)| path.as_ref().map(|p| (key, p))) {
        absolute(who, key, path)?;
    }
    if target.lustre_index.is_some() && target.file_system.is_none() {
        return Err(format!("{who} has a lustre_index but no file_system"));
    }
    if target.path.is_none() && target.device.is_none() && target.lustre_index.is_none() {
        return Err(format!("{who} has no path, device or lustre_index"));
    }
    Ok(())
}

fn absolute(who: &str, key: &str, path: &Path) -> Result<(), String> {
    if path.to_string_lossy().chars().any(char::is_control) {
        return Err(format!("{who}: {key} contains control characters"));
    }
    if path.is_absolute() {
        Ok(())
    } else {
        Err(format!("{who}: {key} {path:?} is not an absolute path"))
    }
}

fn check_speed(who: &str, target: &Target) -> Result<(), String> {
    if [target.peak.read, target.peak.write].iter().flatten().any(|rate| rate.get() == 0) {
        return Err(format!("{who}: a peak rate of zero; hint: leave out what is not known"));
    }
    let costs = [("read", &target.cost.read), ("write", &target.cost.write)];
    for (key, cost) in costs.iter().filter_map(|(key, cost)| cost.as_ref().map(|c| (key, c))) {
        check_cost(cost).map_err(|problem| format!("{who}: cost.{key}: {problem}"))?;
    }
    Ok(())
}

fn check_cost(cost: &Cost) -> Result<(), String> {
    let parts = [
        ("seconds_per_operation", Some(cost.seconds_per_operation), f64::MAX),
        ("seconds_per_byte", Some(cost.seconds_per_byte), f64::MAX),
        ("relative_error", cost.relative_error, f64::MAX),
        ("median_relative_error", cost.median_relative_error, f64::MAX),
        ("max_relative_error", cost.max_relative_error, f64::MAX),
        ("fill", cost.fill, 1.0),
    ];
    for (key, value, most) in parts {
        if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
            return Err(format!("{key} = {value} is not possible"));
        }
    }
    if cost.seconds_per_operation == 0.0 && cost.seconds_per_byte == 0.0 {
        return Err("a transaction that costs nothing".into());
    }
    Ok(())
}
