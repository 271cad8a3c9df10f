//! Targets as instances of parameters name them.

/// What a target stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// Objects: an OST.
    Ost,
    /// Metadata: an MDT.
    Mdt,
    /// The configuration of file systems: the MGS.
    Mgs,
}

/// A target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName<'a> {
    /// The file system, e.g. "scratch"; empty where the name has none.
    pub file_system: &'a str,
    /// The whole name, e.g. "scratch-OST0003".
    pub name: &'a str,
    /// What it stores.
    pub kind: TargetKind,
}

impl<'a> TargetName<'a> {
    /// Reads the target from an instance: "scratch-OST0003", "scratch-OST0003-osc-ffff8800", "OST0001", "MGS";
    /// `None` if it is of none.
    pub fn of(instance: &'a str) -> Option<Self> {
        if instance == "MGS" {
            return Some(Self { file_system: "", name: instance, kind: TargetKind::Mgs });
        }
        let mut start = 0;
        for part in instance.split('-') {
            if let Some(kind) = kind(part) {
                let file_system = instance[..start].strip_suffix('-').unwrap_or_default();
                return Some(Self { file_system, name: &instance[..start + part.len()], kind });
            }
            start += part.len() + 1;
        }
        None
    }
}

/// "OST0003", "MDT000a".
fn kind(part: &str) -> Option<TargetKind> {
    let (kind, number) = if let Some(number) = part.strip_prefix("OST") {
        (TargetKind::Ost, number)
    } else {
        (TargetKind::Mdt, part.strip_prefix("MDT")?)
    };
    (number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_servers_and_clients() {
        let target =
            |instance| TargetName::of(instance).map(|it| (it.file_system, it.name, it.kind));
        let ost = TargetKind::Ost;
        assert_eq!(target("scratch-OST0003"), Some(("scratch", "scratch-OST0003", ost)));
        assert_eq!(target("a-b-OST00ff-osc-ffff88"), Some(("a-b", "a-b-OST00ff", ost)));
        assert_eq!(target("OST0001"), Some(("", "OST0001", ost)));
        assert_eq!(target("fs-MDT0000"), Some(("fs", "fs-MDT0000", TargetKind::Mdt)));
        assert_eq!(target("MGS"), Some(("", "MGS", TargetKind::Mgs)));
        assert_eq!(target("fs-OST3"), None);
        assert_eq!(target("fs-ffff88"), None);
        assert_eq!(target(""), None);
    }
}
