//! What names of others mean.

use plimsoll_history::{Component, ComponentKind};

/// Makes components of one source.
#[derive(Debug, Clone)]
pub(crate) struct Components {
    cluster: String,
    file_system: String,
}

impl Components {
    /// Returns those of a cluster whose data targets have these names: Lustre's tell the file system, if it is one.
    pub fn of<'a>(cluster: &str, targets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found: Option<&str> = None;
        let mut is_one = true;
        for file_system in targets.into_iter().filter_map(file_system_of) {
            is_one &= found.is_none_or(|it| it == file_system);
            found = Some(file_system);
        }
        let file_system = found.filter(|_| is_one).unwrap_or_default().to_owned();
        Components { cluster: cluster.to_owned(), file_system }
    }

    /// Returns those of a cluster and of a file system that is known.
    pub fn named(cluster: &str, file_system: &str) -> Self {
        Components { cluster: cluster.to_owned(), file_system: file_system.to_owned() }
    }

    /// Returns the file system; empty if it is not known.
    pub fn file_system(&self) -> &str {
        &self.file_system
    }

    /// Returns a target of data, and the server that its name tells: `host:device` is a block device.
    pub fn data_target(&self, name: &str) -> (Component, String) {
        let name = name.trim();
        match name.split_once(':') {
            Some((host, device)) if !host.is_empty() && !device.is_empty() => {
                let component = Component::new(ComponentKind::BlockDevice, name);
                (component.of_cluster(&self.cluster), host.to_owned())
            }
            _ => (self.part(ComponentKind::Ost, name), String::new()),
        }
    }

    /// Returns a target of metadata. One that has its server's name is the only one of its file system: it is called as Lustre calls that.
    pub fn metadata_target(&self, name: &str, is_server: bool) -> (Component, String) {
        let name = name.trim();
        if is_server && !self.file_system.is_empty() {
            let only = format!("{}-MDT0000", self.file_system);
            return (self.part(ComponentKind::Mdt, &only), name.to_owned());
        }
        (self.part(ComponentKind::Mdt, name), String::new())
    }

    /// Returns a server.
    pub fn server(&self, name: &str) -> (Component, String) {
        let component = Component::new(ComponentKind::Server, name.trim());
        (component.of_cluster(&self.cluster), name.trim().to_owned())
    }

    fn part(&self, kind: ComponentKind, name: &str) -> Component {
        let file_system = file_system_of(name).unwrap_or(&self.file_system);
        Component::new(kind, name).of_cluster(&self.cluster).of_file_system(file_system)
    }
}

/// Returns the file system that a Lustre target's name begins with: `snx11025` of `snx11025-OST0003`.
pub(crate) fn file_system_of(target: &str) -> Option<&str> {
    let (file_system, number) = target.trim().rsplit_once('-')?;
    let digits = number.strip_prefix("OST").or_else(|| number.strip_prefix("MDT"))?;
    let is_index = digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_hexdigit());
    (is_index && !file_system.is_empty()).then_some(file_system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_file_systems_and_devices() {
        let it = Components::of("edison", ["snx11025-OST0000", "snx11025-OST00ad"]);
        assert_eq!(it.file_system(), "snx11025");
        let (target, server) = it.data_target("snx11025-OST00ad");
        assert_eq!((target.kind, target.file_system.as_str()), (ComponentKind::Ost, "snx11025"));
        assert_eq!((target.cluster.as_str(), server.as_str()), ("edison", ""));
        let (device, server) = it.data_target("bb1:nvme0n1");
        assert_eq!(
            (device.kind, device.name.as_str()),
            (ComponentKind::BlockDevice, "bb1:nvme0n1")
        );
        assert_eq!((device.file_system.as_str(), server.as_str()), ("", "bb1"));
        let (only, server) = it.metadata_target("n003", true);
        assert_eq!((only.name.as_str(), server.as_str()), ("snx11025-MDT0000", "n003"));
        assert_eq!(it.metadata_target("n003", false).0.name, "n003");
        assert_eq!(Components::of("", ["a-OST0000", "b-OST0000"]).file_system(), "");
        assert_eq!(file_system_of("scratch-OST00zz"), None);
    }
}
